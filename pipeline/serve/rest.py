"""TF Serving's REST format of requests and answers.

https://www.tensorflow.org/tfx/serving/api_rest: a request gives its examples row by row
(`instances`) or as one batch by input (`inputs`); bytes are written {"b64": "..."}.
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

ROW, COLUMN = "instances", "inputs"
_B64 = "b64"


class RestError(ValueError):
    """A request is not what it must be; the message says what is wrong and what is allowed."""


@dataclass(frozen=True)
class PredictRequest:
    """What is asked.

    Attributes:
      signature: Name of the signature.
      inputs: By name, of the dtypes and shapes that the signature takes.
      by_row: Whether to answer row by row.
    """

    signature: str
    inputs: dict[str, np.ndarray]
    by_row: bool


def parse(
    body: bytes, specs_of: Callable[[str], Mapping[str, tf.TensorSpec]], default: str
) -> PredictRequest:
    """Reads the body of a predict request.

    Args:
      body: JSON.
      specs_of: Gives what a signature takes, by name of the input; KeyError if there is none.
      default: The signature of a request that names none.

    Raises:
      RestError: It cannot be answered.
    """
    request = _object(body)
    signature = request.get("signature_name", default)
    try:
        specs = specs_of(signature)
    except (KeyError, TypeError):
        raise RestError(f"signature_name {signature!r} is not a signature of the model") from None
    if (ROW in request) == (COLUMN in request):
        raise RestError(f"a request must have either {ROW!r} or {COLUMN!r}")
    by_row = ROW in request
    values = _columns(request[ROW], specs) if by_row else _named(request[COLUMN], specs)
    inputs = {name: _array(name, values[name], spec) for name, spec in specs.items()}
    return PredictRequest(signature, inputs, by_row)


def answer(outputs: Mapping[str, np.ndarray], by_row: bool) -> dict[str, Any]:
    """Writes the answer to a predict request.

    Args:
      outputs: By name, the first dimension of each the batch; more than one.
      by_row: Whether the request came row by row.
    """
    values = {name: array.tolist() for name, array in outputs.items()}
    if not by_row:
        return {"outputs": values}
    rows = zip(*values.values(), strict=True)
    return {"predictions": [dict(zip(values, row, strict=True)) for row in rows]}


def _object(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RestError(f"the body is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise RestError(f"the body must be a JSON object, got a {type(request).__name__}")
    return request


def _named(value: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """One value for each input; where there is only one, its name may be left out."""
    if isinstance(value, dict) and set(value) != {_B64}:
        if set(value) != set(names):
            raise RestError(f"inputs must be {_list(names)}, got {_list(value)}")
        return value
    if len(names) > 1:
        raise RestError(f"name the inputs: {_list(names)}")
    return dict.fromkeys(names, value)


def _columns(instances: Any, names: Mapping[str, Any]) -> dict[str, list]:
    if not isinstance(instances, list) or not instances:
        raise RestError(f"{ROW!r} must be a list of at least one example")
    rows = [_named(instance, names) for instance in instances]
    return {name: [row[name] for row in rows] for name in names}


def _array(name: str, value: Any, spec: tf.TensorSpec) -> np.ndarray:
    as_array = _strings if spec.dtype == tf.string else _integers
    array = as_array(name, value, spec.dtype)
    if not spec.shape.is_compatible_with(array.shape) or 0 in array.shape:
        expected = ", ".join("batch" if size is None else str(size) for size in spec.shape)
        raise RestError(f"{name} must have shape [{expected}], got {list(array.shape)}")
    return array


def _integers(name: str, value: Any, dtype: tf.DType) -> np.ndarray:
    try:
        array = np.array(value)
    except ValueError:
        raise RestError(f"{name} must have rows of equal length") from None
    low, high = dtype.limits
    if array.size and (array.dtype.kind not in "iu" or array.min() < low or array.max() > high):
        raise RestError(f"{name} must be integers from {low} to {high}")
    return array.astype(dtype.as_numpy_dtype)


def _strings(name: str, value: Any, _: tf.DType) -> np.ndarray:
    array = np.array(_decode(value, name), dtype=object)
    if not all(isinstance(one, bytes) for one in array.flat):
        raise RestError(f"{name} must have rows of equal length")
    return array


def _decode(value: Any, name: str) -> Any:
    """Text and {"b64": ...} as bytes, in lists as they are."""
    if isinstance(value, list):
        return [_decode(one, name) for one in value]
    if isinstance(value, str):
        return value.encode()
    try:
        return base64.b64decode(value[_B64], validate=True)
    except (TypeError, KeyError, ValueError):
        raise RestError(f'{name} must be given as {{"b64": "<base64>"}}') from None


def _list(names: Mapping[str, Any]) -> str:
    return ", ".join(sorted(names)) or "none"
