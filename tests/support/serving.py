"""A server in a thread."""

import contextlib
import threading
import time
from collections.abc import Iterator

from pipeline.serve import server
from pipeline.serve.app import DEFAULT_LIMITS, Limits
from pipeline.serve.holder import Holder

HOST = "127.0.0.1"
_PATIENCE = 60


@contextlib.contextmanager
def running(holder: Holder, limits: Limits = DEFAULT_LIMITS) -> Iterator[str]:
    """Serves during the block.

    Yields:
      The server's address.
    """
    with server.listen(HOST, 0) as listener:
        runner = server.server(holder, HOST, limits)
        thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            eventually(lambda: runner.started)
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            runner.should_exit = True
            thread.join()


def eventually(condition, *arguments) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + _PATIENCE
    while not condition(*arguments):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
