import keras
import numpy as np
import pytest
import tensorflow as tf

from components.trainer import mixed_precision, models
from components.trainer import strategy as strategies
from components.trainer.mixed_precision import LossScale
from components.trainer.processors import Update


def scales(gradients, replicas=1, **arguments):
    """The scale after each gradient."""
    strategy = strategies.create(f"mirrored:{replicas}")
    with strategy.scope():
        loss_scale = LossScale(**arguments)
        loss_scale.build([])
    history = []
    for gradient in gradients:

        def step(gradient=gradient):
            one = tf.constant(1, tf.int64)
            update = Update([tf.constant(gradient)], [], tf.constant(1.0), one, tf.constant(True))
            return loss_scale(update).ready

        ready = strategy.experimental_local_results(strategy.run(step))
        assert all(bool(value) == bool(np.isfinite(gradient)) for value in ready)
        copies = strategy.experimental_local_results(strategy.run(loss_scale.scale.read_value))
        assert len({float(copy) for copy in copies}) == 1
        history.append(float(copies[0]))
    return history


@pytest.mark.parametrize("replicas", [1, 4])
def test_scale_is_halved_by_an_overflow_and_doubled_by_calm(replicas):
    inf = float("inf")
    gradients = [1.0, 1.0, inf, 1.0, inf, 1.0, 1.0, 1.0, 1.0]
    expected = [8, 16, 8, 8, 4, 4, 8, 8, 16]
    assert scales(gradients, replicas, initial=8.0, growth_interval=2) == expected


def test_scale_stays_at_least_1():
    assert scales([float("nan")] * 3, initial=2.0) == [1, 1, 1]


@pytest.mark.parametrize(
    ("dtype", "needed"),
    [("mixed_float16", True), ("mixed_bfloat16", False), ("float32", False), ("float64", False)],
)
def test_only_float16_needs_it(dtype, needed):
    assert mixed_precision.needs_loss_scale(models.create("mlp", dtype=dtype)) is needed


def test_policy():
    assert mixed_precision.policy(strategies.create("default")) == "mixed_float16"
    assert keras.dtype_policies.get("mixed_float16").compute_dtype == "float16"
