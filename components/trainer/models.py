"""The models, by name.

Each takes the stored bytes as they are, so that serving cannot prepare images otherwise than
training did, and gives a dictionary of outputs with `logits` among them.
"""

import difflib
import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import keras

from components.trainer import augmentation, layers
from schemas import data_sets, mnist

_REGISTRY: dict[str, Callable[..., keras.Model]] = {}


class ModelError(ValueError):
    """There is no such model, or it has no such argument."""


def create(name: str, *, dtype: str = "float32", **arguments) -> keras.Model:
    """Builds a model with fresh weights.

    Args:
      name: `cnn`, `small_cnn`, `deep_cnn`, `mlp`, `sequence` or `encoder_decoder`.
      dtype: Keras dtype policy, such as `float64` or `mixed_float16`.
      **arguments: Of the model. All have `num_classes`, `seed` (of the initial weights and all
        random layers), `l2` (regularization of every kernel) and `dropout` (rate).

    Returns:
      A functional model from {'image': uint8 [batch, 28, 28]} (`encoder_decoder` also takes
      'label', int64 [batch]) to {'logits': float [batch, num_classes]} (`encoder_decoder` also
      gives 'reconstruction', float [batch, 28, 28], from 0 to 1).

    Raises:
      ModelError: The name or an argument is unknown.
    """
    if name not in _REGISTRY:
        raise ModelError(f"model must be one of {', '.join(_REGISTRY)}, got {name!r}")
    known = list(inspect.signature(_REGISTRY[name]).parameters)
    for argument in arguments.keys() - known:
        near = difflib.get_close_matches(argument, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise ModelError(f"model {name} has no argument {argument!r}; {hint}")
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy(dtype)
    try:
        return _REGISTRY[name](**arguments)
    finally:
        keras.config.set_dtype_policy(policy)


def names() -> list[str]:
    """The names that `create` knows."""
    return list(_REGISTRY)


def logits(model: keras.Model) -> keras.Model:
    """The part of the model from the image alone to the logits; it shares the weights.

    At serving the label is what is asked for, so logits that needed it would be of no use.

    Raises:
      ModelError: The logits depend on another input too.
    """
    image, output = model.input[mnist.IMAGE], model.output["logits"]
    served = keras.Model(image, output, name=f"{model.name}_logits")
    # Keras notices an input that is missing only when the model is called.
    needed = [layer.name for layer in served.layers if isinstance(layer, keras.layers.InputLayer)]
    if needed != [mnist.IMAGE]:
        raise ModelError(
            f"the logits of model '{model.name}' need more than the image: {', '.join(needed)}"
        )
    return served


def _register(build: Callable[..., keras.Model]) -> Callable[..., keras.Model]:
    _REGISTRY[build.__name__] = build
    return build


@_register
def cnn(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.3,
    filters: Sequence[int] = (16, 32, 64),
    shift: int = 1,
    rotation: float = 0.0,
    scale: float = 0.0,
    warp: float = 0.0,
) -> keras.Model:
    """Three convolutions and two dense layers, on images that are altered in training.

    Args:
      filters: Of each of the convolutions.
      shift: Most pixels that a training image is moved in each direction.
      rotation: Of a training image, in degrees; see `augmentation.RandomDistortion`.
      scale: Of a training image, as a share of its size; see there.
      warp: Of a training image, in pixels; see there.
    """
    first, second, third = _positive("filters", filters, 3)
    seeds = count(1000 * seed)
    image = keras.Input([mnist.HEIGHT, mnist.WIDTH], name=mnist.IMAGE, dtype="uint8")
    # Bytes: a quarter of what floats take.
    x = augmentation.RandomShift(shift, seed=next(seeds))(image)
    x = keras.layers.Rescaling(1 / 255)(x)
    if rotation or scale or warp:
        x = augmentation.RandomDistortion(rotation, scale, warp, seed=next(seeds))(x)
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    x = keras.layers.Conv2D(first, 3, activation="relu", name="conv1", **_kernel(seeds, l2))(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2D(second, 3, activation="relu", name="conv2", **_kernel(seeds, l2))(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2D(third, 3, activation="relu", name="conv3", **_kernel(seeds, l2))(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(128, activation="relu", name="dense", **_kernel(seeds, l2))(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **_kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="cnn")


@_register
def small_cnn(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.1,
    filters: Sequence[int] = (16, 32),
    shift: int = 1,
) -> keras.Model:
    """Two convolutions and two dense layers: a step takes two thirds of the time of `cnn`'s.

    Args:
      filters: Of each of the convolutions.
      shift: Most pixels that a training image is moved in each direction.
    """
    first, second = _positive("filters", filters, 2)
    seeds = count(1000 * seed)
    image = keras.Input([mnist.HEIGHT, mnist.WIDTH], name=mnist.IMAGE, dtype="uint8")
    x = augmentation.RandomShift(shift, seed=next(seeds))(image)
    x = keras.layers.Rescaling(1 / 255)(x)
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    # Strides, where pooling would first compute four times as much.
    x = keras.layers.Conv2D(
        first, 5, strides=2, activation="relu", name="conv1", **_kernel(seeds, l2)
    )(x)
    x = keras.layers.Conv2D(second, 3, activation="relu", name="conv2", **_kernel(seeds, l2))(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(64, activation="relu", name="dense", **_kernel(seeds, l2))(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **_kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="small_cnn")


@_register
def deep_cnn(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.3,
    filters: Sequence[int] = (32, 64, 64, 128),
    shift: int = 2,
    rotation: float = 10.0,
    scale: float = 0.1,
    warp: float = 1.0,
) -> keras.Model:
    """Four convolutions with BatchNormalization, on images that are distorted in training.

    Args:
      filters: Of each of the convolutions.
      shift: As for `cnn`, and so are `rotation`, `scale` and `warp`.
    """
    sizes = _positive("filters", filters, 4)
    seeds = count(1000 * seed)
    image = keras.Input([mnist.HEIGHT, mnist.WIDTH], name=mnist.IMAGE, dtype="uint8")
    x = augmentation.RandomShift(shift, seed=next(seeds))(image)
    x = keras.layers.Rescaling(1 / 255)(x)
    x = augmentation.RandomDistortion(rotation, scale, warp, seed=next(seeds))(x)
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    for number, size in enumerate(sizes, start=1):
        name = f"conv{number}"
        x = keras.layers.Conv2D(size, 3, use_bias=False, name=name, **_kernel(seeds, l2))(x)
        if number in (1, 3):
            x = keras.layers.MaxPooling2D()(x)
        x = layers.BatchNormalization(name=f"normalization{number}")(x)
        x = keras.layers.Activation("relu")(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **_kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="deep_cnn")


@_register
def mlp(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.2,
) -> keras.Model:
    """One hidden layer of 512."""
    seeds = count(1000 * seed)
    image, x = _image()
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(512, activation="relu", name="hidden", **_kernel(seeds, l2))(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **_kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="mlp")


@_register
def sequence(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.1,
) -> keras.Model:
    """Reads an image as a sequence of 28 rows."""
    seeds = count(1000 * seed)
    image, x = _image()
    x = keras.layers.Conv1D(32, 3, activation="relu", name="conv", **_kernel(seeds, l2))(x)
    x = layers.SpatialDropout1D(dropout, seed=next(seeds))(x)
    x = keras.layers.GRU(
        64,
        return_sequences=True,
        name="gru",
        recurrent_initializer=keras.initializers.Orthogonal(seed=next(seeds)),
        recurrent_regularizer=keras.regularizers.L2(l2) if l2 else None,
        **_kernel(seeds, l2),
    )(x)
    x = keras.layers.GlobalMaxPooling1D()(x)
    x = layers.BatchNormalization(name="normalization")(x)
    x = keras.layers.Activation("relu")(x)
    x = keras.layers.Dense(num_classes, name="logits", **_kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="sequence")


@_register
def encoder_decoder(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.2,
    code: int = 32,
) -> keras.Model:
    """Classifies an image by a code, and redraws it from that code and the true label.

    As the decoder is told the label, the code is free to hold how the digit is written.

    Args:
      code: Length of the code.
    """
    seeds = count(1000 * seed)
    image, x = _image()
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    x = keras.layers.Conv2D(
        16, 3, strides=2, activation="relu", name="encoder1", **_kernel(seeds, l2)
    )(x)
    x = keras.layers.Conv2D(
        32, 3, strides=2, activation="relu", name="encoder2", **_kernel(seeds, l2)
    )(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(code, activation="relu", name="code", **_kernel(seeds, l2))(x)
    logits = keras.layers.Dense(num_classes, name="logits", **_kernel(seeds, l2))(x)

    label = keras.Input([], name=mnist.LABEL, dtype="int64")
    style = keras.layers.Embedding(
        num_classes,
        code,
        embeddings_initializer=keras.initializers.GlorotUniform(seed=next(seeds)),
        name="style",
    )(label)
    x = keras.layers.Concatenate()([x, style])
    x = keras.layers.Dense(256, activation="relu", name="decoder1", **_kernel(seeds, l2))(x)
    x = keras.layers.Dense(
        mnist.HEIGHT * mnist.WIDTH, activation="sigmoid", name="decoder2", **_kernel(seeds, l2)
    )(x)
    reconstruction = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH])(x)
    return keras.Model(
        {mnist.IMAGE: image, mnist.LABEL: label},
        {"logits": logits, "reconstruction": reconstruction},
        name="encoder_decoder",
    )


def _positive(name: str, sizes: Sequence[int], count: int) -> Sequence[int]:
    """The sizes given as argument `name`, if they can be those of as many layers.

    Raises:
      ModelError: They are not as many positive integers.
    """
    listed = isinstance(sizes, list | tuple) and len(sizes) == count
    if not listed or not all(type(size) is int and size > 0 for size in sizes):
        raise ModelError(f"{name} must be {count} positive integers, got {sizes!r}")
    return sizes


def _image() -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """The input `image`, uint8 [batch, 28, 28], and its pixels from 0 to 1."""
    image = keras.Input([mnist.HEIGHT, mnist.WIDTH], name=mnist.IMAGE, dtype="uint8")
    return image, keras.layers.Rescaling(1 / 255)(image)


def _kernel(seeds: Iterator[int], l2: float) -> dict:
    """Arguments of a layer for its kernel."""
    return {
        "kernel_initializer": keras.initializers.GlorotUniform(seed=next(seeds)),
        "kernel_regularizer": keras.regularizers.L2(l2) if l2 else None,
    }
