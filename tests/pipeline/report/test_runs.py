import json
import shutil
from pathlib import Path

import pytest
from tfx.orchestration import metadata
from tfx.orchestration.pipeline import Pipeline

from pipeline.local_runner import run_nodes
from pipeline.report import runs
from pipeline.report.runs import RunError
from tests.pipeline.toy_components import Make, Use

FIRST, SECOND, THIRD, FAILED = (f"20260{month}02T030405006Z" for month in (1, 2, 3, 4))
RESULT = {
    "verdict": "refused",
    "accuracy": 0.9,
    "baseline_accuracy": None,
    "refusals": ["accuracy 0.9 is below 0.97"],
    "nothing_new": None,
    "version": None,
    "path": None,
    "seconds": 12.5,
    "nodes": {
        "Make": {"state": "done", "seconds": 1.0, "peak_memory": 2**30},
        "Use": {"state": "cached", "seconds": 0.5, "peak_memory": 2**29},
    },
}


class Silent:
    def started(self, node): ...

    def finished(self, node, state, seconds, headline): ...


def folder_of(root: Path, name: str, result: dict | None = RESULT) -> Path:
    folder = root / "logs" / name
    folder.mkdir(parents=True)
    (folder / "settings.yaml").write_text("name: toy\ncache: true\n")
    if result:
        (folder / "result.json").write_text(json.dumps(result))
    return folder


def execute(root: Path, name: str) -> None:
    make = Make(text="hello")
    use = Use(model=make.outputs["model"])
    store = metadata.sqlite_metadata_connection_config(str(root / "metadata.sqlite"))
    pipeline = Pipeline(
        pipeline_name="toy",
        pipeline_root=str(root),
        components=[make, use],
        metadata_connection_config=store,
        enable_cache=True,
    )
    run_nodes(pipeline, name, Silent(), lambda node, outputs: "")


@pytest.fixture
def root(tmp_path):
    for name, result in ((FIRST, RESULT), (SECOND, RESULT), (THIRD, None)):
        folder_of(tmp_path, name, result)
    folder_of(tmp_path, FAILED, {"verdict": "failed", "node": "Make"})
    return tmp_path


def test_the_last_run_that_finished_is_the_default(root):
    assert [folder.name for folder in runs.finished(root)] == [FIRST, SECOND]
    assert runs.find(root).name == runs.find(root, "last").name == SECOND


def test_a_run_is_found_by_the_beginning_of_its_name(root):
    assert runs.find(root, FIRST).name == runs.find(root, FIRST[:7]).name == FIRST
    with pytest.raises(RunError, match=f"'2026' is the beginning of 2 finished runs: {FIRST}, "):
        runs.find(root, "2026")


@pytest.mark.parametrize("name", [THIRD, FAILED])
def test_a_run_that_did_not_finish_has_no_report(name, root):
    with pytest.raises(RunError, match=f"run {name} did not finish.*log.txt"):
        runs.find(root, name)


def test_an_unknown_run_is_refused_with_those_that_are_known(root):
    with pytest.raises(RunError, match=f"no run '2025'.*finished: {FIRST}, {SECOND}"):
        runs.find(root, "2025")


@pytest.mark.parametrize("name", ["..", "../logs", "."])
def test_a_run_is_named_by_its_folder_alone(root, name):
    with pytest.raises(RunError):
        runs.find(root, name)


def test_where_nothing_ran_there_is_nothing_to_report(tmp_path):
    with pytest.raises(RunError, match="no run has finished under .*; start one with `make run`"):
        runs.find(tmp_path)


def test_the_run_before_is_the_last_that_finished(root):
    assert runs.previous(root / "logs" / FIRST) is None
    assert runs.previous(root / "logs" / SECOND).name == FIRST
    assert runs.previous(root / "logs" / THIRD).name == SECOND


def test_a_run_is_read_with_what_its_nodes_gave_from_the_cache_or_not(tmp_path):
    for name in (FIRST, SECOND):
        execute(tmp_path, name)
        folder_of(tmp_path, name)

    first, second = (runs.load(tmp_path / "logs" / name) for name in (FIRST, SECOND))

    assert first.nodes["Make"].parameters["text"] == "hello"
    assert Path(first.output("Use", "copy").uri, "text").read_text() == "hello 1"
    assert second.output("Use", "copy").uri == first.output("Use", "copy").uri
    assert first.settings == {"name": "toy", "cache": True}
    assert first.started == "2 January 2026, 03:04 UTC"
    assert first.outcome.refusals == ("accuracy 0.9 is below 0.97",)
    assert first.result.nodes["Use"].peak_memory == 2**29


def test_a_run_that_ml_metadata_does_not_know_is_refused(root):
    with pytest.raises(RunError, match=f"metadata.sqlite does not know what Make, Use .*{FIRST}"):
        runs.load(root / "logs" / FIRST)


def test_a_damaged_result_does_not_spoil_the_others(root):
    for text in ("{", "[1]", "{}"):
        (root / "logs" / SECOND / "result.json").write_text(text)
        assert [folder.name for folder in runs.finished(root)] == [FIRST]


def test_reading_makes_no_metadata_store(root):
    assert runs.load_record(root / "logs" / FIRST).nodes == {}
    assert not (root / "metadata.sqlite").exists()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("settings.yaml", b""),
        ("settings.yaml", b"a: ["),
        ("settings.yaml", b"\xff"),
        ("../../metadata.sqlite", b"this is no database"),
    ],
)
def test_a_damaged_record_is_named_and_stays_as_it_is(root, file, content):
    folder = root / "logs" / FIRST
    path = (folder / file).resolve()
    path.write_bytes(content)
    with pytest.raises(RunError, match=f"{path} cannot be read"):
        runs.load(folder)
    assert path.read_bytes() == content


def test_a_result_of_another_version_is_refused(tmp_path):
    nodes = {"Make": {"state": "done", "seconds": 1.0}}
    folder = folder_of(tmp_path, FIRST, {**RESULT, "nodes": nodes})
    with pytest.raises(RunError, match=r"not as this version .* nodes.Make.peak_memory: Field req"):
        runs.load(folder)


def test_a_run_whose_outputs_are_gone_is_refused(tmp_path):
    execute(tmp_path, FIRST)
    folder = folder_of(tmp_path, FIRST)
    gone = runs.load(folder).output("Make", "model").uri
    shutil.rmtree(gone)
    with pytest.raises(RunError, match=f"what Make gave in run {FIRST} is gone: {gone}"):
        runs.load(folder)
