"""The list of runs."""

from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pipeline import changes
from pipeline.history import words
from pipeline.history.runs import FINGERPRINTS, History, Run

# Columns: run, when, took, verdict, accuracy, version; each run has a second line below them.
_WIDTHS = (18, 12, 13, 12, 8, 11)
_INDENT = 2


def listed(history: History, limit: int | None) -> list[dict[str, Any]]:
    """The runs as plain data, newest first.

    Args:
      history: All of them.
      limit: The most to list; None lists all.
    """
    # One more, so that the oldest in the list has one to be compared with.
    runs = history.runs(None if limit is None else limit + 1)
    pairs = zip_longest(runs, runs[1:])
    return [_entry(history, run, before) for run, before in list(pairs)[:limit]]


def print_runs(console: Console, history: History, entries: list[dict[str, Any]]) -> None:
    """Prints what `listed` gave: two lines for each run."""
    titles = ("run", "when", "took", "verdict", "accuracy", "version")
    console.print(_line([Text(title, "bold") for title in titles]))
    for entry in entries:
        verdict = entry["verdict"]
        cells = (
            Text(entry["short"]),
            Text(words.ago(history.find(entry["run"]).started)),
            Text(words.took(entry["seconds"])),
            Text(verdict.replace("_", " "), words.STYLES[verdict]),
            Text(words.percent(entry["accuracy"])),
            Text(words.NONE if entry["version"] is None else str(entry["version"])),
        )
        console.print(_line(cells))
        console.print(Padding(Text(_second_line(entry), "dim"), (0, 0, 0, _INDENT)))
    if len(entries) < len(history):
        console.print(f"{len(entries)} of {len(history)} runs; --limit shows more", style="dim")


def _entry(history: History, run: Run, before: Run | None) -> dict[str, Any]:
    return {
        "run": run.name,
        "short": history.short(run.name),
        "started": run.started.isoformat(),
        "seconds": run.seconds,
        "verdict": run.verdict,
        "node": run.stopped_in,
        "accuracy": run.result.get("accuracy"),
        "version": run.result.get("version"),
        "model": run.settings.get("train", {}).get("model"),
        "optimizer": run.settings.get("optimizer", {}).get("name"),
        "changed": None if before is None else _changed(before, run),
    }


def _changed(before: Run, run: Run) -> dict[str, list[Any]]:
    """What differs from the run before: settings, and fingerprints of data and code."""
    found = {
        key: list(pair) for key, pair in changes.between(before.settings, run.settings).items()
    }
    for name in run.fingerprints.keys() & before.fingerprints.keys():
        pair = [before.fingerprints[name], run.fingerprints[name]]
        if pair[0] != pair[1]:
            found[name] = pair
    return found


def _second_line(entry: dict[str, Any]) -> str:
    names = [entry["model"], entry["optimizer"]]
    parts = [", ".join(filter(None, names)) or "settings are lost"]
    if entry["node"]:
        parts.insert(0, f"in {entry['node']}")
    if entry["changed"] == {}:
        parts.append("nothing changed")
    for key, (old, new) in (entry["changed"] or {}).items():
        if key in FINGERPRINTS:
            parts.append(f"other {key}")
        else:
            parts.append(f"{key} {words.value(old)} → {words.value(new)}")
    return "; ".join(parts)


def _line(cells) -> Table:
    line = Table.grid(padding=(0, 1, 0, 0))
    for number, width in enumerate(_WIDTHS):
        line.add_column(width=width, no_wrap=True, justify="right" if number == 4 else "left")
    line.add_row(*cells)
    return line
