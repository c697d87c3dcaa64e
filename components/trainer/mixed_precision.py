"""Dynamic loss scale, for training in float16 (arXiv:1710.03740, section 3.2).

The loss is multiplied by the scale so that small gradients don't vanish. A scale so large that a
gradient overflows costs one dropped batch, after which it is halved.
"""

from collections.abc import Sequence

import keras
import tensorflow as tf

from components.trainer.processors import SkipNonfinite, Update
from components.trainer.strategy import replica_local


class LossScale(SkipNonfinite):
    """Drops batches with infinite gradients and adapts the scale.

    Whether they are finite is seen in the gradients of the global batch, so it is the same on all
    replicas. (Keras's LossScaleOptimizer looks at the first replica only.)

    Args:
      initial: First scale.
      growth_interval: Finite batches in a row after which the scale is doubled.
    """

    def __init__(self, initial: float = 2.0**15, growth_interval: int = 2_000):
        super().__init__()
        self._initial, self._growth_interval = initial, growth_interval

    def build(self, variables: Sequence[tf.Variable]) -> None:
        self.scale = replica_local(self._initial, tf.float32, "scale")
        self._finite_batches = replica_local(0, tf.int64, "finite_batches")

    def __call__(self, update: Update) -> Update:
        update = super().__call__(update)
        finite = update.weight > 0
        batches = tf.where(finite, self._finite_batches + 1, tf.constant(0, tf.int64))
        grow = batches >= self._growth_interval
        factor = tf.where(finite, tf.where(grow, 2.0, 1.0), 0.5)
        self.scale.assign(tf.maximum(self.scale * factor, 1.0))
        self._finite_batches.assign(tf.where(grow, tf.constant(0, tf.int64), batches))
        return update


def policy(strategy: tf.distribute.Strategy) -> str:
    """The Keras dtype policy that halves precision where the strategy runs."""
    on_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
    return "mixed_bfloat16" if on_tpu else "mixed_float16"


def needs_loss_scale(model: keras.Model) -> bool:
    """Whether a layer computes in float16; bfloat16 has the range of float32."""
    return any(layer.compute_dtype == "float16" for layer in model._flatten_layers())
