"""Trains every case of `replica_cases` on 1, 2, 4 and 8 replicas and compares the weights."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import keras
import numpy as np
from rich.console import Console
from rich.table import Table

from components.files import write_whole
from components.trainer import strategy as strategies
from pipeline import replica_engines
from pipeline.replica_cases import CASES, Case
from pipeline.replica_engines import Weights

REPLICAS = (1, 2, 4, 8)

# Largest relative difference of the weights that passes, by dtype.
TOLERANCES = {"float64": 1e-12, "float32": 1e-5}


_HEADING = """# Weights on 1, 2, 4 and 8 replicas

Largest relative difference of the weights after 20 steps with momentum: ours against plain
TensorFlow on one device, Keras against itself on one device. Made by
`python -m pipeline verify-replicas --out docs/replicas.md`.

`deep_cnn` is held to the tolerance in float64 alone. In float32 it is not within 1e-5, neither of
plain TensorFlow nor from one number of replicas to another: each rounds the statistics of a batch
in its own way, which takes a few of many thousand activations over the kink of a ReLU, or makes
another pixel the largest of its pool; and as the images are noise, whose gradients nearly cancel
out, a few are seen in the sum. The same network without kinks (softplus for ReLU, means for maxima)
agrees in float32 too, at a learning rate of 0.003; at the 0.01 of the other cases, so many
normalizations in a row round by 1e-5 themselves.

"""


KERAS: dict[str, Callable[[Case, int], Weights]] = {
    "model.fit": replica_engines.fit,
    "Keras optimizer": replica_engines.keras_loop,
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One case, trained in one way.

    Attributes:
      case: Name of the case.
      trained_by: What trained it, and in which dtype.
      differences: Largest relative difference for each number of replicas, or the name of the
        exception that was raised.
      tolerance: What passes; None where the row is shown, not judged, as all of Keras's are.
    """

    case: str
    trained_by: str
    differences: tuple[float | str, ...]
    tolerance: float | None

    @property
    def passes(self) -> bool:
        """Whether every difference is within the tolerance."""
        return self.tolerance is None or all(
            isinstance(difference, float) and difference <= self.tolerance
            for difference in self.differences
        )


def verify(
    replicas: Sequence[int] = REPLICAS, out: Path | None = None, cases: Iterable[Case] = CASES
) -> bool:
    """Runs the cases and prints the table; call it before TensorFlow has started.

    Args:
      replicas: Numbers of replicas, the table's columns.
      out: Markdown file to write the table to.
      cases: The cases, the table's rows.

    Returns:
      Whether all differences of ours are within `TOLERANCES`.

    Raises:
      strategy.StrategyError: TensorFlow has started with fewer devices.
    """
    strategies.prepare_devices(f"mirrored:{max(replicas)}")
    console = Console()
    rows: list[Row] = []
    with console.status("training") as status:
        for case in cases:
            status.update(f"training: {case.name}")
            rows += compare(case, replicas)
    console.print(_table(rows, replicas))
    failed = [row for row in rows if not row.passes]
    for row in failed:
        console.print(f"[red]{row.case}, {row.trained_by}: above {row.tolerance:.0e}")
    if out:
        write_whole(out, (_HEADING + markdown(rows, replicas)).encode())
    return not failed


def compare(case: Case, replicas: Sequence[int]) -> list[Row]:
    """The rows of a case.

    Ours is measured against plain TensorFlow on one device, Keras against itself on one device.
    """
    rows = []
    for dtype, tolerance in TOLERANCES.items():
        with _floats(dtype):
            expected = replica_engines.plain(case)
            results = [_attempt(replica_engines.ours, case, number) for number in replicas]
        differences = tuple(_difference(result, expected) for result in results)
        judged = tolerance if dtype in case.judged else None
        rows.append(Row(case.name, f"ours, {dtype}", differences, judged))
    for name, train in KERAS.items() if case.keras_optimizer else ():
        with _floats("float64"):
            expected = _attempt(train, case, 1)
            results = [_attempt(train, case, number) for number in replicas]
        differences = tuple(_difference(result, expected) for result in results)
        rows.append(Row(case.name, f"{name}, float64", differences, None))
    return rows


def markdown(rows: Iterable[Row], replicas: Sequence[int]) -> str:
    """The table as Markdown."""
    lines = [
        "| case | trained by | " + " | ".join(map(str, replicas)) + " |",
        "|---|---|" + "---:|" * len(replicas),
    ]
    for row in rows:
        cells = [row.case, row.trained_by, *map(_text, row.differences)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _table(rows: Iterable[Row], replicas: Sequence[int]) -> Table:
    table = Table("case", "trained by", title="largest relative difference of the weights")
    for number in replicas:
        table.add_column(f"{number} replicas", justify="right")
    for row in rows:
        style = None if row.passes else "red"
        table.add_row(row.case, row.trained_by, *map(_text, row.differences), style=style)
    return table


def _text(difference: float | str) -> str:
    return difference if isinstance(difference, str) else f"{difference:.0e}"


def _attempt(
    train: Callable[[Case, int], Weights], case: Case, replicas: int
) -> Weights | Exception:
    try:
        return train(case, replicas)
    except Exception as error:  # Whatever it is, it is this cell's result, and fails ours.
        return error


def _difference(actual: Weights | Exception, expected: Weights | Exception) -> float | str:
    """The largest of all weights on all replicas; infinity if a weight is not finite."""
    for result in (actual, expected):
        if isinstance(result, Exception):
            return type(result).__name__
    ratios = [
        np.max(np.abs(copies - wanted[0])) / np.max(np.abs(wanted[0]))
        for copies, wanted in zip(actual, expected, strict=True)
    ]
    worst = float(np.max(ratios))
    return worst if np.isfinite(worst) else float("inf")


@contextlib.contextmanager
def _floats(dtype: str) -> Iterator[None]:
    """Makes Keras compute in a type: layers, losses and optimizers."""
    before = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    try:
        yield
    finally:
        keras.config.set_floatx(before[0])
        keras.config.set_dtype_policy(before[1])
