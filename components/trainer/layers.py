"""Layers that see the global batch, not the slice of one replica.

Keras's BatchNormalization and Dropout know only the examples of their own replica: statistics drift
apart, and every replica draws the same mask. These take what they need of the global batch from the
training loop (`batch_scope`) and act as Keras's do where there is no loop.
"""

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import keras
import tensorflow as tf

from components.trainer.strategy import sum_over_replicas


@dataclass(frozen=True)
class Batch:
    """What layers may know of the batch in work.

    Attributes:
      present: Bool [local_batch]; False where the example has weight 0, such as padding.
      step: Int64 scalar, number of the training step.
      first_row: Int32 scalar, row in the global batch of this replica's first example.
      rows: Int32 scalar, examples in the global batch, padding included.
      momentum: Scalar that BatchNormalization takes for its own, to recompute its statistics.
    """

    present: tf.Tensor
    step: tf.Tensor
    first_row: tf.Tensor
    rows: tf.Tensor
    momentum: tf.Tensor | None = None

    def uniform(self, shape: Sequence[int], seed: int, dtype: tf.DType = tf.float32) -> tf.Tensor:
        """Draws from [0, 1) for each example, by its place in the global batch.

        Every replica draws for the whole global batch and keeps its own rows, so the numbers are
        the same for each number of replicas, and a step repeats bit for bit after a restart on the
        same kind of device. (With XLA they are others.)

        Returns:
          [local_batch, *shape].
        """
        key = tf.stack([tf.constant(seed, tf.int64), self.step])
        numbers = tf.random.stateless_uniform([self.rows, *shape], key, dtype=dtype)
        size = self.present.shape[0] or tf.shape(self.present)[0]
        return numbers[self.first_row : self.first_row + size]


# Each replica of MirroredStrategy runs in a thread of its own, and sees its own value.
_BATCH: contextvars.ContextVar[Batch | None] = contextvars.ContextVar("batch", default=None)


@contextlib.contextmanager
def batch_scope(batch: Batch) -> Iterator[None]:
    """Tells the layers called inside which batch they work on."""
    token = _BATCH.set(batch)
    try:
        yield
    finally:
        _BATCH.reset(token)


def current_batch() -> Batch | None:
    """The batch of the `batch_scope` in force; None outside of the training loop."""
    return _BATCH.get()


def batch_of(present: tf.Tensor, step: tf.Tensor, momentum: tf.Tensor | None = None) -> Batch:
    """Finds this replica's place in the global batch; call it in replica context.

    Args:
      present: Bool [local_batch].
      step: Int64 scalar.
      momentum: See `Batch`.
    """
    replica = tf.distribute.get_replica_context()
    count = replica.num_replicas_in_sync
    # A static shape is the same on all replicas, where batches are taken from an iterator of
    # `inputs.distribute` inside the function.
    if present.shape[0] is not None:
        local = present.shape[0]
        return Batch(
            present, step, replica.replica_id_in_sync_group * local, count * local, momentum
        )
    local = tf.shape(present)[0]
    own = tf.one_hot(replica.replica_id_in_sync_group, count, dtype=tf.int32)
    sizes = sum_over_replicas(own * local)
    first_row = tf.cumsum(sizes, exclusive=True)[replica.replica_id_in_sync_group]
    return Batch(present, step, first_row, tf.reduce_sum(sizes), momentum)


@keras.saving.register_keras_serializable("mnist_tfx")
class BatchNormalization(keras.layers.BatchNormalization):
    """Batch normalization (arXiv:1502.03167, algorithm 1) over the examples of the global batch.

    Mean and variance are over every example that is present on any replica: padding and empty
    replicas change nothing, and the moving statistics are the same on all replicas.
    """

    def __init__(self, **arguments):
        super().__init__(**{**arguments, "synchronized": True})

    def call(self, inputs, training=None, mask=None):
        batch = current_batch()
        if batch is None or not (training and self.trainable):
            return super().call(inputs, training=training, mask=mask)
        if mask is not None:
            raise ValueError(f"layer '{self.name}' cannot normalize a masked sequence")
        x = tf.cast(inputs, self.moving_mean.dtype)
        mean, variance = self._global_moments(x, batch.present)
        flat = [tf.reshape(moment, [-1]) for moment in (mean, variance)]
        self._update_moving_statistics(*flat, batch.momentum)
        beta = tf.reshape(self.beta, mean.shape) if self.center else None
        gamma = tf.reshape(self.gamma, mean.shape) if self.scale else None
        y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, self.epsilon)
        return tf.cast(y, self.compute_dtype)

    def _global_moments(self, x: tf.Tensor, present: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance over all axes but `self.axis`; those axes are kept, with length 1."""
        axes = [axis for axis in range(x.shape.rank) if axis != self.axis % x.shape.rank]
        places = tf.math.reduce_prod([tf.shape(x)[axis] for axis in axes[1:]])  # Per example.
        weights = tf.reshape(tf.cast(present, x.dtype), [-1] + [1] * (x.shape.rank - 1))
        # Two passes: unlike E[x^2] - E[x]^2, squares of deviations don't cancel in float32.
        total, count = sum_over_replicas(
            [tf.reduce_sum(weights * x, axes, keepdims=True), tf.reduce_sum(weights)]
        )
        count *= tf.cast(places, x.dtype)
        mean = tf.math.divide_no_nan(total, count)
        deviations = tf.reduce_sum(weights * tf.square(x - mean), axes, keepdims=True)
        return mean, tf.math.divide_no_nan(sum_over_replicas(deviations), count)

    def _update_moving_statistics(self, mean, variance, momentum) -> None:
        old_mean, old_variance = self.moving_mean.value, self.moving_variance.value
        if momentum is None:
            old, new = self.momentum, 1 - self.momentum
            new_mean = old * old_mean + new * mean
            new_variance = old * old_variance + new * variance
        else:
            # Recomputing: the moments of all examples so far, whose share is `momentum`, and of
            # this batch, pooled (Chan, Golub, LeVeque 1983, equation 2.1).
            old = tf.cast(momentum, mean.dtype)
            new_mean = old * old_mean + (1 - old) * mean
            new_variance = (
                old * old_variance
                + (1 - old) * variance
                + old * (1 - old) * tf.square(mean - old_mean)
            )
        # A batch that overflowed is dropped (`processors.SkipNonfinite`) and must leave no trace.
        finite = tf.reduce_all(tf.math.is_finite(new_mean + new_variance))
        self.moving_mean.assign(tf.where(finite, new_mean, old_mean))
        self.moving_variance.assign(tf.where(finite, new_variance, old_variance))


def normalizes(model: keras.Model) -> bool:
    """Whether the model has a BatchNormalization that is trained."""
    return any(
        isinstance(layer, BatchNormalization) and layer.trainable
        for layer in model._flatten_layers()
    )


class GlobalMask:
    """Makes a Keras dropout layer draw its mask by each example's place in the global batch."""

    def call(self, inputs, training=False):
        batch = current_batch()
        if batch is None or not training or self.rate == 0:
            return super().call(inputs, training=training)
        if self.seed is None:
            raise ValueError(f"layer '{self.name}' needs a seed, so that a run can be repeated")
        kept = batch.uniform(self._mask_shape(inputs), self.seed) >= self.rate
        return tf.where(kept, inputs / (1 - self.rate), tf.zeros([], inputs.dtype))


@keras.saving.register_keras_serializable("mnist_tfx")
class Dropout(GlobalMask, keras.layers.Dropout):
    """Dropout (Srivastava et al. 2014) with masks that don't depend on the number of replicas."""

    def _mask_shape(self, inputs: tf.Tensor) -> list[int]:
        return inputs.shape[1:]


@keras.saving.register_keras_serializable("mnist_tfx")
class SpatialDropout1D(GlobalMask, keras.layers.SpatialDropout1D):
    """Drops whole features of a sequence; masks don't depend on the number of replicas."""

    def _mask_shape(self, inputs: tf.Tensor) -> list[int]:
        return [1, inputs.shape[-1]]
