"""What one replica does in a step. All of it runs in replica context."""

from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from components.trainer import gradients, inputs, layer_losses, layers, losses
from components.trainer.mixed_precision import LossScale
from components.trainer.optimizers import base
from components.trainer.processors import Update
from components.trainer.strategy import sum_over_replicas
from schemas import mnist

Batch = Mapping[str, tf.Tensor]  # See `inputs`.

# What a step adds up over the global batch, in this order.
TOTALS = ("loss", "weight", "correct", "examples", "regularization", "steps", "skipped")


class ReplicaStep:
    """Trains on, or evaluates, a replica's slice of a batch.

    Args:
      model: See `models.create`.
      optimizer: Any Keras optimizer.
      loss: The loss of each output, by its name.
      processors: Of the gradients.
      loss_scale: The one among the processors, if any.
      class_weights: Weight of an example by its class, [classes].
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        *,
        loss: Mapping[str, losses.ExampleLoss],
        processors: Sequence[Callable[[Update], Update]],
        loss_scale: LossScale | None,
        class_weights: np.ndarray,
    ):
        self._model, self._optimizer, self._losses = model, optimizer, loss
        self._processors, self._loss_scale = processors, loss_scale
        self._dtype = losses.dtype_of(model)
        self._class_weights = class_weights.astype(self._dtype.as_numpy_dtype)

    def train(self, batch: Batch, step: tf.Tensor) -> tf.Tensor:
        """Computes, processes and applies the gradients.

        Args:
          batch: This replica's slice.
          step: Int64 scalar, number of the step, from 1.

        Returns:
          The values of `TOTALS` over all replicas, float64 [len(TOTALS)].
        """
        processed, _, totals = self.compute_and_process(batch, step)
        self.apply(processed)
        return totals

    def compute_and_process(
        self, batch: Batch, step: tf.Tensor
    ) -> tuple[Sequence[tf.Tensor], tf.Tensor, tf.Tensor]:
        """The first part of `train`.

        Returns:
          The processed gradients, whether they are to be applied, and what `train` returns.
        """
        examples = self._example_weights(batch)
        weights = examples * tf.gather(self._class_weights, batch[mnist.LABEL])
        weight = sum_over_replicas(tf.reduce_sum(weights))
        place = layers.batch_of(examples > 0, step)
        local = {}

        def loss() -> tf.Tensor:
            with layers.batch_scope(place):
                outputs, added = layer_losses.call(self._model, self._model_inputs(batch))
            data = losses.share(losses.per_example(self._losses, batch, outputs), weights, weight)
            penalty = losses.regularization_share(self._model, self._dtype)
            penalty += losses.share(added, weights, weight)
            local.update(logits=outputs["logits"], loss=data * weight, regularization=penalty)
            return data + penalty

        variables = self._model.trainable_variables
        scale = self._loss_scale.scale if self._loss_scale else None
        update = Update(
            gradients.compute(loss, variables, scale),
            variables,
            weight=weight,
            step=step,
            ready=tf.constant(True),
        )
        update = gradients.process(self._processors, update)
        totals = self._totals(batch, examples, weight=tf.reduce_sum(weights), **local)
        dropped = tf.one_hot(TOTALS.index("skipped"), len(TOTALS), dtype=tf.float64)
        return update.gradients, update.ready, tf.where(update.weight > 0, totals, dropped)

    def apply(self, processed: Sequence[tf.Tensor]) -> None:
        """The second part of `train`."""
        base.apply_aggregated(self._optimizer, processed, self._model.trainable_variables)

    def evaluate(self, batch: Batch) -> tf.Tensor:
        """The values of `TOTALS` over all replicas, by the model as it is served."""
        examples = self._example_weights(batch)
        outputs = self._model(self._model_inputs(batch), training=False)
        each = losses.per_example(self._losses, batch, outputs)
        return self._totals(
            batch,
            examples,
            logits=outputs["logits"],
            loss=tf.reduce_sum(each * examples),
            weight=tf.reduce_sum(examples),
            regularization=losses.regularization_share(self._model, self._dtype),
        )

    def normalize(self, batch: Batch, seen: tf.Tensor) -> tf.Tensor:
        """Adds a batch to BatchNormalization's statistics of the `seen` examples before it.

        Returns:
          How many there are now, float64.
        """
        present = self._example_weights(batch) > 0
        total = seen + sum_over_replicas(tf.reduce_sum(tf.cast(present, seen.dtype)))
        place = layers.batch_of(present, tf.cast(seen, tf.int64), momentum=seen / total)
        with layers.batch_scope(place):
            self._model(self._model_inputs(batch), training=True)
        return total

    def _totals(
        self, batch: Batch, examples: tf.Tensor, *, logits: tf.Tensor, **sums: tf.Tensor
    ) -> tf.Tensor:
        hit = tf.equal(tf.argmax(logits, axis=-1), batch[mnist.LABEL])
        sums |= {
            "correct": tf.reduce_sum(tf.cast(hit, self._dtype) * examples),
            "examples": tf.reduce_sum(examples),
            "steps": 1 / tf.distribute.get_strategy().num_replicas_in_sync,
            "skipped": 0.0,
        }
        return sum_over_replicas(tf.stack([tf.cast(sums[name], tf.float64) for name in TOTALS]))

    def _model_inputs(self, batch: Batch) -> Batch:
        return {name: batch[name] for name in self._model.input}

    def _example_weights(self, batch: Batch) -> tf.Tensor:
        """What the batch gives as weights, or 1 for each example; [local_batch]."""
        if inputs.WEIGHT in batch:
            return tf.cast(batch[inputs.WEIGHT], self._dtype)
        return tf.ones_like(batch[mnist.LABEL], self._dtype)
