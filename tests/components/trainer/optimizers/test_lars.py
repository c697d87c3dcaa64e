"""What is LARS's own: the rate of each layer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer.optimizers import LARS


def step(weights, gradient, name="kernel", **arguments) -> np.ndarray:
    """What one step subtracts."""
    variable = keras.Variable(weights, dtype="float64", name=name)
    LARS(**arguments).apply([tf.constant(gradient, tf.float64)], [variable])
    return np.array(weights) - variable.numpy()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_step_is_as_long_as_the_weights_times_the_coefficient(scale):
    """However large the gradient."""
    taken = step([3.0, 4.0], [scale, 0.0], learning_rate=2.0, trust_coefficient=0.01)
    np.testing.assert_allclose(taken, [2.0 * 0.01 * 5.0, 0.0], rtol=1e-12)


@pytest.mark.parametrize("name", ["bias", "beta", "gamma"])
def test_bias_and_normalization_take_the_plain_step(name):
    taken = step([3.0, 4.0], [0.5, 0.0], name=name, learning_rate=2.0)
    np.testing.assert_array_equal(taken, [1.0, 0.0])


def test_weights_of_zero_take_the_plain_step():
    np.testing.assert_array_equal(step([0.0, 0.0], [0.5, 0.0], learning_rate=2.0), [1.0, 0.0])


def test_gradient_of_zero_leaves_the_weights():
    np.testing.assert_array_equal(step([3.0, 4.0], [0.0, 0.0]), [0.0, 0.0])
