"""The cases of `verify_replicas`: whatever touches a loss or a gradient, one case each."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from components.trainer import layers, models
from components.trainer import processors as p
from components.trainer.mixed_precision import LossScale
from schemas import data_sets, mnist

STEPS = 20
BATCH = 24
RATE = 0.01
# The last batch of a pass holds 5 examples: with 8 replicas, some get none.
_FULL, _PARTIAL = 6 * BATCH, 6 * BATCH + 5

Gradients = Sequence[tf.Tensor]


@dataclasses.dataclass(frozen=True)
class Kit:
    """Which layers a model is built of, and whether `add_loss` is per example."""

    normalization: type[keras.Layer]
    dropout: type[keras.Layer]
    each: bool


OURS = Kit(layers.BatchNormalization, layers.Dropout, each=True)
KERAS = Kit(keras.layers.BatchNormalization, keras.layers.Dropout, each=False)
# Keras's, but for the random numbers.
PLAIN = Kit(keras.layers.BatchNormalization, layers.Dropout, each=False)


@dataclasses.dataclass(frozen=True)
class Case:
    """One feature, as each way of training has it.

    Attributes:
      name: What is tested.
      build: Makes the model, under the dtype policy in force.
      examples: Number of examples, of which a pass makes batches of `BATCH`.
      padded: Whether our batches are filled up to one size.
      weights: Of the examples, [examples]; None: 1 each.
      class_weights: Weight of an example by its class.
      processors: Of our loop.
      process: The same in plain TensorFlow: gradients, variables and number of the step (from 1)
        to gradients; None drops the batch.
      penalty: In plain TensorFlow, what layers add to each example's loss: [batch].
      merged: Batches that plain TensorFlow takes together as one.
      keras_optimizer: What wraps or configures Keras's SGD to do the same; None: it has no such
        thing.
      rate: Learning rate, in plain TensorFlow and in our loop.
      judged: Dtypes in which ours must agree; in the others it is only shown.
    """

    name: str
    build: Callable[[Kit], keras.Model]
    examples: int = _FULL
    padded: bool = True
    weights: np.ndarray | None = None
    class_weights: Mapping[int, float] = dataclasses.field(default_factory=dict)
    processors: Callable[[], list[p.Processor]] = list
    process: Callable[[Gradients, Sequence, int], Gradients | None] = lambda g, v, step: g
    penalty: Callable[[keras.Model, Mapping[str, tf.Tensor]], tf.Tensor] | None = None
    merged: int = 1
    keras_optimizer: Callable[[], keras.optimizers.Optimizer] | None = dataclasses.field(
        default_factory=lambda: sgd
    )
    rate: float = RATE
    judged: Sequence[str] = ("float64", "float32")

    def batches(self) -> tf.data.Dataset:
        """`STEPS` global batches of noise with random labels, the same in every call."""
        rng = np.random.default_rng(0)
        examples = {
            mnist.IMAGE: rng.integers(0, 256, [self.examples, mnist.HEIGHT, mnist.WIDTH], np.uint8),
            mnist.LABEL: rng.integers(0, data_sets.MNIST.num_classes, self.examples),
        }
        if self.weights is not None:
            examples["weight"] = self.weights
        return tf.data.Dataset.from_tensor_slices(examples).batch(BATCH).repeat().take(STEPS)


def sgd(learning_rate: float = RATE, **arguments: Any) -> keras.optimizers.Optimizer:
    """The optimizer of all cases: SGD with momentum.

    The rate is low enough for these steps not to amplify the rounding of float32: at 0.05, two
    orders of summing up the same batch on one device end 1e-5 apart.
    """
    return keras.optimizers.SGD(learning_rate, momentum=0.9, **arguments)


def _small(
    middle: Callable[[Kit], Sequence[keras.Layer]] = lambda kit: (), **hidden: Any
) -> Callable[[Kit], keras.Model]:
    """Builds a network of one hidden layer, with other layers in its middle."""

    def build(kit: Kit) -> keras.Model:
        kernel = lambda seed: keras.initializers.GlorotUniform(seed=seed)  # noqa: E731
        image = keras.Input([mnist.HEIGHT, mnist.WIDTH], name=mnist.IMAGE, dtype="uint8")
        x = keras.layers.Rescaling(1 / 255)(image)
        x = keras.layers.Flatten()(x)
        x = keras.layers.Dense(
            16, activation="tanh", kernel_initializer=kernel(1), name="hidden", **hidden
        )(x)
        for layer in middle(kit):
            x = layer(x)
        x = keras.layers.Dense(
            data_sets.MNIST.num_classes, kernel_initializer=kernel(2), name="logits"
        )(x)
        return keras.Model({mnist.IMAGE: image}, {"logits": x})

    return build


class MeanSquare(keras.Layer):
    """Adds the mean square of its input's features to the loss.

    Args:
      each: Add it for each example, as our loop asks; otherwise the mean over the batch.
    """

    def __init__(self, each: bool):
        super().__init__()
        self._each = each

    def call(self, inputs):
        penalty = tf.reduce_mean(tf.square(inputs), axis=-1)
        self.add_loss(penalty if self._each else tf.reduce_mean(penalty))
        return inputs


def _hidden(model: keras.Model, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
    hidden = keras.Model(model.input[mnist.IMAGE], model.get_layer("hidden").output)
    return hidden(batch[mnist.IMAGE], training=True)


def _clip_adaptively(gradients: Gradients, variables: Sequence, step: int) -> Gradients:
    clipped = []
    for gradient, variable in zip(gradients, variables, strict=True):
        axis = 0 if gradient.shape.rank > 1 else None  # Dense kernels: one unit per column.
        norm = tf.norm(gradient, axis=axis, keepdims=True)
        limit = 0.02 * tf.maximum(tf.norm(variable.value, axis=axis, keepdims=True), 1e-3)
        clipped.append(tf.where(norm > limit, gradient * limit / norm, gradient))
    return clipped


def _centralize(gradients: Gradients, variables: Sequence, step: int) -> Gradients:
    return [
        g - tf.reduce_mean(g, axis=0, keepdims=True) if g.shape.rank > 1 else g for g in gradients
    ]


def _noise(gradients: Gradients, variables: Sequence, step: int) -> Gradients:
    deviation = np.sqrt(0.01 / step**0.55)
    return [
        g
        + deviation * tf.random.stateless_normal(g.shape, [5 + 1_000_003 * i, step], dtype=g.dtype)
        for i, g in enumerate(gradients)
    ]


def _skip_third(gradients: Gradients, variables: Sequence, step: int) -> Gradients | None:
    return None if step % 6 == 3 else gradients


def _weights() -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 3, _PARTIAL)


def _one_infinite() -> np.ndarray:
    """An infinite loss for the last example of the third batch, so on the last replica."""
    weights = np.ones(_FULL)
    weights[3 * BATCH - 1] = np.inf
    return weights


def _model(name: str) -> Callable[[Kit], keras.Model]:
    return lambda kit: models.create(name, dtype=keras.config.dtype_policy().name, l2=1e-3)


def _without_kinks(build: Callable[[Kit], keras.Model]) -> Callable[[Kit], keras.Model]:
    """Builds a network with softplus for its ReLUs, and means for the maxima of its pooling."""

    def smooth(layer: keras.Layer) -> keras.Layer:
        if isinstance(layer, keras.layers.Activation):
            return keras.layers.Activation("softplus", name=layer.name)
        if isinstance(layer, keras.layers.MaxPooling2D):
            return keras.layers.AveragePooling2D(layer.pool_size, name=layer.name)
        return layer.from_config(layer.get_config())

    return lambda kit: keras.models.clone_model(build(kit), clone_function=smooth)


# The statistics of a batch are rounded otherwise on each number of replicas, and BatchNormalization
# hands that to all activations. In float32 it takes some of the many thousands over the kink of a
# ReLU, or makes another pixel the largest of its pool, and their share of the gradient jumps. In
# float64 none is so close to a kink; and without kinks, float32 agrees too.
_JUDGED = dict.fromkeys(models.names(), ("float64", "float32")) | {"deep_cnn": ("float64",)}

CASES: tuple[Case, ...] = (
    Case("full batches", _small()),
    Case("partial last batch, padded", _small(), _PARTIAL),
    Case("partial last batch, empty replicas", _small(), _PARTIAL, padded=False),
    Case("sample weights", _small(), _PARTIAL, weights=_weights()),
    Case("class weights", _small(), class_weights={0: 0.3, 7: 5.0}),
    Case(
        "kernel and bias regularizers",
        _small(kernel_regularizer=keras.regularizers.L1L2(1e-3, 1e-2), bias_regularizer="l2"),
    ),
    Case(
        "activity regularizer",
        _small(activity_regularizer=keras.regularizers.L2(0.05)),
        penalty=lambda model, batch: 0.05 * tf.reduce_sum(_hidden(model, batch) ** 2, axis=-1),
    ),
    Case(
        "add_loss",
        _small(lambda kit: [MeanSquare(kit.each)]),
        penalty=lambda model, batch: tf.reduce_mean(_hidden(model, batch) ** 2, axis=-1),
    ),
    Case("BatchNormalization", _small(lambda kit: [kit.normalization()]), _PARTIAL),
    Case(
        "BatchNormalization, empty replicas",
        _small(lambda kit: [kit.normalization()]),
        _PARTIAL,
        padded=False,
    ),
    Case("dropout", _small(lambda kit: [kit.dropout(0.4, seed=1)])),
    Case(
        "clip by value",
        _small(),
        processors=lambda: [p.ClipByValue(0.01)],
        process=lambda g, v, step: [tf.clip_by_value(x, -0.01, 0.01) for x in g],
        keras_optimizer=lambda: sgd(clipvalue=0.01),
    ),
    Case(
        "clip by norm",
        _small(),
        processors=lambda: [p.ClipByNorm(0.1)],
        process=lambda g, v, step: [tf.clip_by_norm(x, 0.1) for x in g],
        keras_optimizer=lambda: sgd(clipnorm=0.1),
    ),
    Case(
        "clip by global norm",
        _small(),
        processors=lambda: [p.ClipByGlobalNorm(0.1)],
        process=lambda g, v, step: tf.clip_by_global_norm(g, 0.1)[0],
        keras_optimizer=lambda: sgd(global_clipnorm=0.1),
    ),
    Case(
        "clip adaptively",
        _small(),
        processors=lambda: [p.ClipAdaptively(0.02)],
        process=_clip_adaptively,
        keras_optimizer=None,
    ),
    Case(
        "centralize",
        _small(),
        processors=lambda: [p.Centralize()],
        process=_centralize,
        keras_optimizer=None,
    ),
    Case(
        "gradient noise",
        _small(),
        processors=lambda: [p.AddNoise(0.01, seed=5)],
        process=_noise,
        keras_optimizer=None,
    ),
    Case(
        "accumulate 2 batches",
        _small(),
        processors=lambda: [p.Accumulate(2)],
        merged=2,
        keras_optimizer=lambda: sgd(gradient_accumulation_steps=2),
    ),
    Case(
        "skip a non-finite batch",
        _small(),
        weights=_one_infinite(),
        processors=lambda: [p.SkipNonfinite()],
        process=_skip_third,
        keras_optimizer=None,
    ),
    Case(
        "loss scale, one replica overflows",
        _small(),
        weights=_one_infinite(),
        processors=lambda: [LossScale()],
        process=_skip_third,
        keras_optimizer=lambda: keras.optimizers.LossScaleOptimizer(sgd()),
    ),
    # With all that is in them, so without a counterpart of Keras's layers.
    *(
        Case(f"model {name}", _model(name), _PARTIAL, keras_optimizer=None, judged=judged)
        for name, judged in _JUDGED.items()
    ),
    Case(
        "model deep_cnn, without kinks",
        _without_kinks(_model("deep_cnn")),
        _PARTIAL,
        keras_optimizer=None,
        rate=0.003,  # At 0.01 so many normalizations round by 1e-5.
    ),
)
