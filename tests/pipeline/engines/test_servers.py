import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import apache_beam as beam
import psutil
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline import local_runner
from pipeline.engines import options, servers
from pipeline.engines.settings import BeamSettings

REPOSITORY = Path(__file__).parents[3]


def writer(folder: Path, seconds: float):
    """A function that leaves a file which says what process it ran in, and takes its time."""

    # In a function, so that Beam sends it as it is: workers cannot import tests.
    def write(number: int) -> None:
        (folder / str(number)).write_text(str(os.getpid()))
        time.sleep(seconds)

    return write


def send(function) -> None:
    """Runs a job whose every element is worked on alone."""
    flags = [
        "--runner=PortableRunner",
        f"--job_endpoint={os.environ[options.JOB_SERVICE]}",
        "--environment_type=EXTERNAL",
        f"--environment_config={os.environ[options.WORKER_POOL]}",
    ]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        _ = pipeline | beam.Create(range(8)) | beam.Map(function)


def ended(processes: set[int], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while any(psutil.pid_exists(process) for process in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def children_but(others: list[psutil.Process]) -> list[psutil.Process]:
    """The child processes of the tests, but for the others, which earlier tests may have left."""
    return [child for child in psutil.Process().children() if child not in others]


def processes_in(folder: Path) -> set[int]:
    return {int(file.read_text()) for file in folder.iterdir()}


@pytest.mark.parametrize("workers", [1, 2])
def test_work_is_done_in_as_many_processes_as_are_set(workers, tmp_path):
    others = psutil.Process().children()
    with servers.running(BeamSettings(engine="portable", workers=workers)):
        [server] = children_but(others)
        send(writer(tmp_path, seconds=0.2))
    found = processes_in(tmp_path)
    assert len(found) == workers
    assert os.getpid() not in found and server.pid not in found
    assert ended({*found, server.pid})
    assert options.JOB_SERVICE not in os.environ and options.WORKER_POOL not in os.environ


def test_an_error_in_a_worker_reaches_the_run():
    def fail(number):
        raise ValueError(f"number {number} is not to be had")

    with (
        servers.running(BeamSettings(engine="portable")),
        pytest.raises(RuntimeError, match="number 0 is not to be had") as caught,
    ):
        send(fail)
    assert local_runner.plain(caught.value) == "number 0 is not to be had"


@pytest.fixture
def started(tmp_path):
    """A process that runs servers and a job in them which would take ten minutes, and its words."""
    files, words = tmp_path / "files", tmp_path / "words.txt"
    files.mkdir()
    program = f"""
import signal
from pathlib import Path

from pipeline.engines import servers
from pipeline.engines.settings import BeamSettings
from tests.pipeline.engines.test_servers import send, writer

signal.signal(signal.SIGINT, signal.default_int_handler)  # A background shell has it ignored.
with servers.running(BeamSettings(engine="portable", workers=2)):
    send(writer(Path({str(files)!r}), seconds=600))
"""
    with words.open("w") as errors:
        command = [sys.executable, "-c", program]
        process = subprocess.Popen(command, cwd=REPOSITORY, stderr=errors)
    end = time.monotonic() + 100
    while len(list(files.iterdir())) < 2:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    yield process, processes_in(files), words
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_servers_and_workers_end_with_the_process_that_started_them(started, number):
    process, workers, _ = started
    [server] = psutil.Process(process.pid).children()
    process.send_signal(number)
    process.wait(30)
    assert ended({*workers, server.pid})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_server(started, number):
    process, workers, _ = started
    [server] = psutil.Process(process.pid).children()
    server.send_signal(number)
    assert process.wait(60) != 0
    assert ended({*workers, server.pid})


def test_a_worker_that_dies_ends_the_job(started):
    process, workers, words = started
    killed = min(workers)
    os.kill(killed, signal.SIGKILL)
    assert process.wait(60) == 1
    reason = f"worker process {killed} ended with exit code -9, perhaps for want of memory"
    assert words.read_text().splitlines()[-1].endswith(f"failed in state FAILED: {reason}")
    assert ended(workers)


def test_a_server_that_does_not_start_is_one_message(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        pytest.raises(servers.StartError, match=r"did not start \(exit code 1\)"),
        servers.running(BeamSettings(engine="portable")),
    ):
        pytest.fail("it is said to run")


@pytest.mark.parametrize("beam", [{}, {"engine": "portable", "job_endpoint": "jobs:8099"}])
def test_where_none_is_asked_for_none_is_started(beam):
    others = psutil.Process().children()
    with servers.running(BeamSettings(**beam)):
        assert children_but(others) == []
