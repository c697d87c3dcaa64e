"""Two SavedModels are the same exactly if they compute the same from the same variables."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from components import model_identity
from components.trainer import models, signatures
from tests.support import saved_models


class Scaled(saved_models.BrightRow):
    """Has a constant in its graph."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def predict(self, image):
        outputs = super().predict(image)
        return {**outputs, "probabilities": outputs["probabilities"] * self.scale}


class Darkened(saved_models.BrightRow):
    """Has a constant in the body of a loop, and only there."""

    def __init__(self, darker):
        super().__init__()
        self.darker = darker

    def _decode(self, png):
        return super()._decode(png) - tf.constant(self.darker, tf.uint8)


class TwoVariables(saved_models.BrightRow):
    """Uses one variable for its rows, another for its offset."""

    def __init__(self, swapped):
        super().__init__()
        self.one = tf.Variable(tf.zeros([10]))
        self.two = tf.Variable(tf.ones([10]))
        self.swapped = swapped

    def predict(self, image):
        factor, offset = (self.two, self.one) if self.swapped else (self.one, self.two)
        outputs = super().predict(image)
        return {**outputs, "probabilities": outputs["probabilities"] * factor + offset}


class WithoutPng(saved_models.BrightRow):
    def signatures(self):
        return {"serving_default": self.examples, "image": self.image}


def with_weights(value):
    model = saved_models.BrightRow()
    model.weights.assign(tf.fill(model.weights.shape, np.float32(value)))
    return model


@pytest.fixture
def same(tmp_path):
    """A function that saves two models and compares what it saved."""

    def compare(one, two):
        folders = [str(tmp_path / name) for name in ("one", "two")]
        for model, folder in zip((one, two), folders, strict=True):
            saved_models.save(model, folder)
        answer = model_identity.same(*folders)
        assert model_identity.same(*reversed(folders)) == answer
        return answer

    return compare


@pytest.mark.parametrize(
    "make",
    [
        saved_models.BrightRow,
        lambda: Scaled(0.5),
        lambda: TwoVariables(swapped=True),
        lambda: with_weights(np.nan),
    ],
)
def test_a_model_made_and_saved_twice_is_the_same(make, same):
    assert same(make(), make())


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (lambda: saved_models.BrightRow(0.01), lambda: saved_models.BrightRow(0.02)),
        (lambda: with_weights(0.0), lambda: with_weights(-0.0)),
        (lambda: Scaled(0.5), lambda: Scaled(0.25)),
        (lambda: Darkened(0), lambda: Darkened(1)),
        (lambda: TwoVariables(swapped=False), lambda: TwoVariables(swapped=True)),
        (saved_models.BrightRow, WithoutPng),
        (saved_models.BrightRow, lambda: TwoVariables(swapped=False)),
    ],
    ids=["weight", "sign of zero", "constant", "loop", "swap", "signature", "variables"],
)
def test_models_that_differ_are_not_the_same(one, two, same):
    assert not same(one(), two())


KERAS_MODELS = ["cnn", "sequence"]
EXPORT = """
import sys
from components.trainer import models, signatures
for name in sys.argv[2:]:
    signatures.export(models.create(name, seed=0), f"{sys.argv[1]}/{name}")
"""


@pytest.fixture(scope="module")
def exported_elsewhere(tmp_path_factory, pytestconfig):
    """A folder of Keras models exported by another process."""
    folder = tmp_path_factory.mktemp("exported")
    command = [sys.executable, "-c", EXPORT, str(folder), *KERAS_MODELS]
    subprocess.run(command, cwd=pytestconfig.rootpath, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", KERAS_MODELS)
def test_a_keras_model_is_the_same_whatever_was_made_before_it(name, exported_elsewhere, tmp_path):
    def export(folder, seed):
        signatures.export(models.create(name, seed=seed), str(tmp_path / folder))
        return str(tmp_path / folder)

    first, second, other = export("first", 0), export("second", 0), export("other", 1)

    assert model_identity.same(first, second)
    assert model_identity.same(first, str(exported_elsewhere / name))
    assert not model_identity.same(first, other)
