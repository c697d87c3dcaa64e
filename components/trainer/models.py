"""The models, by name.

Each takes the stored bytes as they are, so that serving cannot prepare images otherwise than
training did, and gives a dictionary of outputs with `logits` among them.
"""

import difflib
import inspect
from collections.abc import Callable
from itertools import count

import keras

from components.trainer import cnns, layers
from components.trainer import network_parts as parts
from schemas import data_sets, mnist


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
      ValueError: The value of an argument is wrong.
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


def mlp(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.2,
) -> keras.Model:
    """One hidden layer of 512."""
    seeds = count(1000 * seed)
    image, x = parts.image()
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(512, activation="relu", name="hidden", **parts.kernel(seeds, l2))(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(num_classes, name="logits", **parts.kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="mlp")


def sequence(
    num_classes: int = data_sets.MNIST.num_classes,
    seed: int = 0,
    l2: float = 0.0,
    dropout: float = 0.1,
) -> keras.Model:
    """Reads an image as a sequence of 28 rows."""
    seeds = count(1000 * seed)
    image, x = parts.image()
    x = keras.layers.Conv1D(32, 3, activation="relu", name="conv", **parts.kernel(seeds, l2))(x)
    x = layers.SpatialDropout1D(dropout, seed=next(seeds))(x)
    x = keras.layers.GRU(
        64,
        return_sequences=True,
        name="gru",
        recurrent_initializer=keras.initializers.Orthogonal(seed=next(seeds)),
        recurrent_regularizer=keras.regularizers.L2(l2) if l2 else None,
        **parts.kernel(seeds, l2),
    )(x)
    x = keras.layers.GlobalMaxPooling1D()(x)
    x = layers.BatchNormalization(name="normalization")(x)
    x = keras.layers.Activation("relu")(x)
    x = keras.layers.Dense(num_classes, name="logits", **parts.kernel(seeds, l2))(x)
    return keras.Model({mnist.IMAGE: image}, {"logits": x}, name="sequence")


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
    image, x = parts.image()
    x = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH, 1])(x)
    x = keras.layers.Conv2D(
        16, 3, strides=2, activation="relu", name="encoder1", **parts.kernel(seeds, l2)
    )(x)
    x = keras.layers.Conv2D(
        32, 3, strides=2, activation="relu", name="encoder2", **parts.kernel(seeds, l2)
    )(x)
    x = keras.layers.Flatten()(x)
    x = layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(code, activation="relu", name="code", **parts.kernel(seeds, l2))(x)
    logits = keras.layers.Dense(num_classes, name="logits", **parts.kernel(seeds, l2))(x)

    label = keras.Input([], name=mnist.LABEL, dtype="int64")
    style = keras.layers.Embedding(
        num_classes,
        code,
        embeddings_initializer=keras.initializers.GlorotUniform(seed=next(seeds)),
        name="style",
    )(label)
    x = keras.layers.Concatenate()([x, style])
    x = keras.layers.Dense(256, activation="relu", name="decoder1", **parts.kernel(seeds, l2))(x)
    x = keras.layers.Dense(
        mnist.HEIGHT * mnist.WIDTH, activation="sigmoid", name="decoder2", **parts.kernel(seeds, l2)
    )(x)
    reconstruction = keras.layers.Reshape([mnist.HEIGHT, mnist.WIDTH])(x)
    return keras.Model(
        {mnist.IMAGE: image, mnist.LABEL: label},
        {"logits": logits, "reconstruction": reconstruction},
        name="encoder_decoder",
    )


_REGISTRY: dict[str, Callable[..., keras.Model]] = {
    build.__name__: build
    for build in (cnns.cnn, cnns.small_cnn, cnns.deep_cnn, mlp, sequence, encoder_decoder)
}
