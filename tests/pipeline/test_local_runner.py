import subprocess
import sys
from pathlib import Path

import pytest
from tfx.orchestration import metadata
from tfx.orchestration.pipeline import Pipeline

from pipeline import local_runner
from pipeline.local_runner import NodeFailedError, run_nodes
from tests.pipeline.toy_components import Make, Use


class Recorder:
    def __init__(self):
        self.events = []

    def started(self, node):
        self.events.append(("started", node))

    def finished(self, node, state, seconds, headline):
        assert seconds >= 0
        self.events.append((state, node, headline))

    def failed(self, node, seconds):
        self.events.append(("failed", node))


def run(folder: Path, run_id: str, text: str = "hello"):
    make = Make(text=text)
    use = Use(model=make.outputs["model"])
    store = metadata.sqlite_metadata_connection_config(str(folder / "metadata.sqlite"))
    pipeline = Pipeline(
        pipeline_name="toy",
        pipeline_root=str(folder),
        components=[make, use],
        metadata_connection_config=store,
        enable_cache=True,
    )
    recorder = Recorder()

    def headline(node, outputs):
        [[artifact]] = outputs.values()
        return Path(artifact.uri, "text").read_text()

    try:
        return recorder.events, run_nodes(pipeline, run_id, recorder, headline)
    except NodeFailedError as error:
        return recorder.events, error


def test_nodes_run_in_order_and_a_rerun_is_cached(tmp_path):
    events, results = run(tmp_path, "one")
    assert events == [
        ("started", "Make"),
        ("done", "Make", "hello 1"),
        ("started", "Use"),
        ("done", "Use", "hello 1"),
    ]
    assert all(2**20 < result.peak_memory < 2**40 for result in results.values())
    again, cached = run(tmp_path, "two")
    assert [event[0] for event in again] == ["started", "cached", "started", "cached"]
    assert cached["Use"].outputs["copy"][0].uri == results["Use"].outputs["copy"][0].uri


def test_a_changed_parameter_runs_anew(tmp_path):
    run(tmp_path, "one")
    events, _ = run(tmp_path, "two", text="other")
    assert events[1] == ("done", "Make", "other 1")


def test_the_first_failure_ends_the_run_with_its_cause(tmp_path):
    events, error = run(tmp_path, "one", text="fail")
    assert events == [("started", "Make"), ("failed", "Make")]
    assert str(error) == "Make failed: the text is fail"


def test_components_do_not_see_this_programs_flags(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["program", "--flag"])
    events, _ = run(tmp_path, "one")
    assert events[1] == ("done", "Make", "hello 1")
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


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x"), "x"),
        (RuntimeError("ValueError: y"), "ValueError: y"),
        (ValueError("z [while running 'A/B']"), "z"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
def test_errors_are_told_plainly(error, text):
    assert local_runner.plain(error) == text
