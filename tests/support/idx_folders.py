"""Small data sets as folders of IDX files."""

from pathlib import Path

import numpy as np

from components import idx, mnist_names
from schemas import mnist


def arrays(
    train: int = 60, test: int = 20, seed: int = 0, classes: int = 10
) -> dict[str, np.ndarray]:
    """Random images and labels that go through the classes in turns, by file name."""
    random = np.random.default_rng(seed)
    made = {}
    for name, count in zip(mnist.FILES, (train, train, test, test), strict=True):
        if "images" in name:
            shape = (count, mnist.HEIGHT, mnist.WIDTH)
            made[name] = random.integers(0, 256, shape, np.uint8)
        else:
            made[name] = np.arange(count, dtype=np.uint8) % classes
    return made


def write(folder: Path, files: dict[str, np.ndarray]) -> Path:
    """Writes the files into a folder, made when missing; those named `.gz` are gzipped."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in files.items():
        idx.write(folder / name, array)
    return folder


def make(folder: Path, train: int = 60, test: int = 20, seed: int = 0, suffix: str = "") -> Path:
    """A folder with a small data set; `suffix` is '' or '.gz'."""
    made = arrays(train, test, seed)
    return write(folder, {name + suffix: array for name, array in made.items()})


def sharded(files: dict[str, np.ndarray], train: int, test: int = 1) -> dict[str, np.ndarray]:
    """The same data in so many shards, of unequal sizes, by file name."""
    made = {}
    for name, array in files.items():
        count = train if "train" in name else test
        sizes = np.random.default_rng(0).permutation(len(array) - 1)[: count - 1] + 1
        for number, part in enumerate(np.split(array, np.sort(sizes))):
            made[mnist_names.shard(name, number, count)] = part
    return made
