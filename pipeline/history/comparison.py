"""Two runs beside each other."""

from itertools import chain
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from components.metrics import Metrics
from pipeline import changes
from pipeline.history import words
from pipeline.history.runs import Run

_BETTER, _WORSE, _OTHER = "green", "bold red", "yellow"


def print_comparison(console: Console, before: Run, now: Run) -> None:
    """Prints in what two runs differ; what is alike is left out or dim."""
    console.print(_overview(before, now))
    console.print()
    console.print(_settings(before, now))
    console.print()
    console.print(_fingerprints(before, now))
    if before.evaluation and now.evaluation:
        console.print()
        console.print(_classes(before.evaluation.model, now.evaluation.model))
    elif "accuracy" in before.result and "accuracy" in now.result:
        console.print(f"\n{words.NO_CLASSES}", style="dim")
    console.print()
    console.print(_nodes(before, now))


def _table(*titles: str, justify: Literal["left", "right"] = "left") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    first, *others = titles
    table.add_column(first, no_wrap=True)
    for title in others:
        table.add_column(title, overflow="fold", justify=justify)
    return table


def _overview(before: Run, now: Run) -> Table:
    table = _table("run", before.name, now.name)
    for name, of in (
        ("verdict", lambda run: run.verdict.replace("_", " ")),
        ("model", lambda run: words.model(run.settings)),
        ("took", lambda run: words.took(run.seconds)),
        ("version", lambda run: str(run.result.get("version") or words.NONE)),
        ("test accuracy", lambda run: words.percent(run.result.get("accuracy"))),
    ):
        one, two = of(before), of(now)
        table.add_row(name, one, Text(two, _OTHER if one != two else ""))
    return table


def _settings(before: Run, now: Run) -> Table | Text:
    different = changes.between(before.settings, now.settings)
    if not different:
        return Text("The settings are the same.", "dim")
    table = _table("setting", "before", "now")
    for name, (one, two) in different.items():
        table.add_row(name, Text(words.value(one)), Text(words.value(two), _OTHER))
    return table


def _fingerprints(before: Run, now: Run) -> Table:
    table = _table("fingerprint", "before", "now")
    for name in dict.fromkeys(chain(before.fingerprints, now.fingerprints)):
        one, two = (run.fingerprints.get(name) for run in (before, now))
        same = Text("the same", "dim")
        other = Text(words.fingerprint(two), _OTHER)
        table.add_row(name, words.fingerprint(one), same if one == two else other)
    return table


def _classes(before: Metrics, now: Metrics) -> Table:
    table = _table("class", "before", "now", "change, points", justify="right")
    one_by_name, two_by_name = (
        dict(zip(of.class_names, of.class_accuracies, strict=True)) for of in (before, now)
    )
    rows = [("all", before.accuracy, now.accuracy)]
    rows += [
        (name, one_by_name.get(name), two_by_name.get(name))
        for name in {**one_by_name, **two_by_name}
    ]
    for name, one, two in rows:
        table.add_row(name, words.percent(one), words.percent(two), _change(one, two))
    entropies = f"{before.cross_entropy:.4f}", f"{now.cross_entropy:.4f}"
    change = now.cross_entropy - before.cross_entropy
    style = _style(-change)
    table.add_row("cross-entropy", *entropies, Text(f"{change:+.4f}", style))
    return table


def _change(before: float | None, now: float | None) -> Text:
    if before is None or now is None:
        return Text(words.NONE)
    return Text(words.points(now - before), _style(now - before))


def _style(gain: float) -> str:
    if gain == 0:
        return "dim"
    return _BETTER if gain > 0 else _WORSE


def _nodes(before: Run, now: Run) -> Table:
    table = _table("node", "before", "now")
    for node in dict.fromkeys(chain(before.executions, now.executions)):
        table.add_row(node, *(_state(run, node) for run in (before, now)))
    return table


def _state(run: Run, node: str) -> Text:
    state = run.state_of(node)
    if state is None:
        return Text("not started", "dim")
    if state == "done":
        return Text(words.took(run.executions[node].seconds))
    return Text(state, words.STYLES.get(state, ""))
