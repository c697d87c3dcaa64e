"""A folder with the four IDX files of a data set in MNIST's format: found, checked, identified."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from components import idx
from components.idx import LOCAL, Header, IdxError, Storage
from schemas import mnist

# train-images-idx3-ubyte, t10k-labels.idx1-ubyte.gz, emnist-digits-test-images-idx3-ubyte.gz,
# qmnist-test-labels-idx2-int.gz
_NAME = re.compile(
    r"(?:\w[\w-]*-)?(?P<split>train|t10k|test)-(?P<kind>images|labels)[-.]idx\d-(?:ubyte|int)"
    r"(?:\.gz)?",
    re.ASCII,
)
_SPLITS = {"train": "train", "t10k": "test", "test": "test"}


@dataclass(frozen=True)
class Files:
    """Paths of the four files."""

    train_images: str
    train_labels: str
    test_images: str
    test_labels: str


@dataclass(frozen=True)
class DataSet:
    """Four files that passed every check.

    Attributes:
      files: Their paths.
      train_examples: Examples in the train files.
      test_examples: Examples in the test files.
      fingerprint: SHA-256 (hex) of the uncompressed content of all four. Path, name, time and
        compression of the files make no difference to it.
    """

    files: Files
    train_examples: int
    test_examples: int
    fingerprint: str


def role(name: str) -> str | None:
    """Which of the four files one of this name is (a field of `Files`), if any."""
    match = _NAME.fullmatch(name)
    return match and f"{_SPLITS[match['split']]}_{match['kind']}"


def find(folder: str, storage: Storage = LOCAL) -> Files:
    """Finds the four files by their usual names, gzipped or not.

    Raises:
      IdxError: The folder cannot be read, or does not have each file once.
    """
    found: dict[str, list[str]] = {field: [] for field in Files.__dataclass_fields__}
    for name in _names(folder, storage):
        if field := role(name):
            found[field].append(name)
    for usual, (field, candidates) in zip(mnist.FILES, found.items(), strict=True):
        if not candidates:
            raise IdxError(folder, f"has no file {usual}, with or without .gz")
        if len(candidates) > 1:
            raise IdxError(
                folder,
                f"has {len(candidates)} files of {field.replace('_', ' ')}: "
                f"{', '.join(candidates)}; keep the files of one data set in a folder, each once",
            )
    return Files(**{field: os.path.join(folder, name) for field, [name] in found.items()})


def others(folder: str, storage: Storage = LOCAL) -> list[str]:
    """Names in a folder that are none of the four files, but for hidden ones.

    Raises:
      IdxError: The folder cannot be read.
    """
    return [name for name in _names(folder, storage) if not (role(name) or name.startswith("."))]


def check(folder: str, allowed: range, storage: Storage = LOCAL) -> DataSet:
    """Reads all four files and checks everything that can be wrong with them.

    Args:
      folder: Where they lie.
      allowed: The labels that an example may have.
      storage: Where the folder is.

    Raises:
      IdxError: A file is missing, damaged, of another shape, or has a label out of range; or images
        and labels disagree in number.
    """
    files = find(folder, storage)
    train = _check_pair(files.train_images, files.train_labels, allowed, storage)
    test = _check_pair(files.test_images, files.test_labels, allowed, storage)
    (train_count, train_digests), (test_count, test_digests) = train, test
    digest = fingerprint(train_digests + test_digests)
    return DataSet(files, train_count, test_count, digest)


def fingerprint(digests: Sequence[str]) -> str:
    """The fingerprint of four files, by the SHA-256 (hex) of the uncompressed content of each."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def read_examples(
    images: str, labels: str, rows: Sequence[int], storage: Storage = LOCAL
) -> Iterator[tuple[np.ndarray, int]]:
    """Reads some examples of a checked pair of files, about 2 MiB at a time.

    Args:
      images: Path of the images file.
      labels: Path of the labels file.
      rows: Positions of the examples, increasing.
      storage: Where the files are.

    Yields:
      Image, uint8 [28, 28], and label.

    Raises:
      IdxError: A file is damaged or has no such example.
    """
    pairs = zip(
        idx.read_rows(images, rows, storage), idx.read_rows(labels, rows, storage), strict=True
    )
    for image, label in pairs:
        yield image, int(label.flat[0])


def read_labels(path: str, storage: Storage = LOCAL) -> np.ndarray:
    """Reads all labels of a checked file: int64 [examples]."""
    return _classes(idx.read(path, storage)).astype(np.int64)


def _names(folder: str, storage: Storage) -> list[str]:
    try:
        return sorted(storage.listdir(folder))
    except storage.errors as error:
        reason = idx.why(error)
        raise IdxError(folder, f"cannot be read as a folder of IDX files: {reason}") from None


def _check_pair(
    images: str, labels: str, allowed: range, storage: Storage
) -> tuple[int, list[str]]:
    """Examples in the pair, and the digests of both files."""
    count = _check_images_header(idx.read_header(images, storage), images)
    label_count = _check_labels_header(idx.read_header(labels, storage), labels)
    if label_count != count:
        raise IdxError(
            images, f"has {count} images, but {labels} has {label_count} labels; they must agree"
        )
    return count, [_check_images(images, storage), _check_labels(labels, allowed, storage)]


def _check_images_header(header: Header, path: str) -> int:
    size = (mnist.HEIGHT, mnist.WIDTH)
    if header.dtype != np.uint8 or header.shape[1:] != size or header.shape[0] == 0:
        raise IdxError(
            path, f"holds {header}, must hold images: uint8 [examples, {size[0]}, {size[1]}]"
        )
    return header.shape[0]


def _check_images(path: str, storage: Storage) -> str:
    pixels: set[int] = set()

    def take(piece: bytes) -> None:
        if len(pixels) < 2:
            pixels.update(piece)

    _, digest = idx.scan(path, take, storage)
    if len(pixels) < 2:
        raise IdxError(path, f"every pixel of every image is {pixels.pop()}")
    return digest


def _check_labels_header(header: Header, path: str) -> int:
    plain = header.dtype == np.uint8 and len(header.shape) == 1
    # QMNIST: eight numbers for each example, the class is the first.
    extended = header.dtype == np.dtype(">i4") and header.shape[1:] == (8,)
    if not (plain or extended):
        raise IdxError(path, f"holds {header}, must hold labels: uint8 [examples]")
    return header.shape[0]


def _check_labels(path: str, allowed: range, storage: Storage) -> str:
    data = bytearray()
    header, digest = idx.scan(path, data.extend, storage)
    labels = _classes(np.frombuffer(data, header.dtype).reshape(header.shape))
    wrong = np.flatnonzero((labels < allowed.start) | (labels >= allowed.stop))
    if wrong.size:
        raise IdxError(
            path,
            f"label {labels[wrong[0]]} of example {wrong[0]} is not in {allowed[0]}..{allowed[-1]} "
            f"({wrong.size} of {labels.size} labels are out of range)",
        )
    return digest


def _classes(stored: np.ndarray) -> np.ndarray:
    """The labels [examples] of an array as stored, [examples] or [examples, 8]."""
    return stored.reshape(len(stored), -1)[:, 0]
