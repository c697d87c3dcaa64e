"""AdaBelief: Adam whose step is large where the gradient is as expected."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from components.trainer.optimizers.base import Optimizer, assign, average


@keras.saving.register_keras_serializable("mnist_tfx")
class AdaBelief(Optimizer):
    """AdaBelief (Zhuang et al. 2020, arXiv:2010.07468, Algorithm 2).

    It divides by the spread of the gradient about its running mean, where Adam divides by the
    gradient's size.

    Args:
      learning_rate: At least 0.
      beta_1: Decay of the mean gradient, in [0, 1).
      beta_2: Decay of the squared distance from that mean, in [0, 1).
      epsilon: Added to the squared distance at each step, and to its root, above 0. It is much
        smaller than Adam's.
      weight_decay: Decoupled. See `Optimizer`.
      weight_decay_exclude: See `Optimizer`.
      name: Of the optimizer.

    Raises:
      ValueError: An argument is outside its range.
    """

    slots = ("m", "s")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-16,
        weight_decay: Any = 0.0,
        weight_decay_exclude: Sequence[str] = (),
        name: str = "adabelief",
    ):
        super().__init__(learning_rate, weight_decay, weight_decay_exclude, name)
        self.set_hyperparameter("beta_1", beta_1, at_least=0, below=1)
        self.set_hyperparameter("beta_2", beta_2, at_least=0, below=1)
        self.set_hyperparameter("epsilon", epsilon, above=0)

    def scalars(self, h: SimpleNamespace, step: tf.Tensor) -> dict[str, tf.Tensor]:
        """The bias corrections."""
        return {"correction_1": 1 - h.beta_1**step, "correction_2": 1 - h.beta_2**step}

    def direction(
        self, gradient: tf.Tensor, variable: tf.Variable, slot: SimpleNamespace, h: SimpleNamespace
    ) -> tf.Tensor:
        """Mean gradient over the root of its squared spread, both without their bias."""
        m = average(slot.m, gradient, 1 - h.beta_1)
        spread = tf.square(gradient - m)
        s = assign(slot.s, h.beta_2 * slot.s + (1 - h.beta_2) * spread + h.epsilon)
        return m / h.correction_1 / (tf.sqrt(s / h.correction_2) + h.epsilon)
