"""Holds SIGTERM and Ctrl-C back until training stands where it can be resumed."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def held_back() -> Iterator[Callable[[], bool]]:
    """Inside, a first signal is only noted; it takes its usual effect when the block is left.

    A second one of the same kind takes effect at once. Outside of the main thread, where Python
    delivers no signals, and for a signal that is ignored, nothing changes.

    Yields:
      A function that says whether a signal came, so that the block is to be left soon.
    """
    received: list[int] = []
    usual = _handlers() if threading.current_thread() is threading.main_thread() else {}

    def note(number: int, _) -> None:
        received.append(number)
        signal.signal(number, usual[number])

    for number in usual:
        signal.signal(number, note)
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])
            # Nothing happened: as process 1 of a container, which default handlers do not end.
            raise SystemExit(128 + received[0])


def _handlers() -> dict[int, Callable | signal.Handlers]:
    """The present ones, but for a signal that is ignored, and one that Python did not set."""
    present = {number: signal.getsignal(number) for number in SIGNALS}
    return {n: handler for n, handler in present.items() if handler not in (signal.SIG_IGN, None)}
