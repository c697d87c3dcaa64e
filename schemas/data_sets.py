"""The data sets that the pipeline knows by name: the facts of each, and nothing that reads it."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas import mnist


@dataclass(frozen=True)
class Facts:
    """What is known of a data set before its files are opened.

    Attributes:
      name: In `data.set`, and of its schema in this folder; empty for a data set of one's own.
      label_names: Names of the classes for people. Examples number the classes in this order.
      first_label: Label of the first class in the files; examples count from 0.
      transposed: Whether the files hold each image column by column; examples hold rows.
      files: Usual names of the files: train images, train labels, test images, test labels.
      examples: Examples in the train files and in the test files; None where any number will do.
      sha256: SHA-256 of the uncompressed files, in the order of `files`; empty where unknown.
    """

    name: str
    label_names: tuple[str, ...]
    first_label: int = 0
    transposed: bool = False
    files: tuple[str, ...] = mnist.FILES
    examples: tuple[int, int] | None = None
    sha256: tuple[str, ...] = ()

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.label_names)

    @property
    def labels(self) -> range:
        """The labels that the files may have."""
        return range(self.first_label, self.first_label + self.num_classes)


def _digits() -> tuple[str, ...]:
    return tuple("0123456789")


def _emnist_files(name: str) -> tuple[str, ...]:
    return tuple(
        f"{name}-{split}-{kind}-ubyte"
        for split in ("train", "test")
        for kind in ("images-idx3", "labels-idx1")
    )


MNIST = Facts(
    name="mnist",
    label_names=_digits(),
    examples=(60_000, 10_000),
    sha256=(
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)

FASHION_MNIST = Facts(
    name="fashion-mnist",
    label_names=(
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ),
    examples=(60_000, 10_000),
    sha256=(
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)

KMNIST = Facts(
    name="kmnist",
    # One hiragana of each row; in Latin letters, which every font has.
    label_names=("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
    examples=(60_000, 10_000),
)

EMNIST_DIGITS = Facts(
    name="emnist-digits",
    label_names=_digits(),
    transposed=True,
    files=_emnist_files("emnist-digits"),
    examples=(240_000, 40_000),
)

EMNIST_LETTERS = Facts(
    name="emnist-letters",
    # A class holds both cases of its letter.
    label_names=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    first_label=1,
    transposed=True,
    files=_emnist_files("emnist-letters"),
    examples=(124_800, 20_800),
)

BY_NAME = {
    facts.name: facts for facts in (MNIST, FASHION_MNIST, KMNIST, EMNIST_DIGITS, EMNIST_LETTERS)
}


def of_own(
    num_classes: int = 10,
    label_names: Sequence[str] = (),
    first_label: int = 0,
    transposed: bool = False,
) -> Facts:
    """The facts of a data set that has no name here.

    Args:
      num_classes: Number of classes.
      label_names: Their names; without them, classes are named by their labels in the files.
      first_label: As in `Facts`.
      transposed: As in `Facts`.
    """
    names = label_names or map(str, range(first_label, first_label + num_classes))
    return Facts("", tuple(names), first_label, transposed)
