"""A pushed version, loaded."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tfx.dsl.io import fileio
from tfx.utils import io_utils

from components import labels, metrics, versions
from schemas import mnist

# The signature that takes pixels, and that of a request which names none.
IMAGE = "image"
DEFAULT = "serving_default"


class ModelError(RuntimeError):
    """A version cannot be served; the message says why and what to do."""


class InputError(ValueError):
    """The model cannot make anything of what it was given, such as a damaged PNG file."""


@dataclass(frozen=True)
class PushedModel:
    """A version that answers.

    Attributes:
      version: Its number.
      accuracy: What it reached on the test split, from 0 to 1; None when that is not known.
      label_names: Names of its classes.
      signatures: What it can be asked, by name.
      loaded: The variables live as long as this object; the signatures alone do not keep them.
    """

    version: int
    accuracy: float | None
    label_names: tuple[str, ...]
    signatures: Mapping[str, Callable[..., dict[str, tf.Tensor]]]
    loaded: tf.Module

    @classmethod
    def load(cls, destination: str, version: int) -> "PushedModel":
        """Loads a version and has it answer once, so that the first request need not wait.

        Raises:
          ModelError: It cannot be read or does not answer.
        """
        folder = versions.path(destination, version)
        try:
            loaded = tf.saved_model.load(folder)
            names = labels.read(folder)
            model = cls(version, _accuracy(folder), names, loaded.signatures, loaded)
            probabilities, _ = model.predict(np.zeros([1, mnist.HEIGHT, mnist.WIDTH], np.uint8))
            if probabilities.shape[1] != len(names):
                raise ValueError(f"it has {probabilities.shape[1]} classes, but {len(names)} names")
        except (OSError, ValueError, KeyError, TypeError, tf.errors.OpError) as error:
            raise ModelError(f"{folder} cannot be served: {error}") from None
        return model

    @classmethod
    def load_current(cls, destination: str) -> "PushedModel":
        """Loads the highest version.

        Raises:
          ModelError: There is none, or it cannot be served.
        """
        try:
            version = versions.current(destination)
        except (OSError, tf.errors.OpError) as error:
            raise ModelError(f"{destination} cannot be read: {error}") from None
        if version is None:
            raise ModelError(f"no model has been pushed to {destination}; run `make run` first")
        return cls.load(destination, version)

    def inputs(self, signature: str) -> dict[str, tf.TensorSpec]:
        """What a signature takes, by name.

        Raises:
          KeyError: There is no such signature.
        """
        return self.signatures[signature].structured_input_signature[1]

    def call(self, signature: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Asks a signature.

        Args:
          signature: Its name.
          inputs: Arrays of the dtypes and shapes that `inputs` gives.

        Raises:
          InputError: The values cannot be read.
        """
        try:
            tensors = {name: tf.constant(array) for name, array in inputs.items()}
            outputs = self.signatures[signature](**tensors)
        except tf.errors.InvalidArgumentError as error:
            raise InputError(_reason(error)) from None
        return {name: tensor.numpy() for name, tensor in outputs.items()}

    def predict(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Recognizes images.

        Args:
          images: uint8 [batch, 28, 28].

        Returns:
          Probabilities, float32 [batch, classes], and classes, int64 [batch].
        """
        outputs = self.call(IMAGE, {mnist.IMAGE: images})
        return outputs["probabilities"], outputs["class"]


def _reason(error: tf.errors.OpError) -> str:
    """The line of TensorFlow's message that says what is wrong; around it are names of nodes."""
    lines = [line for line in error.message.splitlines() if line and not line.startswith("\t")]
    return lines[-1]


def _accuracy(folder: str) -> float | None:
    path = os.path.join(folder, metrics.PUSHED_FILE)
    if not fileio.exists(path):
        return None
    return metrics.Metrics.model_validate_json(io_utils.read_string_file(path)).accuracy
