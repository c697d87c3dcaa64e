"""A root with one run of each kind."""

from types import SimpleNamespace

import pytest
from ml_metadata.proto.metadata_store_pb2 import Execution
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.history.runs import History
from tests.support import evaluations, histories

RUNS = SimpleNamespace(
    pushed="20251130T080000000Z",
    better="20251130T090000000Z",
    same="20251130T100000000Z",
    refused="20251130T110000000Z",
    failed="20251130T120000000Z",
    unprepared="20251130T130000000Z",
    interrupted="20251130T140000000Z",
    killed="20251130T150000000Z",
)
FIRST = evaluations.metrics({(4, 9): 10, (2, 7): 1})
SECOND = evaluations.metrics({(4, 9): 2, (2, 7): 4})
WORSE = evaluations.metrics({(4, 9): 30})
BEFORE_TRAINER = ("ImportSchemaGen", "MnistExampleGen", "Baseline")


@pytest.fixture(scope="session")
def names():
    return RUNS


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    made = histories.Root(tmp_path_factory.mktemp("work") / "runs")
    made.run(
        RUNS.pushed,
        result=histories.pushed(7, FIRST.accuracy),
        evaluation=evaluations.evaluation(FIRST),
        version=7,
    )
    made.run(
        RUNS.better,
        "train.epochs=9",
        "optimizer.name=adopt",
        "optimizer.learning_rate=0.002",
        result=histories.pushed(8, SECOND.accuracy, FIRST.accuracy),
        evaluation=evaluations.evaluation(SECOND, FIRST),
        cached=BEFORE_TRAINER,
        version=8,
    )
    made.run(
        RUNS.same,
        "train.epochs=9",
        result=histories.nothing_new(SECOND.accuracy, 8),
        cached=histories.NODES,
    )
    made.run(
        RUNS.refused,
        "train.epochs=1",
        result=histories.refused(WORSE.accuracy, SECOND.accuracy, "accuracy 0.97 is below 0.98"),
        evaluation=evaluations.evaluation(WORSE, SECOND),
        data="e" * 64,
    )
    made.run(
        RUNS.failed,
        result={"verdict": "failed", "node": "Trainer", "reason": "loss is nan", "seconds": 3.0},
        last=("Trainer", Execution.FAILED),
    )
    made.run(
        RUNS.unprepared,
        result={"verdict": "failed", "node": None, "reason": "no data", "seconds": 0.0},
        last=None,
    )
    made.run(
        RUNS.interrupted,
        result={"verdict": "interrupted", "node": "Trainer", "seconds": 3700.0},
        last=("Trainer", Execution.RUNNING),
    )
    made.run(RUNS.killed, last=("Evaluator", Execution.RUNNING))
    return made.folder


@pytest.fixture(scope="session")
def history(root):
    return History(str(root))


@pytest.fixture
def run(root, monkeypatch):
    """A function that runs a command on `root`, on a terminal of a width, and gives its result."""

    def invoke(*arguments, width=80, root=root):
        monkeypatch.setenv("COLUMNS", str(width))
        return CliRunner().invoke(app, [*arguments, "--set", f"root={root}"])

    return invoke
