"""The commands. Heavy modules are imported inside them, so that --help is instant."""

import logging
import os
import warnings
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from kubeflow import cli as platforms
from pipeline import home
from pipeline.history import cli as history
from pipeline.options import Config, Set, local_settings, usage_error
from pipeline.options import settings as settings_of

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _quiet(context: typer.Context) -> None:
    """A TFX pipeline for MNIST-format data: ingest, validate, train, evaluate, push."""
    home.ensure()
    if context.invoked_subcommand == "run":
        return  # Everything goes to its log.
    # What TensorFlow and the Google clients say when they are imported is no answer to a command.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning, module="google")


@app.command()
def run(config: Config = None, overrides: Set = None) -> None:
    """Run the pipeline on this machine.

    Exit codes: 0 pushed, or nothing new to push; 3 the model was refused; 1 a node failed, or the
    run cannot start; 2 a setting is wrong; 130 interrupted, 143 terminated (run it again to go on).
    """
    from pipeline import run as runner

    raise typer.Exit(runner.run(settings_of(config, overrides)))


@app.command()
def config(config: Config = None, overrides: Set = None) -> None:
    """Print the resolved settings as YAML."""
    typer.echo(settings_of(config, overrides).as_yaml(), nl=False)


@app.command()
def fetch(config: Config = None, overrides: Set = None) -> None:
    """Get the IDX files, check them, and print their folder."""
    from pipeline import data

    settings = settings_of(config, overrides)
    try:
        folder = data.fetch(settings.data)
    except (ValueError, OSError) as error:
        raise usage_error(error) from None
    if remark := data.remark(folder):
        typer.secho(f"Warning: {remark}", fg=typer.colors.YELLOW, err=True)
    typer.echo(folder)


@app.command()
def drift(
    reference: Annotated[str, typer.Argument(help="A data set, as data.source takes it.")],
    other: Annotated[str, typer.Argument(help="The data set to compare with it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: Config = None,
    overrides: Set = None,
) -> None:
    """Say whether two data sets differ more than the committed schemas admit.

    Exit codes: 0 no drift, 3 drift, 2 a data set cannot be had or is wrong.
    """
    settings = settings_of(config, overrides).data
    from pipeline import drift as comparison

    try:
        code = comparison.drift(reference, other, settings, as_json)
    except (ValueError, OSError) as error:
        raise usage_error(error) from None
    raise typer.Exit(code)


@app.command()
def report(run: history.RunName = "last", config: Config = None, overrides: Set = None) -> None:
    """Make the report of a finished run anew, and print its path."""
    root = local_settings(config, overrides).local_root()
    from pipeline.report import page, runs

    try:
        path = page.write(runs.find(root, run))
    except runs.RunError as error:
        raise usage_error(error) from None
    typer.echo(path)


@app.command()
def rollback(
    version: Annotated[int, typer.Argument(help="A version at the push destination.")],
    config: Config = None,
    overrides: Set = None,
) -> None:
    """Serve an older version again, by publishing it as a new one."""
    from components import publishing

    destination = settings_of(config, overrides).push.destination
    try:
        served = publishing.rollback(destination, version)
    except (ValueError, OSError, publishing.PublishError) as error:
        raise usage_error(error) from None
    typer.echo(f"{destination}: version {served} is served now, the model of version {version}")


@app.command()
def serve(
    config: Config = None,
    overrides: Set = None,
    host: Annotated[str, typer.Option(help="Address; the default is this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0: a free one.")] = 8501,
) -> None:
    """Serve the pushed model: a page to draw on, and TensorFlow Serving's REST API."""
    from pipeline.serve import server

    raise typer.Exit(server.serve(settings_of(config, overrides).push.destination, host, port))


class Format(str, Enum):
    """How predictions are printed."""

    table = "table"
    json = "json"


@app.command()
def predict(
    files: Annotated[list[str], typer.Argument(help="PNG, JPEG or IDX files; - is stdin.")],
    config: Config = None,
    overrides: Set = None,
    output: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
) -> None:
    """Say what the pushed model sees in pictures."""
    from pipeline import predict as predictor

    settings = settings_of(config, overrides)
    transposed = settings.data.facts.transposed
    raise typer.Exit(
        predictor.predict(files, settings.push.destination, output.value, transposed=transposed)
    )


@app.command()
def doctor(config: Config = None, overrides: Set = None) -> None:
    """Check this machine, and say the cure for whatever is wrong."""
    from pipeline import doctor as physician

    raise typer.Exit(physician.doctor(settings_of(config, overrides)))


@app.command()
def gc(
    config: Config = None,
    overrides: Set = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say it, do not do it.")] = False,
) -> None:
    """Remove what killed runs left behind; nothing that a later run could use.

    Exit codes: 0 done; 1 a run is using the folder, or something cannot be removed.
    """
    from pipeline import gc as collector

    raise typer.Exit(collector.collect(local_settings(config, overrides), dry_run))


@app.command("verify-replicas")
def verify_replicas(
    out: Annotated[Path | None, typer.Option(help="Markdown file for the table.")] = None,
) -> None:
    """Compare the weights after training on 1, 2, 4 and 8 replicas, ours beside Keras's.

    Exit codes: 0 all of ours are within the tolerances, 1 one is not.
    """
    if out and not out.parent.is_dir():  # Not after minutes of work.
        raise usage_error(ValueError(f"--out {out}: there is no folder {out.parent}"))
    from pipeline.verify_replicas import verify

    raise typer.Exit(0 if verify(out=out) else 1)


app.add_typer(history.app)
app.add_typer(platforms.app)
