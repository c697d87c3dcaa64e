"""What is SGD's own: it agrees with Keras's."""

import keras
import numpy as np
import pytest

from components.trainer.optimizers import SGD
from tests.components.trainer.optimizers.problem import Training


@pytest.mark.parametrize("nesterov", [True, False])
def test_follows_keras(nesterov):
    """Which takes the learning rate into its momentum: the same while the rate is constant."""
    rate = 0.0625  # exact in float32, in which Keras keeps it
    ours = Training(lambda: SGD(rate, momentum=0.75, nesterov=nesterov)).run(100)
    keras_sgd = keras.optimizers.SGD(rate, momentum=0.75, nesterov=nesterov)
    theirs = Training(lambda: keras_sgd).run(100)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)


def test_without_momentum_is_gradient_descent():
    plain = Training(lambda: SGD(0.0625, momentum=0)).run(20)
    theirs = Training(lambda: keras.optimizers.SGD(0.0625)).run(20)
    np.testing.assert_allclose(plain, theirs, rtol=0, atol=1e-14)
