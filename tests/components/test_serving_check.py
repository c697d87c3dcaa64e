"""Each way in which a SavedModel may not serve is found and named."""

import numpy as np
import pytest
import tensorflow as tf

from components import serving_check
from tests.support import saved_models

LABELS = np.arange(30) % 10


class Changed(saved_models.BrightRow):
    """Gives other outputs than it should."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def predict(self, image):
        return self.change(super().predict(image))


class OtherPng(saved_models.BrightRow):
    """Reads PNG files upside down."""

    def _decode(self, png):
        return super()._decode(png)[::-1]


class OneImageOnly(saved_models.BrightRow):
    @tf.function(input_signature=[tf.TensorSpec([1, 28, 28], tf.uint8, name="image")])
    def image(self, image):
        return self.predict(image)


class OtherInputName(saved_models.BrightRow):
    @tf.function(input_signature=[tf.TensorSpec([None, 28, 28], tf.uint8, name="pixels")])
    def image(self, pixels):
        return self.predict(pixels)


class Failing(saved_models.BrightRow):
    @tf.function(input_signature=saved_models.PNG_SIGNATURE)
    def png(self, png):
        with tf.control_dependencies([tf.debugging.assert_equal(tf.size(png), 0, "too many")]):
            return super().png(png)


class ImageOnly(saved_models.BrightRow):
    def signatures(self):
        return {"image": self.image}


def probabilities(function):
    def change(outputs):
        return {**outputs, "probabilities": function(outputs["probabilities"])}

    return Changed(change)


def classes(function):
    def change(outputs):
        return {**outputs, "class": function(outputs["class"])}

    return Changed(change)


def nan_in_the_first_row(values):
    return tf.concat([values[:1] * np.float32(np.nan), values[1:]], 0)


def less_certain_in_a_batch(values):
    """What a layer does that normalizes by the batch at serving time."""
    several = tf.cast(tf.shape(values)[0] > 1, tf.float32)
    return values * (1 - several / 2) + several / 20


BROKEN = {
    "a missing signature": (
        ImageOnly,
        r"lacks the signatures png, serving_default; it has image$",
    ),
    "another name of an input": (
        OtherInputName,
        r"signature image must take .*name='image'.* it takes .*name='pixels'",
    ),
    "a fixed batch size": (
        OneImageOnly,
        r"signature image must take .*\(None, 28, 28\).* it takes .*\(1, 28, 28\)",
    ),
    "a failure inside": (Failing, r"(?s)signature png fails on a batch of 30: .*too many"),
    "another output": (
        lambda: Changed(lambda outputs: {"scores": outputs["probabilities"]}),
        r"signature serving_default must return class int64 \[30\], probabilities float32 "
        r"\[30, 10\], got scores float32 \[30, 10\]",
    ),
    "another dtype": (
        lambda: classes(lambda values: tf.cast(values, tf.int32)),
        r"got class int32 \[30\], probabilities float32 \[30, 10\]",
    ),
    "another shape": (
        lambda: probabilities(lambda values: values[:, :9]),
        r"got class int64 \[30\], probabilities float32 \[30, 9\]",
    ),
    "not finite": (
        lambda: probabilities(nan_in_the_first_row),
        r"signature serving_default: 10 of 300 probabilities are not finite",
    ),
    "negative": (
        lambda: probabilities(lambda values: values - 0.2),
        r"a probability is negative: -0\.",
    ),
    "no distribution": (
        lambda: probabilities(lambda values: values * 2),
        r"the probabilities of an example sum to 2, not 1",
    ),
    "another class": (
        lambda: classes(lambda values: (values + 1) % 10),
        r"class 1 is not the most probable one, 0, in 30 of 30 examples",
    ),
    "no class": (
        lambda: classes(lambda values: values + 10),
        r"class 10 is not the most probable one, 0, in 30 of 30 examples",
    ),
    "answers that depend on the batch": (
        lambda: probabilities(less_certain_in_a_batch),
        r"serving_default of one example and serving_default of many disagree .* by up to 0\.\d+ "
        r"\(allowed: 0\.01\) in 1 of 1 examples",
    ),
    "signatures that disagree": (
        OtherPng,
        r"png and serving_default disagree on the same pixels: .*allowed: 1e-05\) in 30 of 30 ",
    ),
}


@pytest.fixture(scope="module")
def examples():
    return tf.constant(saved_models.serialized(LABELS))


def test_a_model_that_serves_passes(tmp_path, examples):
    model = saved_models.save(saved_models.BrightRow(), str(tmp_path / "model"))

    serving_check.check(model, examples, saved_models.CLASSES)
    serving_check.check(model, examples[:1], saved_models.CLASSES)


def test_the_number_of_classes_is_the_data_set_s(tmp_path):
    examples = tf.constant(saved_models.serialized(np.arange(26)))
    letters = saved_models.save(saved_models.BrightRow(classes=26), str(tmp_path / "letters"))
    digits = saved_models.save(saved_models.BrightRow(), str(tmp_path / "digits"))

    serving_check.check(letters, examples, 26)
    with pytest.raises(serving_check.ServingError, match=r"float32 \[26, 26\], got .*\[26, 10\]"):
        serving_check.check(digits, examples, 26)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_is_refused_with_the_reason(name, tmp_path, examples):
    make, message = BROKEN[name]
    model = saved_models.save(make(), str(tmp_path / "model"))

    with pytest.raises(serving_check.ServingError, match=message):
        serving_check.check(model, examples, saved_models.CLASSES)


def test_a_folder_without_a_model_is_refused(tmp_path, examples):
    with pytest.raises(serving_check.ServingError, match=r"cannot be loaded as a SavedModel"):
        serving_check.check(str(tmp_path), examples, saved_models.CLASSES)


@pytest.mark.parametrize("kept", [0, 0.5])
def test_a_truncated_model_is_refused(kept, tmp_path, examples):
    model = tmp_path / "model"
    saved_models.save(saved_models.BrightRow(), str(model))
    file = model / "saved_model.pb"
    file.write_bytes(file.read_bytes()[: int(kept * file.stat().st_size)])

    with pytest.raises(serving_check.ServingError, match=str(model)):
        serving_check.check(str(model), examples, saved_models.CLASSES)


def test_truncated_variables_are_refused(tmp_path, examples):
    model = tmp_path / "model"
    saved_models.save(saved_models.BrightRow(), str(model))
    file = model / "variables" / "variables.data-00000-of-00001"
    file.write_bytes(file.read_bytes()[:100])

    with pytest.raises(serving_check.ServingError, match=r"cannot be loaded as a SavedModel"):
        serving_check.check(str(model), examples, saved_models.CLASSES)
