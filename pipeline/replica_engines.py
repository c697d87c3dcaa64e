"""Four ways to train a case of `replica_cases`; each returns the weights that come out.

`plain` is the measure: one device, the whole batch in one piece, no strategy, none of our losses,
processors, steps or loop. `ours` is what this project does. `fit` and `keras_loop` are what Keras
does by itself, with its own layers and optimizer options.
"""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from components.trainer import inputs, layers
from components.trainer import strategy as strategies
from components.trainer.loop import TrainingLoop
from pipeline.replica_cases import BATCH, KERAS, OURS, PLAIN, STEPS, Case, sgd
from schemas import data_sets, mnist

# Every replica's copy of every weight: [replicas, ...] each.
Weights = list[np.ndarray]


def plain(case: Case) -> Weights:
    """Trains on one device, with nothing but TensorFlow and Keras's SGD."""
    model, optimizer = case.build(PLAIN), sgd(case.rate)
    variables = model.trainable_variables
    optimizer.build(variables)
    for step, batch in enumerate(_merged(case), start=1):
        # Only random layers look at this: they draw by an example's place in the batch.
        size = len(batch[mnist.LABEL])
        place = layers.Batch(tf.ones([size], tf.bool), tf.constant(step, tf.int64), 0, size)
        with layers.batch_scope(place), tf.GradientTape() as tape:
            loss = _plain_loss(case, model, batch)
        own = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, variables)]
        processed = case.process(own, variables, step)
        if processed is not None:
            optimizer.apply(processed, variables)
    return _weights(model, tf.distribute.get_strategy())


def ours(case: Case, replicas: int) -> Weights:
    """Trains with `TrainingLoop`."""
    strategy = strategies.create(f"mirrored:{replicas}")
    with strategy.scope():
        model, optimizer = case.build(OURS), sgd(case.rate)
    loop = TrainingLoop(
        model,
        optimizer,
        strategy=strategy,
        processors=case.processors(),
        class_weights=case.class_weights,
    )
    batches = inputs.distribute(strategy, case.batches(), BATCH, padded=case.padded)
    loop.train(iter(batches), STEPS)
    return _weights(model, strategy)


def fit(case: Case, replicas: int) -> Weights:
    """Trains with `compile` and `fit`."""
    strategy = strategies.create(f"mirrored:{replicas}")
    with strategy.scope():
        model, optimizer = case.build(KERAS), case.keras_optimizer()
        cross_entropy = {"logits": _cross_entropy("sum_over_batch_size")}
        model.compile(optimizer, cross_entropy, jit_compile=False)

    def arguments(batch):
        return (
            {mnist.IMAGE: batch[mnist.IMAGE]},
            {"logits": batch[mnist.LABEL]},
            _weight(case, batch),
        )

    model.fit(case.batches().map(arguments), verbose=0)
    return _weights(model, strategy)


def keras_loop(case: Case, replicas: int) -> Weights:
    """Trains with the loop of TensorFlow's guide to custom training under a strategy."""
    strategy = strategies.create(f"mirrored:{replicas}")
    with strategy.scope():
        model, optimizer = case.build(KERAS), case.keras_optimizer()
        optimizer.build(model.trainable_variables)
    loss_of_each = _cross_entropy(reduction=None)

    def on_replica(batch):
        with tf.GradientTape() as tape:
            logits = model({mnist.IMAGE: batch[mnist.IMAGE]}, training=True)["logits"]
            each = loss_of_each(batch[mnist.LABEL], logits)
            loss = tf.nn.compute_average_loss(each, _weight(case, batch), global_batch_size=BATCH)
            if model.losses:
                loss += tf.nn.scale_regularization_loss(tf.add_n(model.losses))
            loss = optimizer.scale_loss(loss)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))

    @tf.function
    def train(iterator):
        for _ in tf.range(STEPS):
            strategy.run(on_replica, (next(iterator),))

    train(iter(strategy.experimental_distribute_dataset(case.batches())))
    return _weights(model, strategy)


def _merged(case: Case) -> Iterator[dict[str, tf.Tensor]]:
    """The case's batches, so many at a time in one."""
    batches = iter(case.batches())
    for first in batches:
        parts = [first, *(next(batches) for _ in range(case.merged - 1))]
        yield {name: tf.concat([part[name] for part in parts], axis=0) for name in first}


def _weight(case: Case, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """The weight of each example, by its class and its own, float64 [batch]."""
    by_class = [case.class_weights.get(label, 1.0) for label in range(data_sets.MNIST.num_classes)]
    weight = tf.gather(tf.constant(by_class, tf.float64), batch[mnist.LABEL])
    return weight * tf.cast(batch.get("weight", 1.0), tf.float64)


def _plain_loss(case: Case, model: keras.Model, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """The loss of a whole batch, written down as it is defined."""
    outputs = model({name: batch[name] for name in model.input}, training=True)
    each = keras.losses.sparse_categorical_crossentropy(
        batch[mnist.LABEL], outputs["logits"], from_logits=True
    )
    if "reconstruction" in outputs:
        pixels = tf.cast(batch[mnist.IMAGE], each.dtype) / 255
        each += tf.reduce_mean((outputs["reconstruction"] - pixels) ** 2, axis=[1, 2])
    if case.penalty:
        each += case.penalty(model, batch)
    weight = tf.cast(_weight(case, batch), each.dtype)
    penalties = [v.regularizer(v) for v in model.trainable_variables if v.regularizer]
    return tf.reduce_sum(weight * each) / tf.reduce_sum(weight) + sum(penalties)


def _cross_entropy(reduction: str | None) -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=reduction)


def _weights(model: keras.Model, strategy: tf.distribute.Strategy) -> Weights:
    """Trained weights and moving statistics, as each replica has them."""
    kept = [v.value for v in model.variables if "seed_generator" not in v.path]
    return [
        np.stack([copy.numpy() for copy in strategy.experimental_local_results(variable)])
        for variable in kept
    ]
