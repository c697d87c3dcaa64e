"""Rows of the report's tables, with the lengths and shades of their bars and cells."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from components.metrics import Metrics
from pipeline.report.measures import Share
from pipeline.report.runs import Use


@dataclass(frozen=True)
class Class:
    """How well a class is recognized.

    Attributes:
      name: Of the class.
      share: Of its test examples, how many the model gets right; None where there are none.
      pushed: The same of the model that was pushed before; None where there is none, too.
    """

    name: str
    share: Share | None
    pushed: Share | None


@dataclass(frozen=True)
class Cell:
    """A cell of the confusion matrix; `shade` is from 0 to 1, the most frequent mistake has 1."""

    count: int
    kind: Literal["right", "wrong", "none"]
    shade: float


@dataclass(frozen=True)
class Node:
    """What a node took, and which part that is of the most that any node took."""

    name: str
    use: Use
    seconds_part: float
    memory_part: float


def classes(metrics: Metrics, pushed: Metrics | None) -> tuple[Class, ...]:
    """One row for each class."""
    shares = _class_shares(metrics)
    before = _class_shares(pushed) if pushed else [None] * len(shares)
    return tuple(map(Class, metrics.class_names, shares, before))


def confusion(counts: np.ndarray) -> tuple[tuple[Cell, ...], ...]:
    """The confusion matrix, given examples by label (row) and predicted class (column)."""
    mistakes = counts * ~np.eye(len(counts), dtype=bool)
    # A square root: single mistakes are to be seen beside a frequent one.
    shades = np.sqrt(mistakes / max(mistakes.max(), 1))
    return tuple(
        tuple(
            Cell(int(count), _kind(row, column, count), float(shades[row, column]))
            for column, count in enumerate(line)
        )
        for row, line in enumerate(counts)
    )


def nodes(uses: Mapping[str, Use]) -> tuple[Node, ...]:
    """One row for each node."""
    most_seconds = max(use.seconds for use in uses.values()) or 1
    most_memory = max(use.peak_memory for use in uses.values())
    return tuple(
        Node(
            name=name,
            use=use,
            seconds_part=use.seconds / most_seconds,
            memory_part=use.peak_memory / most_memory,
        )
        for name, use in uses.items()
    )


def _class_shares(metrics: Metrics) -> list[Share | None]:
    return [
        Share.measured(row[label], sum(row)) if any(row) else None
        for label, row in enumerate(metrics.confusion)
    ]


def _kind(row: int, column: int, count: int) -> Literal["right", "wrong", "none"]:
    if not count:
        return "none"
    return "right" if row == column else "wrong"
