"""The outer loop: epochs, evaluation with the right weights, actions, early stop, checkpoints."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from components.trainer.actions import Action, Epoch
from components.trainer.checkpoints import Checkpoints
from components.trainer.loop import TrainingLoop, train_metrics
from components.trainer.optimizers.base import evaluation_weights
from components.trainer.progress import Progress


def fit(
    loop: TrainingLoop,
    train: Callable[[int], Iterator],
    held_out: Iterable,
    *,
    calibration: Iterable | None = None,
    epochs: int,
    steps_per_epoch: int,
    patience: int,
    actions: Sequence[Action] = (),
    checkpoints: Checkpoints | None = None,
) -> Epoch:
    """Trains, evaluates after each epoch, and leaves the best epoch's weights in the model.

    With checkpoints it goes on where an earlier call was cut off, and ends with the same weights,
    bit by bit, as one that was not.

    Args:
      loop: The model with its optimizer, fresh.
      train: Gives the endless iterator of distributed batches that starts at a step, from 0.
      held_out: The eval split as distributed batches; iterated anew after each epoch.
      calibration: The train split as distributed batches, in one pass; see `loop.recalibrate`.
      epochs: The most there will be.
      steps_per_epoch: Batches in one pass over the train split.
      patience: Epochs without a lower eval loss before training stops.
      actions: Called with each `Epoch`, while the evaluation weights are in place. A resumed run
        first calls them with the epochs before it, whose weights are gone, so that what they write
        is complete.
      checkpoints: Where the state is kept meanwhile.

    Returns:
      The best epoch. The model then holds its evaluation weights, as they are to be exported.

    Raises:
      checkpoints.Interrupted: The process is to end.
    """
    progress = Progress(loop.model.variables, patience)
    start = checkpoints.restore(loop=loop, **progress.trackables()) if checkpoints else 0
    _tell(actions, *progress.epochs)
    batches = train(start)
    while len(progress.epochs) < epochs and not progress.should_stop:
        end = (len(progress.epochs) + 1) * steps_per_epoch
        _train_until(end, loop, batches, progress, checkpoints)
        with evaluation_weights(loop.optimizer):
            if calibration is not None:
                loop.recalibrate(calibration)
            epoch = Epoch(
                number=len(progress.epochs) + 1,
                of=epochs,
                step=end,
                train=train_metrics(progress.totals),
                eval=loop.evaluate(held_out),
                seconds=progress.seconds,
            )
            _tell(actions, epoch)
            progress.end_epoch(epoch)
        if checkpoints:
            checkpoints.reached(end)
    return progress.restore_best()


def _train_until(
    end: int,
    loop: TrainingLoop,
    batches: Iterator,
    progress: Progress,
    checkpoints: Checkpoints | None,
) -> None:
    """Trains up to a step, call by call, from wherever the loop is."""
    step = int(loop.step.numpy())
    while step < end:
        count = min(loop.steps_per_call, end - step)
        start = time.monotonic()
        progress.totals += loop.advance(batches, count)
        progress.seconds += time.monotonic() - start
        step += count
        if checkpoints:
            checkpoints.reached(step)


def _tell(actions: Sequence[Action], *epochs: Epoch) -> None:
    for epoch in epochs:
        for action in actions:
            action(epoch)
