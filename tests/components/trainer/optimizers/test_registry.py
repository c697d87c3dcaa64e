"""Optimizers by name."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import optimizers
from components.trainer.optimizers.base import apply_aggregated


def test_names_of_this_package_and_of_keras():
    assert type(optimizers.create("lars")) is optimizers.LARS
    adam = optimizers.create("keras:Adam", learning_rate=0.5, beta_1=0.8)
    assert type(adam) is keras.optimizers.Adam
    assert (float(adam.learning_rate.numpy()), adam.beta_1) == (0.5, 0.8)


@pytest.mark.parametrize(
    ("name", "near"),
    [("shedule_free_adamw", "schedule_free_adamw"), ("keras:adamw", "keras:AdamW")],
)
def test_misspelt_name(name, near):
    with pytest.raises(optimizers.OptimizerError) as error:
        optimizers.create(name)
    assert f"{name!r} is not an optimizer; did you mean {near!r}?" in str(error.value)
    assert "adabelief" in str(error.value)


@pytest.mark.parametrize(
    "name", ["keras:Optimizer", "keras:LossScaleOptimizer", "keras:Muon", "keras:schedules"]
)
def test_not_everything_in_keras_is_an_optimizer(name):
    with pytest.raises(optimizers.OptimizerError, match=f"{name}.* is not an optimizer"):
        optimizers.create(name)


def test_misspelt_argument():
    message = (
        "optimizer sgd has no argument 'momentun'; did you mean 'momentum'?; its arguments: "
        "learning_rate, momentum, nesterov, weight_decay, weight_decay_exclude"
    )
    with pytest.raises(optimizers.OptimizerError) as error:
        optimizers.create("sgd", momentun=0.5)
    assert str(error.value) == message
    with pytest.raises(optimizers.OptimizerError) as error:
        optimizers.check_arguments("sgd", {"momentun": 0.5})
    assert str(error.value) == message


def test_wrong_value_for_an_optimizer_of_keras():
    with pytest.raises(optimizers.OptimizerError, match=r"optimizer keras:AdamW: .*weight_decay"):
        optimizers.create("keras:AdamW", weight_decay=None)


@pytest.mark.parametrize("name", ["schedule_free_adamw", "keras:Adam"])
def test_schedule_can_be_given_as_a_dictionary(name):
    """As a settings file would."""
    schedule = keras.optimizers.schedules.CosineDecay(0.1, 10)
    config = keras.saving.serialize_keras_object(schedule)
    optimizer = optimizers.create(name, learning_rate=config)
    again = optimizer.get_config()["learning_rate"]
    assert again["config"] == schedule.get_config()


@pytest.mark.parametrize("name", optimizers.names())
def test_every_optimizer_moves_a_variable(name):
    variable = keras.Variable([[1.0, 2.0], [3.0, 4.0]])
    optimizer = optimizers.create(name)
    optimizer.build([variable])
    for _ in range(2):  # ADOPT only looks at the first gradient.
        apply_aggregated(optimizer, [tf.ones([2, 2])], [variable])
    assert np.all(np.isfinite(variable.numpy()))
    assert np.any(variable.numpy() != [[1.0, 2.0], [3.0, 4.0]])
