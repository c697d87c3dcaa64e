"""How far a training is, beside what the loop itself knows: epochs, sums, the best weights."""

import dataclasses
import json
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from components.trainer import actions
from components.trainer.actions import Epoch
from components.trainer.step import TOTALS


class Progress(tf.train.experimental.PythonState):
    """What the outer loop has to remember between its calls of the training loop.

    A checkpoint holds it whole: the attributes as JSON, which keeps every digit of a float, and
    the best weights as variables (see `trackables`).

    Args:
      variables: Of the model; the best epoch's values are kept.
      patience: Epochs without a lower eval loss before training stops.

    Attributes:
      epochs: Those that have ended, in order.
      totals: Of the epoch that runs, see `TrainingLoop.advance`; float64 [len(TOTALS)].
      seconds: Of training in the epoch that runs.
    """

    def __init__(self, variables: Sequence[keras.Variable], patience: int):
        self._variables, self._patience = list(variables), patience
        self.epochs: list[Epoch] = []
        self._begin_epoch()
        with tf.device("CPU"):  # Another copy of the weights need not fit the accelerator.
            self._best_values = [tf.Variable(np.array(v), trainable=False) for v in variables]

    def _begin_epoch(self) -> None:
        self.totals, self.seconds = np.zeros(len(TOTALS)), 0.0

    def end_epoch(self, epoch: Epoch) -> None:
        """Adds an epoch; to be called while the evaluation weights are in the variables."""
        self.epochs.append(epoch)
        self._begin_epoch()
        if self.best is epoch:
            for kept, variable in zip(self._best_values, self._variables, strict=True):
                kept.assign(np.array(variable))

    @property
    def best(self) -> Epoch | None:
        """The best of those that have ended; None before the first has."""
        return actions.best(self.epochs) if self.epochs else None

    @property
    def should_stop(self) -> bool:
        """Whether `patience` epochs in a row were no better."""
        return bool(self.epochs) and self.epochs[-1].number - self.best.number >= self._patience

    def restore_best(self) -> Epoch:
        """Puts the best epoch's weights back and returns that epoch.

        Raises:
          RuntimeError: No epoch has ended yet.
        """
        if self.best is None:
            raise RuntimeError("no epoch has finished, so there are no best weights to restore")
        for variable, kept in zip(self._variables, self._best_values, strict=True):
            variable.assign(kept.numpy())
        return self.best

    def trackables(self) -> dict:
        """The keyword arguments of the `tf.train.Checkpoint` that holds all of it."""
        return {"progress": self, "best_values": self._best_values}

    def serialize(self) -> str:
        """The attributes as JSON."""
        epochs = [dataclasses.asdict(epoch) for epoch in self.epochs]
        state = {"epochs": epochs, "totals": self.totals.tolist(), "seconds": self.seconds}
        return json.dumps(state)

    def deserialize(self, string_value: bytes) -> None:
        """Takes the attributes from what `serialize` gave."""
        state = json.loads(string_value)
        self.epochs = [Epoch(**epoch) for epoch in state["epochs"]]
        self.totals, self.seconds = np.array(state["totals"]), state["seconds"]
