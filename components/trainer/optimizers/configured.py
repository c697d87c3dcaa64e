"""The part of an optimizer that is configured: hyperparameters, exclusions, `get_config`."""

import inspect
import re
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from components.trainer.optimizers import hyperparameters


class ConfiguredOptimizer(keras.optimizers.Optimizer):
    """A Keras optimizer whose hyperparameters are float64 and whose config is its signature."""

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: Any = 0.0,
        weight_decay_exclude: Sequence[str] = (),
        name: str | None = None,
    ):
        """Checks and keeps what every optimizer has.

        Args:
          learning_rate: A hyperparameter (see `hyperparameters`), at least 0.
          weight_decay: A hyperparameter, at least 0: each step also subtracts
            learning_rate * weight_decay * variable (arXiv:1711.05101, Algorithm 2).
          weight_decay_exclude: Regular expressions; a variable is not decayed if one of them is
            found in its path, e.g. "bias$" or "embedding/".
          name: Of the optimizer.

        Raises:
          ValueError: A hyperparameter or a regular expression is wrong.
        """
        super().__init__(learning_rate=lambda: self.learning_rate, name=name)
        self._hyperparameter_names: list[str] = []
        rate = hyperparameters.check("learning_rate", learning_rate, at_least=0)
        if isinstance(rate, float):  # a variable, float64 where Keras's would be float32
            rate = self.add_scalar("learning_rate", rate)
        self._rate = rate
        self.set_hyperparameter("weight_decay", weight_decay, at_least=0)
        self.weight_decay_exclude = check_patterns("weight_decay_exclude", weight_decay_exclude)

    def set_hyperparameter(self, name: str, value: Any, **limits: Any) -> None:
        """Checks the hyperparameter and keeps it as attribute `name`; each step will have it.

        Args:
          name: The name of the argument of `__init__`.
          value: A number, a scalar tensor or variable, a schedule or a callable.
          **limits: See `hyperparameters.check`.

        Raises:
          ValueError: The value cannot be this hyperparameter.
        """
        setattr(self, name, hyperparameters.check(name, value, **limits))
        self._hyperparameter_names.append(name)

    def add_scalar(self, name: str, start: float = 0.0, dtype: str = "float64") -> keras.Variable:
        """A scalar variable that is part of the optimizer's state."""

        def initializer(_, dtype: str) -> tf.Tensor:
            return tf.cast(tf.constant(start, tf.float64), dtype)  # Keras's go through float32

        return self.add_variable(
            (), initializer, dtype=dtype, aggregation="only_first_replica", name=name
        )

    @property
    def learning_rate(self) -> float | tf.Tensor | keras.Variable:
        """The learning rate at this step; it can be set unless it is a schedule or a callable."""
        if isinstance(self._rate, keras.Variable):
            return self._rate
        return hyperparameters.evaluate(self._rate, self.iterations)

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        if not isinstance(self._rate, keras.Variable):
            raise TypeError(
                f"learning_rate cannot be set to {value!r}: this optimizer was made with "
                f"{self._rate!r}; make a new one with a number to set it later"
            )
        self._rate.assign(hyperparameters.check("learning_rate", value, at_least=0))

    def hyperparameters(self) -> dict[str, float | tf.Tensor]:
        """All hyperparameters at this step: Python floats or float64 scalars."""
        names = ("learning_rate", *self._hyperparameter_names)
        return {n: hyperparameters.evaluate(getattr(self, n), self.iterations) for n in names}

    def exclude_from_weight_decay(self, var_list=None, var_names=None) -> None:
        """Adds to `weight_decay_exclude`.

        Args:
          var_list: Variables.
          var_names: Regular expressions.

        Raises:
          ValueError: The optimizer is built already, or a regular expression is wrong.
        """
        if self.built:
            raise ValueError("exclude variables from weight decay before the optimizer is built")
        patterns = [f"^{re.escape(path_of(v))}$" for v in var_list or ()] + list(var_names or ())
        patterns = (*self.weight_decay_exclude, *patterns)
        self.weight_decay_exclude = check_patterns("weight_decay_exclude", patterns)

    def is_decayed(self, variable: keras.Variable | tf.Variable) -> bool:
        """Whether weight decay is meant for this variable."""
        return not matches(self.weight_decay_exclude, variable)

    def get_config(self) -> dict[str, Any]:
        """All arguments of `__init__`, read from the attributes of the same names.

        Raises:
          AttributeError: An argument has no attribute of its name.
        """
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        values = {name: getattr(self, name) for name in names if hasattr(self, name)}
        if missing := [name for name in names if name not in values]:
            raise AttributeError(
                f"{type(self).__name__}.__init__ takes {', '.join(missing)} and keeps no attribute "
                "of that name: use set_hyperparameter(), or set the attribute"
            )
        values["learning_rate"] = self._rate  # the schedule, not what it gives now
        return {name: hyperparameters.serialize(value) for name, value in values.items()}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None):
        """The reverse of `get_config`."""
        arguments = {
            name: hyperparameters.deserialize(value, custom_objects)
            for name, value in config.items()
        }
        return cls(**arguments)


def path_of(variable: keras.Variable | tf.Variable) -> str:
    """The path of a Keras variable in its model, e.g. "dense/kernel"; else the name."""
    return variable.path if isinstance(variable, keras.Variable) else variable.name


def matches(patterns: Sequence[str], variable: keras.Variable | tf.Variable) -> bool:
    """Whether one of the regular expressions is found in the variable's path."""
    return any(re.search(pattern, path_of(variable)) for pattern in patterns)


def check_patterns(name: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """The regular expressions given as argument `name`, as a tuple.

    Raises:
      ValueError: One is not a regular expression, or it is one string instead of several.
    """
    if isinstance(patterns, str):
        raise ValueError(f"{name} must be a list of strings, got {patterns!r}")
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise ValueError(
                f"{name} must hold regular expressions, got {pattern!r}: {error}"
            ) from error
    return tuple(patterns)
