"""Optimizers by name."""

import keras
import pytest

from components.trainer import optimizers


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


@pytest.mark.parametrize("name", ["keras:Optimizer", "keras:LossScaleOptimizer", "keras:schedules"])
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
