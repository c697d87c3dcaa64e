import dataclasses
import json
import math

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


def test_the_best_epoch_is_that_of_the_lowest_loss_the_later_one_of_equals():
    epochs = [epoch(number, eval_loss=loss) for number, loss in enumerate([0.5, 0.1, 0.1, 0.2], 1)]
    assert actions.best(epochs).number == 3
