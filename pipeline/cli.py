"""The commands. Heavy modules are imported inside them, so that --help is instant."""

from typing import Annotated

import typer

app = typer.Typer(
    help="A TFX pipeline for MNIST-format data: ingest, validate, train, evaluate, push.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Config = Annotated[
    str | None,
    typer.Option("--config", help="A YAML file, or local, smoke, ... from pipeline/configs."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, e.g. train.epochs=3; may be repeated."),
]


@app.command()
def run(config: Config = None, overrides: Set = None) -> None:
    """Run the pipeline on this machine.

    Exit codes: 0 pushed, or nothing new to push; 3 the model was refused; 1 a node failed;
    2 a setting is wrong; 130 interrupted.
    """
    from pipeline import run as runner

    raise typer.Exit(runner.run(_settings(config, overrides)))


@app.command()
def config(config: Config = None, overrides: Set = None) -> None:
    """Print the resolved settings as YAML."""
    typer.echo(_settings(config, overrides).as_yaml(), nl=False)


@app.command()
def fetch(config: Config = None, overrides: Set = None) -> None:
    """Get the IDX files, check them, and print their folder."""
    from pipeline import data

    settings = _settings(config, overrides)
    try:
        folder = data.fetch(settings.data.source, settings.data.directory, settings.data.sha256)
    except (ValueError, OSError) as error:
        raise _usage(error) from None
    typer.echo(folder)


def _settings(config: str | None, overrides: list[str] | None):
    from pipeline.config import ConfigError, load

    try:
        return load(config, overrides or ())
    except ConfigError as error:
        raise _usage(error) from None


def _usage(error: Exception) -> typer.Exit:
    typer.secho(str(error), fg=typer.colors.RED, err=True)
    return typer.Exit(2)
