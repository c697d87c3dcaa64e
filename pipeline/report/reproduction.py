"""The command that makes a run again, from its settings."""

import shlex
from collections.abc import Mapping
from typing import Any

from pipeline.config import to_yaml


def differences(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What differs from the defaults: values by `section.key`, in the settings' order."""
    found = {}
    for key, value in settings.items():
        default = defaults.get(key)
        if default and isinstance(default, Mapping) and isinstance(value, Mapping):
            nested = differences(value, default)
            found |= {f"{key}.{name}": different for name, different in nested.items()}
        elif key not in defaults or value != default:
            found[key] = value
    return found


def command(different: Mapping[str, Any], folder: str) -> str:
    """The shell commands that run with the defaults and these differences.

    Args:
      different: Values by `section.key`.
      folder: The working folder, which the defaults of the folders are relative to.
    """
    flags = [
        "--set " + shlex.quote(f"{name}={as_text(value)}") for name, value in different.items()
    ]
    return f"cd {shlex.quote(folder)}\n" + " \\\n  ".join(["python -m pipeline run", *flags])


def as_text(value: Any) -> str:
    """A value as YAML in one line, the way `--set` takes it."""
    text = to_yaml(value, default_flow_style=True, width=float("inf"))
    return text.removesuffix("\n").removesuffix("\n...")
