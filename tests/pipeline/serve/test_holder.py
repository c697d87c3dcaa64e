"""Which version is served, while others come and go."""

import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from components import labels, metrics, publishing, versions
from pipeline.serve.holder import Holder
from pipeline.serve.model import InputError, ModelError, PushedModel
from tests.support import evaluations, saved_models

SEVENS = saved_models.images(np.array([7, 7]))


def answer(model: PushedModel) -> list[int]:
    return model.predict(SEVENS)[1].tolist()


def test_the_highest_version_is_loaded(pushed, confused):
    assert answer(Holder(pushed).current) == [7, 7]
    publishing.publish(confused, pushed, clock=lambda: 11)
    holder = Holder(pushed)
    assert holder.current.version == 11
    assert answer(holder.current) == [1, 1]


def test_outputs(pushed):
    probabilities, classes = Holder(pushed).current.predict(SEVENS)
    assert probabilities.dtype == np.float32
    assert probabilities.shape == (2, 10)
    assert classes.dtype == np.int64


@pytest.mark.parametrize(
    "error",
    [PermissionError("Permission denied"), tf.errors.UnavailableError(None, None, "no network")],
)
def test_a_destination_that_cannot_be_read(monkeypatch, error):
    def refuse(_):
        raise error

    monkeypatch.setattr(versions, "current", refuse)
    with pytest.raises(ModelError, match=f"gs://bucket/x cannot be read: .*{error}"):
        Holder("gs://bucket/x")


def test_a_new_version_takes_over_and_who_holds_the_old_one_keeps_it(pushed, confused):
    holder = Holder(pushed)
    held = holder.current
    publishing.publish(confused, pushed, keep=1, clock=lambda: 11)
    assert versions.versions(pushed) == [11]
    assert answer(holder.current) == [7, 7]
    holder.refresh()
    assert holder.current.version == 11
    assert answer(holder.current) == [1, 1]
    assert answer(held) == [7, 7]


def test_nothing_new_loads_nothing(pushed):
    holder = Holder(pushed)
    held = holder.current
    holder.refresh()
    assert holder.current is held


def test_a_version_that_was_rolled_back_to_is_a_new_one(pushed, confused):
    publishing.publish(confused, pushed, clock=lambda: 11)
    holder = Holder(pushed)
    publishing.rollback(pushed, 10, clock=lambda: 12)
    holder.refresh()
    assert holder.current.version == 12
    assert answer(holder.current) == [7, 7]


def test_a_version_that_does_not_load_leaves_the_old_one(pushed, confused):
    holder = Holder(pushed)
    os.mkdir(os.path.join(pushed, "11"))
    with open(os.path.join(pushed, "11", versions.SAVED_MODEL), "wb") as file:
        file.write(b"broken")
    holder.refresh()
    assert holder.current.version == 10
    number, reason = holder.refused
    assert number == 11
    assert "cannot be served" in reason
    publishing.publish(confused, pushed, clock=lambda: 12)
    holder.refresh()
    assert holder.current.version == 12
    assert holder.refused is None


def test_a_refused_version_is_not_tried_at_every_look(pushed, monkeypatch):
    holder = Holder(pushed)
    tried = []
    monkeypatch.setattr(versions, "current", lambda _: 11)
    monkeypatch.setattr(PushedModel, "load", lambda _, version: _refuse(tried, version))
    holder.refresh()
    holder.refresh()
    assert tried == [11]


def _refuse(tried: list[int], version: int):
    tried.append(version)
    raise ModelError("no")


@pytest.mark.parametrize("error", [OSError("gone"), PermissionError("no")])
def test_a_destination_that_cannot_be_read_leaves_the_old_one(pushed, monkeypatch, error):
    holder = Holder(pushed)

    def fail(_):
        raise error

    monkeypatch.setattr(versions, "current", fail)
    holder.refresh()
    assert holder.current.version == 10


def test_a_destination_that_vanished_leaves_the_old_one(pushed):
    holder = Holder(pushed)
    shutil.rmtree(pushed)
    holder.refresh()
    assert answer(holder.current) == [7, 7]


def test_without_a_pushed_model_it_is_said_what_to_do(tmp_path):
    with pytest.raises(ModelError, match=r"no model has been pushed to .*; run `make run` first"):
        Holder(str(tmp_path / "nothing"))


def test_accuracy_lies_beside_the_model(plain, tmp_path):
    assert Holder(evaluated(plain, tmp_path / "without")).current.accuracy is None
    text = evaluations.metrics(accuracy=0.991).model_dump_json()
    assert Holder(evaluated(plain, tmp_path / "with", text)).current.accuracy == 0.991


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"accuracy": "high"}', '{"accuracy": 99.1}'])
def test_an_accuracy_that_makes_no_sense_is_refused(plain, tmp_path, text):
    with pytest.raises(ModelError, match="accuracy|JSON|Metrics"):
        Holder(evaluated(plain, tmp_path, text))


def evaluated(model, folder, text=None):
    """A destination with a model and the text of its evaluation."""
    documents = {} if text is None else {metrics.PUSHED_FILE: text}
    publishing.publish(model, str(folder), documents=lambda version: documents)
    return str(folder)


@pytest.mark.parametrize("name", ["png", "image"])
def test_a_model_without_the_signature_that_is_asked_is_refused(tmp_path, name):
    model = saved_models.BrightRow()
    model.signatures = lambda: {name: model.png}
    folder = saved_models.save(model, str(tmp_path / "model"))
    labels.write(folder, "0123456789")
    publishing.publish(folder, str(tmp_path / "to"))
    with pytest.raises(ModelError, match="image"):
        Holder(str(tmp_path / "to"))


def test_class_names_lie_in_the_model(pushed):
    assert Holder(pushed).current.label_names == tuple("0123456789")
    labels.write(os.path.join(pushed, "10"), "abcdefghij")
    assert Holder(pushed).current.label_names == tuple("abcdefghij")


def test_a_model_with_too_few_names_is_refused(pushed):
    labels.write(os.path.join(pushed, "10"), "abc")
    with pytest.raises(ModelError, match="it has 10 classes, but 3 names"):
        Holder(pushed)


def test_the_model_is_named_after_its_folder(pushed):
    assert Holder(pushed).name == Holder(pushed + "/").name == "mnist"


def test_what_the_model_cannot_read_is_told_in_one_line(pushed):
    model = Holder(pushed).current
    with pytest.raises(InputError, match=r"^Unknown image file format[^\n]*$"):
        model.call("png", {"png": np.array([b"no picture"], object)})
    with pytest.raises(InputError, match=r"^Could not parse example[^\n]*$"):
        model.call("serving_default", {"examples": np.array([b"no example"], object)})
