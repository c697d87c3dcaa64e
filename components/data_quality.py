"""What is in a data set's files that no format forbids and that spoils results all the same."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from components import idx, label_noise, mnist_files
from components.data_findings import (
    CONSTANT_IMAGES,
    LABEL_CONFLICTS,
    LABEL_NOISE,
    REPEATED_IMAGES,
    TEST_OVERLAP,
    Finding,
)
from components.idx import LOCAL, Storage
from components.mnist_files import Files

# More than this are counted, not listed.
_LISTED = 5


def measure(files: Files, storage: Storage = LOCAL) -> dict[str, Finding]:
    """Looks at every image of a checked data set; the same result each time.

    Images are the same when all their pixels are.

    Returns:
      Findings by kind; `data_findings` says what each is.
    """
    train, train_constant = _images(files.train_images, storage)
    test, test_constant = _images(files.test_images, storage)
    train_labels = mnist_files.read_labels(files.train_labels, storage)
    test_labels = mnist_files.read_labels(files.test_labels, storage)
    doubts = label_noise.estimate(files.train_images, train_labels, storage)

    def name(position: int) -> str:
        return f"train {position}" if position < len(train) else f"test {position - len(train)}"

    def pair(twin: tuple[int, int]) -> str:
        return f"{name(twin[0])} = {name(twin[1])}"

    twins = _twins(train + test)
    overlap = [twin for twin in twins if twin[0] < len(train) <= twin[1]]
    repeated = _twins(train) + _twins(test, offset=len(train))
    labels = np.concatenate([train_labels, test_labels])
    conflicts = [twin for twin in twins if labels[twin[0]] != labels[twin[1]]]
    constant = train_constant + [len(train) + position for position in test_constant]
    return {
        TEST_OVERLAP: _finding(overlap, len(test), pair),
        LABEL_CONFLICTS: _finding(conflicts, len(labels), pair),
        REPEATED_IMAGES: _finding(repeated, len(labels), pair),
        CONSTANT_IMAGES: _finding(constant, len(labels), name),
        LABEL_NOISE: _finding(doubts.rows, doubts.judged, name),
    }


def _images(path: str, storage: Storage) -> tuple[list[bytes], list[int]]:
    """A digest of each image's pixels, and the positions of images of one colour."""
    digests: list[bytes] = []
    constant: list[int] = []
    for block in idx.read_blocks(path, storage):
        flat = block.reshape(len(block), -1)
        constant += (len(digests) + np.flatnonzero(np.all(flat == flat[:, :1], axis=1))).tolist()
        digests += [hashlib.blake2b(pixels, digest_size=16).digest() for pixels in flat]
    return digests, constant


def _twins(digests: Sequence[bytes], offset: int = 0) -> list[tuple[int, int]]:
    """Each position whose digest was there before, after the first one that has it."""
    firsts: dict[bytes, int] = {}
    found = []
    for position, digest in enumerate(digests, start=offset):
        first = firsts.setdefault(digest, position)
        if first != position:
            found.append((first, position))
    return found


def _finding(found: Sequence, total: int, describe: Callable[..., str]) -> Finding:
    return Finding(len(found), total, tuple(map(describe, found[:_LISTED])))
