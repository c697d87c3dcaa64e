"""Which worker reads what and writes what, so that each file is read about once."""

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from components import mnist_files
from components.mnist_names import Pair

# Examples in a shard that is written, at most.
EXAMPLES_PER_SHARD = 5_000

# A worker that begins in the middle of a gzipped file has to unpack what lies before, so a worker
# writes at least so many shards, if there are.
_SHARDS_PER_WORKER = 2


@dataclass(frozen=True)
class Source:
    """Examples to read from a pair of IDX files.

    Attributes:
      pair: The files.
      wanted: A bit for each example, as `np.packbits` has them. It travels with the job to the
        workers, and positions would take sixty times as much room there.
    """

    pair: Pair
    wanted: bytes

    @classmethod
    def at(cls, pair: Pair, rows: np.ndarray) -> "Source":
        """The examples at some positions."""
        wanted = np.zeros(rows.max() + 1, bool)
        wanted[rows] = True
        return cls(pair, np.packbits(wanted).tobytes())

    @property
    def rows(self) -> np.ndarray:
        """Positions of the examples: int64, increasing."""
        return np.flatnonzero(np.unpackbits(np.frombuffer(self.wanted, np.uint8)))


@dataclass(frozen=True)
class Shard:
    """A file to write, and the number of its examples."""

    path: str
    examples: int


@dataclass(frozen=True)
class Work:
    """What one worker does: it reads the sources one after another, and so it writes the shards.

    The first label becomes 0, and images that are `transposed` are turned the right way.
    """

    sources: tuple[Source, ...]
    shards: tuple[Shard, ...]
    first_label: int = 0
    transposed: bool = False


def plan(
    pairs: Sequence[Pair],
    sizes: Sequence[int],
    rows: np.ndarray,
    folder: str,
    *,
    first_label: int = 0,
    transposed: bool = False,
) -> list[Work]:
    """Divides the writing of a split.

    What is written does not depend on how the examples are divided among pairs. A worker gets the
    shards that begin in the same pair, so that it goes through the pair once.

    Args:
      pairs: The files that the split comes from.
      sizes: Examples in each pair.
      rows: Positions of the split's examples in all pairs together, int64, increasing.
      folder: Where the shards go.
      first_label: Label in the files that becomes 0.
      transposed: Whether the files hold each image column by column.
    """
    parts = np.array_split(rows, -(-len(rows) // EXAMPLES_PER_SHARD))
    starts = np.cumsum([0, *sizes])
    homes = [int(np.searchsorted(starts, part[0], side="right")) for part in parts]
    work = []
    for first, last in itertools.pairwise(_bounds(homes)):
        mine = np.concatenate(parts[first:last])
        sources = tuple(Source.at(pairs[n], own) for n, own in mnist_files.divide(mine, sizes))
        shards = tuple(
            # The name that TFX's own ExampleGens give.
            Shard(
                os.path.join(folder, f"data_tfrecord-{number:05d}-of-{len(parts):05d}.gz"),
                len(parts[number]),
            )
            for number in range(first, last)
        )
        work.append(Work(sources, shards, first_label, transposed))
    return work


def _bounds(homes: Sequence[int]) -> Iterator[int]:
    """Where the shards of each worker begin, and where the last one's end."""
    begun = 0
    yield begun
    for number in range(1, len(homes)):
        if homes[number] != homes[number - 1] and number - begun >= _SHARDS_PER_WORKER:
            begun = number
            yield begun
    yield len(homes)
