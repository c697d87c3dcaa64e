"""Throughput of the training loop and of `model.fit`, on the default model, side by side.

    python -m benchmarks.loop [--rounds 5] [--steps 200]

Both train the same model with the same optimizer on the same examples in memory, in batches of 128.
A round times one after the other, in alternating order, after a warm-up that is not timed; what
counts is the median of the rounds' ratios.
"""

import statistics
import time
from collections.abc import Callable
from typing import Annotated

import keras
import numpy as np
import tensorflow as tf
import typer

from components.trainer import inputs, models
from components.trainer import strategy as strategies
from components.trainer.loop import TrainingLoop
from schemas import data_sets, mnist

BATCH = 128


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Pairs of measurements")] = 5,
    steps: Annotated[int, typer.Option(min=1, help="Training steps in each")] = 200,
) -> None:
    """Prints examples per second of both, and their ratio."""
    contestants = {"loop": _loop(), "fit": _fit()}
    for train in contestants.values():
        train(40)
    ratios = []
    for number in range(rounds):
        names = list(contestants) if number % 2 else list(reversed(contestants))
        rate = {name: BATCH * steps / _seconds(contestants[name], steps) for name in names}
        ratios.append(rate["loop"] / rate["fit"])
        print(
            f"round {number + 1}: loop {rate['loop']:,.0f}, fit {rate['fit']:,.0f} examples/s, "
            f"ratio {ratios[-1]:.2f}"
        )
    median = statistics.median(ratios)
    print(f"ratio: median {median:.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


def _loop() -> Callable[[int], object]:
    strategy = strategies.create("default")
    loop = TrainingLoop(models.create("cnn"), keras.optimizers.AdamW(), strategy=strategy)
    iterator = iter(inputs.distribute(strategy, _examples(), BATCH))
    return lambda steps: loop.train(iterator, steps)


def _fit() -> Callable[[int], object]:
    model = models.create("cnn")
    model.compile(
        keras.optimizers.AdamW(),
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": ["accuracy"]},
    )
    batches = _examples().map(
        lambda batch: ({mnist.IMAGE: batch[mnist.IMAGE]}, {"logits": batch[mnist.LABEL]})
    )
    batches = batches.prefetch(tf.data.AUTOTUNE)
    return lambda steps: model.fit(batches, steps_per_epoch=steps, verbose=0)


def _examples() -> tf.data.Dataset:
    """Batches ready made: noise, as how fast a step is does not depend on what images show."""
    rng = np.random.default_rng(0)
    batches = {
        mnist.IMAGE: rng.integers(0, 256, [100, BATCH, mnist.HEIGHT, mnist.WIDTH], np.uint8),
        mnist.LABEL: rng.integers(0, data_sets.MNIST.num_classes, [100, BATCH]),
    }
    return tf.data.Dataset.from_tensor_slices(batches).repeat()


def _seconds(train: Callable[[int], object], steps: int) -> float:
    start = time.perf_counter()
    train(steps)
    return time.perf_counter() - start


if __name__ == "__main__":
    typer.run(main)
