"""Prodigy: Adam that finds its own learning rate."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from components.trainer.optimizers.base import Optimizer, average


@keras.saving.register_keras_serializable("mnist_tfx")
class Prodigy(Optimizer):
    """Prodigy (Mishchenko and Defazio 2023, arXiv:2306.06101, Algorithm 4).

    It estimates d, the distance from the first weights to the solution, and steps by d times what
    Adam would. d only grows. As in the authors' code the step has Adam's bias correction.

    Advice: leave `learning_rate` at 1, or give a schedule that starts at 1; if d stays too small
    or grows too large, change `d_coefficient`.

    Args:
      learning_rate: Factor of d, at least 0.
      beta_1: Decay of the mean gradient, in [0, 1).
      beta_2: Decay of the mean squared gradient, in (0, 1); its root is that of the estimate of d.
      epsilon: Added to the root of the mean squared gradient, times d, above 0.
      d_0: The first estimate, below the true distance, above 0.
      d_coefficient: Factor of each estimate, above 0.
      weight_decay: Decoupled. See `Optimizer`.
      weight_decay_exclude: See `Optimizer`.
      name: Of the optimizer.

    Raises:
      ValueError: An argument is outside its range.
    """

    slots = ("m", "v", "s")
    copies = ("x_0",)

    def __init__(
        self,
        learning_rate: Any = 1.0,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-8,
        d_0: float = 1e-6,
        d_coefficient: Any = 1.0,
        weight_decay: Any = 0.0,
        weight_decay_exclude: Sequence[str] = (),
        name: str = "prodigy",
    ):
        super().__init__(learning_rate, weight_decay, weight_decay_exclude, name)
        self.set_hyperparameter("beta_1", beta_1, at_least=0, below=1)
        self.set_hyperparameter("beta_2", beta_2, above=0, below=1)
        self.set_hyperparameter("epsilon", epsilon, above=0)
        self.set_hyperparameter("d_0", d_0, above=0, constant=True)
        self.set_hyperparameter("d_coefficient", d_coefficient, above=0)
        self._d = self.add_scalar("d", self.d_0)
        self._r = self.add_scalar("r")

    def scalars(self, h: SimpleNamespace, step: tf.Tensor) -> dict[str, tf.Tensor]:
        """The learning rate of this step: gamma_k d_k with Adam's bias correction."""
        d = self._d.value.read_value()
        correction = tf.sqrt(1 - h.beta_2**step) / (1 - h.beta_1**step)
        return {
            "learning_rate": h.learning_rate * d * correction,
            "d": d,
            "root_beta_2": tf.sqrt(h.beta_2),
        }

    def update_all(self, for_each: Callable[..., list], h: SimpleNamespace) -> None:
        """d is estimated from all variables before one of them is moved."""
        sums = for_each(self._accumulate, h)
        product, norm = tf.unstack(tf.add_n([tf.cast(each, tf.float64) for each in sums]))
        r = h.root_beta_2 * self._r + h.learning_rate * h.d / h.d_0 * product
        estimate = h.d_coefficient * tf.math.divide_no_nan(r, norm)
        h.next_d = tf.maximum(h.d, estimate)
        self._r.assign(r)
        self._d.assign(h.next_d)
        for_each(self.update, h)

    def _accumulate(self, gradient, variable, slot, h, _) -> tf.Tensor:
        """Takes the gradient into m, v and s; returns <g, x_0 - x> and |s|_1, both / (d / d_0)."""
        scaled = h.d * gradient
        average(slot.m, scaled, 1 - h.beta_1)
        average(slot.v, tf.square(scaled), 1 - h.beta_2)
        s = h.root_beta_2 * slot.s + h.learning_rate / h.d_0 * scaled
        slot.s.assign(s)
        product = tf.reduce_sum(gradient * (slot.x_0 - variable))
        return tf.stack([product, tf.reduce_sum(tf.abs(s))])

    def direction(
        self, gradient: tf.Tensor, variable: tf.Variable, slot: SimpleNamespace, h: SimpleNamespace
    ) -> tf.Tensor:
        """The step of Adam; the gradient is in the slots already."""
        return slot.m / (tf.sqrt(slot.v) + h.next_d * h.epsilon)
