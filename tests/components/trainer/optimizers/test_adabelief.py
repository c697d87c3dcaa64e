"""What is AdaBelief's own: the step grows with the belief in the gradient."""

import keras
import numpy as np
import tensorflow as tf

from components.trainer.optimizers import AdaBelief


def travelled(gradients: list[float], **arguments) -> float:
    """How far a weight goes from 0."""
    weight = keras.Variable([0.0], dtype="float64")
    optimizer = AdaBelief(0.001, **arguments)
    for gradient in gradients:
        optimizer.apply([tf.constant([gradient], tf.float64)], [weight])
    return abs(float(weight.numpy()[0]))


def test_goes_farther_where_gradients_are_as_expected():
    """The example of section 2.2: Adam would make the same step of both, per mean gradient."""
    steady = [0.1] * 50
    noisy = [0.1 + 0.5 * (-1) ** i for i in range(50)]
    assert travelled(steady) > 4 * travelled(noisy)


def test_epsilon_is_added_at_each_step():
    """With a gradient of 0 the spread is the sum of the epsilons alone."""
    weight = keras.Variable([0.0], dtype="float64")
    optimizer = AdaBelief(epsilon=1e-3, beta_2=0.5)
    for _ in range(3):
        optimizer.apply([tf.constant([0.0], tf.float64)], [weight])
    np.testing.assert_allclose(optimizer.slots_of(weight).s, [1e-3 * (1 + 0.5 + 0.25)], rtol=1e-14)
