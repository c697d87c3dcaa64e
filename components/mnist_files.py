"""A folder with the files of a data set in MNIST's format: found, checked, identified, read."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from components import idx, mnist_names
from components.idx import LOCAL, Header, IdxError, Storage
from components.mnist_names import Files, Pair
from schemas import mnist


@dataclass(frozen=True)
class DataSet:
    """Files that passed every check.

    Attributes:
      files: Their paths.
      train_sizes: Examples in each of the train pairs.
      test_sizes: Examples in each of the test pairs.
      fingerprint: SHA-256 (hex) of the uncompressed content of all. Path, name, time and
        compression of the files make no difference to it, and neither does it whether they are
        whole or in shards.
    """

    files: Files
    train_sizes: tuple[int, ...]
    test_sizes: tuple[int, ...]
    fingerprint: str

    @property
    def train_examples(self) -> int:
        """Examples in the train files."""
        return sum(self.train_sizes)

    @property
    def test_examples(self) -> int:
        """Examples in the test files."""
        return sum(self.test_sizes)


def find(folder: str, storage: Storage = LOCAL) -> Files:
    """Finds the files of a data set by their usual names, gzipped or not, whole or in shards.

    Raises:
      IdxError: The folder cannot be read, or does not have each file, or each shard of it, once.
    """
    return mnist_names.arrange(folder, _names(folder, storage))


def others(folder: str, storage: Storage = LOCAL) -> list[str]:
    """Names in a folder that are none of a data set's files, but for hidden ones.

    Raises:
      IdxError: The folder cannot be read.
    """
    return [
        name
        for name in _names(folder, storage)
        if not (mnist_names.role(name) or name.startswith("."))
    ]


def check(folder: str, allowed: range, storage: Storage = LOCAL) -> DataSet:
    """Reads all files and checks everything that can be wrong with them.

    Args:
      folder: Where they lie.
      allowed: The labels that an example may have.
      storage: Where the folder is.

    Raises:
      IdxError: A file is missing, damaged, of another shape, or has a label out of range; or images
        and labels disagree in number.
    """
    files = find(folder, storage)
    train_sizes, train_digests = _check_pairs(files.train, allowed, storage)
    test_sizes, test_digests = _check_pairs(files.test, allowed, storage)
    return DataSet(files, train_sizes, test_sizes, fingerprint(train_digests + test_digests))


def fingerprint(digests: Sequence[str]) -> str:
    """The fingerprint of a data set.

    Args:
      digests: SHA-256 (hex) of the uncompressed content of each of the four files, as they are
        when they are whole.
    """
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def divide(rows: np.ndarray, sizes: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Finds the shards that some examples lie in.

    Args:
      rows: Positions of the examples in all shards together, increasing.
      sizes: Examples in each shard.

    Yields:
      Number of a shard that has any of them, and their positions in it.
    """
    starts = np.cumsum([0, *sizes])
    bounds = np.searchsorted(rows, starts)
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        yield number, rows[bounds[number] : bounds[number + 1]] - starts[number]


def read_examples(
    pair: Pair, rows: Sequence[int], storage: Storage = LOCAL
) -> Iterator[tuple[np.ndarray, int]]:
    """Reads some examples of a checked pair of files, about 2 MiB at a time.

    Args:
      pair: The files.
      rows: Positions of the examples in it, increasing.
      storage: Where the files are.

    Yields:
      Image, uint8 [28, 28], and label.

    Raises:
      IdxError: A file is damaged or has no such example.
    """
    images, labels = (idx.read_rows(path, rows, storage) for path in (pair.images, pair.labels))
    for image, label in zip(images, labels, strict=True):
        yield image, int(label.flat[0])


def read_images(pairs: Sequence[Pair], storage: Storage = LOCAL) -> Iterator[np.ndarray]:
    """Reads all images of checked pairs, about 1 MiB at a time.

    Yields:
      Images of one block, uint8 [images, 28, 28].

    Raises:
      IdxError: A file is damaged.
    """
    for pair in pairs:
        yield from idx.read_blocks(pair.images, storage)


def read_labels(pairs: Sequence[Pair], storage: Storage = LOCAL) -> np.ndarray:
    """Reads all labels of checked pairs: int64 [examples]."""
    return np.concatenate(
        [_classes(idx.read(pair.labels, storage)) for pair in pairs], dtype=np.int64
    )


def _names(folder: str, storage: Storage) -> list[str]:
    try:
        return sorted(storage.listdir(folder))
    except storage.errors as error:
        reason = idx.why(error)
        raise IdxError(folder, f"cannot be read as a folder of IDX files: {reason}") from None


def _check_pairs(
    pairs: Sequence[Pair], allowed: range, storage: Storage
) -> tuple[tuple[int, ...], list[str]]:
    """Examples in each pair, and the digests of all images and of all labels."""
    images = [idx.read_header(pair.images, storage) for pair in pairs]
    labels = [idx.read_header(pair.labels, storage) for pair in pairs]
    for pair, of_images, of_labels in zip(pairs, images, labels, strict=True):
        _check_headers(pair, of_images, of_labels)
        if of_labels.shape[1:] != labels[0].shape[1:]:
            raise IdxError(
                pair.labels, f"holds {of_labels}, but {pairs[0].labels} {labels[0]}: not one form"
            )
    sizes = tuple(header.shape[0] for header in images)
    return sizes, [
        _check_images(pairs, _whole(images), storage),
        _check_labels(pairs, _whole(labels), allowed, storage),
    ]


def _whole(headers: Sequence[Header]) -> Header:
    """The header of a file that holds what all shards hold."""
    return Header(headers[0].dtype, (sum(each.shape[0] for each in headers), *headers[0].shape[1:]))


def _check_headers(pair: Pair, images: Header, labels: Header) -> None:
    _check_images_header(images, pair.images)
    _check_labels_header(labels, pair.labels)
    if images.shape[0] != labels.shape[0]:
        raise IdxError(
            pair.images,
            f"has {images.shape[0]} images, but {pair.labels} has {labels.shape[0]} labels; "
            "they must agree",
        )


def _check_images_header(header: Header, path: str) -> None:
    size = (mnist.HEIGHT, mnist.WIDTH)
    if header.dtype != np.uint8 or header.shape[1:] != size or header.shape[0] == 0:
        raise IdxError(
            path, f"holds {header}, must hold images: uint8 [examples, {size[0]}, {size[1]}]"
        )


def _check_images(pairs: Sequence[Pair], whole: Header, storage: Storage) -> str:
    digest = hashlib.sha256(whole.pack())
    pixels: set[int] = set()

    def take(piece: bytes) -> None:
        digest.update(piece)
        if len(pixels) < 2:
            pixels.update(piece)

    for pair in pairs:
        idx.scan(pair.images, take, storage)
    if len(pixels) < 2:
        raise IdxError(pairs[0].images, f"every pixel of every image is {pixels.pop()}")
    return digest.hexdigest()


def _check_labels_header(header: Header, path: str) -> None:
    plain = header.dtype == np.uint8 and len(header.shape) == 1
    # QMNIST: eight numbers for each example, the class is the first.
    extended = header.dtype == np.dtype(">i4") and header.shape[1:] == (8,)
    if not (plain or extended):
        raise IdxError(path, f"holds {header}, must hold labels: uint8 [examples]")


def _check_labels(pairs: Sequence[Pair], whole: Header, allowed: range, storage: Storage) -> str:
    digest = hashlib.sha256(whole.pack())
    for pair in pairs:
        stored = idx.read(pair.labels, storage)
        digest.update(stored)
        labels = _classes(stored)
        wrong = np.flatnonzero((labels < allowed.start) | (labels >= allowed.stop))
        if wrong.size:
            raise IdxError(
                pair.labels,
                f"label {labels[wrong[0]]} of example {wrong[0]} is not in "
                f"{allowed[0]}..{allowed[-1]} "
                f"({wrong.size} of {labels.size} labels are out of range)",
            )
    return digest.hexdigest()


def _classes(stored: np.ndarray) -> np.ndarray:
    """The labels [examples] of an array as stored, [examples] or [examples, 8]."""
    return stored.reshape(len(stored), -1)[:, 0]
