import numpy as np
import pytest
import tensorflow as tf

from components.trainer import inputs
from components.trainer import strategy as strategies

# Devices are fixed at TensorFlow's first operation, so this comes before any test.
strategies.prepare_devices("mirrored:8")


@pytest.fixture
def examples():
    """Makes `count` examples of noise with random labels, the same for the same seed."""

    def make(count: int, seed: int = 0) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        return {
            "image": rng.integers(0, 256, [count, 28, 28], np.uint8),
            "label": rng.integers(0, 10, count),
        }

    return make


@pytest.fixture
def on_replicas():
    """Runs a function in replica context on the slices of a batch."""

    def run(strategy, function, data, *, padded=True, batch_size=8):
        """`data` has one batch of at most `batch_size`; returns each replica's result."""
        batches = tf.data.Dataset.from_tensor_slices(data).batch(batch_size)
        iterator = iter(inputs.distribute(strategy, batches, batch_size, padded=padded))
        result = tf.function(
            lambda iterator: strategy.run(function, (iterator.get_next(),)), autograph=False
        )(iterator)
        per_replica = tf.nest.map_structure(strategy.experimental_local_results, result)
        return tf.nest.map_structure(lambda value: value.numpy(), per_replica)

    return run
