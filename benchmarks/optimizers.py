"""Test accuracy on MNIST by epoch and by second: the optimizers here beside Keras's.

    python -m benchmarks.optimizers [--epochs 5] [--seeds 3] [--out docs]
    python -m benchmarks.optimizers --cost

The first trains the default model with each optimizer and writes OUT/optimizers.md and
OUT/optimizers.png. The second prints what a step costs, measured in pairs with Keras's AdamW.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
import typer
from rich.console import Console

from benchmarks.process import machine
from components import mnist_files, splits
from components.mnist_names import Pair
from components.trainer import inputs, models, optimizers
from components.trainer.loop import TrainingLoop
from components.trainer.optimizers.base import evaluation_weights
from components.trainer.settings import TrainSettings
from pipeline import data
from pipeline.data_settings import DataSettings
from schemas import mnist

console = Console(stderr=True)
BATCH_SIZE = TrainSettings().batch_size
Batch = dict[str, tf.Tensor]


@dataclass(frozen=True)
class Contender:
    """An optimizer with its arguments, which may depend on the number of training steps."""

    label: str
    name: str
    arguments: Callable[[int], dict[str, Any]] = lambda steps: {}

    def create(self, steps: int) -> keras.optimizers.Optimizer:
        """A fresh optimizer for a run of so many steps."""
        return optimizers.create(self.name, **self.arguments(steps))


@dataclass(frozen=True)
class Run:
    """One training: after each epoch, test accuracy and seconds of training so far."""

    accuracy: list[float]
    seconds: list[float]


def _cosine(peak: float) -> Callable[[int], dict[str, Any]]:
    return lambda steps: {"learning_rate": keras.optimizers.schedules.CosineDecay(peak, steps)}


CONTENDERS = [
    Contender("Schedule-Free AdamW", "schedule_free_adamw"),
    Contender("AdaBelief", "adabelief"),
    Contender("ADOPT", "adopt"),
    Contender("Prodigy, cosine decay", "prodigy", _cosine(1.0)),
    Contender(
        "LARS, cosine decay",
        "lars",
        lambda steps: {**_cosine(0.1)(steps), "trust_coefficient": 0.03},
    ),
    Contender("SGD, cosine decay", "sgd", _cosine(0.05)),
    Contender("Keras Adam", "keras:Adam"),
    Contender("Keras AdamW, cosine decay", "keras:AdamW", _cosine(0.001)),
    Contender("Keras Lion", "keras:Lion", lambda steps: {"learning_rate": 3e-4}),
    Contender("Keras ScheduleFreeAdamW", "keras:ScheduleFreeAdamW"),  # From Keras 3.13 on.
]


def main(
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the train split.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each optimizer.")] = 3,
    only: Annotated[
        list[str] | None, typer.Option(help="Names of optimizers; all if none.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the table and the plot.")] = Path("docs"),
    cost: Annotated[
        bool, typer.Option("--cost", help="Measure the cost of a step instead.")
    ] = False,
) -> None:
    """Compares the optimizers; see the module."""
    known = optimizers.names()
    chosen = [c for c in CONTENDERS if c.name in known and (not only or c.name in only)]
    if not chosen:
        raise typer.BadParameter(f"only: none of {', '.join(c.name for c in CONTENDERS)}: {only}")
    train, test = load()
    if cost:
        print_costs(chosen, train)
        return
    results: dict[str, list[Run]] = {contender.label: [] for contender in chosen}
    for seed in range(seeds):
        for contender in chosen:  # Seed by seed, so that all see the machine in the same mood.
            with console.status(f"seed {seed}: {contender.label}"):
                results[contender.label].append(run(contender, train, test, epochs, seed))
    out.mkdir(parents=True, exist_ok=True)
    plot(results, out / "optimizers.png")
    command = f"python -m benchmarks.optimizers --epochs {epochs} --seeds {seeds}"
    report = table(results, command + "".join(f" --only {name}" for name in only or ()))
    (out / "optimizers.md").write_text(report, encoding="utf-8")
    print(report)


def load() -> tuple[inputs.Examples, inputs.Examples]:
    """The train and the test split of the pipeline."""
    settings = DataSettings()
    files = mnist_files.find(data.fetch(settings))
    train = _examples(files.train)
    test = _examples(files.test)
    sizes = len(train[mnist.LABEL]), len(test[mnist.LABEL])
    rows = splits.choose(*sizes, eval_examples=settings.eval_examples).train
    return {name: values[rows] for name, values in train.items()}, test


def _examples(pairs: Sequence[Pair]) -> inputs.Examples:
    images = np.concatenate(list(mnist_files.read_images(pairs)))
    return {mnist.IMAGE: images, mnist.LABEL: mnist_files.read_labels(pairs)}


def prepare(
    contender: Contender, train: inputs.Examples, steps: int, seed: int
) -> tuple[TrainingLoop, Iterator[Batch]]:
    """A fresh model in a compiled loop, for so many steps, with its batches."""
    keras.utils.set_random_seed(seed)
    strategy = tf.distribute.get_strategy()
    model = models.create("cnn", seed=seed)
    loop = TrainingLoop(model, contender.create(steps), strategy=strategy)
    batches = inputs.training(train, BATCH_SIZE, seed=seed)
    iterator = iter(inputs.distribute(strategy, batches, BATCH_SIZE))
    # A first step compiles, which is no part of what is timed; then everything is put back.
    variables = [*model.variables, *loop.optimizer.variables]
    start = [variable.numpy() for variable in variables]
    loop.train(iterator, 1)
    for variable, value in zip(variables, start, strict=True):
        variable.assign(value)
    return loop, iterator


def run(
    contender: Contender, train: inputs.Examples, test: inputs.Examples, epochs: int, seed: int
) -> Run:
    """Trains once; evaluation takes no part in the seconds."""
    steps = -(-len(train[mnist.LABEL]) // BATCH_SIZE)
    loop, iterator = prepare(contender, train, epochs * steps, seed)
    batches = inputs.distribute(loop.strategy, inputs.one_pass(test, 1_000), 1_000)
    accuracy, seconds = [], [0.0]
    for _ in range(epochs):
        start = time.perf_counter()
        loop.train(iterator, steps)
        seconds.append(seconds[-1] + time.perf_counter() - start)
        with evaluation_weights(loop.optimizer):
            accuracy.append(loop.evaluate(batches)["accuracy"])
    return Run(accuracy, seconds[1:])


def table(results: dict[str, list[Run]], command: str) -> str:
    """A Markdown page."""
    epochs = len(next(iter(results.values()))[0].accuracy)
    shown = sorted({0, epochs // 2, epochs - 1})
    lines = [
        "# Optimizers on MNIST",
        "",
        "![Test accuracy by epoch and by second](optimizers.png)",
        "",
        "Test accuracy in percent: median over the seeds, and the range after the last epoch.",
        "",
        "| optimizer | " + " | ".join(f"epoch {i + 1}" for i in shown) + " | range | s per epoch |",
        "|---|" + "---|" * (len(shown) + 2),
    ]
    for label, runs in results.items():
        medians = [statistics.median(r.accuracy[i] for r in runs) for i in shown]
        last = [r.accuracy[-1] for r in runs]
        cells = [
            *(f"{100 * value:.2f}" for value in medians),
            f"{100 * min(last):.2f} to {100 * max(last):.2f}",
            f"{statistics.median(r.seconds[-1] for r in runs) / epochs:.1f}",
        ]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    lines += ["", f"`{command}`, {machine()}, Keras {keras.__version__}."]
    return "\n".join(lines) + "\n"


def plot(results: dict[str, list[Run]], path: Path) -> None:
    """Medians with the range over the seeds, by epoch and by second."""
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.5), sharey=True, layout="constrained")
    for number, (label, runs) in enumerate(results.items()):
        accuracy = 100 * np.array([r.accuracy for r in runs])  # [seeds, epochs]
        middle = np.median(accuracy, axis=0)
        seconds = np.median([r.seconds for r in runs], axis=0)
        style = "--" if label.startswith("Keras") else "-"
        for axis, x in zip(axes, (np.arange(1, len(middle) + 1), seconds), strict=True):
            axis.plot(x, middle, style, marker=".", color=f"C{number}", label=label)
            axis.fill_between(
                x, accuracy.min(axis=0), accuracy.max(axis=0), color=f"C{number}", alpha=0.1
            )
    lowest = min(np.median([r.accuracy[0] for r in runs]) for runs in results.values())
    axes[0].set_ylim(max(100 * lowest - 0.2, 97.5), 99.7)
    axes[0].set(xlabel="epoch", ylabel="test accuracy, %")
    axes[0].xaxis.get_major_locator().set_params(integer=True)
    axes[1].set(xlabel="seconds of training")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    for axis in axes:
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def print_costs(chosen: list[Contender], train: inputs.Examples, pairs: int = 40) -> None:
    """Steps of each optimizer and of Keras's AdamW in turns, so that both see the same machine."""
    adamw = Contender("Keras AdamW", "keras:AdamW")
    print(
        "| optimizer | step, ms | to Keras AdamW, median of pairs | quartiles |\n|---|---|---|---|"
    )
    for contender in chosen:
        steps = 10
        both = [prepare(each, train, steps * pairs, seed=0) for each in (contender, adamw)]
        times = np.zeros([pairs, 2])
        for pair in range(pairs):
            for i in (0, 1) if pair % 2 else (1, 0):
                loop, iterator = both[i]
                start = time.perf_counter()
                loop.train(iterator, steps)
                times[pair, i] = (time.perf_counter() - start) / steps
        low, middle, high = np.percentile(times[:, 0] / times[:, 1], [25, 50, 75])
        milliseconds = 1000 * np.median(times[:, 0])
        print(
            f"| {contender.label} | {milliseconds:.2f} | {middle:.3f} | {low:.3f} to {high:.3f} |",
            flush=True,
        )
    print(f"\n{pairs} pairs of {steps} steps, batches of {BATCH_SIZE}; {machine()}")


if __name__ == "__main__":
    typer.run(main)
