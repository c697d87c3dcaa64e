"""Losses that mean the same on any number of replicas.

The loss of a global batch of examples i with weights w_i, whatever replica they lie on, is

    L = sum_i w_i (l_i + a_i) / sum_i w_i + R

with l_i the loss of an example, a_i what layers add for it (`layer_losses`), and R the
regularization of the weights. Both sums run over all replicas, so replica r contributes

    L_r = sum_{i on r} w_i (l_i + a_i) / W + R / replicas,   W = sum_i w_i,

and the sum of the gradients of the L_r is the gradient of L.
"""

from collections.abc import Callable, Mapping

import keras
import tensorflow as tf

from schemas import mnist

# The batch and one output of the model -> one loss per example, [local_batch].
ExampleLoss = Callable[[Mapping[str, tf.Tensor], tf.Tensor], tf.Tensor]


class LossError(ValueError):
    """A loss is not one value per example, so its share of the global batch is unknown."""


def cross_entropy(batch: Mapping[str, tf.Tensor], logits: tf.Tensor) -> tf.Tensor:
    """-log softmax(logits)[label] of each example.

    Args:
      batch: With `label`, int64 [local_batch].
      logits: Float [local_batch, classes].

    Returns:
      Float32 or float64 [local_batch].
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(batch[mnist.LABEL], at_least_32(logits))


def reconstruction_error(batch: Mapping[str, tf.Tensor], reconstruction: tf.Tensor) -> tf.Tensor:
    """Mean squared difference between pixels, both from 0 to 1, of each example.

    Args:
      batch: With `image`, uint8 [local_batch, 28, 28].
      reconstruction: Float [local_batch, 28, 28].

    Returns:
      Float32 or float64 [local_batch].
    """
    reconstruction = at_least_32(reconstruction)
    image = tf.cast(batch[mnist.IMAGE], reconstruction.dtype) / 255
    return tf.reduce_mean(tf.square(reconstruction - image), axis=[1, 2])


# The loss of each output, by the output's name.
LOSSES: dict[str, ExampleLoss] = {
    "logits": cross_entropy,
    "reconstruction": reconstruction_error,
}


def select(model: keras.Model, losses: Mapping[str, ExampleLoss] | None) -> dict[str, ExampleLoss]:
    """The losses of the model's outputs: those given, or those of `LOSSES`.

    Raises:
      LossError: A loss has no output or an output no loss.
    """
    if not isinstance(model.output, Mapping) or "logits" not in model.output:
        raise LossError(
            f"the model's outputs must be a dictionary with 'logits', got {model.output}"
        )
    chosen = dict(LOSSES if losses is None else losses)
    missing = [name for name in model.output if name not in chosen]
    unknown = [name for name in losses or () if name not in model.output]
    if missing or unknown:
        raise LossError(
            f"each output of the model ({', '.join(model.output)}) needs a loss; without a loss: "
            f"{missing}, losses without an output: {unknown}"
        )
    return {name: chosen[name] for name in model.output}


def per_example(
    losses: Mapping[str, ExampleLoss],
    batch: Mapping[str, tf.Tensor],
    outputs: Mapping[str, tf.Tensor],
) -> tf.Tensor:
    """The sum over the outputs of each example's loss, [local_batch].

    Raises:
      LossError: A loss is not of shape [local_batch].
    """
    values = []
    for name, loss in losses.items():
        value = loss(batch, outputs[name])
        check_per_example(value, batch[mnist.LABEL].shape[0], f"the loss of '{name}'")
        values.append(value)
    return tf.add_n(values)


def share(each: tf.Tensor | float, weights: tf.Tensor, total_weight: tf.Tensor) -> tf.Tensor:
    """This replica's share of a weighted mean over the global batch.

    Args:
      each: A value per example, [local_batch], or one for all of them.
      weights: Of the examples, [local_batch].
      total_weight: Sum of the weights over all replicas. If it is 0, so is the share.
    """
    return tf.math.divide_no_nan(
        tf.reduce_sum(weights * tf.cast(each, weights.dtype)), total_weight
    )


def regularization_share(model: keras.Model, dtype: tf.DType) -> tf.Tensor:
    """This replica's share of R, the penalties of all trainable weights, each counted once."""
    penalties = [
        tf.cast(variable.regularizer(variable), dtype)
        for variable in model.trainable_variables
        if variable.regularizer is not None
    ]
    replicas = tf.distribute.get_replica_context().num_replicas_in_sync
    return tf.add_n([tf.zeros([], dtype), *penalties]) / replicas


def check_per_example(value: tf.Tensor, local_batch: int | None, what: str) -> None:
    """Refuses a loss that is not of shape [local_batch], such as a mean over the batch."""
    if not value.shape.is_compatible_with([local_batch]):
        raise LossError(
            f"{what} must be one value per example, of shape [{local_batch or 'local_batch'}], got "
            f"shape {value.shape}: a loss already reduced over a replica's examples cannot be "
            "weighted by its share of the global batch; leave out the mean or sum over the batch "
            "(a penalty of the weights belongs in a regularizer)"
        )


def dtype_of(model: keras.Model) -> tf.DType:
    """The type that the model's losses are summed in: that of its weights."""
    return tf.as_dtype(model.trainable_variables[0].dtype)


def at_least_32(tensor: tf.Tensor) -> tf.Tensor:
    """The tensor in float32, or in float64 if it is so already: float16 is too coarse to sum."""
    return tensor if tensor.dtype == tf.float64 else tf.cast(tensor, tf.float32)
