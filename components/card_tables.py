"""The numbers of a model card as tables and as one chart."""

from collections.abc import Mapping
from typing import NamedTuple

from components.metrics import Evaluation, Metrics, wilson

_NONE = "–"


class Table(NamedTuple):
    """Texts in columns.

    Attributes:
      caption: What it shows.
      columns: Their titles; the first column names the row, the others hold numbers.
      rows: The cells.
      shades: For each cell how dark it is, from 0 to 1; None for a table without shades.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    shades: tuple[tuple[float, ...], ...] | None = None


class Whisker(NamedTuple):
    """The accuracy of a class and the ends of its interval, as shares of the chart's width."""

    name: str
    low: float
    value: float
    high: float
    text: str


class Chart(NamedTuple):
    """Accuracies with their intervals on an axis from `start` to 100%."""

    start: str
    whiskers: tuple[Whisker, ...]


def accuracy(of: Metrics) -> str:
    """The accuracy over all examples, as text."""
    return f"{of.accuracy:.2%}"


def interval(of: Metrics) -> str:
    """Its 95% confidence interval, as text."""
    right = sum(row[label] for label, row in enumerate(of.confusion))
    return f"{_interval(right, of.examples)}%"


def thresholds(values: Mapping[str, float]) -> Table:
    """What the model had to reach."""
    titles = {
        "min_accuracy": "Least accuracy over all classes",
        "min_class_accuracy": "Least accuracy of each class",
        "max_accuracy_drop": "Most that accuracy may lie below the model pushed before",
        "max_class_accuracy_drop": "Most that the accuracy of a class may lie below it",
    }
    rows = tuple((titles.get(name, name), f"{value:.2%}") for name, value in values.items())
    return Table("What a model must reach to be pushed", ("Threshold", "Value"), rows)


def by_class(evaluation: Evaluation, noun: str) -> Table:
    """Accuracy of each class, beside the model pushed before where there was one."""
    model, baseline = evaluation.model, evaluation.baseline
    columns = [noun.capitalize(), "Examples", "Accuracy", "95% interval, %"]
    if baseline:
        columns.append("Change")
    columns.append("Mostly taken for")
    rows = []
    for label, name in enumerate(model.class_names):
        row = [name, f"{model.class_examples[label]:,}", *_class_cells(model, label)]
        if baseline:
            row.append(_change(baseline.class_accuracies[label], model.class_accuracies[label]))
        rows.append((*row, _taken_for(model, label)))
    caption = f"Accuracy by {noun}" + (
        ", and its change from the model pushed before in points" if baseline else ""
    )
    return Table(caption, tuple(columns), tuple(rows))


def confusion(of: Metrics) -> Table:
    """Label by predicted class; the mistakes are shaded, the right answers are not."""
    most = max((count for _, _, count in of.mistakes), default=1)
    rows, shades = [], []
    for label, row in enumerate(of.confusion):
        rows.append((of.class_names[label], *(f"{count:,}" if count else "·" for count in row)))
        shades.append((0.0, *(0.0 if i == label else count / most for i, count in enumerate(row))))
    return Table(
        "Label (row) and answer (column), in examples",
        ("", *of.class_names),
        tuple(rows),
        tuple(shades),
    )


def chart(of: Metrics) -> Chart:
    """The accuracy of each class that has examples, with its interval."""
    spans = {
        label: (*wilson(of.confusion[label][label], of.class_examples[label]), value)
        for label, value in enumerate(of.class_accuracies)
        if value is not None
    }
    # To the whole percent below, so that the axis has a round start.
    start = min(int(100 * low) for low, _, _ in spans.values()) / 100
    start = min(start, 0.99)

    def place(value: float) -> float:
        return (value - start) / (1 - start)

    whiskers = tuple(
        Whisker(of.class_names[label], place(low), place(value), place(high), f"{value:.2%}")
        for label, (low, high, value) in spans.items()
    )
    return Chart(f"{start:.0%}", whiskers)


def _class_cells(of: Metrics, label: int) -> tuple[str, str]:
    value = of.class_accuracies[label]
    if value is None:
        return _NONE, _NONE
    return f"{value:.2%}", _interval(of.confusion[label][label], of.class_examples[label])


def _interval(right: int, examples: int) -> str:
    low, high = wilson(right, examples)
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _change(before: float | None, now: float | None) -> str:
    return _NONE if before is None or now is None else f"{100 * (now - before):+.2f}"


def _taken_for(of: Metrics, label: int) -> str:
    wrong = [(predicted, count) for row, predicted, count in of.mistakes if row == label]
    return f"{of.class_names[wrong[0][0]]} ({wrong[0][1]})" if wrong else _NONE
