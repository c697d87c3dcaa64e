"""The Pusher pushes what both the Evaluator and ModelCheck blessed."""

import json
import os
import shutil

import numpy as np
import pytest
from tfx.types import channel_utils, standard_artifacts
from tfx.utils import path_utils

from components import metrics, model_card, model_identity, pusher, versions
from tests.support import evaluations, saved_models

DECLARED = model_card.Declared(
    name="mnist",
    data_set="mnist",
    source="mnist",
    command="python -m pipeline run",
    thresholds={},
)
DOCUMENTS = [metrics.PUSHED_FILE, model_card.HTML, model_card.MARKDOWN]


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
            evaluation=channel_utils.as_channel([standard_artifacts.ModelEvaluation()]),
            push_destination=destination,
            keep=keep,
            declared=DECLARED,
        )

    return make


@pytest.fixture
def evaluation(tmp_path):
    artifact = standard_artifacts.ModelEvaluation()
    artifact.uri = str(tmp_path / "evaluation")
    os.makedirs(artifact.uri)
    with open(os.path.join(artifact.uri, metrics.FILE), "w", encoding="utf-8") as file:
        file.write(evaluations.evaluation().model_dump_json())
    return artifact


@pytest.fixture
def push(component, model, evaluation, tmp_path):
    """A function that runs the component's executor and gives its output."""

    def run(model_blessed=1, infra_blessed=1, keep=5):
        made = component(keep)
        pushed = standard_artifacts.PushedModel()
        pushed.uri = str(tmp_path / "pushed")
        executor = made.executor_spec.executor_class
        executor(executor.Context(pipeline_run_id="20261130T103425488Z")).Do(
            {
                "model": [model],
                "evaluation": [evaluation],
                "model_blessing": [blessing(standard_artifacts.ModelBlessing, model_blessed)],
                "infra_blessing": [blessing(standard_artifacts.InfraBlessing, infra_blessed)],
            },
            {"pushed_model": [pushed]},
            made.exec_properties,
        )
        return pushed

    return run


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def blessing(artifact_type, blessed=1):
    artifact = artifact_type()
    artifact.set_int_custom_property("blessed", blessed)
    return artifact


def test_pushes_a_model_that_both_blessed(push, model, destination):
    pushed = push()

    version = versions.current(destination)
    source = path_utils.serving_model_path(model.uri)
    served = versions.path(destination, version)
    for name in versions.files(source):
        assert read(served, name) == read(source, name)
    assert versions.files(served) == sorted([*versions.files(source), *DOCUMENTS])
    assert versions.digest(pushed.uri) == versions.digest(served)
    # The properties that TFX's own executor sets.
    assert pushed.get_int_custom_property("pushed") == 1
    assert pushed.get_string_custom_property("pushed_version") == str(version)
    assert pushed.get_string_custom_property("pushed_destination") == f"{destination}/{version}"


def test_what_it_reached_and_its_card_lie_beside_the_model(push, destination):
    pushed = push()

    version = versions.current(destination)
    served = versions.path(destination, version)
    found = metrics.Metrics.model_validate_json(read(served, metrics.PUSHED_FILE))
    assert found == evaluations.evaluation().model
    card = read(served, model_card.MARKDOWN)
    for expected in (f"version {version}", "20261130T103425488Z", pushed.uri, "99.60%"):
        assert expected in card


def test_a_model_with_documents_is_the_same_model(push, model, destination):
    folder = path_utils.serving_model_dir(model.uri)
    shutil.rmtree(folder)
    saved_models.save(saved_models.BrightRow(), folder)
    push()

    served = versions.path(destination, versions.current(destination))
    assert versions.digest(served) != versions.digest(folder)
    assert model_identity.same(served, folder)


def test_nothing_is_served_without_an_evaluation(push, evaluation, destination):
    os.remove(os.path.join(evaluation.uri, metrics.FILE))
    with pytest.raises(FileNotFoundError, match=r"evaluation\.json"):
        push()

    assert versions.versions(destination) == []


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

    assert json.loads(properties["custom_config"]) == {
        "keep": 3,
        "declared": DECLARED.model_dump(),
    }
    assert destination in properties["push_destination"]
