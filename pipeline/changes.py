"""In what settings differ: from the defaults, or from another run's. No TensorFlow here."""

import shlex
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from pipeline.config import Settings, to_yaml

# Sections of the settings.
_DECISIVE = ("data", "evaluate", "optimizer", "train")
# Where things lie on one machine.
PLACES = frozenset({"data.directory", "root"})

UNSET = None


def flat(values: Mapping[str, Any], section: type[BaseModel] = Settings) -> dict[str, Any]:
    """Settings by dotted key.

    Args:
      values: As in a run's `settings.yaml`, which may be from an older version of the code: a key
        that is no setting any more is kept, and so is a value where there is a section now.
      section: The group of settings that `values` belong to.
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        field = section.model_fields.get(key)
        nested = field.annotation if field else None
        is_section = isinstance(nested, type) and issubclass(nested, BaseModel)
        if is_section and isinstance(value, Mapping):
            found |= {f"{key}.{inner}": each for inner, each in flat(value, nested).items()}
        else:
            found[key] = value
    return found


def from_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in a run's `settings.yaml` that are not the defaults, without `PLACES`."""
    defaults = flat(Settings().model_dump(mode="json"))
    return {
        key: value
        for key, value in flat(values).items()
        if key not in PLACES and (key not in defaults or value != defaults[key])
    }


def between(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings in which two runs differ, each with both values; `UNSET` where there is none."""
    one, two = flat(before), flat(now)
    return {
        key: (one.get(key, UNSET), two.get(key, UNSET))
        for key in {**one, **two}
        if one.get(key, UNSET) != two.get(key, UNSET)
    }


def decisive(settings: Settings) -> dict[str, Any]:
    """Of what is not the default: what decides which model comes out and whether it is pushed."""
    changed = from_defaults(settings.model_dump(mode="json"))
    return {key: value for key, value in changed.items() if key.partition(".")[0] in _DECISIVE}


def command(changed: Mapping[str, Any]) -> str:
    """The command that runs with the defaults but for some settings, one setting a line."""
    options = [f"--set {shlex.quote(f'{key}={text(value)}')}" for key, value in changed.items()]
    return " \\\n  ".join(["python -m pipeline run", *options])


def text(value: Any) -> str:
    """A value as YAML in one line, the way `--set` reads it back."""
    in_one_line = to_yaml(value, default_flow_style=True, width=float("inf"))
    return in_one_line.removesuffix("\n").removesuffix("\n...")
