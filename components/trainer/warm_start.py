"""Starts training from the weights of a pushed model."""

import os
from dataclasses import dataclass

import keras
import tensorflow as tf

from components import model_identity, versions
from components.trainer import signatures


@dataclass(frozen=True)
class WarmStart:
    """What a warm start did, by the path of each weight.

    Attributes:
      loaded: Weights that were taken over.
      fresh: Weights that stay as they were initialized, with the reason.
    """

    loaded: tuple[str, ...]
    fresh: dict[str, str]

    def __str__(self) -> str:
        total = len(self.loaded) + len(self.fresh)
        kept = "".join(f"; {path} stays fresh: {reason}" for path, reason in self.fresh.items())
        return f"warm start took over {len(self.loaded)} of {total} weights{kept}"


def load(model: keras.Model, folder: str) -> WarmStart:
    """Copies weights of the same path and shape from a SavedModel that `signatures` exported.

    Args:
      model: Its weights are assigned; call this in the strategy's scope, before the first step.
      folder: Of the SavedModel; without one, as before the first push, nothing is loaded.

    Raises:
      tf.errors.OpError: The SavedModel is damaged.
    """
    if not tf.io.gfile.exists(os.path.join(folder, versions.SAVED_MODEL)):
        return WarmStart((), {v.path: "no model was pushed yet" for v in model.weights})
    reader = tf.train.load_checkpoint(model_identity.variables(folder))
    shapes = reader.get_variable_to_shape_map()
    loaded, fresh = [], {}
    for variable in model.weights:
        key = signatures.checkpoint_key(variable.path)
        if key not in shapes:
            fresh[variable.path] = "the pushed model has no such weight"
        elif shapes[key] != list(variable.shape):
            fresh[variable.path] = f"its shape is {shapes[key]} there, {list(variable.shape)} here"
        else:
            variable.assign(reader.get_tensor(key))
            loaded.append(variable.path)
    return WarmStart(tuple(loaded), fresh)
