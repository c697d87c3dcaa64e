"""One run in full."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from components.metrics import Metrics, wilson
from pipeline import changes
from pipeline.history import explanation, words
from pipeline.history.runs import Run


def print_run(console: Console, root: Path, run: Run) -> None:
    """Prints what is known of a run.

    Args:
      console: Where to.
      root: Paths below it are shortened.
      run: The run.
    """
    explanation.print_explanation(console, explanation.of(run))
    console.print()
    for name, value in _facts(run).items():
        console.print(_fact(name, value))
    _print_settings(console, run.settings)
    _print_nodes(console, root, run)
    if run.evaluation:
        _print_metrics(console, run.evaluation.model, run.evaluation.baseline)
    elif "accuracy" in run.result:
        console.print(f"\n{words.NO_CLASSES}", style="dim")


def _facts(run: Run) -> dict[str, str]:
    facts = {
        "started": words.clock(run.started),
        "took": words.took(run.seconds),
        "model": words.model(run.settings),
        "files": str(run.folder),
    }
    for name, digest in run.fingerprints.items():
        facts[name] = words.fingerprint(digest)
    return facts


def _fact(name: str, value: str) -> Table:
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_column(width=13, style="dim")
    line.add_column(overflow="fold")
    line.add_row(name, Text(value))
    return line


def _print_settings(console: Console, settings: dict[str, Any]) -> None:
    different = changes.from_defaults(settings)
    _title(console, "Settings that are not the defaults")
    for name, value in different.items():
        console.print(Text(f"{name}={words.value(value)}"))
    if not different:
        console.print("none")


def _print_nodes(console: Console, root: Path, run: Run) -> None:
    _title(console, "Nodes")
    if not run.executions:
        console.print("none was started")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("node", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("what came out, below the root", overflow="fold")
    for node, execution in run.executions.items():
        state = run.state_of(node)
        outputs = [artifact for each in execution.outputs.values() for artifact in each]
        table.add_row(
            node,
            Text(state, words.STYLES.get(state, "")),
            words.took(execution.seconds),
            Text("\n".join(_below(root, artifact.uri) for artifact in outputs)),
        )
    console.print(table)


def _print_metrics(console: Console, model: Metrics, before: Metrics | None) -> None:
    _title(console, "On the test split")
    right = sum(row[label] for label, row in enumerate(model.confusion))
    low, high = wilson(right, model.examples)
    console.print(
        f"{right:,} of {model.examples:,} right: {model.accuracy:.2%}, {100 * low:.2f} to "
        f"{high:.2%} with 95% confidence; cross-entropy {model.cross_entropy:.4f}"
    )
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    titles = ["class", "examples", "accuracy", *(["before"] if before else []), "mostly taken for"]
    for title in titles:
        table.add_column(title, justify="left" if title == "class" else "right", no_wrap=True)
    for label, name in enumerate(model.class_names):
        row = [name, f"{model.class_examples[label]:,}"]
        row.append(words.percent(model.class_accuracies[label]))
        if before:
            row.append(words.percent(before.class_accuracies[label]))
        wrong = [mistake for mistake in model.mistakes if mistake[0] == label]
        row.append(f"{model.class_names[wrong[0][1]]} ({wrong[0][2]})" if wrong else words.NONE)
        table.add_row(*row)
    console.print(table)


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, "bold"))


def _below(root: Path, uri: str) -> str:
    return uri.removeprefix(f"{root}/")
