"""The exported SavedModel: three signatures, one answer."""

import resource
import struct
import zlib

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


@pytest.mark.parametrize("content", [b"", b"\x89PNG", b"GIF89a", "jpeg"], ids=str)
def test_what_is_no_png_is_an_error_that_says_so(served, images, content):
    if content == "jpeg":
        content = tf.io.encode_jpeg(images[0][..., np.newaxis]).numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="a PNG must be 28 x 28 pixels"):
        served["png"](png=tf.constant([content]))


def test_a_png_that_stands_for_gigabytes_is_not_unpacked(served):
    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    side = 20_000
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    packer = zlib.compressobj()
    rows = b"".join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    assert len(bomb) < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(tf.errors.InvalidArgumentError, match="a PNG must be 28 x 28 pixels"):
        served["png"](png=tf.constant([bomb]))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
    assert grown < side * side >> 11  # half of the pixels


def test_an_example_of_another_size_is_an_error_that_says_so(served):
    wrong = example(np.zeros([28, 27], np.uint8))
    with pytest.raises(tf.errors.InvalidArgumentError, match="784 bytes"):
        served["serving_default"](examples=tf.constant([wrong]))
