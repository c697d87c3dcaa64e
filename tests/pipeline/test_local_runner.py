import subprocess
import sys

import pytest

from pipeline import local_runner
from tests.pipeline.toy_runs import run


def test_nodes_run_in_order_and_a_rerun_is_cached(tmp_path):
    recorder, results = run(tmp_path, "one")
    assert recorder.events == [
        ("started", "Make"),
        ("done", "Make", "hello 1"),
        ("started", "Use"),
        ("done", "Use", "hello 1"),
    ]
    assert all(2**20 < result.peak_memory < 2**40 for result in results.values())
    again, cached = run(tmp_path, "two")
    assert [event[0] for event in again.events] == ["started", "cached", "started", "cached"]
    assert cached["Use"].outputs["copy"][0].uri == results["Use"].outputs["copy"][0].uri


def test_a_changed_parameter_runs_anew(tmp_path):
    run(tmp_path, "one")
    recorder, _ = run(tmp_path, "two", text="other")
    assert recorder.events[1] == ("done", "Make", "other 1")


def test_the_first_failure_ends_the_run_with_its_cause(tmp_path):
    recorder, error = run(tmp_path, "one", text="fail")
    assert recorder.events == [("started", "Make"), ("failed", "Make")]
    assert str(error) == "Make failed: the text is fail"


def test_an_interrupted_run_ends_before_the_next_node(tmp_path):
    """Although what the signal's handler raised was lost."""
    recorder, error = run(tmp_path, "one", interrupted=lambda recorder: bool(recorder.events))
    assert recorder.events == [("started", "Make"), ("done", "Make", "hello 1")]
    assert isinstance(error, KeyboardInterrupt)


def test_components_do_not_see_this_programs_flags(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["program", "--flag"])
    recorder, _ = run(tmp_path, "one")
    assert recorder.events[1] == ("done", "Make", "hello 1")
    assert sys.argv == ["program", "--flag"]


def test_output_of_python_and_of_the_process_goes_to_the_log(tmp_path):
    code = """
import os, pathlib, sys
from pipeline.local_runner import output_to
print("before")
with output_to(pathlib.Path(sys.argv[1])) as terminal:
    print("from python")
    os.write(1, b"from C++\\n")
    os.write(2, b"an error\\n")
    terminal.write("for people\\n")
print("after")
"""
    log = tmp_path / "log.txt"
    process = subprocess.run(
        [sys.executable, "-c", code, log], capture_output=True, text=True, check=True
    )
    assert process.stdout == "before\nfor people\nafter\n"
    assert process.stderr == ""
    assert sorted(log.read_text().splitlines()) == ["an error", "from C++", "from python"]


def test_output_comes_back_after_an_error(tmp_path, capfd):
    with pytest.raises(KeyError), local_runner.output_to(tmp_path / "log.txt"):
        raise KeyError
    print("back")
    assert capfd.readouterr().out == "back\n"


FROM_A_JOB_SERVICE = """Pipeline job-1 failed in state FAILED: Error running pipeline.
Traceback (most recent call last):
  File "local_job_service.py", line 293, in _run_job
    self.result = self._invoke_runner()
RuntimeError: Traceback (most recent call last):
  File "common.py", line 1499, in process
ValueError: the disk is full

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "core.py", line 2128, in <lambda>
    wrapper = lambda x: [fn(x)]
ValueError: the disk is full
buy another [while running 'Write']
"""


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x"), "x"),
        (RuntimeError("ValueError: y"), "ValueError: y"),
        (ValueError("z [while running 'A/B']"), "z"),
        (RuntimeError("tensorflow.errors.DataLossError: w"), "w"),
        (RuntimeError("disk is full query: UPDATE `Execution`"), "disk is full"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (RuntimeError("Pipeline job-1 failed in state FAILED: a worker ended"), "a worker ended"),
        (RuntimeError(FROM_A_JOB_SERVICE), "the disk is full\nbuy another"),
    ],
)
def test_errors_are_told_plainly(error, text):
    assert local_runner.plain(error) == text
