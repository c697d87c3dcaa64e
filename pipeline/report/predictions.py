"""What a model says about every example of the test split."""

import base64
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from PIL import Image
from tfx.types import artifact, artifact_utils
from tfx.utils import path_utils

from components.trainer import inputs
from components.trainer.image_file import ImageFile
from schemas import mnist

_SPLIT = "test"
_SIGNATURE = "image"
_BATCH = 1_000

# Images beyond it are kept in a file.
_MEMORY_BYTES = 64 << 20


@dataclass(frozen=True)
class Examples:
    """The test split: images uint8 [examples, 28, 28] and labels int64 [examples]."""

    images: np.ndarray | ImageFile
    labels: np.ndarray

    def image(self, example: int) -> np.ndarray:
        """One image, uint8 [28, 28]."""
        return inputs.take(self.images, np.array([example]))[0]

    def batches(self) -> Iterator[np.ndarray]:
        """All images in their order, uint8 [at most 1,000, 28, 28] at a time."""
        for first in range(0, len(self.labels), _BATCH):
            rows = np.arange(first, min(first + _BATCH, len(self.labels)))
            yield inputs.take(self.images, rows)


@dataclass(frozen=True)
class Predictions:
    """Answers of one model.

    Attributes:
      labels: What is right; int64 [examples].
      probabilities: float32 [examples, classes].
      classes: What the model says; int64 [examples].
    """

    labels: np.ndarray
    probabilities: np.ndarray
    classes: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """Where the model gives the label; bool [examples]."""
        return self.classes == self.labels

    @property
    def of_label(self) -> np.ndarray:
        """Probability of the label; float32 [examples]."""
        return _pick(self.probabilities, self.labels)

    @property
    def confidence(self) -> np.ndarray:
        """Probability of the predicted class; float32 [examples]."""
        return _pick(self.probabilities, self.classes)

    @property
    def confusion(self) -> np.ndarray:
        """Examples by label (row) and predicted class (column); int64 [classes, classes]."""
        classes = self.probabilities.shape[1]
        counts = np.zeros((classes, classes), np.int64)
        np.add.at(counts, (self.labels, self.classes), 1)
        return counts


@dataclass(frozen=True)
class Mistake:
    """An example that the model gets wrong.

    Attributes:
      example: Its position in the test split, from 0.
      image: PNG as a data URI.
      label: Name of the class that it is.
      predicted: Name of the class that the model says.
      label_probability: What the model gives to the label.
      predicted_probability: What it gives to its own answer.
    """

    example: int
    image: str
    label: str
    predicted: str
    label_probability: float
    predicted_probability: float


def read_examples(examples: artifact.Artifact) -> Examples:
    """Reads the test split of an Examples artifact."""
    files = os.path.join(artifact_utils.get_split_uri([examples], _SPLIT), "*")
    found = inputs.load(files, memory_bytes=_MEMORY_BYTES)
    return Examples(found[mnist.IMAGE], found[mnist.LABEL])


def predict(model: artifact.Artifact, examples: Examples) -> Predictions:
    """Asks the exported model about each example, as a server would be asked."""
    loaded = tf.saved_model.load(path_utils.serving_model_path(model.uri))
    signature = loaded.signatures[_SIGNATURE]
    answers = [signature(**{mnist.IMAGE: tf.constant(images)}) for images in examples.batches()]
    return Predictions(
        examples.labels,
        np.concatenate([answer["probabilities"] for answer in answers]),
        np.concatenate([answer["class"] for answer in answers]),
    )


def worst_mistakes(
    predictions: Predictions, examples: Examples, names: Sequence[str], count: int
) -> Iterator[Mistake]:
    """The mistakes with the highest cross entropy, the worst first.

    Args:
      predictions: Of the model.
      examples: What it was asked.
      names: Of the classes.
      count: The most to give.
    """
    wrong = np.flatnonzero(~predictions.right)
    # Cross entropy is -log of it: the least probable label is the worst.
    order = np.argsort(predictions.of_label[wrong], kind="stable")
    for example in wrong[order][:count]:
        yield Mistake(
            example=int(example),
            image=_data_uri(examples.image(int(example))),
            label=names[predictions.labels[example]],
            predicted=names[predictions.classes[example]],
            label_probability=float(predictions.of_label[example]),
            predicted_probability=float(predictions.confidence[example]),
        )


def _pick(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return np.take_along_axis(probabilities, classes[:, np.newaxis], axis=1)[:, 0]


def _data_uri(image: np.ndarray) -> str:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
