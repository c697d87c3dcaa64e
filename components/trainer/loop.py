"""The training loop: exact on any number of replicas, many steps per call."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from components.trainer import layer_losses, layers, losses
from components.trainer.checks import check_layers
from components.trainer.mixed_precision import LossScale, needs_loss_scale
from components.trainer.processors import Processor, Update
from components.trainer.step import TOTALS, Batch, ReplicaStep


class TrainingLoop(tf.Module):
    """Trains and evaluates a model under a strategy.

    `tf.train.Checkpoint(loop=loop)` holds everything that the next step depends on, the position in
    the data excepted: weights, optimizer, state of the processors, number of the step.

    Args:
      model: See `models.create`; created in the strategy's scope.
      optimizer: Any Keras optimizer; created in the strategy's scope.
      strategy: Where it runs.
      loss: The loss of each output, by its name; by default those of `losses.LOSSES`.
      processors: What is done to the gradients between computing and applying them. A `LossScale`
        is put before them if the model computes in float16 and there is none among them.
      steps_per_call: Training steps in one call of the compiled function.
      jit_compile: Compile the step with XLA; None: on a TPU only (on CPUs it is slower).
      class_weights: Weight of an example in training by its class; 1 for a class not named.

    Raises:
      ValueError: An argument, or the combination, is not possible.
      checks.LayerError: The model has a layer whose result would be wrong.
      losses.LossError: An output has no loss, or a loss no output.
    """

    def __init__(
        self,
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        *,
        strategy: tf.distribute.Strategy,
        loss: Mapping[str, losses.ExampleLoss] | None = None,
        processors: Sequence[Callable[[Update], Update]] = (),
        steps_per_call: int = 40,
        jit_compile: bool | None = None,
        class_weights: Mapping[int, float] | None = None,
    ):
        super().__init__(name="loop")
        if steps_per_call < 1:
            raise ValueError(f"steps_per_call must be a positive integer, got {steps_per_call}")
        on_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
        if jit_compile and strategy.num_replicas_in_sync > 1 and not on_tpu:
            raise ValueError(
                f"jit_compile works on one device or a TPU, not with {type(strategy).__name__} on "
                f"{strategy.num_replicas_in_sync} replicas, which exchange values in the middle of "
                "the step; leave jit_compile off"
            )
        check_layers(model, strategy.num_replicas_in_sync)
        self.model, self.optimizer, self.strategy = model, optimizer, strategy
        self.steps_per_call = steps_per_call
        self._compile = bool(jit_compile) and not on_tpu  # On a TPU, `strategy.run` compiles.
        loss_scale = next((p for p in processors if isinstance(p, LossScale)), None)
        if loss_scale is None and needs_loss_scale(model):
            loss_scale = LossScale()
            processors = [loss_scale, *processors]
        self.processors = list(processors)
        stateful = [p for p in self.processors if isinstance(p, Processor)]
        self._may_wait = any(processor.may_wait for processor in stateful)
        with strategy.scope():
            optimizer.build(model.trainable_variables)
            for processor in stateful:
                processor.build(model.trainable_variables)
            self.step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
        self._on_replica = ReplicaStep(
            model,
            optimizer,
            loss=losses.select(model, loss),
            processors=self.processors,
            loss_scale=loss_scale,
            class_weights=weight_table(class_weights or {}, model.output["logits"].shape[-1]),
        )
        self._train = tf.function(self._train_steps, autograph=False)
        self._evaluate = tf.function(self._evaluate_step, autograph=False)
        self._recalibrate = tf.function(self._recalibrate_step, autograph=False)

    def train(self, iterator: Iterator[Batch], steps: int) -> dict[str, float]:
        """Takes training steps, one for each batch.

        Args:
          iterator: Of batches from `inputs.distribute`.
          steps: Number of steps.

        Returns:
          Averages over all examples of these steps, each with its weight: `loss` (of the outputs)
          and `accuracy` (class weights left aside); `regularization` (weights, activities and
          `add_loss`), averaged over the steps; and the number `skipped` of steps that a processor
          dropped, which the averages leave out. A loss that is not finite means that training
          failed.

        Raises:
          ValueError: The number of steps is not positive, or there are not as many batches.
        """
        if steps < 1:
            raise ValueError(f"steps must be a positive integer, got {steps}")
        totals = np.zeros(len(TOTALS))
        for start in range(0, steps, self.steps_per_call):
            totals += self.advance(iterator, min(steps - start, self.steps_per_call))
        return train_metrics(totals)

    def advance(self, iterator: Iterator[Batch], steps: int) -> np.ndarray:
        """Takes steps in one call of the compiled function, for who acts between the calls.

        Args:
          iterator: As for `train`.
          steps: Number of steps, from 1 to `steps_per_call`.

        Returns:
          The values of `TOTALS`, summed over the steps, float64 [len(TOTALS)]; sums of several
          calls may be added up for `train_metrics`.

        Raises:
          ValueError: There are not as many batches.
        """
        try:
            return self._train(iterator, tf.constant(steps)).numpy()
        except tf.errors.OutOfRangeError as error:
            raise ValueError(
                f"the data ended in step {int(self.step.numpy())}, before {steps} steps were "
                "taken; repeat the dataset or ask for fewer steps"
            ) from error

    def evaluate(self, batches: Iterable[Batch]) -> dict[str, float]:
        """Averages over all examples, each counted once, with its own weight.

        Args:
          batches: From `inputs.distribute`.

        Returns:
          `loss` (of the outputs), `accuracy` and `regularization` (of the weights).

        Raises:
          ValueError: There are no examples.
        """
        totals, iterator = np.zeros(len(TOTALS)), iter(batches)
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                totals += self._evaluate(iterator).numpy()
        if not totals.any():
            raise ValueError("there are no examples to evaluate; check the files of the split")
        return _averages(totals)

    def recalibrate(self, batches: Iterable[Batch]) -> None:
        """Recomputes the statistics of BatchNormalization for the weights to evaluate.

        Moving statistics follow the weights that are trained. An optimizer that evaluates at other
        weights (Schedule-Free, arXiv:2405.15682) needs those of that other network: the moments
        over all of `batches`. Call it while the evaluation weights are in place; it does nothing
        for an optimizer with one set of weights, or without BatchNormalization.

        Args:
          batches: Of training examples, from `inputs.distribute`.
        """
        if getattr(self.optimizer, "evaluation_slot", None) and layers.normalizes(self.model):
            iterator, seen = iter(batches), tf.constant(0, tf.float64)
            with contextlib.suppress(tf.errors.OutOfRangeError):
                while True:
                    seen = self._recalibrate(iterator, seen)

    def _train_steps(self, iterator: Iterator[Batch], count: tf.Tensor) -> tf.Tensor:
        # The loop is part of the function: between steps nothing returns to Python, and no result
        # is copied back to it.
        _, totals = tf.while_loop(
            lambda index, _: index < count,
            lambda index, totals: (index + 1, totals + self._train_step(iterator.get_next())),
            [tf.constant(0), tf.zeros([len(TOTALS)], tf.float64)],
        )
        return totals

    def _train_step(self, batch: Batch) -> tf.Tensor:
        self.step.assign_add(1)
        step = self.step.read_value()
        with layer_losses.recording(self.model):
            if not self._may_wait:
                return self._first(self._run(self._on_replica.train, batch, step))
            processed, ready, totals = self._run(self._on_replica.compute_and_process, batch, step)
        # The choice is made outside of the replicas: inside a `tf.cond` they cannot meet.
        tf.cond(
            self._first(ready), lambda: self._run(self._on_replica.apply, processed), lambda: None
        )
        return self._first(totals)

    def _evaluate_step(self, iterator: Iterator[Batch]) -> tf.Tensor:
        return self._first(self._run(self._on_replica.evaluate, iterator.get_next()))

    def _recalibrate_step(self, iterator: Iterator[Batch], seen: tf.Tensor) -> tf.Tensor:
        return self._first(self._run(self._on_replica.normalize, iterator.get_next(), seen))

    def _run(self, function: Callable, *arguments):
        if self._compile:
            function = tf.function(function, autograph=False, jit_compile=True)
        return self.strategy.run(function, arguments)

    def _first(self, value):
        """A result that is the same on every replica."""
        return self.strategy.experimental_local_results(value)[0]


def train_metrics(totals: np.ndarray) -> dict[str, float]:
    """What `TrainingLoop.train` returns, from the sums of its calls."""
    return {**_averages(totals), "skipped": int(totals[TOTALS.index("skipped")])}


def weight_table(class_weights: Mapping[int, float], classes: int) -> np.ndarray:
    """Weight of an example by its class, float64 [classes]; 1 for a class not named.

    Raises:
      ValueError: There is no such class, or a weight is negative or not finite.
    """
    table = np.ones(classes)
    for label, weight in class_weights.items():
        if label not in range(classes) or not 0 <= weight < np.inf:
            raise ValueError(
                f"class_weights must give classes 0 to {classes - 1} a finite weight >= 0, got "
                f"{weight} for class {label}"
            )
        table[label] = weight
    return table


def _averages(totals: np.ndarray) -> dict[str, float]:
    sums = dict(zip(TOTALS, totals.tolist(), strict=True))

    def ratio(total: str, count: str) -> float:
        return sums[total] / sums[count] if sums[count] else float("nan")

    return {
        "loss": ratio("loss", "weight"),
        "accuracy": ratio("correct", "examples"),
        "regularization": ratio("regularization", "steps"),
    }
