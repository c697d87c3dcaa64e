"""A model is blessed when it serves and is new."""

import json

import numpy as np
import pytest
from tfx.components.util import model_utils
from tfx.types import standard_artifacts

from components import baseline, model_check, serving_check
from tests.support import saved_models


class UpsideDown(saved_models.BrightRow):
    """Reads PNG files upside down."""

    def _decode(self, png):
        return super()._decode(png)[::-1]


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    uri = tmp_path_factory.mktemp("data") / "examples"
    return saved_models.examples_artifact(np.arange(40) % 10, str(uri))


@pytest.fixture
def check(tmp_path, examples):
    """A function that runs ModelCheck and gives its blessing."""

    def run(model, pushed=None, examples=examples, **arguments):
        destination = tmp_path / "serving"
        if pushed:
            saved_models.save(pushed, str(destination / "7"))
        last = _artifact(standard_artifacts.Model, tmp_path / "baseline")
        baseline.Baseline.test_call(
            model=last, push_destination=str(destination), label_names=saved_models.LABEL_NAMES
        )
        blessing = _artifact(standard_artifacts.InfraBlessing, tmp_path / "blessing")
        model_check.ModelCheck.test_call(
            model=saved_models.model_artifact(model, str(tmp_path / "model")),
            examples=examples,
            baseline=last,
            blessing=blessing,
            **{"label_names": saved_models.LABEL_NAMES, **arguments},
        )
        return blessing

    return run


def _artifact(artifact_type, uri):
    artifact = artifact_type()
    artifact.uri = str(uri)
    return artifact


def test_a_first_model_that_serves_is_blessed(check):
    blessing = check(saved_models.BrightRow())

    # What TFX's Pusher looks at.
    assert model_utils.is_infra_validated(blessing)
    assert model_check.reason_not_blessed(blessing.uri) is None


def test_another_model_than_the_pushed_one_is_blessed(check):
    blessing = check(saved_models.BrightRow(0.02), pushed=saved_models.BrightRow(0.01))

    assert model_utils.is_infra_validated(blessing)
    assert model_check.reason_not_blessed(blessing.uri) is None


def test_the_pushed_model_is_not_blessed_again(check):
    blessing = check(saved_models.BrightRow(), pushed=saved_models.BrightRow())

    assert not model_utils.is_infra_validated(blessing)
    assert model_check.reason_not_blessed(blessing.uri) == "identical to pushed version 7"


def test_a_model_that_does_not_serve_ends_the_run(check, tmp_path):
    with pytest.raises(serving_check.ServingError, match="png and serving_default disagree"):
        check(UpsideDown())

    assert not (tmp_path / "blessing").exists()


@pytest.mark.parametrize("names", ["abcdefghij", "123456789"])
def test_a_model_of_other_classes_than_it_should_tell_apart_ends_the_run(check, names):
    with pytest.raises(serving_check.ServingError, match=r"names its classes|\[40, 9\]"):
        check(saved_models.BrightRow(), label_names=json.dumps(list(names)))


def test_takes_as_many_examples_as_told_and_there_are(check, monkeypatch):
    counts = []
    monkeypatch.setattr(
        serving_check, "check", lambda model, examples, classes: counts.append(len(examples))
    )
    for count in (1, 25, 1000):
        check(saved_models.BrightRow(), count=count)

    assert counts == [1, 25, 40]


def test_needs_examples(check, tmp_path):
    empty = saved_models.examples_artifact(np.array([], np.int64), str(tmp_path / "empty"))

    with pytest.raises(ValueError, match=r"no examples in .*Split-test.* to check the model with"):
        check(saved_models.BrightRow(), examples=empty)
