"""What is Prodigy's own: the estimate of the distance."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer.optimizers import Prodigy
from tests.components.trainer.optimizers import problem
from tests.components.trainer.optimizers.problem import Training


def estimate(optimizer: Prodigy) -> float:
    """d, the estimated distance to the solution."""
    (d,) = [v for v in optimizer.variables if v.path.endswith("/d")]
    return float(d.numpy())


@pytest.mark.parametrize("distance", [0.1, 10.0])
def test_d_finds_the_order_of_the_distance(distance):
    """From 1e-6, on |x - distance|."""
    weight = keras.Variable([0.0], dtype="float64")
    optimizer = Prodigy()
    optimizer.build([weight])

    @tf.function
    def step() -> None:
        optimizer.apply([tf.sign(weight.value - distance)], [weight])

    estimates = []
    for _ in range(400):
        step()
        estimates.append(estimate(optimizer))
    assert np.all(np.diff(estimates) >= 0)
    assert 0.05 * distance < estimates[-1] < 1.5 * distance


def test_scale_of_the_loss_does_not_matter():
    """Gradients times 1000 make the same path, but for epsilon."""
    paths = []
    for scale in (1.0, 1000.0):
        weight = keras.Variable([0.0, 0.0], dtype="float64")
        optimizer = Prodigy(epsilon=1e-30)
        for _ in range(30):
            gradient = scale * (weight.value - tf.constant([1.0, -3.0], tf.float64))
            optimizer.apply([gradient], [weight])
        paths.append(weight.numpy())
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-9)


def test_gradient_of_zero_leaves_the_estimate():
    weight = keras.Variable([1.0], dtype="float64")
    optimizer = Prodigy()
    optimizer.apply([tf.constant([0.0], tf.float64)], [weight])
    assert weight.numpy() == [1.0]
    assert estimate(optimizer) == 1e-6


def test_starts_from_weights_loaded_after_the_build():
    training = Training(Prodigy)
    for variable in training.variables:
        variable.assign(variable + 7)
    for variable, start in zip(training.variables, (problem.W0, problem.B0), strict=True):
        variable.assign(start)
    expected = problem.GOLDEN["prodigy"][:100]
    np.testing.assert_allclose(training.run(100), expected, rtol=0, atol=1e-12)


def test_first_estimate_must_be_a_number():
    with pytest.raises(ValueError, match="d_0 must be a finite number > 0; got"):
        Prodigy(d_0=tf.constant(1e-6))
