"""How people read a model or an optimizer with its arguments."""

from collections.abc import Mapping
from typing import Any


def call(name: str, arguments: Mapping[str, Any]) -> str:
    """Writes, say, `adopt (learning_rate=0.002)`.

    Args:
      name: Of what is called.
      arguments: Its arguments; objects as Keras serializes them are written in the same way.
    """
    inside = ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    return f"{name} ({inside})" if inside else name


def optimizer(settings: Mapping[str, Any]) -> str:
    """Writes the settings of an optimizer: its `name`, and its arguments."""
    arguments = dict(settings)
    return call(arguments.pop("name"), arguments)


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and "class_name" in value:
        return call(value["class_name"], value.get("config", {}))
    return str(value)
