"""The base of the optimizers, and how a training loop calls any optimizer.

An optimizer names its slots and says where one variable goes; the rest is here:

    @keras.saving.register_keras_serializable("mnist_tfx")
    class Momentum(Optimizer):
        slots = ("velocity",)

        def __init__(self, learning_rate=0.01, momentum=0.9, weight_decay=0.0,
                     weight_decay_exclude=(), name="momentum"):
            super().__init__(learning_rate, weight_decay, weight_decay_exclude, name)
            self.set_hyperparameter("momentum", momentum, at_least=0, below=1)

        def direction(self, gradient, variable, slot, h):
            return assign(slot.velocity, h.momentum * slot.velocity + gradient)
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import keras
import tensorflow as tf

from components.trainer.optimizers.configured import path_of
from components.trainer.optimizers.slots import SlotOptimizer, raw

__all__ = [
    "Optimizer",
    "apply_aggregated",
    "assign",
    "average",
    "decayed",
    "evaluation_weights",
]

Gradient = tf.Tensor | tf.IndexedSlices | None


class Optimizer(SlotOptimizer):
    """An optimizer whose step is the same on one replica and on many.

    A step, on gradients summed over the replicas: evaluate the hyperparameters, call `scalars`
    once, then `update` for each variable. That moves it against `direction`, with decoupled weight
    decay, and applies its constraint.

    A `tf.IndexedSlices` gradient is made dense first, repeated indices summed, so it moves the
    weights exactly as the equal dense gradient does. A variable without a gradient (None) stays as
    it is, and so do its slots.
    """

    def scalars(self, h: SimpleNamespace, step: tf.Tensor) -> dict[str, tf.Tensor]:
        """Further scalars of this step, the same for all variables; may assign scalar state.

        Args:
          h: The hyperparameters by name, float64 scalars.
          step: float64 scalar, from 1.

        Returns:
          Float64 scalars by name, to be added to `h`.
        """
        del h, step
        return {}

    def direction(
        self, gradient: tf.Tensor, variable: tf.Variable, slot: SimpleNamespace, h: SimpleNamespace
    ) -> tf.Tensor:
        """What is subtracted from one variable, but for the learning rate; may assign its slots.

        Args:
          gradient: Of the shape and dtype of the variable.
          variable: The trainable variable, to be read only.
          slot: The variable's slots by name, as `tf.Variable`s.
          h: The scalars of this step: Python floats, or scalars of the dtype of the variable.
            `h.weight_decay` is 0.0 for a variable that is not decayed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define direction() or update()")

    def update(
        self,
        gradient: tf.Tensor,
        variable: tf.Variable,
        slot: SimpleNamespace,
        h: SimpleNamespace,
        constraint: Callable[[tf.Tensor], tf.Tensor],
    ) -> None:
        """Moves one variable; can be defined in place of `direction`, of which see the arguments.

        Args:
          gradient: See `direction`.
          variable: The trainable variable, to be assigned.
          slot: See `direction`.
          h: See `direction`.
          constraint: The variable's constraint, or the identity.
        """
        step = decayed(self.direction(gradient, variable, slot, h), variable, h)
        variable.assign(constraint(variable - h.learning_rate * step))

    def own_scalars(self, variable: keras.Variable | tf.Variable) -> dict[str, float]:
        """Entries of `h` that are different for this variable."""
        return {} if self.is_decayed(variable) else {"weight_decay": 0.0}

    def update_all(self, for_each: Callable[..., list], h: SimpleNamespace) -> None:
        """Moves all variables; can be defined by a method that must see all of them first.

        Args:
          for_each: `for_each(function, h)` calls `function` with the arguments of `update` for
            each variable, and returns the list of what it returns.
          h: The scalars of this step: Python floats or float64 scalars.
        """
        for_each(self.update, h)

    def apply(
        self,
        grads: Sequence[Gradient],
        trainable_variables: Sequence[keras.Variable] | None = None,
    ) -> None:
        """Sums the gradients over the replicas and applies the sum; what Keras's `fit` calls.

        Raises:
          ValueError: See `apply_aggregated`.
        """
        context = tf.distribute.get_replica_context()
        if context is not None and context.num_replicas_in_sync > 1:
            present = [tf.convert_to_tensor(g) for g in grads if g is not None]
            summed = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, present))
            grads = [None if g is None else next(summed) for g in grads]
        self.apply_aggregated(grads, trainable_variables)

    @tf.autograph.experimental.do_not_convert
    def apply_aggregated(
        self, gradients: Sequence[Gradient], variables: Sequence[keras.Variable] | None = None
    ) -> None:
        """Applies gradients that are the same on every replica, as they are.

        Args:
          gradients: One per variable, of its shape, or None.
          variables: Trainable variables; if not given, those the optimizer was built for.

        Raises:
          ValueError: No variable has a gradient, or one is not of those it was built for.
        """
        if len(gradients) == 0:
            return
        variables = self._trainable_variables if variables is None else list(variables)
        self.build(variables)
        self._check_variables_are_known(variables)
        pairs = list(zip(gradients, variables, strict=True))
        if missing := [path_of(v) for g, v in pairs if g is None]:
            if len(missing) == len(pairs):
                raise ValueError(f"no gradient for any of {missing}; is the loss theirs?")
            warnings.warn(f"no gradient for {missing}; they stay as they are", stacklevel=2)
        moved = [v for g, v in pairs if g is not None]
        present = [tf.convert_to_tensor(g) for g in gradients if g is not None]

        def step(strategy: tf.distribute.Strategy, *gradients) -> None:
            self._step(strategy, gradients, moved)

        context = tf.distribute.get_replica_context()
        if context is None:
            step(tf.distribute.get_strategy(), *present)
        else:
            context.merge_call(step, args=present)

    def _step(self, strategy: tf.distribute.Strategy, gradients, variables) -> None:
        """One step, in cross-replica context."""

        def for_each(function: Callable, h: SimpleNamespace) -> list:
            cast = {dtype: _cast(h, dtype) for dtype in {raw(v).dtype for v in variables}}
            return [
                self._on_each_device(strategy, function, gradient, variable, cast)
                for gradient, variable in zip(gradients, variables, strict=True)
            ]

        with tf.control_dependencies(self.checks()):
            self.fill_copies(strategy)
            h = self.hyperparameters()
            exact = {name: tf.convert_to_tensor(value, tf.float64) for name, value in h.items()}
            step = tf.cast(self.iterations.value, tf.float64) + 1
            h |= self.scalars(SimpleNamespace(**exact), step)
            self.update_all(for_each, SimpleNamespace(**h))
            self.iterations.assign_add(1)

    def _on_each_device(self, strategy, function, gradient, variable, cast):
        """Calls `function` with the arguments of `update`; returns the first device's result."""
        slot = self.slots_of(variable)
        constraint = getattr(variable, "constraint", None) or tf.identity
        own = self.own_scalars(variable)

        def call(variable: tf.Variable, gradient: tf.Tensor):
            h = SimpleNamespace(**(cast[variable.dtype] | own))
            return function(tf.cast(gradient, variable.dtype), variable, slot, h, constraint)

        return strategy.extended.update(raw(variable), call, args=(gradient,), group=False)[0]


def assign(variable: tf.Variable, value: tf.Tensor) -> tf.Tensor:
    """Assigns, and returns the value, so that the variable need not be read again."""
    variable.assign(value, read_value=False)
    return value


def average(mean: tf.Variable, value: tf.Tensor, weight: float | tf.Tensor) -> tf.Tensor:
    """Moves a running mean towards a value: mean + weight (value - mean); returns the new mean."""
    return assign(mean, mean + weight * (value - mean))


def decayed(step: tf.Tensor, variable: tf.Variable, h: SimpleNamespace) -> tf.Tensor:
    """`step` with the variable's weight decay added to it."""
    if isinstance(h.weight_decay, float) and h.weight_decay == 0:
        return step
    return step + h.weight_decay * variable


@tf.autograph.experimental.do_not_convert
def apply_aggregated(
    optimizer: keras.optimizers.Optimizer,
    gradients: Sequence[Gradient],
    variables: Sequence[keras.Variable],
) -> None:
    """Applies gradients that are the same on every replica, with any optimizer.

    Keras's own optimizers always sum over the replicas; they get the gradients from the first
    replica and zeros from the others, which is exact and costs them one more all-reduce.

    Args:
      optimizer: One of this package or of Keras.
      gradients: One per variable, of its shape, or None.
      variables: The trainable variables.

    Raises:
      ValueError: No variable has a gradient, or one is not of those it was built for.
    """
    if isinstance(optimizer, Optimizer):
        optimizer.apply_aggregated(gradients, variables)
        return
    context = tf.distribute.get_replica_context()
    dense = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
    if context is not None and context.num_replicas_in_sync > 1:
        is_first = tf.equal(context.replica_id_in_sync_group, 0)
        dense = [None if g is None else tf.where(is_first, g, tf.zeros_like(g)) for g in dense]
    optimizer.apply(dense, variables)


@contextlib.contextmanager
def evaluation_weights(optimizer: keras.optimizers.Optimizer) -> Iterator[None]:
    """Inside, the variables hold the weights to evaluate and serve; afterwards those to train.

    Does nothing for an optimizer with one set of weights, such as any of Keras's.

    Args:
      optimizer: Any optimizer, or a Keras `LossScaleOptimizer` around it.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    if not isinstance(optimizer, Optimizer):
        yield
        return
    optimizer.use_evaluation_weights()
    try:
        yield
    finally:
        optimizer.use_training_weights()


def _cast(h: SimpleNamespace, dtype: tf.DType) -> dict[str, float | tf.Tensor]:
    return {
        name: value if isinstance(value, float) else tf.cast(value, dtype)
        for name, value in vars(h).items()
    }
