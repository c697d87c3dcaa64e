"""Names of the files of a data set in MNIST's format, each file whole or in shards."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from components.idx import IdxError
from schemas import mnist

# train-images-idx3-ubyte, t10k-labels.idx1-ubyte.gz, emnist-digits-test-images-idx3-ubyte.gz,
# qmnist-test-labels-idx2-int.gz, train-images-idx3-ubyte-00000-of-00004.gz
_NAME = re.compile(
    r"(?:\w[\w-]*-)?(?P<split>train|t10k|test)-(?P<kind>images|labels)[-.]idx\d-(?:ubyte|int)"
    r"(?:-(?P<number>\d{5})-of-(?P<shards>\d{5}))?(?:\.gz)?",
    re.ASCII,
)
_SPLITS = {"train": "train", "t10k": "test", "test": "test"}
_ROLES = ("train images", "train labels", "test images", "test labels")  # as in `mnist.FILES`

# More names than this are counted, not listed.
_LISTED = 5


@dataclass(frozen=True)
class Pair:
    """Paths of a file of images and of the file of their labels."""

    images: str
    labels: str


@dataclass(frozen=True)
class Files:
    """Paths of a data set's files: one pair, or one for each shard in the order of their numbers.

    The examples of a split are those of its pairs, one pair after another.
    """

    train: tuple[Pair, ...]
    test: tuple[Pair, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Of all files: images before labels, train before test."""
        return tuple(
            path
            for pairs in (self.train, self.test)
            for path in (*(p.images for p in pairs), *(p.labels for p in pairs))
        )


def role(name: str) -> str | None:
    """What one of the files holds by its name, such as `train images`; None for any other file."""
    match = _NAME.fullmatch(name)
    return _role(match) if match else None


def shard(name: str, number: int, shards: int) -> str:
    """The name of a shard of a file, as in `train-images-idx3-ubyte-00000-of-00004.gz`."""
    stem = name.removesuffix(".gz")
    return f"{stem}-{number:05d}-of-{shards:05d}{name[len(stem) :]}"


def arrange(folder: str, names: Iterable[str]) -> Files:
    """Finds the files of a data set among the names in a folder.

    Raises:
      IdxError: A file is not there or there twice, or shards are missing or do not belong together.
    """
    found: dict[str, list[re.Match]] = {each: [] for each in _ROLES}
    for name in sorted(names):
        if match := _NAME.fullmatch(name):
            found[_role(match)].append(match)
    paths = {
        each: [os.path.join(folder, match[0]) for match in _in_order(folder, each, usual, matches)]
        for usual, (each, matches) in zip(mnist.FILES, found.items(), strict=True)
    }
    return Files(*(_pairs(folder, split, paths) for split in ("train", "test")))


def _role(match: re.Match) -> str:
    return f"{_SPLITS[match['split']]} {match['kind']}"


def _in_order(folder: str, each: str, usual: str, matches: list[re.Match]) -> list[re.Match]:
    """One file, or all shards of it."""
    if not matches:
        raise IdxError(folder, f"has no file {usual}, with or without .gz")
    kinds = {match["shards"] for match in matches}
    numbers = {match["number"] for match in matches}
    if len(kinds) > 1 or len(numbers) < len(matches):
        raise IdxError(
            folder,
            f"has {len(matches)} files of {each}: {listed(match[0] for match in matches)}; "
            "keep the files of one data set in a folder, each once",
        )
    [shards] = kinds
    if shards is not None:
        _check_shards(folder, each, int(shards), matches)
    return sorted(matches, key=lambda match: match["number"] or "")


def _check_shards(folder: str, each: str, shards: int, matches: list[re.Match]) -> None:
    """Raises unless there are the numbers from 0 to one less than `shards`."""
    numbers = {int(match["number"]): match[0] for match in matches}
    wrong = [name for number, name in numbers.items() if number >= shards]
    if wrong:
        raise IdxError(
            os.path.join(folder, wrong[0]),
            f"has the number of no shard: {shards} shards are numbered from 00000 on",
        )
    missing = [f"{number:05d}" for number in range(shards) if number not in numbers]
    if missing:
        raise IdxError(
            folder,
            f"has {len(numbers)} of {shards} shards of {each}; missing: {listed(missing)}",
        )


def _pairs(folder: str, split: str, paths: dict[str, list[str]]) -> tuple[Pair, ...]:
    images, labels = paths[f"{split} images"], paths[f"{split} labels"]
    if len(images) != len(labels):
        raise IdxError(
            folder,
            f"has the {split} images in {len(images)} files and their labels in {len(labels)}; "
            "they must agree",
        )
    return tuple(map(Pair, images, labels))


def listed(names: Iterable[str]) -> str:
    """The first names, and whether there are more."""
    names = list(names)
    return ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
