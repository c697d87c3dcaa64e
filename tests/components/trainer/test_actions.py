import dataclasses
import json
import math

import numpy as np
import pytest
import tensorflow as tf

from components.trainer import actions
from components.trainer.actions import Epoch


def epoch(number=1, accuracy=0.9, loss=0.1, eval_loss=0.2):
    return Epoch(
        number=number,
        of=5,
        step=number * 10,
        train={"loss": loss, "accuracy": 0.8},
        eval={"loss": eval_loss, "accuracy": accuracy},
        seconds=1.5,
    )


def test_finite_losses_pass():
    actions.require_finite(epoch())


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("split", ["train", "eval"])
def test_a_loss_that_is_not_finite_ends_the_run(split, value):
    bad = epoch(2, **({"loss": value} if split == "train" else {"eval_loss": value}))
    with pytest.raises(actions.NonFiniteLossError, match=rf"{split} loss is {value} in epoch 2"):
        actions.require_finite(bad)


def test_history_is_whole_after_each_epoch(tmp_path):
    history = actions.History(str(tmp_path / actions.HISTORY))
    for number in (1, 2):
        history(epoch(number))
        lines = (tmp_path / actions.HISTORY).read_text().splitlines()
        assert json.loads(lines[-1]) == dataclasses.asdict(epoch(number))
        assert actions.read_history(str(tmp_path)) == [epoch(n + 1) for n in range(number)]
        assert len(lines) == number


def test_tensorboard_holds_each_scalar_of_both_splits(tmp_path):
    write = actions.TensorBoard(str(tmp_path))
    write(epoch(1, accuracy=0.25))
    for split, expected in (("train", 0.8), ("eval", 0.25)):
        [file] = (tmp_path / split).iterdir()
        values = {
            value.tag: (event.step, float(tf.make_ndarray(value.tensor)))
            for event in tf.compat.v1.train.summary_iterator(str(file))
            for value in event.summary.value
        }
        assert values["accuracy"] == (10, pytest.approx(expected))


def test_the_best_epoch_comes_back_the_later_one_of_equals():
    weight = tf.Variable([0.0, 0.0])
    keep, kept = actions.KeepBest([weight], patience=2), []
    for number, loss in enumerate([0.5, 0.1, 0.1, 0.2], start=1):
        weight.assign([number, -number])
        kept.append(epoch(number, eval_loss=loss))
        keep(kept[-1])
    assert keep.restore().number == 3
    assert actions.best(kept).number == 3
    np.testing.assert_array_equal(weight, [3, -3])


def test_training_stops_after_patience_epochs_that_were_no_better():
    keep = actions.KeepBest([], patience=2)
    stops = []
    for number, loss in enumerate([0.5, 0.1, 0.2, 0.2], start=1):
        keep(epoch(number, eval_loss=loss))
        stops.append(keep.should_stop)
    assert stops == [False, False, False, True]


def test_nothing_to_restore_is_an_error():
    with pytest.raises(RuntimeError, match="no epoch has finished"):
        actions.KeepBest([], patience=1).restore()
