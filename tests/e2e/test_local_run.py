"""The whole pipeline on a part of real MNIST, through the command line, run after run."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from components import idx, mnist_files
from pipeline import data
from pipeline.data_settings import DataSettings
from tests.pipeline.report.html import Page
from tests.support import planted_secrets

REPOSITORY = Path(__file__).parents[2]
TRAINED = {"MnistExampleGen", "StatisticsGen", "ExampleValidator", "DataGate", "Trainer"}


@dataclass(frozen=True)
class Run:
    exit_code: int
    output: str
    folder: Path | None  # of its settings, log and result

    @property
    def result(self) -> dict:
        return json.loads((self.folder / "result.json").read_text())

    @property
    def states(self) -> dict[str, str]:
        return {node: entry["state"] for node, entry in self.result["nodes"].items()}


class Workplace:
    """A folder to run in, away from the checkout."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.secrets = planted_secrets.environment(folder)

    def run(self, *settings: str, **environment: str) -> Run:
        before = set(self._runs())
        overrides = [
            f"data.directory={REPOSITORY}/data",
            f"root={self.folder}/runs",
            f"push.destination={self.serving}",
            *settings,
        ]
        flags = [flag for setting in overrides for flag in ("--set", setting)]
        process = self.call("run", "--config", "smoke", *flags, **environment)
        new = sorted(set(self._runs()) - before)
        return Run(process.returncode, process.stdout + process.stderr, new[0] if new else None)

    def call(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "pipeline", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.secrets, "PYTHONPATH": str(REPOSITORY), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def serving(self) -> Path:
        return self.folder / "serving"

    def versions(self) -> list[str]:
        return sorted(os.listdir(self.serving))

    def _runs(self) -> list[Path]:
        return list((self.folder / "runs" / "logs").glob("*"))


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    return Workplace(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def first(workplace):
    return workplace.run()


@pytest.fixture(scope="module")
def second(workplace, first):
    return workplace.run()


@pytest.fixture(scope="module")
def third(workplace, second):
    return workplace.run()


def test_the_first_run_pushes_a_good_model(workplace, first):
    assert first.exit_code == 0, first.output
    assert first.result["verdict"] == "pushed"
    assert first.result["accuracy"] > 0.9
    assert set(first.states.values()) == {"done"}
    assert workplace.versions() == [str(first.result["version"])]
    assert "Pushed as version" in first.output


def test_the_console_has_a_line_for_each_node_and_no_noise(first):
    lines = first.output.strip().splitlines()
    for node in first.states:
        assert any(line.startswith(node) and " done " in line for line in lines)
    assert len(lines) < 20
    assert (first.folder / "log.txt").stat().st_size > 10_000


def test_the_report_is_there_and_the_last_line_names_it(first):
    path = first.folder / "report.html"
    assert first.output.strip().splitlines()[-1] == f"Report: {path}"
    page = Page(path.read_text())
    assert f"{first.result['accuracy']:.2%}" in page.text
    assert "there is no model to compare this one with" in page.text
    assert "asked again for this page" not in page.text  # It says what the Evaluator says.
    mistakes = round(1000 * (1 - first.result["accuracy"]))
    assert f"{mistakes} of 1,000 test examples" in page.text
    assert len(page.of("img")) == min(mistakes, 36)
    assert "every split is as the schema says" in page.text
    versions = [metadata.version(name) for name in ("tensorflow", "tfx")]
    assert "Optimizer schedule_free_adamw TensorFlow {} TFX {}".format(*versions) in page.text
    assert path.stat().st_size < 500_000


def test_the_report_command_makes_the_same_report_again(workplace, first):
    path = first.folder / "report.html"
    before = path.read_text()
    path.unlink()
    again = workplace.call("report", first.folder.name, "--set", f"root={workplace.folder}/runs")
    assert again.returncode == 0, again.stderr
    assert again.stdout == f"{path}\n"
    assert path.read_text() == before


def test_the_settings_are_kept_with_the_run(workplace, first):
    assert f"destination: {workplace.serving}" in (first.folder / "settings.yaml").read_text()


def test_what_was_pushed_says_how_well_it_does_and_where_it_comes_from(first):
    folder = Path(first.result["path"]) / "assets.extra"
    evaluation = json.loads((folder / "evaluation.json").read_text())
    assert evaluation["accuracy"] == first.result["accuracy"]
    assert evaluation["examples"] == 1000
    assert len(evaluation["class_accuracies"]) == 10
    details = json.loads((folder / "training.json").read_text())["details"]
    assert details["examples"] == {"train": 6000, "eval": 1000}
    assert details["epoch"] in (1, 2) and details["eval_accuracy"] > 0.9
    card = (folder / "model_card.md").read_text()
    for expected in (
        f"version {first.result['version']}",
        first.folder.name,
        details["source"],
        "6,000 to train on, 1,000 to choose the epoch by",
        "--set data.train_limit=6000",
    ):
        assert expected in card
    assert (folder / "model_card.html").read_text().startswith("<!doctype html>")


def test_no_secret_of_the_environment_is_kept(workplace, first):
    runs = workplace.folder / "runs"
    for file in ("settings.yaml", "log.txt", "result.json"):
        assert (first.folder / file).stat().st_size
    assert (runs / "metadata.sqlite").stat().st_size
    assert planted_secrets.files_with_secrets(runs, workplace.serving) == []
    assert planted_secrets.MARK not in first.output


def test_a_secret_in_an_address_is_refused_before_anything_is_written(tmp_path):
    run = Workplace(tmp_path).run(f"data.source=https://me:{planted_secrets.MARK}@localhost/data")
    assert run.exit_code == 2
    assert "data.source must not hold a user name" in run.output
    assert planted_secrets.MARK not in run.output
    assert not (tmp_path / "runs").exists()


def test_the_same_run_elsewhere_gives_the_same_model_byte_for_byte(first, tmp_path):
    again = Workplace(tmp_path).run(PYTHONHASHSEED="451")
    assert again.exit_code == 0, again.output
    one, two = (_contents(Path(run.result["path"])) for run in (first, again))
    assert "variables/variables.data-00000-of-00001" in one
    assert one.keys() == two.keys()
    # What is there for people says when, and in which run.
    papers = {
        f"assets.extra/{name}" for name in ("training.json", "model_card.md", "model_card.html")
    }
    assert {name for name in one if one[name] != two[name]} == papers
    assert again.result["accuracy"] == first.result["accuracy"]


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_what_was_pushed_answers_each_signature(first):
    import tensorflow as tf

    from schemas import mnist

    files = mnist_files.find(data.fetch(DataSettings(directory=str(REPOSITORY / "data"))))
    images = idx.read(files.test[0].images)[:200]
    labels = idx.read(files.test[0].labels)[:200]
    served = tf.saved_model.load(first.result["path"]).signatures

    def example(image):
        pixels = tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()]))
        features = tf.train.Features(feature={mnist.IMAGE: pixels})
        return tf.train.Example(features=features).SerializeToString()

    answers = [
        served["image"](image=tf.constant(images)),
        served["serving_default"](examples=tf.constant([example(image) for image in images])),
        served["png"](png=tf.constant([tf.io.encode_png(i[..., None]).numpy() for i in images])),
    ]
    for answer in answers:
        np.testing.assert_allclose(
            answer["probabilities"], answers[0]["probabilities"], rtol=1e-4, atol=1e-6
        )
        assert np.mean(answer["class"].numpy() == labels) > 0.9


def test_the_second_run_compares_with_the_pushed_model_and_pushes_nothing(workplace, first, second):
    assert second.exit_code == 0, second.output
    assert second.result["verdict"] == "nothing_new"
    assert second.result["baseline_accuracy"] == first.result["accuracy"]
    assert {node for node, state in second.states.items() if state == "cached"} >= TRAINED
    assert f"identical to pushed version {first.result['version']}" in second.output
    assert len(workplace.versions()) == 1
    report = Page((second.folder / "report.html").read_text())
    assert f"This model is the pushed version {first.result['version']} itself" in report.text
    assert f"The same data as in run {first.folder.name}" in report.text
    assert "the Trainer was served from the cache" in report.text


def test_the_third_run_is_served_from_the_cache(third):
    assert third.exit_code == 0, third.output
    assert set(third.states.values()) == {"cached"}
    assert third.result["verdict"] == "nothing_new"


def test_a_model_below_the_thresholds_is_refused_with_reasons(workplace, third):
    refused = workplace.run("evaluate.min_accuracy=0.9999", "evaluate.min_class_accuracy=0.9999")
    assert refused.exit_code == 3, refused.output
    assert refused.result["verdict"] == "refused"
    accuracy = f"{refused.result['accuracy']:.4f}".rstrip("0")
    assert f"accuracy {accuracy} is below 0.9999" in refused.output
    assert "class " in refused.output
    assert len(workplace.versions()) == 1


def test_a_worse_model_is_refused_and_the_run_says_by_how_much(workplace, third):
    worse = workplace.run("train.model=mlp", "train.epochs=1", "evaluate.max_accuracy_drop=0")
    assert worse.exit_code == 3, worse.output
    assert "below the pushed model's" in worse.output
    assert worse.states["MnistExampleGen"] == "cached"
    assert worse.states["Trainer"] == "done"
    assert len(workplace.versions()) == 1
    report = Page((worse.folder / "report.html").read_text())
    assert "Refused, nothing was pushed: accuracy 0." in report.text
    assert "McNemar’s exact test: p" in report.text
    assert "pushed before" in report.text  # In the figure.


def test_anomalies_stop_the_run_before_training(tmp_path):
    files = mnist_files.find(data.fetch(DataSettings(directory=str(REPOSITORY / "data"))))
    folder = tmp_path / "without_nines"
    folder.mkdir()
    for [pair], name, count in ((files.train, "train", 3000), (files.test, "t10k", 1000)):
        keep = np.flatnonzero(idx.read(pair.labels)[:count] != 9)
        idx.write(folder / f"{name}-images-idx3-ubyte", idx.read(pair.images)[keep])
        idx.write(folder / f"{name}-labels-idx1-ubyte", idx.read(pair.labels)[keep])
    (folder / "notes.txt").touch()
    workplace = Workplace(tmp_path)
    run = workplace.run(f"data.source={folder}", "data.eval_examples=300")
    assert run.exit_code == 1, run.output
    assert f"Warning: {folder} has 1 other file, not read: notes.txt" in run.output
    assert "DataGate failed" in run.output
    assert (run.result["verdict"], run.result["node"]) == ("failed", "DataGate")
    assert "9" in run.output
    assert {folder.name for folder in (tmp_path / "runs" / "artifacts").iterdir()} == {
        "ImportSchemaGen",
        "MnistExampleGen",
        "StatisticsGen",
        "ExampleValidator",
        "DataGate",
    }
    assert not workplace.serving.exists()


def test_a_diverging_run_exports_nothing(workplace, third):
    run = workplace.run("optimizer.name=sgd", "optimizer.learning_rate=1e9")
    assert run.exit_code == 1, run.output
    assert "loss is nan" in run.output or "loss is inf" in run.output
    assert "nothing was exported" in run.output
    assert len(workplace.versions()) == 1


def test_the_history_knows_each_run_and_where_the_model_comes_from(workplace, first, third):
    def ask(*command):
        root = f"root={workplace.folder}/runs"
        process = subprocess.run(
            [sys.executable, "-m", "pipeline", *command, "--set", root],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        )
        return process.stdout

    runs = {entry["run"]: entry for entry in json.loads(ask("runs", "--json"))}
    assert runs[first.folder.name]["verdict"] == "pushed"
    assert runs[third.folder.name]["verdict"] == "nothing_new"
    assert runs[third.folder.name]["changed"] == {}
    lineage = json.loads(ask("lineage", str(first.result["version"]), "--json"))
    assert lineage["run"] == first.folder.name
    [trainer] = lineage["origin"]["inputs"]["model"]
    [examples] = trainer["inputs"]["examples"]
    assert trainer["execution"]["node"] == "Trainer"
    assert len(examples["data"]["files"]) == 4
    assert "every node was served from the cache" in " ".join(
        ask("explain", third.folder.name).split()
    )
    shown = ask("show", first.folder.name)
    assert "data.train_limit=6000" in shown
    assert f"of 1,000 right: {first.result['accuracy']:.2%}" in shown
