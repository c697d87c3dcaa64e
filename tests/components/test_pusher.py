"""The Pusher pushes what both the Evaluator and ModelCheck blessed."""

import json
import os

import numpy as np
import pytest
from tfx.types import channel_utils, standard_artifacts
from tfx.utils import path_utils

from components import pusher, versions


@pytest.fixture
def destination(tmp_path):
    return str(tmp_path / "serving")


@pytest.fixture
def model(tmp_path):
    artifact = standard_artifacts.Model()
    artifact.uri = str(tmp_path / "model")
    folder = path_utils.serving_model_dir(artifact.uri)
    os.makedirs(os.path.join(folder, "variables"))
    for name in ("saved_model.pb", "variables/variables.index"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(name)
    return artifact


@pytest.fixture
def component(model, destination):
    """The component as the pipeline makes it, with its channels filled."""

    def make(keep=5):
        return pusher.Pusher(
            model=channel_utils.as_channel([model]),
            model_blessing=channel_utils.as_channel([blessing(standard_artifacts.ModelBlessing)]),
            infra_blessing=channel_utils.as_channel([blessing(standard_artifacts.InfraBlessing)]),
            push_destination=destination,
            keep=keep,
        )

    return make


@pytest.fixture
def push(component, model, tmp_path):
    """A function that runs the component's executor and gives its output."""

    def run(model_blessed=1, infra_blessed=1, keep=5):
        made = component(keep)
        pushed = standard_artifacts.PushedModel()
        pushed.uri = str(tmp_path / "pushed")
        made.executor_spec.executor_class().Do(
            {
                "model": [model],
                "model_blessing": [blessing(standard_artifacts.ModelBlessing, model_blessed)],
                "infra_blessing": [blessing(standard_artifacts.InfraBlessing, infra_blessed)],
            },
            {"pushed_model": [pushed]},
            made.exec_properties,
        )
        return pushed

    return run


def blessing(artifact_type, blessed=1):
    artifact = artifact_type()
    artifact.set_int_custom_property("blessed", blessed)
    return artifact


def test_pushes_a_model_that_both_blessed(push, model, destination):
    pushed = push()

    version = versions.current(destination)
    source = path_utils.serving_model_path(model.uri)
    assert versions.digest(versions.path(destination, version)) == versions.digest(source)
    assert versions.digest(pushed.uri) == versions.digest(source)
    # The properties that TFX's own executor sets.
    assert pushed.get_int_custom_property("pushed") == 1
    assert pushed.get_string_custom_property("pushed_version") == str(version)
    assert pushed.get_string_custom_property("pushed_destination") == f"{destination}/{version}"


@pytest.mark.parametrize(("model_blessed", "infra_blessed"), [(0, 1), (1, 0), (0, 0)])
def test_pushes_nothing_without_both_blessings(model_blessed, infra_blessed, push, destination):
    pushed = push(model_blessed, infra_blessed)

    assert pushed.get_int_custom_property("pushed") == 0
    assert not pushed.has_custom_property("pushed_version")
    assert not os.path.exists(destination)


def test_keeps_as_many_versions_as_told(push, destination):
    numbers = [int(push(keep=2).get_string_custom_property("pushed_version")) for _ in range(4)]

    assert len(set(numbers)) == 4
    assert versions.versions(destination) == numbers[2:]
    assert np.all(np.diff(numbers) > 0)


def test_nothing_is_served_when_the_artifact_cannot_be_written(push, destination, monkeypatch):
    def fail(source, target):
        raise OSError(f"No space left on device: {target}")

    monkeypatch.setattr(pusher.io_utils, "copy_dir", fail)
    with pytest.raises(OSError, match=r"No space left on device: .*/pushed"):
        push()

    assert versions.versions(destination) == []


def test_the_destination_and_the_count_are_part_of_the_cache_key(component, destination):
    properties = component(keep=3).exec_properties

    assert json.loads(properties["custom_config"]) == {"keep": 3}
    assert destination in properties["push_destination"]
