"""From the Evaluator's and ModelCheck's output to data and to sentences."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from tfx.dsl.components.base import base_beam_executor
from tfx.types import standard_artifacts
from tfx.utils import json_utils, path_utils, proto_utils

from components import baseline, evaluator, labels
from pipeline import evaluation, verdict
from tests.support import saved_models

THRESHOLDS = {
    "min_accuracy": 0.9,
    "min_class_accuracy": 0.5,
    "max_accuracy_drop": 0.01,
    "max_class_accuracy_drop": 0.2,
}
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
BEAM = ["--runner=FnApiRunner", "--sdk_container_image=unused"]

# How many of each digit: 300 in all, so that one digit of 30 is a tenth.
COUNTS = [30, 40, 20, 30, 30, 30, 30, 30, 30, 30]
LABELS = np.repeat(np.arange(10), COUNTS)


@pytest.fixture(scope="module")
def good():
    return saved_models.BrightRow()


@pytest.fixture(scope="module")
def confused():
    return saved_models.BrightRow(confused=(8, 3))


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory):
    """A function that runs the Evaluator and gives the URI of its evaluation and its blessing."""

    def run(model, pushed=None, answers=LABELS, **thresholds):
        folder = str(tmp_path_factory.mktemp("evaluation"))
        config = evaluation.eval_config(num_classes=10, **{**THRESHOLDS, **thresholds})
        outputs = {
            "evaluation": [_artifact(standard_artifacts.ModelEvaluation, folder, "evaluation")],
            "blessing": [_artifact(standard_artifacts.ModelBlessing, folder, "blessing")],
        }
        context = base_beam_executor.BaseBeamExecutor.Context(
            beam_pipeline_args=BEAM, tmp_dir=os.path.join(folder, "temporary"), unique_id="1"
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", sys.argv[:1])  # TFX would read pytest's flags.
            evaluator.Executor(context).Do(
                {
                    "model": [_model(model, folder)],
                    "baseline_model": [_baseline(pushed, folder)],
                    "examples": [
                        saved_models.examples_artifact(answers, os.path.join(folder, "examples"))
                    ],
                },
                outputs,
                {
                    "eval_config": proto_utils.proto_to_json(config),
                    "example_splits": json_utils.dumps(["test"]),
                },
            )
        return SimpleNamespace(
            uri=outputs["evaluation"][0].uri,
            blessed=outputs["blessing"][0].get_int_custom_property("blessed") == 1,
        )

    return run


def _artifact(artifact_type, folder, name):
    artifact = artifact_type()
    artifact.uri = os.path.join(folder, name)
    return artifact


def _model(model, folder):
    artifact = saved_models.model_artifact(model, os.path.join(folder, "model"))
    labels.write(path_utils.serving_model_path(artifact.uri), NAMES)
    return artifact


def _baseline(pushed, folder):
    destination = os.path.join(folder, "serving")
    if pushed:
        saved_models.save(pushed, os.path.join(destination, "7"))
    artifact = _artifact(standard_artifacts.Model, folder, "baseline")
    baseline.Baseline.test_call(
        model=artifact, push_destination=destination, label_names=saved_models.LABEL_NAMES
    )
    return artifact


@pytest.fixture(scope="module")
def accepted(evaluate, good):
    return evaluate(good)


@pytest.fixture
def checked(tmp_path):
    """A folder that ModelCheck blessed a model in."""
    (tmp_path / "INFRA_BLESSED").write_text("")
    return str(tmp_path)


def test_a_good_first_model_is_accepted(accepted, checked):
    found = verdict.read(accepted.uri, checked)

    assert accepted.blessed
    assert found.refusals == ()
    assert found.baseline is None
    assert found.nothing_new is None
    assert found.metrics.accuracy == 1
    assert found.metrics.examples == len(LABELS)
    np.testing.assert_array_equal(found.metrics.confusion, np.diag(COUNTS))


def test_cross_entropy_is_the_mean_over_the_examples_in_nats(accepted, good, checked):
    found = verdict.read(accepted.uri, checked)

    outputs = good.image(saved_models.images(LABELS))
    probability_of_label = outputs["probabilities"].numpy()[np.arange(len(LABELS)), LABELS]
    expected = -np.log(probability_of_label).mean()
    assert found.metrics.cross_entropy == pytest.approx(expected, rel=1e-5)


def test_an_accepted_model_may_be_the_pushed_one(accepted, tmp_path):
    (tmp_path / "INFRA_NOT_BLESSED").write_text("identical to pushed version 7")

    found = verdict.read(accepted.uri, str(tmp_path))

    assert found.refusals == ()
    assert found.nothing_new == "identical to pushed version 7"


def test_a_first_model_below_the_thresholds_is_refused_with_what_it_confuses(
    evaluate, confused, checked
):
    answers = LABELS[(LABELS != 4) & (LABELS != 6)]
    result = evaluate(confused, answers=answers, min_accuracy=0.95)

    found = verdict.read(result.uri, checked)

    assert not result.blessed
    assert found.refusals == (
        "accuracy 0.875 is below 0.95",
        "class eight: accuracy 0 is below 0.5; most often taken for three (30 of 30)",
        "class four: the test split has no example of it",
        "class six: the test split has no example of it",
    )
    assert found.metrics.accuracy == 0.875
    assert found.metrics.confusion[8][3] == 30
    assert found.metrics.class_accuracies == (1, 1, 1, 1, None, 1, None, 1, 0, 1)


def test_a_model_worse_than_the_pushed_one_is_refused_with_how_much_and_where(
    evaluate, good, confused, checked
):
    result = evaluate(confused, pushed=good, min_class_accuracy=0)

    found = verdict.read(result.uri, checked)

    assert not result.blessed
    assert found.refusals == (
        "accuracy 0.9 is 0.1 below the pushed model's 1; at most 0.01 is allowed; "
        "class eight fell most, from 1 to 0",
        "class eight: accuracy 0 is 1 below the pushed model's 1; at most 0.2 is allowed",
    )
    assert found.baseline.accuracy == 1
    assert found.baseline.confusion[8][8] == 30
    assert found.metrics.confusion[8][8] == 0


def test_a_model_just_at_every_threshold_is_accepted(evaluate, good, confused, checked):
    # In float32, 0.9 is a little less than 0.9, and farther from 1 than 0.1.
    result = evaluate(
        confused,
        pushed=good,
        min_accuracy=0.9,
        min_class_accuracy=0,
        max_accuracy_drop=0.1,
        max_class_accuracy_drop=1,
    )

    assert result.blessed
    assert verdict.read(result.uri, checked).refusals == ()


def test_a_folder_without_an_evaluation_is_refused(tmp_path, checked):
    with pytest.raises(FileNotFoundError, match=r"evaluation\.json"):
        verdict.read(str(tmp_path), checked)
    with pytest.raises(ValueError, match="holds no evaluation of all test examples"):
        evaluator.summarize(str(tmp_path), NAMES)
