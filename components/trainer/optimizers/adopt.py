"""ADOPT: Adam that converges with any beta_2."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from components.trainer.optimizers.base import Optimizer, average
from components.trainer.optimizers.hyperparameters import check_flag


@keras.saving.register_keras_serializable("mnist_tfx")
class ADOPT(Optimizer):
    """ADOPT (Taniguchi et al. 2024, arXiv:2411.02853, Algorithm 2).

    The gradient is divided by the second moment of the gradients before it, and only then goes
    into the momentum; it is clipped to the fourth root of the number of the step. The first step
    only measures the second moment.

    Args:
      learning_rate: At least 0.
      beta_1: Decay of the momentum, in [0, 1).
      beta_2: Decay of the second moment, in [0, 1).
      epsilon: The least divisor, above 0.
      clip: Whether the divided gradient is clipped.
      weight_decay: Decoupled. See `Optimizer`.
      weight_decay_exclude: See `Optimizer`.
      name: Of the optimizer.

    Raises:
      ValueError: An argument is outside its range.
    """

    slots = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.9999,
        epsilon: Any = 1e-6,
        clip: bool = True,
        weight_decay: Any = 0.0,
        weight_decay_exclude: Sequence[str] = (),
        name: str = "adopt",
    ):
        super().__init__(learning_rate, weight_decay, weight_decay_exclude, name)
        self.set_hyperparameter("beta_1", beta_1, at_least=0, below=1)
        self.set_hyperparameter("beta_2", beta_2, at_least=0, below=1)
        self.set_hyperparameter("epsilon", epsilon, above=0)
        self.clip = check_flag("clip", clip)

    def scalars(self, h: SimpleNamespace, step: tf.Tensor) -> dict[str, tf.Tensor]:
        """Weights of the new gradient in both means, and the limit, with the first step's own."""
        first = step == 1
        return {
            "new_1": tf.where(first, tf.zeros_like(step), 1 - h.beta_1),
            "new_2": tf.where(first, tf.ones_like(step), 1 - h.beta_2),
            "limit": (step - 1) ** 0.25,
        }

    def direction(
        self, gradient: tf.Tensor, variable: tf.Variable, slot: SimpleNamespace, h: SimpleNamespace
    ) -> tf.Tensor:
        """The momentum of divided gradients."""
        divided = gradient / tf.maximum(tf.sqrt(slot.v), h.epsilon)
        if self.clip:
            divided = tf.clip_by_value(divided, -h.limit, h.limit)
        average(slot.v, tf.square(gradient), h.new_2)
        return average(slot.m, divided, h.new_1)
