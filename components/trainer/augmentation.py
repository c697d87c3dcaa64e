"""Layers that alter training images, and nothing at evaluation and serving.

In the training loop an image is altered by its place in the global batch and by the step alone:
the same way on any number of replicas, and again after a restart.
"""

import keras
import numpy as np
import tensorflow as tf

from components.trainer import layers
from components.trainer.losses import at_least_32
from components.trainer.optimizers.hyperparameters import check


class Augmentation(keras.layers.Layer):
    """Alters each training image by numbers of its own, drawn from [0, 1).

    A subclass says how many (`draws`, 0 if its arguments leave images as they are), and alters.

    Args:
      seed: Of the numbers.
    """

    def __init__(self, seed: int, **arguments):
        # Without autocast, Keras leaves bytes as they are.
        super().__init__(autocast=False, **arguments)
        self.seed = seed
        self._seed_generator = keras.random.SeedGenerator(seed)

    @property
    def draws(self) -> int:
        """How many numbers an image needs."""
        raise NotImplementedError

    def alter(self, images: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
        """Alters images.

        Args:
          images: [local_batch, height, width].
          numbers: Float32 [local_batch, draws], from [0, 1).

        Returns:
          As `images`.
        """
        raise NotImplementedError

    def call(self, inputs, training=False):
        if not training or self.draws == 0:
            return inputs
        batch = layers.current_batch()
        if batch is None:
            shape = [tf.shape(inputs)[0], self.draws]
            numbers = keras.random.uniform(shape, dtype="float32", seed=self._seed_generator)
        else:
            numbers = batch.uniform([self.draws], self.seed)
        return self.alter(inputs, numbers)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}


@keras.saving.register_keras_serializable("mnist_tfx")
class RandomShift(Augmentation):
    """Moves images of any dtype by whole pixels and fills up with zeros.

    Args:
      shift: Most pixels that an image is moved in each direction.
      seed: Of the shifts.

    Raises:
      ValueError: The shift is not a whole number, or negative.
    """

    def __init__(self, shift: int, seed: int, **arguments):
        super().__init__(seed, **arguments)
        if type(shift) is not int or shift < 0:
            raise ValueError(f"shift must be a whole number of pixels >= 0; got {shift!r}")
        self.shift = shift

    @property
    def draws(self) -> int:
        return 2 if self.shift else 0

    def alter(self, images, numbers):
        corner = tf.cast(numbers * (2 * self.shift + 1), tf.int32)  # Each from 0 to 2 * shift.
        margin = [self.shift, self.shift]
        padded = tf.pad(images, [[0, 0], margin, margin])
        rows = corner[:, :1] + tf.range(images.shape[1])
        columns = corner[:, 1:] + tf.range(images.shape[2])
        moved = tf.gather(padded, rows, axis=1, batch_dims=1)
        return tf.gather(moved, columns, axis=2, batch_dims=1)

    def get_config(self):
        return {**super().get_config(), "shift": self.shift}


@keras.saving.register_keras_serializable("mnist_tfx")
class RandomDistortion(Augmentation):
    """Rotates, resizes and warps images, all in one bilinear interpolation.

    Pixels from outside of an image are zeros. The warp (after Simard et al. 2003, "Best practices
    for convolutional neural networks applied to visual document analysis") is a displacement drawn
    at each of `NODES` x `NODES` places evenly over the image, and interpolated between them.

    Args:
      rotation: Largest angle to either side, in degrees, at least 0.
      scale: Most that an image is made smaller or larger, as a share of its size; in [0, 1).
      warp: Most pixels that a place is displaced in each direction, at least 0.
      seed: Of the distortions.

    Raises:
      ValueError: An argument is outside its range.
    """

    NODES = 5

    def __init__(
        self,
        rotation: float = 0.0,
        scale: float = 0.0,
        warp: float = 0.0,
        *,
        seed: int,
        **arguments,
    ):
        super().__init__(seed, **arguments)
        self.rotation = check("rotation", rotation, at_least=0, constant=True)
        self.scale = check("scale", scale, at_least=0, below=1, constant=True)
        self.warp = check("warp", warp, at_least=0, constant=True)

    @property
    def draws(self) -> int:
        any_of_them = self.rotation or self.scale or self.warp
        return 2 + 2 * self.NODES**2 if any_of_them else 0

    def alter(self, images, numbers):
        pixels = at_least_32(images)
        numbers = 2 * tf.cast(numbers, pixels.dtype) - 1
        rows, columns = self._sources(*images.shape[1:], numbers)
        sampled = _sample(pixels, rows, columns)
        # A cast alone would cut off, and so darken bytes by half a level.
        dtype = tf.as_dtype(images.dtype)
        return tf.cast(tf.round(sampled) if dtype.is_integer else sampled, dtype)

    def _sources(self, height: int, width: int, numbers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Where each pixel comes from: row and column, [local_batch, height, width].

        Args:
          height: Of the images.
          width: Of the images.
          numbers: From -1 to 1, [local_batch, draws].
        """
        angle, growth = tf.unstack(numbers[:, :2, None, None], axis=1)
        angle *= self.rotation * np.pi / 180
        growth = 1 + self.scale * growth
        cosine, sine = tf.cos(angle) / growth, tf.sin(angle) / growth
        middle = (height - 1) / 2, (width - 1) / 2
        y = tf.range(height, dtype=numbers.dtype)[:, None] - middle[0]
        x = tf.range(width, dtype=numbers.dtype)[None, :] - middle[1]
        field = tf.reshape(numbers[:, 2:], [-1, 2, self.NODES, self.NODES])
        hats = [tf.constant(self._hats(size), numbers.dtype) for size in (height, width)]
        field = self.warp * tf.einsum("hn,bdnm,wm->bdhw", hats[0], field, hats[1])
        rows = cosine * y - sine * x + middle[0] + field[:, 0]
        columns = sine * y + cosine * x + middle[1] + field[:, 1]
        return rows, columns

    def _hats(self, size: int) -> np.ndarray:
        """Share of each place in the displacement of each pixel, [size, NODES]."""
        places = np.linspace(0, self.NODES - 1, size)
        return np.maximum(0, 1 - abs(places[:, None] - np.arange(self.NODES)))

    def get_config(self):
        return {
            **super().get_config(),
            "rotation": self.rotation,
            "scale": self.scale,
            "warp": self.warp,
        }


def _sample(images: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Interpolates bilinearly between the four pixels around each place; outside are zeros.

    Args:
      images: [batch, height, width].
      rows: [batch, height, width].
      columns: As `rows`.

    Returns:
      [batch, height, width].
    """
    height, width = images.shape[1:]
    rows, columns = tf.clip_by_value(rows, -1, height), tf.clip_by_value(columns, -1, width)
    top, left = tf.floor(rows), tf.floor(columns)
    down, right = rows - top, columns - left
    padded = tf.pad(images, [[0, 0], [1, 2], [1, 2]])
    # One look-up of four neighbours takes a quarter of the time of four.
    corners = tf.stack(
        [padded[:, :-1, :-1], padded[:, :-1, 1:], padded[:, 1:, :-1], padded[:, 1:, 1:]], axis=-1
    )
    shares = tf.stack(
        [(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right], axis=-1
    )
    place = tf.cast(top + 1, tf.int32) * (width + 2) + tf.cast(left + 1, tf.int32)
    flat = tf.reshape(corners, [-1, (height + 2) * (width + 2), 4])
    found = tf.gather(flat, tf.reshape(place, [-1, height * width]), axis=1, batch_dims=1)
    return tf.reduce_sum(shares * tf.reshape(found, [-1, height, width, 4]), axis=-1)
