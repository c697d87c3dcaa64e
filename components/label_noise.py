"""An estimate of how many labels are wrong, from images alone: no model is trained.

Where the nearest neighbours of an image all have one label and the image has another, one of the
two is wrong or the classes touch there. The share of such images, among those whose neighbours
agree, estimates the share of wrong labels: with k agreeing neighbours, a wrong one among them is
improbable. It finds labels that were mixed up at random. It does not find an error that all images
of a kind share, as when every 4 is called 9, and it cannot tell a wrong label from classes that
overlap: in MNIST itself, which is nearly clean, it finds about 0.5%.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components import mnist_files
from components.idx import LOCAL, Storage
from components.mnist_names import Pair
from schemas import mnist

NEIGHBOURS = 5

# Images whose neighbours are looked for, and images that they are looked for among: enough to
# know the share to one per cent, in less than a second.
_SAMPLE = 1_000
_POOL = 20_000

# Images compared with the pool at a time.
_BLOCK = 100


@dataclass(frozen=True)
class Doubts:
    """Which labels are doubtful.

    Attributes:
      rows: Positions of the examples whose label all neighbours contradict, increasing.
      judged: Examples looked at whose neighbours agree with each other.
    """

    rows: tuple[int, ...]
    judged: int


def estimate(pairs: Sequence[Pair], labels: np.ndarray, storage: Storage = LOCAL) -> Doubts:
    """Compares some images with their nearest neighbours; the same result each time.

    Args:
      pairs: Checked pairs of files; height and width of their images are even.
      labels: What to take for their labels, integers [examples].
      storage: Where the files are.
    """
    random = np.random.RandomState(0)  # NumPy promises that its numbers never change.
    rows = np.sort(random.permutation(len(labels))[:_POOL])
    sample = np.sort(random.permutation(len(rows))[:_SAMPLE])
    if len(rows) <= NEIGHBOURS:
        return Doubts((), 0)
    pool = _shrink(_read(pairs, rows, storage))
    neighbours = labels[rows][_nearest(pool, sample)]  # [sample, NEIGHBOURS]
    agree = np.all(neighbours == neighbours[:, :1], axis=1)
    wrong = agree & (neighbours[:, 0] != labels[rows][sample])
    return Doubts(tuple(int(row) for row in rows[sample][wrong]), int(agree.sum()))


def _read(pairs: Sequence[Pair], rows: np.ndarray, storage: Storage) -> np.ndarray:
    """The images at `rows`, uint8 [rows, height, width]."""
    images = np.empty((len(rows), mnist.HEIGHT, mnist.WIDTH), np.uint8)
    taken, seen = 0, 0
    for block in mnist_files.read_images(pairs, storage):
        until = np.searchsorted(rows, seen + len(block))
        images[taken:until] = block[rows[taken:until] - seen]
        taken, seen = until, seen + len(block)
    return images


def _shrink(images: np.ndarray) -> np.ndarray:
    """Means of 2 x 2 pixels, rounded down: float32 [examples, height * width / 4]."""
    sums = np.zeros((len(images), images.shape[1] // 2, images.shape[2] // 2), np.uint16)
    for row in (0, 1):
        for column in (0, 1):
            sums += images[:, row::2, column::2]
    return (sums // 4).reshape(len(images), -1).astype(np.float32)


def _nearest(pool: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Positions in `pool` of the NEIGHBOURS nearest of each of its rows `sample`, in no order."""
    # Pixels are whole numbers, and 196 of them up to 255 give no sum above 2^24: float32 holds
    # every one exactly, so that the order of summation, and with it the machine, does not matter.
    squares = np.sum(pool * pool, axis=1)
    found = []
    for start in range(0, len(sample), _BLOCK):
        block = sample[start : start + _BLOCK]
        distances = squares - 2 * pool[block] @ pool.T  # less the same |x|^2 in a whole row
        # Of equally near ones, the first.
        ranks = distances.astype(np.int64) * len(pool) + np.arange(len(pool))
        ranks[np.arange(len(block)), block] = np.iinfo(np.int64).max  # not an image itself
        found.append(np.partition(ranks, NEIGHBOURS, axis=1)[:, :NEIGHBOURS] % len(pool))
    return np.concatenate(found)
