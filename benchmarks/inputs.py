"""The input pipeline alone, beside the training step that it feeds.

    python -m benchmarks.inputs [--rounds 5] [--passes 2]

In a round, batches of the default size are drawn from 55,000 examples in memory, then from as many
in a file, shuffled anew in each pass; then steps are taken on one batch that is always the same.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Annotated

import keras
import numpy as np
import tensorflow as tf
import typer

from benchmarks.process import machine
from components.trainer import inputs, models
from components.trainer import strategy as strategies
from components.trainer.image_file import ImageFile
from components.trainer.loop import TrainingLoop
from components.trainer.settings import TrainSettings
from schemas import data_sets, mnist

EXAMPLES = 55_000
STEPS = 200
BATCH = TrainSettings().batch_size


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each")] = 5,
    passes: Annotated[int, typer.Option(min=1, help="Passes over the examples in each")] = 2,
) -> None:
    """Prints examples per second of both, and their ratio, as Markdown."""
    strategy = strategies.create("default")
    rng = np.random.default_rng(0)
    examples = {
        mnist.IMAGE: rng.integers(0, 256, [EXAMPLES, mnist.HEIGHT, mnist.WIDTH], np.uint8),
        mnist.LABEL: rng.integers(0, data_sets.MNIST.num_classes, [EXAMPLES]),
    }
    on_disk = ImageFile()
    on_disk.append(examples[mnist.IMAGE])
    batches = inputs.training(examples, BATCH, seed=0)
    read = inputs.training({**examples, mnist.IMAGE: on_disk}, BATCH, seed=0)
    fed, fed_from_file = (inputs.distribute(strategy, each, BATCH) for each in (batches, read))
    loop = TrainingLoop(models.create("cnn"), keras.optimizers.AdamW(), strategy=strategy)
    one = iter(inputs.distribute(strategy, batches.take(1).cache().repeat(), BATCH))
    loop.train(one, 40)
    draw, drawn, drawn_from_file, trained = _drawer(), [], [], []
    count = passes * -(-EXAMPLES // BATCH)
    for _ in range(rounds):
        drawn.append(passes * EXAMPLES / draw(iter(fed), count))
        drawn_from_file.append(passes * EXAMPLES / draw(iter(fed_from_file), count))
        trained.append(BATCH * STEPS / _train(loop, one))
    ratios, from_file = (
        [a / b for a, b in zip(each, trained, strict=True)] for each in (drawn, drawn_from_file)
    )
    print("| | examples/s |\n|---|---|")
    print(f"| input pipeline alone | {statistics.median(drawn):,.0f} |")
    print(f"| the same, images in a file | {statistics.median(drawn_from_file):,.0f} |")
    print(f"| training step alone | {statistics.median(trained):,.0f} |")
    print(
        f"\nRatio: {statistics.median(ratios):.0f} ({min(ratios):.0f} to {max(ratios):.0f}), "
        f"from a file {statistics.median(from_file):.0f} "
        f"({min(from_file):.0f} to {max(from_file):.0f}); "
        f"medians of {rounds} rounds; {machine()}"
    )


def _drawer() -> Callable[[Iterator, int], float]:
    """Draws batches as the loop does, inside of a compiled function; gives seconds."""

    @tf.function(autograph=False)
    def take(iterator: Iterator, count: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda index, _: index < count,
            lambda index, seen: (index + 1, seen + tf.size(iterator.get_next()[mnist.LABEL])),
            [0, 0],
        )[1]

    def draw(iterator: Iterator, count: int) -> float:
        start = time.perf_counter()
        take(iterator, tf.constant(count)).numpy()
        return time.perf_counter() - start

    return draw


def _train(loop: TrainingLoop, iterator: Iterator) -> float:
    start = time.perf_counter()
    loop.train(iterator, STEPS)
    return time.perf_counter() - start


if __name__ == "__main__":
    typer.run(main)
