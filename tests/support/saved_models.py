"""Small SavedModels and Examples artifacts for tests, made in a second without training."""

import json
import os

import numpy as np
import tensorflow as tf
from tfx.types import artifact_utils, standard_artifacts
from tfx.utils import path_utils

from schemas import data_sets, mnist

CLASSES = data_sets.MNIST.num_classes
LABEL_NAMES = json.dumps(data_sets.MNIST.label_names)

EXAMPLES_SIGNATURE = [tf.TensorSpec([None], tf.string, name="examples")]
IMAGE_SIGNATURE = [tf.TensorSpec([None, mnist.HEIGHT, mnist.WIDTH], tf.uint8, name="image")]
PNG_SIGNATURE = [tf.TensorSpec([None], tf.string, name="png")]


class BrightRow(tf.Module):
    """Takes the brightest of the first rows for the class; see `images` for what it gets right."""

    def __init__(
        self,
        confidence: float = 0.01,
        confused: tuple[int, int] | None = None,
        classes: int = CLASSES,
    ):
        """Makes the model.

        Args:
          confidence: Scale of the logits.
          confused: A pair (digit, answer): the model gives `answer` for `digit`.
          classes: Number of classes, at most 28.
        """
        super().__init__()
        self.classes = classes
        weights = np.eye(classes, dtype=np.float32) * confidence
        if confused:
            digit, answer = confused
            weights[digit, digit], weights[digit, answer] = 0, confidence
        self.weights = tf.Variable(weights, name="weights")

    def predict(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        rows = tf.reduce_mean(tf.cast(image, tf.float32), axis=2)[:, : self.classes]
        logits = rows @ self.weights
        return {"probabilities": tf.nn.softmax(logits), "class": tf.argmax(logits, axis=-1)}

    @tf.function(input_signature=EXAMPLES_SIGNATURE)
    def examples(self, examples):
        feature = {mnist.IMAGE: tf.io.FixedLenFeature([], tf.string)}
        pixels = tf.io.decode_raw(tf.io.parse_example(examples, feature)[mnist.IMAGE], tf.uint8)
        return self.predict(tf.reshape(pixels, [-1, mnist.HEIGHT, mnist.WIDTH]))

    @tf.function(input_signature=IMAGE_SIGNATURE)
    def image(self, image):
        return self.predict(image)

    @tf.function(input_signature=PNG_SIGNATURE)
    def png(self, png):
        spec = tf.TensorSpec([mnist.HEIGHT, mnist.WIDTH], tf.uint8)
        return self.predict(tf.map_fn(self._decode, png, fn_output_signature=spec))

    def _decode(self, png):
        return tf.ensure_shape(tf.io.decode_png(png, 1)[:, :, 0], [mnist.HEIGHT, mnist.WIDTH])

    def signatures(self):
        return {"serving_default": self.examples, "image": self.image, "png": self.png}


def save(model: BrightRow, folder: str) -> str:
    tf.saved_model.save(model, folder, signatures=model.signatures())
    return folder


def model_artifact(model: BrightRow, uri: str) -> standard_artifacts.Model:
    save(model, path_utils.serving_model_dir(uri))
    artifact = standard_artifacts.Model()
    artifact.uri = uri
    return artifact


def images(labels: np.ndarray) -> np.ndarray:
    """Images whose row `label` is the brightest; uint8 [len(labels), 28, 28]."""
    noise = np.random.default_rng(0)
    pixels = noise.integers(0, 100, (len(labels), mnist.HEIGHT, mnist.WIDTH), dtype=np.uint8)
    pixels[np.arange(len(labels)), labels] = 255
    return pixels


def serialized(labels: np.ndarray) -> list[bytes]:
    """One tf.Example for each label."""
    return [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    mnist.IMAGE: tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[image.tobytes()])
                    ),
                    mnist.LABEL: tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[int(label)])
                    ),
                }
            )
        ).SerializeToString()
        for image, label in zip(images(labels), labels, strict=True)
    ]


def examples_artifact(labels: np.ndarray, uri: str) -> standard_artifacts.Examples:
    """An Examples artifact with the one split `test`."""
    artifact = standard_artifacts.Examples()
    artifact.uri = uri
    artifact.split_names = artifact_utils.encode_split_names(["test"])
    folder = artifact_utils.get_split_uri([artifact], "test")
    os.makedirs(folder)
    file = os.path.join(folder, "data_tfrecord-00000-of-00001.gz")
    with tf.io.TFRecordWriter(file, "GZIP") as writer:
        for example in serialized(labels):
            writer.write(example)
    return artifact
