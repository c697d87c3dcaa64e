"""The outer loop: epochs, evaluation with the right weights, actions, early stop."""

import time
from collections.abc import Iterable, Iterator, Sequence

from components.trainer.actions import Action, Epoch, KeepBest
from components.trainer.loop import TrainingLoop
from components.trainer.optimizers.base import evaluation_weights


def fit(
    loop: TrainingLoop,
    train: Iterator,
    held_out: Iterable,
    *,
    calibration: Iterable | None = None,
    epochs: int,
    steps_per_epoch: int,
    patience: int,
    actions: Sequence[Action] = (),
) -> Epoch:
    """Trains, evaluates after each epoch, and leaves the best epoch's weights in the model.

    Args:
      loop: The model with its optimizer.
      train: Endless iterator of distributed batches.
      held_out: The eval split as distributed batches; iterated anew after each epoch.
      calibration: The train split as distributed batches, in one pass; see `loop.recalibrate`.
      epochs: The most there will be.
      steps_per_epoch: Batches in one pass over the train split.
      patience: Epochs without a lower eval loss before training stops.
      actions: Called with each `Epoch`, while the evaluation weights are in place.

    Returns:
      The best epoch. The model then holds its evaluation weights, as they are to be exported.
    """
    keep_best = KeepBest(loop.model.variables, patience)
    for number in range(1, epochs + 1):
        start = time.monotonic()
        train_metrics = loop.train(train, steps_per_epoch)
        seconds = time.monotonic() - start
        with evaluation_weights(loop.optimizer):
            if calibration is not None:
                loop.recalibrate(calibration)
            epoch = Epoch(
                number=number,
                of=epochs,
                step=number * steps_per_epoch,
                train=train_metrics,
                eval=loop.evaluate(held_out),
                seconds=seconds,
            )
            for action in (*actions, keep_best):
                action(epoch)
        if keep_best.should_stop:
            break
    return keep_best.restore()
