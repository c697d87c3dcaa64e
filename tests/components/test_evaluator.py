"""TFX's Evaluator with a baseline that may hold no model; what it writes is in test_verdict.py."""

import pytest
from tfx.components.evaluator import executor as tfx_executor
from tfx.types import channel_utils, standard_artifacts
from tfx.utils import path_utils

from components import baseline, evaluator, labels
from pipeline import evaluation
from tests.support import evaluations

FOUND = evaluations.evaluation()


@pytest.fixture
def given(monkeypatch):
    """What TFX's executor was given, instead of running it."""
    calls = []
    monkeypatch.setattr(
        tfx_executor.Executor, "Do", lambda self, inputs, outputs, properties: calls.append(inputs)
    )
    monkeypatch.setattr(evaluator, "summarize", lambda folder, class_names: FOUND)
    return calls


@pytest.fixture
def outputs(tmp_path):
    artifact = standard_artifacts.ModelEvaluation()
    artifact.uri = str(tmp_path / "evaluation")
    return {"evaluation": [artifact]}


@pytest.fixture
def model(tmp_path):
    artifact = standard_artifacts.Model()
    artifact.uri = str(tmp_path / "model")
    labels.write(path_utils.serving_model_dir(artifact.uri), ["cat", "dog"])
    return artifact


def pushed(tmp_path, *versions):
    destination = tmp_path / "serving"
    for version in versions:
        (destination / version).mkdir(parents=True)
        (destination / version / "saved_model.pb").write_text("graph")
        labels.write(str(destination / version), ["cat", "dog"])
    artifact = standard_artifacts.Model()
    artifact.uri = str(tmp_path / "baseline")
    baseline.Baseline.test_call(
        model=artifact, push_destination=str(destination), label_names='["cat", "dog"]'
    )
    return artifact


def test_a_baseline_without_a_model_counts_as_none(given, model, outputs, tmp_path):
    evaluator.Executor().Do({"model": [model], "baseline_model": [pushed(tmp_path)]}, outputs, {})

    assert given == [{"model": [model], "baseline_model": []}]


def test_a_pushed_baseline_is_compared_with(given, model, outputs, tmp_path):
    last = pushed(tmp_path, "7")

    evaluator.Executor().Do({"model": [model], "baseline_model": [last]}, outputs, {})

    assert given == [{"model": [model], "baseline_model": [last]}]


def test_another_model_is_no_baseline(given, outputs, tmp_path):
    other = standard_artifacts.Model()
    other.uri = str(tmp_path)

    with pytest.raises(ValueError, match="is not a baseline"):
        evaluator.Executor().Do({"baseline_model": [other]}, outputs, {})


def test_a_summary_lies_beside_what_tfx_wrote(given, model, outputs, tmp_path):
    evaluator.Executor().Do({"model": [model], "baseline_model": [pushed(tmp_path)]}, outputs, {})

    assert evaluator.read(outputs["evaluation"][0].uri) == FOUND


def test_the_component_is_tfx_s_but_for_the_executor():
    config = evaluation.eval_config(
        num_classes=10,
        min_accuracy=0.9,
        min_class_accuracy=0.5,
        max_accuracy_drop=0.01,
        max_class_accuracy_drop=0.1,
    )
    component = evaluator.Evaluator(
        examples=channel_utils.as_channel([standard_artifacts.Examples()]),
        model=channel_utils.as_channel([standard_artifacts.Model()]),
        baseline_model=channel_utils.as_channel([standard_artifacts.Model()]),
        eval_config=config,
        example_splits=["test"],
    )

    assert component.id == "Evaluator"
    assert component.executor_spec.executor_class is evaluator.Executor
    assert set(component.outputs) == {"evaluation", "blessing"}
