"""Schedule-Free AdamW: no learning rate schedule, and no number of steps to know in advance."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import tensorflow as tf

from components.trainer.optimizers.base import Optimizer, assign, average, decayed


@keras.saving.register_keras_serializable("mnist_tfx")
class ScheduleFreeAdamW(Optimizer):
    """Schedule-Free AdamW (Defazio et al. 2024, arXiv:2405.15682, Algorithm 1).

    It has three sequences of weights: z takes the steps, x is the running average of z, and y, at
    which gradients are taken, lies between them. The variables hold y during training and x inside
    `evaluation_weights`. The slots hold z and x, one more than need be, so that the exchange of x
    and y is exact and the average is not rounded away in low precision.

    The moving statistics of BatchNormalization are those of y; `TrainingLoop.recalibrate` computes
    those of x.

    A constraint belongs to x, the weights that are served: z and x are constrained after each step.
    A convex one (`NonNeg`, `MaxNorm`) then holds for y too, which lies between them.

    Advice: a learning rate 1 to 10 times that of AdamW with a schedule, `warmup_steps` of about 5%
    of a run, `beta_1` 0.9 to 0.98 (longer runs, higher values). The authors' defaults are a
    learning rate of 0.0025 without warmup.

    Args:
      learning_rate: Of z, at least 0.
      beta_1: Where y lies: (1 - beta_1) z + beta_1 x; in (0, 1).
      beta_2: Decay of the mean of the squared gradients, in [0, 1).
      epsilon: Added to the root of that mean, above 0.
      warmup_steps: Number of steps over which the learning rate rises linearly.
      r: The average weighs step t by t^r, at least 0.
      weight_lr_power: And by the largest learning rate so far to this power, at least 0.
      weight_decay: Decoupled, at y. See `Optimizer`.
      weight_decay_exclude: See `Optimizer`.
      name: Of the optimizer.

    Raises:
      ValueError: An argument is outside its range.
    """

    slots = ("v",)
    copies = ("z", "x")
    evaluation_slot = "x"

    def __init__(
        self,
        learning_rate: Any = 0.005,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-8,
        warmup_steps: Any = 200,
        r: Any = 0.0,
        weight_lr_power: Any = 2.0,
        weight_decay: Any = 0.0,
        weight_decay_exclude: Sequence[str] = (),
        name: str = "schedule_free_adamw",
    ):
        super().__init__(learning_rate, weight_decay, weight_decay_exclude, name)
        self.set_hyperparameter("beta_1", beta_1, above=0, below=1)
        self.set_hyperparameter("beta_2", beta_2, at_least=0, below=1)
        self.set_hyperparameter("epsilon", epsilon, above=0)
        self.set_hyperparameter("warmup_steps", warmup_steps, at_least=0)
        self.set_hyperparameter("r", r, at_least=0)
        self.set_hyperparameter("weight_lr_power", weight_lr_power, at_least=0)
        self._largest_rate = self.add_scalar("largest_rate")
        self._weight_sum = self.add_scalar("weight_sum")

    def scalars(self, h: SimpleNamespace, step: tf.Tensor) -> dict[str, tf.Tensor]:
        """Learning rate after warmup, weight of z in the average, bias correction."""
        rate = h.learning_rate * tf.minimum(step / tf.maximum(h.warmup_steps, 1), 1)
        largest = tf.maximum(rate, self._largest_rate)
        weight = step**h.r * largest**h.weight_lr_power
        total = self._weight_sum + weight
        self._largest_rate.assign(largest)
        self._weight_sum.assign(total)
        return {
            "learning_rate": rate,
            "c": tf.math.divide_no_nan(weight, total),
            "root_correction": tf.sqrt(1 - h.beta_2**step),
        }

    def update(
        self,
        gradient: tf.Tensor,
        variable: tf.Variable,
        slot: SimpleNamespace,
        h: SimpleNamespace,
        constraint: Callable[[tf.Tensor], tf.Tensor],
    ) -> None:
        """z takes an AdamW step without momentum; x averages; y = (1 - beta_1) z + beta_1 x."""
        v = average(slot.v, tf.square(gradient), 1 - h.beta_2)
        step = gradient / (tf.sqrt(v) / h.root_correction + h.epsilon)
        z = constraint(slot.z - h.learning_rate * decayed(step, variable, h))
        x = constraint(slot.x + h.c * (z - slot.x))
        assign(slot.z, z)
        assign(slot.x, x)
        variable.assign(x + (1 - h.beta_1) * (z - x))
