"""What happens after each epoch beside training: small callables, given one `Epoch` each."""

import dataclasses
import json
import logging
import math
import os
from collections.abc import Callable, Iterable

import tensorflow as tf

log = logging.getLogger(__name__)

# In the Trainer's folder for runs.
HISTORY = "history.jsonl"


class NonFiniteLossError(RuntimeError):
    """Training produced a loss that is not a number, or infinite."""


@dataclasses.dataclass(frozen=True)
class Epoch:
    """What one pass over the train split gave."""

    number: int  # from 1
    of: int  # the most there will be
    step: int  # training steps since the start
    train: dict[str, float]  # means over the train split while the weights moved
    eval: dict[str, float]  # means over the eval split with the evaluation weights
    seconds: float  # of training, without evaluation


Action = Callable[[Epoch], None]


def require_finite(epoch: Epoch) -> None:
    """Ends the run when the loss of training or evaluation is not finite.

    Raises:
      NonFiniteLossError: It says where and what to try.
    """
    for split, metrics in (("train", epoch.train), ("eval", epoch.eval)):
        if not math.isfinite(metrics["loss"]):
            raise NonFiniteLossError(
                f"{split} loss is {metrics['loss']} in epoch {epoch.number} (step {epoch.step}); "
                "nothing was exported. Try a lower optimizer.learning_rate, or clip the gradients: "
                "train.gradients=[{name: clip_by_global_norm, max_norm: 1.0}]"
            )


def log_progress(epoch: Epoch) -> None:
    """One line in the log; the console shows the latest."""
    log.info(
        "epoch %d/%d: eval accuracy %.2f%%, train loss %.4f, %.1f s",
        epoch.number,
        epoch.of,
        100 * epoch.eval["accuracy"],
        epoch.train["loss"],
        epoch.seconds,
    )


class TensorBoard:
    """Writes the scalars of both splits under `directory`, one run per split."""

    def __init__(self, directory: str):
        self._writers = {
            split: tf.summary.create_file_writer(f"{directory}/{split}")
            for split in ("train", "eval")
        }

    def __call__(self, epoch: Epoch) -> None:
        for split, writer in self._writers.items():
            with writer.as_default():
                for name, value in getattr(epoch, split).items():
                    tf.summary.scalar(name, value, step=epoch.step)
                writer.flush()


class History:
    """Keeps every epoch as one JSON line in `path`, for the report."""

    def __init__(self, path: str):
        self._path = path
        self._lines: list[str] = []

    def __call__(self, epoch: Epoch) -> None:
        self._lines.append(json.dumps(dataclasses.asdict(epoch)))
        with tf.io.gfile.GFile(self._path, "w") as file:
            file.write("\n".join(self._lines) + "\n")


def read_history(folder: str) -> list[Epoch]:
    """The epochs that `History` kept in the Trainer's folder for runs, in order."""
    with tf.io.gfile.GFile(os.path.join(folder, HISTORY)) as file:
        return [Epoch(**json.loads(line)) for line in file]


def best(history: Iterable[Epoch]) -> Epoch:
    """The epoch with the lowest eval loss, whose weights are exported; the later one of equals.

    The loss goes on to tell models apart whose accuracies differ by a handful of examples, which is
    chance.
    """
    return min(history, key=lambda epoch: (epoch.eval["loss"], -epoch.number))
