"""Throughput of the training loop and of `model.fit`, on the default model, side by side.

    python -m benchmarks.loop [--rounds 5] [--steps 200] [--torch PYTHON]

PYTHON is one that has PyTorch and NumPy: `benchmarks/torch_loop.py` then joins in. All train the
same model with the same optimizer on the same examples in memory, in batches of 128. Each has a
process of its own (in one process, the threads of one's input pipeline slow the other's down to a
half), and waits while another is timed. In a round each is timed once, in alternating order, after
a warm-up that is not timed; what counts is the median of the rounds' ratios.
"""

import statistics
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.contestants import Contestant, Timed, Train, take_turns
from benchmarks.process import machine

BATCH = 128
WARM_UP_STEPS = 80


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each")] = 5,
    steps: Annotated[int, typer.Option(min=1, help="Training steps in each")] = 200,
    torch: Annotated[
        Path | None, typer.Option(help="A Python that has PyTorch and NumPy", exists=True)
    ] = None,
) -> None:
    """Prints examples per second of each, and the loop's ratio to the others, as Markdown."""
    contestants: dict[str, Timed] = {name: Contestant(make) for name, make in CONTESTANTS.items()}
    if torch:
        pytorch = TorchContestant(torch)
        contestants[pytorch.name] = pytorch
    taken = take_turns(contestants, rounds=rounds, steps=steps, warm_up=WARM_UP_STEPS)
    print("| | examples/s | the loop is faster by | range |\n|---|---|---|---|")
    for name, seconds in taken.items():
        ratios = [theirs / ours for ours, theirs in zip(taken[LOOP], seconds, strict=True)]
        print(
            f"| {name} | {BATCH * steps / statistics.median(seconds):,.0f} | "
            f"{statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |"
        )
    if not torch:
        print("\nPyTorch was not measured: `--torch` names a Python that has it.")
    print(f"\nMedians of {rounds} rounds of {steps} steps, batches of {BATCH}; {machine()}")


class TorchContestant:
    """`benchmarks/torch_loop.py`, run by a Python of another environment.

    Args:
      python: The Python.

    Raises:
      RuntimeError: The process has died; it has said why.
    """

    def __init__(self, python: Path):
        script = str(Path(__file__).with_name("torch_loop.py"))
        self._process = subprocess.Popen(
            [str(python), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.name = self._line()

    def seconds(self, steps: int) -> float:
        """As `Timed.seconds`."""
        try:
            self._process.stdin.write(f"{steps}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._death() from None
        return float(self._line())

    def end(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _line(self) -> str:
        line = self._process.stdout.readline()
        if not line:
            raise self._death()
        return line.rstrip("\n")

    def _death(self) -> RuntimeError:
        return RuntimeError("the process of PyTorch has died; see above")


def _loop() -> Train:
    import keras

    from components.trainer import inputs, models
    from components.trainer import strategy as strategies
    from components.trainer.loop import TrainingLoop

    strategy = strategies.create("default")
    loop = TrainingLoop(models.create("cnn"), keras.optimizers.AdamW(), strategy=strategy)
    iterator = iter(inputs.distribute(strategy, examples_in_memory(), BATCH))
    return lambda steps: loop.train(iterator, steps)


def _fit(steps_per_execution: int = 1) -> Train:
    import keras

    from components.trainer import inputs, models
    from schemas import mnist

    model = models.create("cnn")
    model.compile(
        keras.optimizers.AdamW(),
        loss={"logits": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"logits": ["accuracy"]},
        steps_per_execution=steps_per_execution,
    )
    batches = examples_in_memory().map(
        lambda batch: ({mnist.IMAGE: batch[mnist.IMAGE]}, {"logits": batch[mnist.LABEL]})
    )
    # With the tuner, about every third call of `fit` would end in a wait of half its time.
    batches = batches.prefetch(8).with_options(inputs.untuned())
    return lambda steps: model.fit(batches, steps_per_epoch=steps, verbose=0)


def _fit_40() -> Train:
    return _fit(steps_per_execution=40)


def examples_in_memory():
    """Batches ready made: noise, as how fast a step is does not depend on what images show."""
    import numpy as np
    import tensorflow as tf

    from schemas import data_sets, mnist

    rng = np.random.default_rng(0)
    batches = {
        mnist.IMAGE: rng.integers(0, 256, [100, BATCH, mnist.HEIGHT, mnist.WIDTH], np.uint8),
        mnist.LABEL: rng.integers(0, data_sets.MNIST.num_classes, [100, BATCH]),
    }
    return tf.data.Dataset.from_tensor_slices(batches).repeat()


LOOP = "this loop"
CONTESTANTS = {
    LOOP: _loop,
    "`model.fit`": _fit,
    "`model.fit`, `steps_per_execution=40`": _fit_40,
}


if __name__ == "__main__":
    typer.run(main)
