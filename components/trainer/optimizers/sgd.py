"""SGD with Nesterov momentum, the smallest of the optimizers."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from components.trainer.optimizers.base import Optimizer, assign
from components.trainer.optimizers.hyperparameters import check_flag


@keras.saving.register_keras_serializable("mnist_tfx")
class SGD(Optimizer):
    """Stochastic gradient descent with Nesterov momentum.

    Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning",
    equations 3 and 4, with the variable at the point where the gradient is taken
    (arXiv:1212.0901, section 3.5).

    Args:
      learning_rate: At least 0.
      momentum: In [0, 1); 0 is plain gradient descent.
      nesterov: Whether the step looks ahead along the momentum.
      weight_decay: Decoupled. See `Optimizer`.
      weight_decay_exclude: See `Optimizer`.
      name: Of the optimizer.

    Raises:
      ValueError: An argument is outside its range.
    """

    slots = ("velocity",)

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.9,
        nesterov: bool = True,
        weight_decay: Any = 0.0,
        weight_decay_exclude: Sequence[str] = (),
        name: str = "sgd",
    ):
        super().__init__(learning_rate, weight_decay, weight_decay_exclude, name)
        self.set_hyperparameter("momentum", momentum, at_least=0, below=1)
        self.nesterov = check_flag("nesterov", nesterov)

    def direction(
        self, gradient: tf.Tensor, variable: tf.Variable, slot: SimpleNamespace, h: SimpleNamespace
    ) -> tf.Tensor:
        """The velocity, or with Nesterov what it will be at the next step with this gradient."""
        velocity = assign(slot.velocity, h.momentum * slot.velocity + gradient)
        return gradient + h.momentum * velocity if self.nesterov else velocity
