"""The whole pipeline by way of a job service, with one worker and with two, as it runs without."""

import re
from pathlib import Path

import psutil
import pytest
import tensorflow_data_validation as tfdv

from components import evaluator
from schemas import mnist
from tests.e2e.test_local_run import Run, Workplace
from tests.support import planted_secrets

SMALL = (
    "data.test_limit=500",
    "train.epochs=1",
    "evaluate.min_accuracy=0.5",
    "evaluate.min_class_accuracy=0.1",
)
BEAM_NODES = ("MnistExampleGen", "StatisticsGen", "Evaluator")
# What is written for people says when, and in which run.
PAPERS = ("training.json", "model_card.md", "model_card.html")


def run(place: Workplace, *settings: str) -> Run:
    """Runs in a folder that has no code: the workers must be told where it is."""
    done = place.run(*SMALL, *settings)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    place = Workplace(tmp_path_factory.mktemp("local"))
    return place, run(place)


@pytest.fixture(scope="module", params=[1, 2], ids=["one worker", "two workers"])
def portable(request, tmp_path_factory):
    place = Workplace(tmp_path_factory.mktemp("portable"))
    return place, run(place, "beam.engine=portable", f"beam.workers={request.param}"), request.param


def artifact(place: Workplace, node: str) -> Path:
    """The folder of the one artifact that a node made, or of the first kind that it makes."""
    kind = {"Evaluator": "evaluation"}.get(node, "*")
    [folder] = (place.folder / "runs" / "artifacts" / node).glob(f"{kind}/[0-9]*")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_it_pushes_the_same_model(local, portable):
    assert portable[1].result["verdict"] == "pushed"
    one, two = (contents(Path(done[1].result["path"])) for done in (local, portable))
    assert "variables/variables.data-00000-of-00001" in one
    assert one.keys() == two.keys()
    differing = {Path(name).name for name in one if one[name] != two[name]}
    assert differing <= set(PAPERS)


def test_examples_are_the_same_byte_for_byte(local, portable):
    one, two = (contents(artifact(place, "MnistExampleGen")) for place, *_ in (local, portable))
    assert len(one) > 4
    assert one == two


def test_statistics_count_the_same(local, portable):
    for split, count in zip(mnist.SPLITS, (6000, 1000, 500), strict=True):
        one, two = (
            tfdv.load_stats_binary(
                str(artifact(place, "StatisticsGen") / f"Split-{split}" / "FeatureStats.pb")
            ).datasets[0]
            for place, *_ in (local, portable)
        )
        assert one.num_examples == two.num_examples == count
        [one], [two] = (
            [f for f in each.features if f.path.step == [mnist.LABEL]] for each in (one, two)
        )
        assert one.string_stats.rank_histogram == two.string_stats.rank_histogram
        assert one.string_stats.rank_histogram.buckets


def test_the_evaluation_is_the_same(local, portable):
    one, two = (
        evaluator.read(str(artifact(place, "Evaluator"))).model for place, *_ in (local, portable)
    )
    assert one.confusion == two.confusion
    assert one.accuracy == two.accuracy
    assert one.cross_entropy == pytest.approx(two.cross_entropy, rel=1e-9)


def test_each_beam_node_had_its_workers_and_none_is_left(portable):
    _, done, workers = portable
    log = (done.folder / "log.txt").read_text(errors="replace")
    processes = re.findall(r"Worker worker_\d+ is process (\d+)", log)
    assert len(set(processes)) == len(processes) == workers * len(BEAM_NODES)
    assert not any(psutil.pid_exists(int(process)) for process in processes)


def test_what_workers_say_is_in_the_log_and_no_secret_is(portable):
    place, done, _ = portable
    log = (done.folder / "log.txt").read_text(errors="replace")
    assert "Python sdk harness starting" in log
    assert planted_secrets.files_with_secrets(place.folder / "runs") == []
