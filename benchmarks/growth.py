"""What more data costs: time and memory of each node with 1, 2, 4 and 10 times MNIST.

    python -m benchmarks.growth [--sizes 1,2,4,10] [--epochs 1]

N times the data are N copies of MNIST, each turned and moved by angles and distances of its own, in
shards. All splits grow alike. Each size is a cold run in a process of its own, up to the push.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.process import machine, result, run_pipeline
from components import idx, mnist_files, mnist_names
from components.mnist_names import Pair
from pipeline import data
from pipeline.data_settings import DataSettings
from schemas import mnist

EXAMPLES_PER_SHARD = 15_000
TURN = np.radians(2)  # More by so much with each copy, to one side and the other in turns.

console = Console(stderr=True)


def main(
    sizes: Annotated[str, typer.Option(help="Times the data, the least one first.")] = "1,2,4,10",
    epochs: Annotated[int, typer.Option(min=1, help="Of training.")] = 1,
) -> None:
    """Prints seconds and peak memory by node and size as Markdown."""
    numbers = _numbers(sizes)
    results = {}
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder, console.status(f"{number} times the data"):
            write(Path(folder) / "data", number)
            results[number] = _run(Path(folder), number, epochs)
    print(f"{machine()}; a run for each\n")
    print(_seconds_table({n: _of(results[n], "seconds") for n in numbers}), end="\n\n")
    print(_memory_table({n: _of(results[n], "peak_memory") for n in numbers}), end="\n\n")
    accuracies = (f"{n}x {results[n]['accuracy']:.2%}" for n in numbers)
    print(f"test accuracy: {', '.join(accuracies)}")


def write(folder: Path, copies: int) -> None:
    """Writes so many copies of MNIST as shards of IDX files, a shard in memory at a time."""
    folder.mkdir(parents=True)
    files = mnist_files.find(data.fetch(DataSettings()))
    for pairs, names in ((files.train, mnist.FILES[:2]), (files.test, mnist.FILES[2:])):
        total = len(mnist_files.read_labels(pairs))
        starts = range(0, total, EXAMPLES_PER_SHARD)
        shards = copies * len(starts)
        for copy in range(copies):
            for number, start in enumerate(starts, copy * len(starts)):
                rows = range(start, min(start + EXAMPLES_PER_SHARD, total))
                images, labels = _read(pairs, rows)
                for name, array in zip(names, (_moved(images, copy), labels), strict=True):
                    idx.write(folder / mnist_names.shard(name, number, shards), array)


def _numbers(sizes: str) -> list[int]:
    try:
        numbers = [int(size) for size in sizes.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or numbers != sorted(set(numbers)):
        raise typer.BadParameter(f"sizes must be whole numbers that increase, got {sizes!r}")
    return numbers


def _read(pairs: Sequence[Pair], rows: range) -> tuple[np.ndarray, np.ndarray]:
    """The examples at `rows`: uint8 [rows, height, width] and uint8 [rows]."""
    [pair] = pairs
    images, labels = zip(*mnist_files.read_examples(pair, rows), strict=True)
    return np.stack(images), np.array(labels, np.uint8)


def _moved(images: np.ndarray, copy: int) -> np.ndarray:
    """Images as they are in a copy: turned about the centre and moved by whole pixels."""
    if not copy:
        return images
    angle = TURN * copy * (-1) ** copy
    down, right = copy % 3 - 1, copy // 3 % 3 - 1
    rows, columns = np.indices((mnist.HEIGHT, mnist.WIDTH))
    y, x = rows - (mnist.HEIGHT - 1) / 2 - down, columns - (mnist.WIDTH - 1) / 2 - right
    # Where each pixel comes from: the nearest one.
    row = np.rint(y * np.cos(angle) - x * np.sin(angle) + (mnist.HEIGHT - 1) / 2).astype(int)
    column = np.rint(y * np.sin(angle) + x * np.cos(angle) + (mnist.WIDTH - 1) / 2).astype(int)
    inside = (row >= 0) & (row < mnist.HEIGHT) & (column >= 0) & (column < mnist.WIDTH)
    return np.where(inside, images[:, np.where(inside, row, 0), np.where(inside, column, 0)], 0)


def _run(folder: Path, number: int, epochs: int) -> dict:
    """Runs the pipeline; gives its `result.json`, and the process's own `peak_memory` in bytes."""
    settings = {
        "data.source": folder / "data",
        "data.eval_examples": number * DataSettings().eval_examples,
        "train.epochs": epochs,
        # One epoch on digits that lean is not measured by the thresholds for seven on MNIST.
        "evaluate.min_accuracy": 0.9,
        "evaluate.min_class_accuracy": 0.8,
    }
    usage = run_pipeline(folder, *(f"{key}={value}" for key, value in settings.items()))
    return {**result(folder), "peak_memory": usage.peak_bytes}


def _of(result: dict, key: str) -> dict[str, float]:
    """What `result.json` says of each node under `key`, and of them all."""
    return {**{name: node[key] for name, node in result["nodes"].items()}, "all": result[key]}


def _seconds_table(columns: dict[int, dict[str, float]]) -> str:
    growth = max(columns) / min(columns)
    return _table("seconds", ", per example", columns, lambda value: f"{value:.1f}", growth)


def _memory_table(columns: dict[int, dict[str, float]]) -> str:
    return _table("peak memory, MiB", "", columns, lambda value: f"{value / 2**20:,.0f}")


def _table(
    title: str,
    remark: str,
    columns: dict[int, dict[str, float]],
    show: Callable[[float], str],
    growth: float = 1,
) -> str:
    """Markdown with a row for each node.

    Args:
      title: Of the first column.
      remark: On the last column.
      columns: By size, the values by node.
      show: How a value is written.
      growth: What the last column, the largest size's value by the least one's, is divided by.
    """
    least, most = min(columns), max(columns)
    heads = " | ".join(f"{number}x" for number in columns)
    lines = [
        f"| {title} | {heads} | {most}x / {least}x{remark} |",
        f"|---|{'---:|' * (len(columns) + 1)}",
    ]
    for name, first in columns[least].items():
        cells = " | ".join(show(values[name]) for values in columns.values())
        ratio = f"{columns[most][name] / first / growth:.2f}" if first else ""
        lines.append(f"| {name} | {cells} | {ratio} |")
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
