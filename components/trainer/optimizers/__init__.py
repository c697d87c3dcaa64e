"""Optimizers, by name.

`create` makes one of this package, or one of Keras's own with the prefix `keras:`, as in
`keras:AdamW`.
"""

import difflib
import inspect
from typing import Any

import keras

from components.trainer.optimizers.adabelief import AdaBelief
from components.trainer.optimizers.adopt import ADOPT
from components.trainer.optimizers.lars import LARS
from components.trainer.optimizers.prodigy import Prodigy
from components.trainer.optimizers.schedule_free_adamw import ScheduleFreeAdamW
from components.trainer.optimizers.sgd import SGD

OPTIMIZERS: dict[str, type[keras.optimizers.Optimizer]] = {
    "schedule_free_adamw": ScheduleFreeAdamW,
    "adabelief": AdaBelief,
    "adopt": ADOPT,
    "prodigy": Prodigy,
    "lars": LARS,
    "sgd": SGD,
}


# No optimizers for the loop: the base, the wrapper that `mixed_precision` stands for, and one that
# fails with TensorFlow's variables, in `fit` too.
_LEFT_OUT = ("Optimizer", "LossScaleOptimizer", "Muon")


class OptimizerError(ValueError):
    """There is no such optimizer, or it has no such argument, or not this value of it."""


def create(name: str, **arguments: Any) -> keras.optimizers.Optimizer:
    """Makes an optimizer; call it in the scope of the strategy.

    Args:
      name: A name of `OPTIMIZERS`, or "keras:" and the name of a class of `keras.optimizers`.
      **arguments: Keyword arguments of its class.

    Raises:
      OptimizerError: The name or an argument is unknown, or the value of an argument is wrong.
    """
    check_arguments(name, arguments)
    try:
        return _class_of(name).from_config(dict(arguments))
    except (TypeError, ValueError) as error:
        raise OptimizerError(f"optimizer {name}: {error}") from error


def names() -> tuple[str, ...]:
    """All names that `create` knows."""
    return (*OPTIMIZERS, *_keras_classes())


def argument_names(name: str) -> tuple[str, ...]:
    """Names of the keyword arguments of an optimizer that `create` takes.

    Raises:
      OptimizerError: The name is unknown.
    """
    parameters = inspect.signature(_class_of(name)).parameters.values()
    return tuple(p.name for p in parameters if p.kind != p.VAR_KEYWORD and p.name != "name")


def check_arguments(name: str, arguments: dict[str, Any]) -> None:
    """Checks the names of arguments, without making the optimizer.

    Raises:
      OptimizerError: The optimizer or an argument is unknown.
    """
    allowed = argument_names(name)
    for argument in arguments:
        if argument not in allowed:
            raise OptimizerError(
                f"optimizer {name} has no argument {argument!r}"
                f"{_nearest(argument, allowed)}; its arguments: {', '.join(allowed)}"
            )


def _class_of(name: str) -> type[keras.optimizers.Optimizer]:
    if name in OPTIMIZERS:
        return OPTIMIZERS[name]
    classes = _keras_classes()
    if name in classes:
        return classes[name]
    known = names()
    raise OptimizerError(
        f"{name!r} is not an optimizer{_nearest(name, known)}; optimizers: {', '.join(known)}"
    )


def _keras_classes() -> dict[str, type[keras.optimizers.Optimizer]]:
    classes = inspect.getmembers(keras.optimizers, inspect.isclass)
    return {
        f"keras:{name}": each
        for name, each in classes
        if issubclass(each, keras.optimizers.Optimizer) and name not in _LEFT_OUT
    }


def _nearest(name: str, names: tuple[str, ...]) -> str:
    by_lower = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
