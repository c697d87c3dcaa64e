"""Commands on earlier runs. What takes time to import is imported inside them."""

import contextlib
import json
from collections.abc import Iterator
from typing import Annotated

import typer

from pipeline.options import Config, Set, local_settings, usage_error

app = typer.Typer()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="The beginning of a run's name, or last.")
]


@app.command()
def runs(
    config: Config = None,
    overrides: Set = None,
    limit: Annotated[int, typer.Option(min=1, help="The most runs to list.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first, with what each changed."""
    with _history(config, overrides) as history:
        from pipeline.history import listing

        entries = listing.listed(history, limit)
        if as_json:
            typer.echo(json.dumps(entries, indent=2))
        else:
            listing.print_runs(_console(), history, entries)


@app.command()
def show(run: RunName = "last", config: Config = None, overrides: Set = None) -> None:
    """Show a run: its settings, nodes, artifacts, metrics and verdict."""
    with _history(config, overrides) as history:
        from pipeline.history import details

        details.print_run(_console(), history.root, history.find(run))


@app.command()
def compare(
    before: Annotated[str, typer.Argument(metavar="RUN", help="A run, as for `show`.")],
    now: Annotated[str, typer.Argument(metavar="RUN", help="The run to compare it with.")],
    config: Config = None,
    overrides: Set = None,
) -> None:
    """Compare two runs: settings, data, code, accuracy by class, time by node."""
    with _history(config, overrides) as history:
        from pipeline.history import comparison

        comparison.print_comparison(_console(), history.find(before), history.find(now))


@app.command()
def lineage(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A pushed version, its folder, or last.")
    ] = "last",
    config: Config = None,
    overrides: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show where a pushed model comes from, down to the files of its data."""
    with _history(config, overrides) as history:
        from pipeline.history import lineage as tracer
        from pipeline.history import lineage_tree

        found = tracer.trace(history, tracer.find(history, model))
        if as_json:
            typer.echo(json.dumps(found.as_dict(), indent=2))
        else:
            lineage_tree.print_lineage(_console(), history.root, found)


@app.command()
def explain(run: RunName = "last", config: Config = None, overrides: Set = None) -> None:
    """Say why a run's model was pushed, or why not."""
    with _history(config, overrides) as history:
        from pipeline.history import explanation

        explanation.print_explanation(_console(), explanation.of(history.find(run)))


def _console():
    from rich.console import Console

    return Console(highlight=False)


@contextlib.contextmanager
def _history(config: str | None, overrides: list[str] | None) -> Iterator:
    """The runs under the root of the settings; what is wrong is one message and exit code 2."""
    settings = local_settings(config, overrides)
    from pipeline.history.problem import HistoryError
    from pipeline.history.runs import History

    try:
        yield History(settings.root)
    except HistoryError as error:
        raise usage_error(error) from None
