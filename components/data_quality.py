"""What is in a data set's files that no format forbids and that spoils results all the same."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from components import label_noise, mnist_files
from components.data_findings import (
    CONSTANT_IMAGES,
    LABEL_CONFLICTS,
    LABEL_NOISE,
    REPEATED_IMAGES,
    TEST_OVERLAP,
    Finding,
)
from components.idx import LOCAL, Storage
from components.mnist_names import Files, Pair

# More than this are counted, not listed.
_LISTED = 5


def measure(files: Files, storage: Storage = LOCAL) -> dict[str, Finding]:
    """Looks at every image of a checked data set; the same result each time.

    Images are the same when all their pixels are.

    Returns:
      Findings by kind; `data_findings` says what each is.
    """
    train, train_constant = _images(files.train, storage)
    test, test_constant = _images(files.test, storage)
    train_labels = mnist_files.read_labels(files.train, storage)
    test_labels = mnist_files.read_labels(files.test, storage)
    doubts = label_noise.estimate(files.train, train_labels, storage)

    def name(position: int) -> str:
        return f"train {position}" if position < len(train) else f"test {position - len(train)}"

    def pair(twin: np.ndarray) -> str:
        return f"{name(twin[0])} = {name(twin[1])}"

    twins = _twins(np.concatenate([train, test]))
    overlap = twins[(twins[:, 0] < len(train)) & (twins[:, 1] >= len(train))]
    repeated = np.concatenate([_twins(train), _twins(test) + len(train)])
    labels = np.concatenate([train_labels, test_labels])
    conflicts = twins[labels[twins[:, 0]] != labels[twins[:, 1]]]
    constant = np.concatenate([train_constant, test_constant + len(train)])
    return {
        TEST_OVERLAP: _finding(overlap, len(test), pair),
        LABEL_CONFLICTS: _finding(conflicts, len(labels), pair),
        REPEATED_IMAGES: _finding(repeated, len(labels), pair),
        CONSTANT_IMAGES: _finding(constant, len(labels), name),
        LABEL_NOISE: _finding(doubts.rows, doubts.judged, name),
    }


def _images(pairs: Sequence[Pair], storage: Storage) -> tuple[np.ndarray, np.ndarray]:
    """A digest of each image's pixels, and the positions of images of one colour.

    Arrays, not lists: there may be millions of images, and an object for each is several times as
    large as what it says.

    Returns:
      Bytes, uint64 [images, 2], and int64 [images of one colour].
    """
    digests = [np.zeros((0, 2), np.uint64)]
    constant = [np.zeros(0, np.int64)]
    seen = 0
    for block in mnist_files.read_images(pairs, storage):
        flat = block.reshape(len(block), -1)
        constant.append(seen + np.flatnonzero(np.all(flat == flat[:, :1], axis=1)))
        made = b"".join(hashlib.blake2b(pixels, digest_size=16).digest() for pixels in flat)
        digests.append(np.frombuffer(made, np.uint64).reshape(-1, 2))
        seen += len(block)
    return np.concatenate(digests), np.concatenate(constant)


def _twins(digests: np.ndarray) -> np.ndarray:
    """Each position whose digest was there before, after the first one that has it.

    Returns:
      int64 [twins, 2], in the order of the later positions.
    """
    order = np.lexsort(digests.T)  # Keeps equal ones in their order.
    again = np.concatenate([[False], np.all(digests[order[1:]] == digests[order[:-1]], axis=1)])
    places = np.where(again, 0, np.arange(len(order)))
    firsts = order[np.maximum.accumulate(places)]
    found = np.stack([firsts[again], order[again]], axis=1)
    return found[np.argsort(found[:, 1])]


def _finding(found: Sequence, total: int, describe: Callable[..., str]) -> Finding:
    return Finding(len(found), total, tuple(map(describe, found[:_LISTED])))
