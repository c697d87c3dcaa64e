"""What a run leaves behind when it does not come to its end; whole runs are in tests/e2e."""

import contextlib
import gc
import json
from types import SimpleNamespace

import pytest
import tensorflow as tf

from components import versions
from pipeline import config
from pipeline import run as runner
from pipeline.engines import servers
from pipeline.local_runner import NodeFailedError
from tests.support import idx_folders


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """A function that runs up to an error; gives the exit code and what `result.json` holds."""

    def run(error, in_node=True):
        def prepare(settings, console):
            if not in_node:
                raise error
            return SimpleNamespace(components=[SimpleNamespace(id="Trainer")])

        def run_nodes(pipeline, name, listener, headline, interrupted):
            listener.started("Trainer")
            raise error

        monkeypatch.setattr(runner, "_prepare", prepare)
        monkeypatch.setattr(runner, "run_nodes", run_nodes)
        code = runner.run(config.load("local", [f"root={tmp_path}"], environment={}))
        [result] = tmp_path.glob("logs/*/result.json")
        found = json.loads(result.read_text())
        assert found.pop("seconds") >= 0
        return code, found

    return run


def test_a_node_that_failed(ended):
    assert ended(NodeFailedError("Trainer", "loss is nan")) == (
        runner.FAILED,
        {"verdict": "failed", "node": "Trainer", "reason": "loss is nan"},
    )


def test_an_interrupt_in_a_node(ended):
    assert ended(KeyboardInterrupt()) == (
        runner.INTERRUPTED,
        {"verdict": "interrupted", "node": "Trainer"},
    )


def test_an_interrupt_before_the_first_node(ended):
    assert ended(KeyboardInterrupt(), in_node=False) == (
        runner.INTERRUPTED,
        {"verdict": "interrupted", "node": None},
    )


def test_a_run_that_could_not_start(ended):
    assert ended(runner.PreparationError("no such folder"), in_node=False) == (
        runner.FAILED,
        {"verdict": "failed", "node": None, "reason": "no such folder"},
    )


def test_workers_that_do_not_start(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(runner, "_prepare", lambda *_: SimpleNamespace(components=[]))
    monkeypatch.setattr(servers.sys, "executable", "/bin/false")
    settings = config.load("local", [f"root={tmp_path}", "beam.engine=portable"], environment={})
    assert runner.run(settings) == runner.FAILED
    assert "Beam's job service did not start (exit code 1)" in capfd.readouterr().out
    [result] = tmp_path.glob("logs/*/result.json")
    assert json.loads(result.read_text())["verdict"] == "failed"


def test_an_engine_that_cannot_work_here(tmp_path, capfd):
    dataflow = [
        f"root={tmp_path}/runs",
        "beam.engine=dataflow",
        "beam.dataflow.project=my-project",
        "beam.dataflow.region=europe-west4",
    ]
    assert runner.run(config.load("local", dataflow, environment={})) == runner.WRONG_SETTINGS
    assert "root must be gs://BUCKET/FOLDER" in capfd.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_push_destination_that_cannot_be_read(tmp_path, monkeypatch):
    def refuse(_):
        raise tf.errors.UnavailableError(None, None, "no network")

    monkeypatch.setattr(versions, "state", refuse)
    source = idx_folders.make(tmp_path / "data")
    chosen = [f"root={tmp_path}", "push.destination=gs://bucket/x", f"data.source={source}"]
    assert runner.run(config.load("smoke", chosen, environment={})) == runner.FAILED
    [result] = tmp_path.glob("logs/*/result.json")
    assert json.loads(result.read_text())["reason"] == (
        "push.destination gs://bucket/x cannot be read: no network"
    )


def test_what_is_imported_is_left_out_of_garbage_collection():
    gc.unfreeze()
    with contextlib.suppress(KeyboardInterrupt), runner._uncollected():
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled() and gc.get_freeze_count() > 0
    gc.unfreeze()
