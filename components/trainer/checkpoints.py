"""When a training is saved and from where it goes on, so that killing it changes no weight."""

import hashlib
import json
import logging
import time
from collections.abc import Callable

import tensorflow as tf

from components.trainer import checkpoint_store
from components.trainer import strategy as strategies
from components.trainer.settings import CheckpointSettings

log = logging.getLogger(__name__)


class Interrupted(RuntimeError):
    """Training ended before its time, because its process is to end."""


class CheckpointError(RuntimeError):
    """A worker cannot go on from where the others do."""


def key(**parts: object) -> str:
    """Names a training by all that decides what comes out of it.

    Args:
      **parts: JSON values, such as digests of data, code and settings.

    Returns:
      SHA-256 in hex.
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Checkpoints:
    """The checkpoints of one training; with several workers, all of them make the same calls.

    A folder that cannot be written costs the checkpoints, not the training.

    Args:
      folder: Of this training alone; local or `gs://`, and seen by all workers.
      strategy: That of the training.
      settings: When to save.
      interrupted: Says whether this process is to end.
      clock: Seconds, for the interval between checkpoints.
    """

    def __init__(
        self,
        folder: str,
        *,
        strategy: tf.distribute.Strategy,
        settings: CheckpointSettings,
        interrupted: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._shared, self._own = folder, strategies.own_folder(strategy, folder)
        self._strategy, self._settings = strategy, settings
        self._interrupted, self._clock = interrupted, clock
        self._state: tf.train.Checkpoint | None = None
        self._saved_step, self._saved_at = 0, clock()

    def restore(self, **state) -> int:
        """Puts the newest whole checkpoint into the state; later ones are made of the same.

        Args:
          **state: As for `tf.train.Checkpoint`.

        Returns:
          The step from which training goes on; 0 without a checkpoint.

        Raises:
          CheckpointError: This worker does not see what the first one found.
        """
        self._state = tf.train.Checkpoint(**state)
        try:
            found = checkpoint_store.newest(self._shared)
        except tf.errors.OpError as error:
            log.warning("training begins anew, %s cannot be read: %s", self._shared, error)
            found = 0
        step = int(strategies.gather(self._strategy, [found])[0, 0])
        if step:
            place = checkpoint_store.path(self._shared, step)
            try:
                checkpoint_store.read(self._state, self._shared, step)
            except tf.errors.NotFoundError as error:
                raise CheckpointError(
                    f"the first worker goes on from step {step}, but this one sees no {place}: the "
                    "pipeline root must be a folder that all workers share"
                ) from error
            log.info("resumed at step %d from %s", step, place)
        self._saved_step, self._saved_at = step, self._clock()
        return step

    def reached(self, step: int) -> None:
        """Saves when it is time to; to be called wherever training could go on later.

        Args:
          step: Number of training steps taken.

        Raises:
          Interrupted: The process, or that of another worker, is to end. The state was saved.
        """
        wishes = [int(self._is_due(step)), int(self._interrupted())]
        due, end = strategies.gather(self._strategy, wishes).any(axis=0)
        saved = self._save(step) if due or end else False
        if end:
            state = "the next run goes on there" if saved else "its state could not be saved"
            message = f"interrupted at step {step}; {state}"
            log.warning("%s", message)
            raise Interrupted(message)

    def clear(self) -> None:
        """Removes all of them, for a training that has ended."""
        try:
            checkpoint_store.remove(self._own)
        except tf.errors.OpError as error:
            log.warning("checkpoints stay behind in %s: %s", self._own, error)

    def _is_due(self, step: int) -> bool:
        steps, seconds = self._settings.steps, 60 * self._settings.minutes
        by_steps = steps and step - self._saved_step >= steps
        return bool(by_steps or (seconds and self._clock() - self._saved_at >= seconds))

    def _save(self, step: int) -> bool:
        self._saved_step, self._saved_at = step, self._clock()
        try:
            checkpoint_store.write(self._state, self._own, step)
        except tf.errors.OpError as error:
            log.warning("step %d could not be saved: %s", step, error)
            return False
        return True
