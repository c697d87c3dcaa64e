"""What layers add to the loss as they are called: activity penalties and `add_loss`.

Keras collects it in lists on the layers, which the threads of a MirroredStrategy's replicas share
and clear under each other, and as sums over the examples of one replica, padding included. Here it
is collected for each replica and each example.
"""

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from components.trainer.losses import at_least_32, check_per_example

# Each replica runs in a thread of its own, and sees its own list.
_ADDED: contextvars.ContextVar[list[tf.Tensor]] = contextvars.ContextVar("added")


@contextlib.contextmanager
def recording(model: keras.Model) -> Iterator[None]:
    """Makes the layers of the model hand what they add to the loss to `call`.

    Enter it in cross-replica context, around the replicas' calls of the model.
    """
    layers = [(layer, layer.activity_regularizer) for layer in model._flatten_layers()]
    try:
        for layer, activity_regularizer in layers:
            layer.add_loss = _Recorder(layer.name)
            if activity_regularizer is not None:
                layer.activity_regularizer = _ActivityRecorder(activity_regularizer)
        yield
    finally:
        for layer, activity_regularizer in layers:
            del layer.add_loss
            layer.activity_regularizer = activity_regularizer


def call(model: keras.Model, inputs: Any) -> tuple[Any, tf.Tensor | float]:
    """Runs the model in training mode, inside `recording` and in replica context.

    Returns:
      The model's outputs, and what its layers added to each example's loss: [local_batch], or 0.0
      if they added nothing.

    Raises:
      LossError: A layer added a loss that is not of shape [local_batch].
    """
    token = _ADDED.set([])
    try:
        outputs = model(inputs, training=True)
        return outputs, sum((at_least_32(value) for value in _ADDED.get()), start=0.0)
    finally:
        _ADDED.reset(token)


class _Recorder:
    """Stands in for `add_loss` of a layer."""

    def __init__(self, layer: str):
        self._what = f"what layer '{layer}' gives to add_loss"

    def __call__(self, loss):
        for value in tf.nest.flatten(loss):
            check_per_example(value, None, self._what)
            _ADDED.get().append(value)


class _ActivityRecorder:
    """Stands in for a layer's activity regularizer, and applies it to each example by itself.

    The penalty of a batch is the mean over its examples, as in Keras since 3.14; Keras 3.12 takes
    the sum, so that its weight grows with the batch.
    """

    def __init__(self, regularizer: Callable[[tf.Tensor], tf.Tensor]):
        self._regularizer = regularizer

    def __call__(self, output: tf.Tensor) -> tf.Tensor:
        penalty = tf.vectorized_map(lambda row: self._regularizer(row[tf.newaxis]), output)
        _ADDED.get().append(penalty)
        return tf.zeros_like(penalty)  # Nothing more for Keras to add.
