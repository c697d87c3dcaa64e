"""The last pushed model as an artifact."""

import json
import os

import pytest
from tfx.types import standard_artifacts
from tfx.utils import path_utils

from components import baseline, labels, publishing, versions

NAMES = ["cat", "dog"]


@pytest.fixture
def destination(tmp_path):
    return str(tmp_path / "serving")


@pytest.fixture
def copy(tmp_path):
    """A function that runs Baseline and gives its output."""

    def run(destination, **arguments):
        model = standard_artifacts.Model()
        model.uri = str(tmp_path / "output")
        baseline.Baseline.test_call(
            model=model, push_destination=destination, label_names=json.dumps(NAMES), **arguments
        )
        return model

    return run


def push(destination, version, names=NAMES):
    model = os.path.join(destination, ".made", str(version))
    os.makedirs(os.path.join(model, "variables"))
    for name in ("saved_model.pb", "variables/variables.index"):
        with open(os.path.join(model, name), "w", encoding="utf-8") as file:
            file.write(f"{name} of {version}")
    labels.write(model, names)
    publishing.publish(model, destination, clock=lambda: version)


def test_copies_the_version_that_is_served(copy, destination):
    push(destination, 10)
    push(destination, 20)

    model = copy(destination)

    assert baseline.pushed_version(model) == 20
    assert model.get_string_custom_property("pushed_version") == "20"
    # Where TFX's Evaluator and Pusher look for the model of an artifact.
    copied = path_utils.serving_model_path(model.uri)
    assert versions.digest(copied) == versions.digest(versions.path(destination, 20))


def test_copies_what_a_rollback_made_current(copy, destination):
    push(destination, 10)
    push(destination, 20)
    publishing.rollback(destination, 10, clock=lambda: 30)

    model = copy(destination)

    assert baseline.pushed_version(model) == 30
    with open(
        os.path.join(model.uri, "Format-Serving", "saved_model.pb"), encoding="utf-8"
    ) as file:
        assert file.read() == "saved_model.pb of 10"


def test_holds_no_model_when_nothing_was_pushed(copy, destination):
    model = copy(destination)

    assert baseline.pushed_version(model) is None
    assert os.listdir(model.uri) == ["pushed_version"]
    assert not model.has_custom_property("pushed_version")


def test_checks_the_state_that_the_cache_key_was_made_from(copy, destination):
    assert baseline.pushed_version(copy(destination, state="none")) is None

    push(destination, 10)
    with pytest.raises(RuntimeError, match=r"was in state none .* now in state 10:.*run again"):
        copy(destination, state="none")
    assert baseline.pushed_version(copy(destination, state=versions.state(destination))) == 10


def test_only_an_output_of_baseline_says_which_version_it_is(tmp_path):
    other = standard_artifacts.Model()
    other.uri = str(tmp_path)

    with pytest.raises(ValueError, match="is not a baseline: it has no file pushed_version"):
        baseline.pushed_version(other)


@pytest.mark.parametrize("names", [["cat"], ["cat", "dog", "cow"], ["dog", "cat"], ["cat", "cow"]])
def test_a_model_of_other_classes_is_no_baseline(copy, destination, tmp_path, names):
    push(destination, 10, names)
    with pytest.raises(ValueError, match="holds a model of") as caught:
        copy(destination)
    assert str(caught.value) == (
        f"{destination}/10 holds a model of {len(names)} classes ({', '.join(names)}), this data "
        "set has 2 (cat, dog): push to another folder, push.destination=..."
    )
    assert not (tmp_path / "output").exists()
