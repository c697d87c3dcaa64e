"""What is served: one model behind three signatures, all giving the same answer.

- `serving_default`: serialized tf.Examples, what the Evaluator and Beam jobs send
- `image`: uint8 pixels, what a program sends
- `png`: PNG files, what a person sends
"""

import struct

import keras
import tensorflow as tf

from components.trainer import inputs, models
from schemas import mnist

# What a PNG file of the right size begins with: the signature, and the chunk with the size.
_PNG_HEADER = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", mnist.WIDTH, mnist.HEIGHT)


class Server(tf.Module):
    """A model with the functions that serve it.

    Each takes a batch and returns `probabilities` float32 [batch, classes] and `class` int64
    [batch].
    """

    def __init__(self, model: keras.Model):
        super().__init__()
        self.model = models.logits(model)
        # Names that do not depend on how Keras nests its objects, for `warm_start`.
        self.weights_by_path = {weight.path: weight for weight in model.weights}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def examples(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        """Serialized tf.Examples; a label in them is not read."""
        return self._predict(inputs.decode(examples)[mnist.IMAGE])

    @tf.function(
        input_signature=[tf.TensorSpec([None, mnist.HEIGHT, mnist.WIDTH], tf.uint8, name="image")]
    )
    def image(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        """Grey pixels, white (255) digit on black (0)."""
        return self._predict(image)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="png")])
    def png(self, png: tf.Tensor) -> dict[str, tf.Tensor]:
        """PNG files of 28 x 28 pixels; colours are turned to grey."""
        spec = tf.TensorSpec([mnist.HEIGHT, mnist.WIDTH], tf.uint8)
        return self._predict(tf.map_fn(_decode_png, png, fn_output_signature=spec))

    def _predict(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = tf.cast(self.model(image, training=False), tf.float32)
        return {"probabilities": tf.nn.softmax(logits), "class": tf.argmax(logits, axis=-1)}


def export(model: keras.Model, directory: str) -> None:
    """Writes a SavedModel with the signatures of `Server`."""
    server = Server(model)
    signatures = {
        "serving_default": server.examples,
        "image": server.image,
        "png": server.png,
    }
    tf.saved_model.save(server, directory, signatures=signatures)


def checkpoint_key(path: str) -> str:
    """The name in the SavedModel's checkpoint of the weight with this path in the Keras model."""
    escaped = path.replace(".", "..").replace("/", ".S")
    return f"weights_by_path/{escaped}/.ATTRIBUTES/VARIABLE_VALUE"


def _decode_png(png: tf.Tensor) -> tf.Tensor:
    # A file of a few kilobytes may stand for gigabytes of pixels: its header is believed first.
    header = tf.strings.substr(tf.strings.join([png, bytes(len(_PNG_HEADER))]), 0, len(_PNG_HEADER))
    size = [mnist.HEIGHT, mnist.WIDTH]
    # `assert_equal` would show the header, whose first byte is in no text.
    check = tf.debugging.Assert(
        tf.equal(header, _PNG_HEADER),
        [f"a PNG must be {mnist.WIDTH} x {mnist.HEIGHT} pixels; resize it"],
    )
    with tf.control_dependencies([check]):
        return tf.reshape(tf.io.decode_png(png, channels=1), size)
