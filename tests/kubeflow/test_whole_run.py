"""The pipeline on a part of real MNIST, compiled, and run under the rules of each platform."""

import json
from pathlib import Path

import pytest
from tfx.types import standard_artifacts

from components import baseline, versions
from kubeflow import compile as compiler
from kubeflow import document, ir, launcher, retrain
from kubeflow.rules import RULES, Place
from pipeline import config
from schemas import data_sets

REPOSITORY = Path(__file__).parents[2]
# Little to compute: it is about what goes from container to container.
SMALL = (
    "data.train_limit=2000",
    "data.eval_examples=500",
    "data.test_limit=1000",
    "train.epochs=1",
    "train.model=mlp",
    "evaluate.min_accuracy=0.5",
    "evaluate.min_class_accuracy=0.0",
)
TASKS = {
    "baseline",
    "data-gate",
    "evaluator",
    "example-validator",
    "import-schema-gen",
    "mnist-example-gen",
    "model-check",
    "pusher",
    "statistics-gen",
    "trainer",
}


class Recorder:
    def __init__(self):
        self.ended = []

    def started(self, task):
        pass

    def finished(self, task, state, seconds):
        self.ended.append(task)


# Each of a dozen processes imports TensorFlow: on a busy machine that takes its time.
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(
    ("target", "more", "added"),
    [("kubeflow", ["retrain.when=needed"], {"retrain-gate"}), ("vertex", [], set())],
)
def test_every_node_runs_and_the_model_is_pushed(tmp_path, target, more, added):
    serving = tmp_path / "serving"
    places = [
        f"root={tmp_path}/root",
        f"push.destination={serving}",
        f"data.directory={REPOSITORY}/data",
    ]
    settings = config.load("local", [*SMALL, *places, *more], environment={})
    compiled = compiler.compile_project(settings, target)
    path = tmp_path / f"mnist{compiled.suffix}"
    compiler.write(compiled, path)

    loaded = document.load(path, target)
    place = Place(loaded.root, loaded.name, "run", tmp_path / "scratch")
    recorder = Recorder()
    results = launcher.launch(loaded, RULES[target], place, recorder)

    assert {name: result.state for name, result in results.items()} == dict.fromkeys(
        TASKS | added, "done"
    )
    assert recorder.ended[-1] == "pusher"
    [version] = versions.versions(str(serving))
    pushed = results["pusher"].artifacts["pushed_model"]
    assert pushed["metadata"]["pushed_version"] == str(version)
    assert pushed["metadata"]["pushed"] == 1
    assert (Path(pushed["uri"]) / "saved_model.pb").exists()
    card = serving / str(version) / "assets.extra" / "model_card.md"
    assert f"version {version}" in card.read_text()
    # Nothing was there before, and that came through as an artifact too.
    before = Path(results["baseline"].artifacts["model"]["uri"])
    assert (before / baseline.VERSION_FILE).read_text() == versions.NONE
    if added:
        assert results["retrain-gate"].parameters == {"decision": "train"}
        assert decide_again(compiled, results, serving, tmp_path) == "skip"


def decide_again(compiled, results, serving: Path, folder: Path) -> str:
    """What the gate of a next run would say, now that the model is pushed."""
    examples = standard_artifacts.Examples()
    examples.uri = results["mnist-example-gen"].artifacts["examples"]["uri"]
    examples.split_names = results["mnist-example-gen"].artifacts["examples"]["metadata"][
        "split_names"
    ]
    model = standard_artifacts.Model()
    model.uri = str(folder / "next-baseline")
    baseline.Baseline.EXECUTOR_SPEC.executor_class._FUNCTION(
        model=model,
        push_destination=str(serving),
        label_names=json.dumps(data_sets.MNIST.label_names),
        state="",
    )
    parameters = ir.tasks(compiled.job["pipelineSpec"])["retrain-gate"]["inputs"]["parameters"]
    code = parameters["code"]["runtimeValue"]["constant"]
    return retrain.RetrainGate.EXECUTOR_SPEC.executor_class._FUNCTION(
        examples=examples, baseline=model, code=code, max_age_days=0.0
    )["decision"]
