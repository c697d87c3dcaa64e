"""The part of an optimizer that keeps state for each variable, and exchanges sets of weights."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import ClassVar

import keras
import tensorflow as tf

from components.trainer.optimizers.configured import ConfiguredOptimizer, path_of

_EVALUATING = (
    "the variables hold the evaluation weights: leave evaluation_weights(), or call "
    "use_training_weights(), before training goes on"
)


class SlotOptimizer(ConfiguredOptimizer):
    """An optimizer with slots: variables that belong to one trainable variable each.

    Attributes:
      slots: Names of the slots that start at 0. A slot has the shape and dtype of its variable.
      copies: Names of the slots that start as the variable is when the first step is taken.
      evaluation_slot: The slot with the weights to evaluate and serve, where these are not the
        weights at which gradients are taken.
    """

    slots: ClassVar[tuple[str, ...]] = ()
    copies: ClassVar[tuple[str, ...]] = ()
    evaluation_slot: ClassVar[str | None] = None

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Makes the slots; to be called in the scope of the strategy of the variables.

        Raises:
          ValueError: A variable is float16.
        """
        if self.built:
            return
        for variable in variables:
            if raw(variable).dtype == tf.float16:
                raise ValueError(
                    f"{path_of(variable)} is float16, in whose range an optimizer's small numbers "
                    "vanish; keep weights in float32, as with the dtype policy mixed_float16"
                )
        super().build(list(variables))
        self._slots = {
            name: [self.add_variable_from_reference(v, name=name) for v in variables]
            for name in (*self.copies, *self.slots)
        }
        if self.evaluation_slot:
            self._evaluating = self.add_scalar("evaluating", dtype="bool")

    def slots_of(self, variable: keras.Variable | tf.Variable) -> SimpleNamespace:
        """The slots of a trainable variable by name, as `tf.Variable`s."""
        index = self._get_variable_index(variable)
        return SimpleNamespace(**{name: raw(s[index]) for name, s in self._slots.items()})

    def use_evaluation_weights(self) -> None:
        """Puts the weights to evaluate and serve into the variables, if the method has such.

        The training weights are kept, and come back unchanged.

        Raises:
          RuntimeError: It is called inside a `tf.function`.
        """
        self._exchange(evaluating=True)

    def use_training_weights(self) -> None:
        """Puts the weights at which gradients are taken back into the variables.

        Raises:
          RuntimeError: It is called inside a `tf.function`.
        """
        self._exchange(evaluating=False)

    def _exchange(self, *, evaluating: bool) -> None:
        if not tf.executing_eagerly():
            raise RuntimeError("weights are exchanged between steps, not inside a tf.function")
        if not (self.built and self.evaluation_slot and int(self.iterations.numpy())):
            return  # Before the first step all sets are the same.
        if bool(self._evaluating.numpy()) == evaluating:
            return
        for variable in self._trainable_variables:
            slot = getattr(self.slots_of(variable), self.evaluation_slot)
            value = raw(variable).read_value()
            raw(variable).assign(slot.read_value())
            slot.assign(value)
        self._evaluating.assign(evaluating)

    def checks(self) -> list[tf.Operation]:
        """What must hold before a step."""
        if not self.evaluation_slot:
            return []
        return [tf.debugging.Assert(tf.logical_not(self._evaluating.value), [_EVALUATING])]

    def fill_copies(self, strategy: tf.distribute.Strategy) -> None:
        """Fills the copies at the first step; called in cross-replica context.

        Not in `build`, because weights may be loaded after it. Those of variables without a
        gradient are filled too: they may get one later, and are exchanged like the others.
        """
        if not self.copies:
            return

        def copy(variable: tf.Variable, slot: SimpleNamespace) -> None:
            for name in self.copies:
                getattr(slot, name).assign(variable)

        def copy_all() -> None:
            for v in self._trainable_variables:
                strategy.extended.update(raw(v), copy, args=(self.slots_of(v),), group=False)

        tf.cond(self.iterations.value == 0, copy_all, lambda: None)


def raw(variable: keras.Variable | tf.Variable) -> tf.Variable:
    """The TensorFlow variable inside a Keras variable."""
    return variable.value if isinstance(variable, keras.Variable) else variable
