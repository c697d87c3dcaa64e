"""LARS: SGD with a learning rate for each layer, for very large batches."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from components.trainer.optimizers.base import Optimizer, assign, decayed
from components.trainer.optimizers.configured import check_patterns, matches


@keras.saving.register_keras_serializable("mnist_tfx")
class LARS(Optimizer):
    """Layer-wise adaptive rate scaling (You et al. 2017, arXiv:1708.03888, Algorithm 1).

    The step of a variable is proportional to its norm. Weight decay is part of the scaled
    gradient, as the paper has it, and so not decoupled.

    Args:
      learning_rate: At least 0; give a schedule with warmup for a large batch. What
        `trust_exclude` names moves at this rate as it is, so that one which is right for biases
        goes here, and how far layers move into `trust_coefficient`.
      momentum: In [0, 1).
      trust_coefficient: How far a variable moves in a step, relative to its norm (eta of
        equation 6), above 0.
      trust_exclude: Regular expressions; a variable whose path has one of them is moved by plain
        SGD with momentum. By default biases and the parameters of normalization.
      weight_decay: At least 0.
      weight_decay_exclude: See `Optimizer`.
      name: Of the optimizer.

    Raises:
      ValueError: An argument is outside its range.
    """

    slots = ("velocity",)

    def __init__(
        self,
        learning_rate: Any = 0.1,
        momentum: Any = 0.9,
        trust_coefficient: Any = 0.01,
        trust_exclude: Sequence[str] = ("bias$", "beta$", "gamma$"),
        weight_decay: Any = 0.0,
        weight_decay_exclude: Sequence[str] = (),
        name: str = "lars",
    ):
        super().__init__(learning_rate, weight_decay, weight_decay_exclude, name)
        self.set_hyperparameter("momentum", momentum, at_least=0, below=1)
        self.set_hyperparameter("trust_coefficient", trust_coefficient, above=0)
        self.trust_exclude = check_patterns("trust_exclude", trust_exclude)

    def own_scalars(self, variable: keras.Variable | tf.Variable) -> dict[str, Any]:
        """Also whether the variable's norm scales its step."""
        scaled = not matches(self.trust_exclude, variable)
        return super().own_scalars(variable) | {"is_scaled": scaled}

    def update(
        self,
        gradient: tf.Tensor,
        variable: tf.Variable,
        slot: SimpleNamespace,
        h: SimpleNamespace,
        constraint: Callable[[tf.Tensor], tf.Tensor],
    ) -> None:
        """The local rate is eta |w| / (|g| + weight_decay |w|), or 1 where a norm is 0."""
        rate = h.learning_rate
        if h.is_scaled:
            w, g = tf.norm(variable), tf.norm(gradient)
            local = h.trust_coefficient * w / (g + h.weight_decay * w)
            rate *= tf.where((w > 0) & (g > 0), local, tf.ones_like(local))
        step = rate * decayed(gradient, variable, h)
        velocity = assign(slot.velocity, h.momentum * slot.velocity + step)
        variable.assign(constraint(variable - velocity))
