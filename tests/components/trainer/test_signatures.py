"""The exported SavedModel: three signatures, one answer."""

import numpy as np
import pytest
import tensorflow as tf

from components.trainer import models, signatures
from schemas import mnist


@pytest.fixture(scope="module")
def model():
    return models.create("cnn", seed=1)


@pytest.fixture(scope="module")
def served(model, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("saved"))
    signatures.export(model, folder)
    return tf.saved_model.load(folder).signatures


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, [5, 28, 28], dtype=np.uint8)


def example(image, label=None):
    features = {
        mnist.IMAGE: tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()]))
    }
    if label is not None:
        features[mnist.LABEL] = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def png(image):
    return tf.io.encode_png(image[..., np.newaxis]).numpy()


def test_each_signature_gives_what_the_model_gives(model, served, images):
    expected = tf.nn.softmax(models.logits(model)(images, training=False)).numpy()
    answers = [
        served["image"](image=tf.constant(images)),
        served["png"](png=tf.constant([png(image) for image in images])),
        served["serving_default"](examples=tf.constant([example(image) for image in images])),
    ]
    for answer in answers:
        assert answer["probabilities"].dtype == tf.float32
        assert answer["class"].dtype == tf.int64
        np.testing.assert_allclose(answer["probabilities"], expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(answer["class"], expected.argmax(axis=-1))


def test_a_label_in_the_example_is_not_read(served, images):
    answers = [
        served["serving_default"](examples=tf.constant([example(images[0], label)]))
        for label in (None, 3, 7)
    ]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer["probabilities"], answers[0]["probabilities"])


def test_a_colour_png_is_turned_to_grey(served, images):
    colour = tf.io.encode_png(np.repeat(images[0][..., np.newaxis], 3, axis=-1)).numpy()
    grey = served["png"](png=tf.constant([png(images[0])]))
    answer = served["png"](png=tf.constant([colour]))
    np.testing.assert_allclose(answer["probabilities"], grey["probabilities"], atol=2e-2)


@pytest.mark.parametrize("size", [(20, 28), (28, 20), (56, 56)])
def test_a_png_of_another_size_is_an_error_that_says_so(served, size):
    wrong = tf.io.encode_png(np.zeros([*size, 1], np.uint8)).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 28 x 28 pixels"):
        served["png"](png=tf.constant([wrong]))


def test_an_example_of_another_size_is_an_error_that_says_so(served):
    wrong = example(np.zeros([28, 27], np.uint8))
    with pytest.raises(tf.errors.InvalidArgumentError, match="784 bytes"):
        served["serving_default"](examples=tf.constant([wrong]))
