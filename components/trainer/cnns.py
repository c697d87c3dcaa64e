"""Convolutional networks; `models` has them by name."""

from collections.abc import Sequence
from itertools import count

import keras

from components.trainer import augmentation, layers
from components.trainer import network_parts as parts
from schemas import data_sets, mnist


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
    image, x = parts.image(augmentation.RandomShift(shift, seed=next(seeds)))
    if rotation or scale or warp:
        x = augmentation.RandomDistortion(rotation, scale, warp, seed=next(seeds))(x)
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    x = keras.layers.Conv2D(first, 3, activation="relu", name="conv1", **parts.kernel(seeds, l2))(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2D(second, 3, activation="relu", name="conv2", **parts.kernel(seeds, l2))(
        x
    )
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2D(third, 3, activation="relu", name="conv3", **parts.kernel(seeds, l2))(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(128, activation="relu", name="dense", **parts.kernel(seeds, l2))(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **parts.kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="cnn")


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
    image, x = parts.image(augmentation.RandomShift(shift, seed=next(seeds)))
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    # Strides, where pooling would first compute four times as much.
    x = keras.layers.Conv2D(
        first, 5, strides=2, activation="relu", name="conv1", **parts.kernel(seeds, l2)
    )(x)
    x = keras.layers.Conv2D(second, 3, activation="relu", name="conv2", **parts.kernel(seeds, l2))(
        x
    )
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(64, activation="relu", name="dense", **parts.kernel(seeds, l2))(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **parts.kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="small_cnn")


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
    image, x = parts.image(augmentation.RandomShift(shift, seed=next(seeds)))
    x = augmentation.RandomDistortion(rotation, scale, warp, seed=next(seeds))(x)
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    for number, size in enumerate(sizes, start=1):
        name = f"conv{number}"
        x = keras.layers.Conv2D(size, 3, use_bias=False, name=name, **parts.kernel(seeds, l2))(x)
        if number in (1, 3):
            x = keras.layers.MaxPooling2D()(x)
        x = layers.BatchNormalization(name=f"normalization{number}")(x)
        x = keras.layers.Activation("relu")(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **parts.kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="deep_cnn")


def _positive(name: str, sizes: Sequence[int], count: int) -> Sequence[int]:
    """The sizes given as argument `name`, if they can be those of as many layers.

    Raises:
      ValueError: They are not as many positive integers.
    """
    listed = isinstance(sizes, list | tuple) and len(sizes) == count
    if not listed or not all(type(size) is int and size > 0 for size in sizes):
        raise ValueError(f"{name} must be {count} positive integers, got {sizes!r}")
    return sizes
