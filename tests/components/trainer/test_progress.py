import math

import numpy as np
import pytest
import tensorflow as tf

from components.trainer.actions import Epoch
from components.trainer.progress import Progress


def epoch(number, loss):
    metrics = {"loss": loss, "accuracy": 1 / 3}
    return Epoch(number=number, of=9, step=10 * number, train=metrics, eval=metrics, seconds=0.1)


def test_the_best_epoch_comes_back_the_later_one_of_equals():
    weight = tf.Variable([0.0, 0.0])
    progress = Progress([weight], patience=2)
    for number, loss in enumerate([0.5, 0.1, 0.1, 0.2], start=1):
        weight.assign([number, -number])
        progress.end_epoch(epoch(number, loss))
    assert progress.restore_best().number == 3
    np.testing.assert_array_equal(weight, [3, -3])


def test_training_stops_after_patience_epochs_that_were_no_better():
    progress = Progress([], patience=2)
    stops = [progress.should_stop]
    for number, loss in enumerate([0.5, 0.1, 0.2, 0.2], start=1):
        progress.end_epoch(epoch(number, loss))
        stops.append(progress.should_stop)
    assert stops == [False, False, False, False, True]


def test_nothing_to_restore_is_an_error():
    with pytest.raises(RuntimeError, match="no epoch has finished"):
        Progress([], patience=1).restore_best()


def test_an_epoch_begins_with_empty_sums():
    progress = Progress([], patience=1)
    progress.totals += 0.5
    progress.seconds += 3
    progress.end_epoch(epoch(1, 0.5))
    assert not progress.totals.any() and progress.seconds == 0


def test_a_checkpoint_holds_every_bit(tmp_path):
    weight = tf.Variable([1 / 3, -0.0], dtype=tf.float64)
    progress = Progress([weight], patience=1)
    progress.end_epoch(epoch(1, 0.1 + 0.2))
    weight.assign([5.0, 5.0])  # Training goes on; the best weights stay.
    progress.totals += [1 / 3, 1e-300, 1e300, math.inf, -0.0, 7, 0]
    progress.seconds += 0.1
    path = tf.train.Checkpoint(**progress.trackables()).write(str(tmp_path / "state"))

    fresh = tf.Variable([0.0, 0.0], dtype=tf.float64)
    restored = Progress([fresh], patience=1)
    tf.train.Checkpoint(**restored.trackables()).read(path).assert_consumed()
    assert restored.epochs == progress.epochs
    assert restored.totals.tobytes() == progress.totals.tobytes()
    assert restored.seconds == progress.seconds
    restored.restore_best()
    assert fresh.numpy().tobytes() == np.array([1 / 3, -0.0]).tobytes()
