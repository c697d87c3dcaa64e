import pytest

from components import mnist_names
from components.idx import IdxError
from components.mnist_names import Files, Pair
from schemas import mnist

TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = mnist.FILES


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("train-images-idx3-ubyte", "train images"),
        ("train-labels.idx1-ubyte", "train labels"),
        ("t10k-images-idx3-ubyte.gz", "test images"),
        ("t10k-labels.idx1-ubyte.gz", "test labels"),
        ("emnist-letters-train-images-idx3-ubyte.gz", "train images"),
        ("emnist-digits-test-labels-idx1-ubyte", "test labels"),
        ("qmnist-test-labels-idx2-int.gz", "test labels"),
        ("train-images-idx3-ubyte-00000-of-00004.gz", "train images"),
        ("mine-test-labels.idx1-ubyte-00012-of-00100", "test labels"),
        ("train-images-idx3-ubyte-0-of-4.gz", None),
        ("train-images-idx3-ubyte-00000-of-00004.gz.unfinished", None),
        ("train-images-idx3-ubyte.gz-00000-of-00004", None),
        ("train-images-idx3-ubyte.zip", None),
        ("train-images-idx3-ubyte.gz.gz", None),
        (".train-images-idx3-ubyte.17.unfinished", None),
        ("../train-images-idx3-ubyte", None),
        ("a/train-images-idx3-ubyte", None),
        ("mytrain-images-idx3-ubyte", None),
        ("train-images-idx3-ubyte\n", None),
        ("README", None),
    ],
)
def test_role_of_a_name(name, role):
    assert mnist_names.role(name) == role


def test_the_name_of_a_shard():
    assert mnist_names.shard(TRAIN_IMAGES, 3, 12) == f"{TRAIN_IMAGES}-00003-of-00012"
    assert mnist_names.shard(f"{TEST_LABELS}.gz", 0, 4) == f"{TEST_LABELS}-00000-of-00004.gz"


def shards(name, numbers, of):
    return [mnist_names.shard(name, number, of) for number in numbers]


def test_whole_and_sharded_files_may_go_together():
    """The test files are small, so only the train files need shards."""
    names = [
        *shards(f"{TRAIN_IMAGES}.gz", (1, 0), 2),
        *shards(TRAIN_LABELS, (0, 1), 2),
        f"mine-{TEST_IMAGES}.gz",
        TEST_LABELS,
        "README",
    ]
    train = [
        Pair(
            f"in/{TRAIN_IMAGES}-0000{number}-of-00002.gz",
            f"in/{TRAIN_LABELS}-0000{number}-of-00002",
        )
        for number in (0, 1)
    ]
    test = Pair(f"in/mine-{TEST_IMAGES}.gz", f"in/{TEST_LABELS}")
    assert mnist_names.arrange("in", names) == Files(tuple(train), (test,))


@pytest.mark.parametrize(
    ("images", "reason"),
    [
        ([], f"in: has no file {TRAIN_IMAGES}, with or without .gz"),
        (
            shards(TRAIN_IMAGES, (0, 2), 4),
            "in: has 2 of 4 shards of train images; missing: 00001, 00003",
        ),
        (
            shards(TRAIN_IMAGES, (7,), 99999),
            "in: has 1 of 99999 shards of train images; "
            "missing: 00000, 00001, 00002, 00003, 00004, ...",
        ),
        (
            shards(TRAIN_IMAGES, (0, 1, 2), 2),
            f"in/{TRAIN_IMAGES}-00002-of-00002: has the number of no shard: "
            "2 shards are numbered from 00000 on",
        ),
        (
            [TRAIN_IMAGES, *shards(TRAIN_IMAGES, (0,), 1)],
            f"in: has 2 files of train images: {TRAIN_IMAGES}, {TRAIN_IMAGES}-00000-of-00001; "
            "keep the files of one data set in a folder, each once",
        ),
        (
            [*shards(TRAIN_IMAGES, (0, 1), 2), *shards(TRAIN_IMAGES, range(4), 4)],
            "in: has 6 files of train images: "
            + ", ".join(
                [*sorted(shards(TRAIN_IMAGES, (0, 1), 2) + shards(TRAIN_IMAGES, range(4), 4))[:5]]
            )
            + ", ...; keep the files of one data set in a folder, each once",
        ),
        (
            [*shards(TRAIN_IMAGES, (0, 1), 2), *shards(f"{TRAIN_IMAGES}.gz", (0,), 2)],
            "in: has 3 files of train images: ",
        ),
        (
            shards(TRAIN_IMAGES, (0, 1), 2),
            "in: has the train images in 2 files and their labels in 1; they must agree",
        ),
    ],
    ids=["none", "missing", "many", "beyond", "whole too", "two kinds", "twice", "labels"],
)
def test_what_does_not_belong_together_is_named(images, reason):
    with pytest.raises(IdxError) as caught:
        mnist_names.arrange("in", [*images, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS])
    assert str(caught.value).startswith(reason)
