"""What is ADOPT's own: the order of division and momentum, and the clipping."""

import keras
import numpy as np
import tensorflow as tf

from components.trainer.optimizers import ADOPT


def path(gradients: list[float], **arguments) -> list[float]:
    """A weight from 0, after each step with learning rate 1."""
    weight = keras.Variable([0.0], dtype="float64")
    optimizer = ADOPT(1.0, **arguments)
    weights = []
    for gradient in gradients:
        optimizer.apply([tf.constant([gradient], tf.float64)], [weight])
        weights.append(float(weight.numpy()[0]))
    return weights


def test_first_step_only_measures():
    """The second divides by the first gradient, not by its own."""
    assert path([2.0, 1.0], beta_1=0.0) == [0.0, -0.5]


def test_divided_gradient_is_clipped_to_the_fourth_root_of_the_step():
    steps = -np.diff(path([1.0, 50.0, 50.0, 50.0], beta_1=0.0, beta_2=0.9999))
    np.testing.assert_allclose(steps, [1.0, 2**0.25, 3**0.25], rtol=1e-12)


def test_without_clipping_it_is_not():
    assert path([1.0, 50.0], beta_1=0.0, clip=False) == [0.0, -50.0]


def test_gradient_after_zeros_stays_finite():
    """The divisor is at least epsilon, and the quotient is clipped."""
    assert path([0.0, 0.0, 1.0], beta_1=0.0)[-1] == -(2**0.25)
