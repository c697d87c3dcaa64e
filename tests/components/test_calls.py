import keras
import pytest

from components.calls import call, optimizer

RATE = keras.optimizers.schedules.ExponentialDecay(0.1, 100, 0.9)


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({}, "sgd"),
        ({"learning_rate": 0.1, "nesterov": True}, "sgd (learning_rate=0.1, nesterov=True)"),
        ({"learning_rate": {"class_name": "Mine"}}, "sgd (learning_rate=Mine)"),
        (
            {"learning_rate": keras.optimizers.schedules.serialize(RATE)},
            "sgd (learning_rate=ExponentialDecay (initial_learning_rate=0.1, decay_steps=100, "
            "decay_rate=0.9, staircase=False, name=ExponentialDecay))",
        ),
        ({"rates": {"conv": 1}}, "sgd (rates={'conv': 1})"),
    ],
)
def test_a_name_with_its_arguments(arguments, written):
    assert call("sgd", arguments) == written
    assert optimizer({"name": "sgd", **arguments}) == written
