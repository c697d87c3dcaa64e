"""What the networks have in common."""

from collections.abc import Iterator

import keras

from schemas import mnist


def image(altered: keras.Layer | None = None) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """The input `image`, uint8 [batch, 28, 28], and its pixels from 0 to 1.

    Args:
      altered: What the bytes go through first; they take a quarter of what floats do.
    """
    taken = keras.Input([mnist.HEIGHT, mnist.WIDTH], name=mnist.IMAGE, dtype="uint8")
    return taken, keras.layers.Rescaling(1 / 255)(altered(taken) if altered else taken)


def kernel(seeds: Iterator[int], l2: float) -> dict:
    """Arguments of a layer for its kernel."""
    return {
        "kernel_initializer": keras.initializers.GlorotUniform(seed=next(seeds)),
        "kernel_regularizer": keras.regularizers.L2(l2) if l2 else None,
    }
