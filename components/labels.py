"""The names of a model's classes, kept inside it so that who serves it need know nothing else.

They lie in `assets.extra`, the folder of a SavedModel that TensorFlow leaves to others.
"""

import json
import os
from collections.abc import Sequence

from google.protobuf import message
from pydantic import TypeAdapter, ValidationError
from tensorflow.core.protobuf import saved_model_pb2
from tfx.dsl.io import fileio
from tfx.utils import io_utils

from components import versions

FILE = os.path.join("assets.extra", "labels.json")

_NAMES = TypeAdapter(tuple[str, ...])


def write(model: str, names: Sequence[str]) -> None:
    """Writes the names of the classes, in their order, into the SavedModel in the folder `model`.

    Only ASCII, so that any file system library reads it alike.
    """
    io_utils.write_string_file(os.path.join(model, FILE), json.dumps(list(names)))


def read(model: str) -> tuple[str, ...]:
    """The names of the classes of the SavedModel in the folder `model`.

    Where it has none, as a SavedModel of another origin, its classes are named by their numbers.

    Raises:
      ValueError: The names are damaged, or it does not say how many classes it has.
    """
    file = os.path.join(model, FILE)
    if not fileio.exists(file):
        return tuple(map(str, range(_num_classes(model))))
    text = io_utils.read_string_file(file)
    try:
        return _NAMES.validate_json(text)
    except ValidationError:
        raise ValueError(f"{file} must hold a JSON list of names, got {text!r:.80}") from None


def _num_classes(model: str) -> int:
    """The width of the probabilities."""
    path = os.path.join(model, versions.SAVED_MODEL)
    with fileio.open(path, "rb") as file:
        content = file.read()
    try:
        [graph] = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    except (message.DecodeError, ValueError):
        raise ValueError(f"{path} is damaged") from None
    shape = graph.signature_def["serving_default"].outputs["probabilities"].tensor_shape
    if len(shape.dim) != 2 or shape.dim[1].size < 1:
        raise ValueError(f"{model} has no signature serving_default that gives probabilities")
    return shape.dim[1].size
