"""Checks that a SavedModel answers through every signature, and the same through each."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from schemas import mnist

# The one input of each signature.
SIGNATURES = {
    "serving_default": tf.TensorSpec([None], tf.string, "examples"),
    "image": tf.TensorSpec([None, mnist.HEIGHT, mnist.WIDTH], tf.uint8, "image"),
    "png": tf.TensorSpec([None], tf.string, "png"),
}

# The signatures run one graph on equal pixels.
SIGNATURE_TOLERANCE = 1e-5
# Another batch size may take other kernels, which in half precision differ in the third digit.
BATCH_TOLERANCE = 1e-2

Outputs = Mapping[str, np.ndarray]


class ServingError(RuntimeError):
    """What would be pushed does not serve; the message says which signature and how."""


def check(model: str, examples: tf.Tensor, num_classes: int) -> None:
    """Calls each signature of a SavedModel on real examples and compares the answers.

    Args:
      model: Folder of the SavedModel.
      examples: Serialized tf.Examples; string [batch], batch at least 1.
      num_classes: Number of classes that the model must tell apart.

    Raises:
      ServingError: The model does not load, a signature is missing or fails, an output has a wrong
        name, dtype, shape or value, or two answers for the same pixels differ.
    """
    loaded = _load(model)  # Its signatures alone do not keep its variables.
    answers = {}
    for name, inputs in _inputs(examples).items():
        answers[name] = _call(loaded.signatures, name, inputs, num_classes)
        single = _call(loaded.signatures, name, inputs[:1], num_classes)
        first = {key: value[:1] for key, value in answers[name].items()}
        _compare(f"{name} of one example", single, f"{name} of many", first, BATCH_TOLERANCE)
    for name in ("image", "png"):
        _compare(
            name,
            answers[name],
            "serving_default",
            answers["serving_default"],
            SIGNATURE_TOLERANCE,
        )


def _load(model: str) -> tf.Module:
    try:
        loaded = tf.saved_model.load(model)
    except Exception as error:  # What TensorFlow raises depends on which file is damaged, and how.
        raise ServingError(f"{model} cannot be loaded as a SavedModel: {error}") from None
    missing = sorted(set(SIGNATURES) - set(loaded.signatures))
    if missing:
        raise ServingError(
            f"{model} lacks the signatures {', '.join(missing)}; "
            f"it has {', '.join(sorted(loaded.signatures)) or 'none'}"
        )
    for name, expected in SIGNATURES.items():
        _, inputs = loaded.signatures[name].structured_input_signature
        # Python does not check a shape before a call, other servers may.
        if list(inputs.values()) != [expected]:
            raise ServingError(
                f"signature {name} must take {expected}, it takes {[*inputs.values()]}"
            )
    return loaded


def _inputs(examples: tf.Tensor) -> dict[str, tf.Tensor]:
    """The same pixels as each signature takes them."""
    feature = {mnist.IMAGE: tf.io.FixedLenFeature([], tf.string)}
    pixels = tf.io.decode_raw(tf.io.parse_example(examples, feature)[mnist.IMAGE], tf.uint8)
    image = tf.reshape(pixels, [-1, mnist.HEIGHT, mnist.WIDTH])
    png = [tf.io.encode_png(one[:, :, tf.newaxis]) for one in image]
    return {"serving_default": examples, "image": image, "png": tf.stack(png)}


def _call(
    signatures: Mapping[str, tf.types.experimental.ConcreteFunction],
    name: str,
    inputs: tf.Tensor,
    num_classes: int,
) -> Outputs:
    batch = len(inputs)
    try:
        outputs = signatures[name](**{SIGNATURES[name].name: inputs})
    except tf.errors.OpError as error:
        raise ServingError(f"signature {name} fails on a batch of {batch}: {error}") from None
    outputs = {key: value.numpy() for key, value in outputs.items()}
    _check_outputs(f"signature {name}", outputs, (batch, num_classes))
    return outputs


def _check_outputs(where: str, outputs: Outputs, shape: tuple[int, int]) -> None:
    expected = {
        "probabilities": (np.dtype(np.float32), shape),
        "class": (np.dtype(np.int64), shape[:1]),
    }
    found = {key: (value.dtype, value.shape) for key, value in outputs.items()}
    if found != expected:
        raise ServingError(f"{where} must return {_types(expected)}, got {_types(found)}")
    _check_probabilities(where, outputs["probabilities"])
    _check_class(where, outputs["class"], outputs["probabilities"])


def _check_probabilities(where: str, probabilities: np.ndarray) -> None:
    if not np.isfinite(probabilities).all():
        raise ServingError(
            f"{where}: {np.sum(~np.isfinite(probabilities))} of "
            f"{probabilities.size} probabilities are not finite"
        )
    if probabilities.min() < 0:
        raise ServingError(f"{where}: a probability is negative: {probabilities.min():g}")
    sums = probabilities.sum(axis=1)
    worst = sums[np.argmax(np.abs(sums - 1))]
    if abs(worst - 1) > SIGNATURE_TOLERANCE:
        raise ServingError(f"{where}: the probabilities of an example sum to {worst:g}, not 1")


def _check_class(where: str, classes: np.ndarray, probabilities: np.ndarray) -> None:
    in_range = (classes >= 0) & (classes < probabilities.shape[1])
    index = np.where(in_range, classes, 0)[:, np.newaxis]
    chosen = np.take_along_axis(probabilities, index, axis=1)[:, 0]
    # Not compared with argmax: of two classes that are equally probable, either will do.
    wrong = np.flatnonzero(~in_range | (chosen < probabilities.max(axis=1)))
    if wrong.size:
        first = wrong[0]
        raise ServingError(
            f"{where}: class {classes[first]} is not the most probable one, "
            f"{probabilities[first].argmax()}, in {wrong.size} of {len(classes)} examples"
        )


def _compare(one: str, first: Outputs, other: str, second: Outputs, tolerance: float) -> None:
    differences = np.abs(first["probabilities"] - second["probabilities"]).max(axis=1)
    if differences.max() > tolerance:
        raise ServingError(
            f"{one} and {other} disagree on the same pixels: probabilities differ by up to "
            f"{differences.max():.3g} (allowed: {tolerance:g}) "
            f"in {np.sum(differences > tolerance)} of {len(differences)} examples"
        )


def _types(outputs: Mapping[str, tuple[np.dtype, tuple[int, ...]]]) -> str:
    return ", ".join(
        f"{key} {dtype} {list(shape)}" for key, (dtype, shape) in sorted(outputs.items())
    )
