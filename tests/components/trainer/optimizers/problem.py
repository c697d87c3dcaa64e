"""A small problem in float64, and its path under an optimizer.

The loss mean(tanh(A W + b - T)^2) + 0.1 mean((A W - T)^2) with A [20, 6], W [6, 3], b [3] and
T [20, 3] comes with trajectories from independent implementations in tests/golden.
"""

import pathlib
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from components.trainer.optimizers import base

GOLDEN = dict(
    np.load(pathlib.Path(__file__).parents[3] / "golden/trajectories.npz", allow_pickle=False)
)
A, T, W0, B0 = (GOLDEN[name] for name in ("A", "T", "W0", "B0"))


def flat(weights) -> np.ndarray:
    """W and b in one row, as in the trajectories."""
    return np.concatenate([np.asarray(w).ravel() for w in weights])


def gradients(weights: list[np.ndarray]) -> list[np.ndarray]:
    """The gradients by W and b, by hand."""
    w, b = weights
    p = A @ w
    u = np.tanh(p + b - T)
    by_tanh = 2 * u * (1 - u**2) / T.size
    return [A.T @ (by_tanh + 0.2 * (p - T) / T.size), by_tanh.sum(axis=0)]


def strategy_of(replicas: int) -> tf.distribute.Strategy:
    """A strategy with so many logical CPU devices."""
    if replicas == 1:
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy(
        [f"CPU:{i}" for i in range(replicas)],
        # The default's collectives do not allow groups of two sizes in one process.
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


class Training:
    """The problem's variables with an optimizer, in float64 under a strategy."""

    def __init__(self, make: Callable[[], keras.optimizers.Optimizer], replicas: int = 1):
        self.strategy = strategy_of(replicas)
        with self.strategy.scope():
            self.variables = [
                keras.Variable(W0, dtype="float64", name="kernel"),
                keras.Variable(B0, dtype="float64", name="bias"),
            ]
            self.optimizer = make()
            self.optimizer.build(self.variables)

    @property
    def weights(self) -> np.ndarray:
        """W and b in one row, after a look at every replica."""
        copies = [self.strategy.experimental_local_results(v.value) for v in self.variables]
        for per_replica in copies:
            for copy in per_replica[1:]:
                np.testing.assert_array_equal(copy, per_replica[0])
        return flat([per_replica[0] for per_replica in copies])

    def step(self) -> None:
        """One step in replica context."""
        w, b = self.variables
        with tf.GradientTape() as tape:
            p = tf.matmul(A, w.value)
            loss = tf.reduce_mean(tf.tanh(p + b.value - T) ** 2)
            loss += 0.1 * tf.reduce_mean((p - T) ** 2)
        computed = tape.gradient(loss, [w.value, b.value])
        base.apply_aggregated(self.optimizer, computed, self.variables)

    def run(self, steps: int, mode: str = "function") -> np.ndarray:
        """Weights after each step, [steps, 21].

        Args:
          steps: How many.
          mode: eager, function (all steps in one `tf.function`) or xla.
        """
        if mode == "function":
            return self._run_in_function(steps)
        step = tf.function(self.step, jit_compile=True) if mode == "xla" else self.step
        rows = []
        for _ in range(steps):
            self.strategy.run(step)
            rows.append(self.weights)
        return np.array(rows)

    def _run_in_function(self, steps: int) -> np.ndarray:
        @tf.function
        def loop() -> tf.Tensor:
            rows = tf.TensorArray(tf.float64, steps)
            for i in tf.range(steps):
                self.strategy.run(self.step)
                row = tf.concat([tf.reshape(v.value, [-1]) for v in self.variables], axis=0)
                rows = rows.write(i, row)
            return rows.stack()

        rows = loop().numpy()
        np.testing.assert_array_equal(self.weights, rows[-1])
        return rows
