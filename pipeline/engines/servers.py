"""Runs Beam's job service beside this process while it is needed. No TensorFlow here."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pipeline.engines import options
from pipeline.engines.settings import BeamSettings

_CODE = Path(__file__).parents[2]
_SECONDS_TO_END = 15


class StartError(RuntimeError):
    """The job service did not start; the message says what to do."""


@contextlib.contextmanager
def running(beam: BeamSettings) -> Iterator[None]:
    """Has a job service and its workers, where the settings ask for the run's own.

    Their addresses are in the environment, where `options.beam_args` has Beam look for them. They
    print to this process's standard error, and end with it, however it ends.

    Raises:
      StartError: It did not start.
    """
    if not beam.starts_servers:
        yield
        return
    server = _start(beam.workers or 1)
    try:
        addresses = _addresses(server)
        os.environ[options.JOB_SERVICE] = addresses["jobs"]
        os.environ[options.WORKER_POOL] = addresses["workers"]
        yield
    finally:
        for name in (options.JOB_SERVICE, options.WORKER_POOL):
            os.environ.pop(name, None)
        _stop(server)


def _start(workers: int) -> subprocess.Popen:
    # The workers must find this project's code, wherever this process was started.
    path = os.pathsep.join(filter(None, [str(_CODE), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.engines.server", str(workers)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is for this process, which then ends the other one.
        start_new_session=True,
    )


def _addresses(server: subprocess.Popen) -> dict[str, str]:
    line = server.stdout.readline()
    if not line:
        raise StartError(
            f"Beam's job service did not start (exit code {server.wait()}); its last words are in "
            "the log of the run. beam.engine=local needs none"
        )
    return json.loads(line)


def _stop(server: subprocess.Popen) -> None:
    try:
        with contextlib.suppress(BrokenPipeError):
            server.stdin.close()
        server.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        pass
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
