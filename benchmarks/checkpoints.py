"""What checkpoints cost: training of the default model with them and without, side by side.

    python -m benchmarks.checkpoints [--rounds 3] [--minutes 1]

A round trains for as many steps as the time between two checkpoints has room for, with one
checkpoint and without. Calls of the loop take turns, so that both see the same machine. Also
printed: how long one takes, and its size.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import tensorflow as tf
import typer

from benchmarks.process import machine
from components.trainer import checkpoint_store, inputs, models, optimizers
from components.trainer import strategy as strategies
from components.trainer.checkpoints import Checkpoints
from components.trainer.loop import TrainingLoop
from components.trainer.progress import Progress
from components.trainer.settings import CheckpointSettings, OptimizerSettings, TrainSettings
from schemas import data_sets, mnist

TRAIN = TrainSettings()
WRITES = 10  # Of which the median is printed.


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Pairs of measurements.")] = 3,
    minutes: Annotated[float, typer.Option(min=0.01, help="Between two checkpoints.")] = (
        CheckpointSettings().minutes
    ),
) -> None:
    """Prints the share of the time that checkpoints take, and what one takes, as Markdown."""
    strategy = strategies.create("default")
    optimizer = optimizers.create(OptimizerSettings().name)
    loop = TrainingLoop(
        models.create(TRAIN.model),
        optimizer,
        strategy=strategy,
        steps_per_call=TRAIN.steps_per_call,
    )
    state = {"loop": loop, **Progress(loop.model.variables, TRAIN.patience).trackables()}
    batches = iter(inputs.distribute(strategy, _batches(), TRAIN.batch_size))
    calls = _calls_within(60 * minutes, loop, batches)
    ratios = []
    print("| round | with checkpoints, s | without, s | difference |\n|---|---|---|---|")
    for number in range(rounds):
        # By steps, as a machine whose speed varies would make none, or two, by time.
        settings = CheckpointSettings(minutes=0, steps=calls * loop.steps_per_call)
        with tempfile.TemporaryDirectory() as folder:
            saved = Checkpoints(folder, strategy=strategy, settings=settings)
            saved.restore(**state)
            with_it, without = _seconds(loop, batches, calls, saved)
        ratios.append(with_it / without - 1)
        print(f"| {number + 1} | {with_it:.1f} | {without:.1f} | {ratios[-1]:+.2%} |")
    print(
        f"\nA checkpoint every {minutes:g} min: median {statistics.median(ratios):+.2%}. "
        f"{_one(tf.train.Checkpoint(**state), 60 * minutes)}; {machine()}"
    )


def _batches() -> tf.data.Dataset:
    """Noise: how long anything takes does not depend on what images show."""
    rng = np.random.default_rng(0)
    count = 100 * TRAIN.batch_size
    examples = {
        mnist.IMAGE: rng.integers(0, 256, [count, mnist.HEIGHT, mnist.WIDTH], np.uint8),
        mnist.LABEL: rng.integers(0, data_sets.MNIST.num_classes, count),
    }
    return inputs.training(examples, TRAIN.batch_size, seed=0)


def _calls_within(seconds: float, loop: TrainingLoop, batches: Iterator) -> int:
    """How many calls of the loop take so long."""
    loop.advance(batches, loop.steps_per_call)  # This one compiles.
    start = time.perf_counter()
    for _ in range(10):
        loop.advance(batches, loop.steps_per_call)
    return max(1, round(10 * seconds / (time.perf_counter() - start)))


def _seconds(
    loop: TrainingLoop, batches: Iterator, calls: int, saved: Checkpoints
) -> tuple[float, float]:
    """Makes the calls with checkpoints and without, in turns; returns the seconds of each."""
    totals = {True: 0.0, False: 0.0}
    for call in range(calls):
        for saving in (True, False) if call % 2 else (False, True):
            start = time.perf_counter()
            loop.advance(batches, loop.steps_per_call)
            if saving:
                saved.reached((call + 1) * loop.steps_per_call)
            totals[saving] += time.perf_counter() - start
    return totals[True], totals[False]


def _one(state: tf.train.Checkpoint, interval: float) -> str:
    """What one checkpoint takes."""
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for step in range(WRITES):
            start = time.perf_counter()
            checkpoint_store.write(state, folder, step)
            times.append(time.perf_counter() - start)
        files = Path(checkpoint_store.path(folder, WRITES - 1)).iterdir()
        size = sum(file.stat().st_size for file in files)
    seconds = statistics.median(times)
    return (
        f"One takes {1000 * seconds:.0f} ms, {seconds / interval:.2%} of the interval, and "
        f"{size / 2**20:.1f} MiB"
    )


if __name__ == "__main__":
    typer.run(main)
