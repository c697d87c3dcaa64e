"""The options that every command has which needs the settings."""

from typing import Annotated

import typer

Config = Annotated[
    str | None,
    typer.Option("--config", help="A YAML file, or local, smoke, ... from pipeline/configs."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, e.g. train.epochs=3; may be repeated."),
]


def settings(config: str | None, overrides: list[str] | None):
    """The settings that the options give; a wrong one ends the command.

    Raises:
      typer.Exit: With code 2, after one message on what is wrong.
    """
    from pipeline.config import ConfigError, load

    try:
        return load(config, overrides or ())
    except ConfigError as error:
        raise usage_error(error) from None


def local_settings(config: str | None, overrides: list[str] | None):
    """As `settings`, for a command on the runs of this machine."""
    from pipeline.config import ConfigError

    found = settings(config, overrides)
    try:
        found.local_root()
    except ConfigError as error:
        raise usage_error(error) from None
    return found


def usage_error(error: Exception) -> typer.Exit:
    """Prints what is wrong with a command, and gives the exit to raise."""
    typer.secho(str(error), fg=typer.colors.RED, err=True)
    return typer.Exit(2)
