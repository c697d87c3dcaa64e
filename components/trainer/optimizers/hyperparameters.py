"""Hyperparameters: checked when they are set, evaluated at each step, written to the config.

A hyperparameter is a number, a scalar tensor or variable, or a callable that gives one: a
`keras.optimizers.schedules.LearningRateSchedule`, called with the step (from 0), or a function
without arguments.
"""

import math
import numbers
from typing import Any

import keras
import tensorflow as tf

Schedule = keras.optimizers.schedules.LearningRateSchedule


def check(
    name: str,
    value: Any,
    *,
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    constant: bool = False,
) -> Any:
    """Returns `value`, a Python number where it is one, if it can be the hyperparameter `name`.

    The range of a tensor, a variable or a callable is not checked: it may change; a `constant`
    can't be one.

    Raises:
      ValueError: `value` is not a number in the range, and not one of the others.
    """
    may_change = callable(value) or (_is_tensor(value) and value.shape.rank == 0)
    if may_change and not constant:
        return value
    limits = {">=": at_least, ">": above, "<": below}
    allowed = " and ".join(f"{sign} {limit}" for sign, limit in limits.items() if limit is not None)
    if (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and (at_least is None or value >= at_least)
        and (above is None or value > above)
        and (below is None or value < below)
    ):
        return float(value)
    others = "" if constant else ", a scalar tensor or a schedule"
    raise ValueError(f"{name} must be a finite number {allowed}{others}; got {value!r}")


def check_flag(name: str, value: Any) -> bool:
    """Returns `value` if it is a bool.

    Raises:
      ValueError: It is not.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false; got {value!r}")
    return value


def evaluate(value: Any, step: tf.Tensor | tf.Variable) -> float | tf.Tensor:
    """The value at `step` (int64 scalar, from 0): a Python float, or a float64 scalar tensor."""
    if isinstance(value, float):
        return value
    if isinstance(value, Schedule):
        value = value(step)
    elif callable(value) and not _is_tensor(value):
        value = value()
    if not _is_tensor(value):
        return tf.constant(value, tf.float64)  # tf.cast would go through float32
    # Reads variables: tf.cast alone would hand on one that is float64, to be read later.
    return tf.cast(tf.convert_to_tensor(value), tf.float64)


def serialize(value: Any) -> Any:
    """What goes into the config for `value`."""
    if _is_tensor(value):
        return float(value)
    if callable(value):
        return keras.saving.serialize_keras_object(value)
    return list(value) if isinstance(value, tuple) else value


def deserialize(value: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The reverse of `serialize`."""
    if isinstance(value, dict):
        return keras.saving.deserialize_keras_object(value, custom_objects=custom_objects)
    return value


def _is_tensor(value: Any) -> bool:
    return tf.is_tensor(value) or isinstance(value, tf.Variable | keras.Variable)
