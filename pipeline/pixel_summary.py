"""Images as a few whole numbers each, so that statistics can say something of them.

Statistics over the raw bytes know how long an image is, and nothing of what it shows. Each number
here has few values, to be counted one by one: distances between histograms whose bins were chosen
anew for each data set say more about the bins than about the images.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from components import mnist_files
from components.mnist_names import Pair
from schemas import mnist
from schemas.data_sets import Facts

_INTENSITY_STEP = 4
_STRANGENESS_STEP = 2
_BRIGHT = 128


def mean_images(pairs: Sequence[Pair], facts: Facts) -> np.ndarray:
    """The mean image of each class, float64 [classes, height, width]; zeros where there is none."""
    sums = np.zeros((facts.num_classes, mnist.HEIGHT, mnist.WIDTH))
    counts = np.zeros(facts.num_classes)
    for images, labels in _blocks(pairs, facts):
        # Whole numbers that float64 holds exactly: the order of summation makes no difference.
        for label in np.unique(labels):
            chosen = images[labels == label]
            sums[label] += chosen.sum(0, dtype=np.int64)
            counts[label] += len(chosen)
    return sums / np.maximum(counts, 1)[:, None, None]


def summarize(pairs: Sequence[Pair], facts: Facts, means: np.ndarray) -> dict[str, np.ndarray]:
    """Describes each image of checked pairs of files, the right way up.

    Args:
      pairs: The files.
      facts: Of the data set.
      means: Mean images of the data set to compare with, of `mean_images`.

    Returns:
      By name of the feature in `schemas/pixels.pbtxt`, int64 [examples].
    """
    parts = [_describe(images, labels, means) for images, labels in _blocks(pairs, facts)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _describe(images: np.ndarray, labels: np.ndarray, means: np.ndarray) -> dict[str, np.ndarray]:
    pixels = images.astype(np.float64)  # [examples, height, width]
    strangeness = np.abs(pixels - means[labels]).mean((1, 2))
    return {
        "label": labels,
        "intensity": (pixels.mean((1, 2)) // _INTENSITY_STEP).astype(np.int64),
        "bright_pixels": np.count_nonzero(images >= _BRIGHT, axis=(1, 2)) * 100 // images[0].size,
        "row": _centre(pixels.sum(2)),
        "column": _centre(pixels.sum(1)),
        "strangeness": (strangeness // _STRANGENESS_STEP).astype(np.int64),
    }


def _centre(sums: np.ndarray) -> np.ndarray:
    """The position of the centre of mass along [examples, positions], rounded; 0 without mass."""
    mass = sums.sum(1)
    return np.rint(sums @ np.arange(sums.shape[1]) / np.maximum(mass, 1)).astype(np.int64)


def _blocks(pairs: Sequence[Pair], facts: Facts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    labels = mnist_files.read_labels(pairs) - facts.first_label
    first = 0
    for images in mnist_files.read_images(pairs):
        upright = images.swapaxes(1, 2) if facts.transposed else images
        yield upright, labels[first : first + len(images)]
        first += len(images)
