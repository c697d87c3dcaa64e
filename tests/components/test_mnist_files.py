import gzip
import os
import shutil
import struct

import numpy as np
import pytest

from components import idx, mnist_files, mnist_names
from components.idx import IdxError
from components.mnist_names import Files, Pair
from schemas import mnist
from tests.support import idx_folders

TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = mnist.FILES
HALVES = (TRAIN_IMAGES, TRAIN_LABELS), (TEST_IMAGES, TEST_LABELS)
LABELS = range(10)


@pytest.fixture
def folder(tmp_path):
    return idx_folders.make(tmp_path / "data")


def refuses(folder, reason, name=""):
    with pytest.raises(IdxError, match=reason) as caught:
        mnist_files.check(str(folder), LABELS)
    assert caught.value.path == str(folder / name if name else folder)
    assert "\n" not in str(caught.value)


def test_finds_the_files(folder):
    (folder / "README").write_text("other files do not matter")
    train, test = (Pair(*(str(folder / name) for name in half)) for half in HALVES)
    files = mnist_files.find(str(folder))
    assert files == Files((train,), (test,))
    assert files.paths == tuple(str(folder / name) for name in mnist.FILES)


def test_other_files_are_named(folder):
    assert mnist_files.others(str(folder)) == []
    for name in (f"{TRAIN_IMAGES}.zip", "README", f".{TRAIN_IMAGES}.17.unfinished"):
        (folder / name).write_text("")
    assert mnist_files.others(str(folder)) == ["README", f"{TRAIN_IMAGES}.zip"]


def test_a_folder_named_as_a_file_is_refused(folder):
    (folder / TEST_LABELS).unlink()
    (folder / TEST_LABELS).mkdir()
    refuses(folder, "cannot be read: Is a directory", TEST_LABELS)


def test_a_link_is_followed_and_what_it_leads_to_is_checked(folder, tmp_path):
    (folder / TEST_LABELS).rename(tmp_path / "elsewhere")
    (folder / TEST_LABELS).symlink_to(tmp_path / "elsewhere")
    assert mnist_files.check(str(folder), LABELS).test_examples == 20
    (tmp_path / "elsewhere").write_text("secret")
    refuses(folder, "is no IDX file", TEST_LABELS)
    (tmp_path / "elsewhere").unlink()
    refuses(folder, "cannot be read: No such file", TEST_LABELS)


def test_counts_the_examples(folder):
    data = mnist_files.check(str(folder), LABELS)
    assert (data.train_examples, data.test_examples) == (60, 20)


def test_the_fingerprint_is_of_the_content_alone(tmp_path, folder):
    fingerprint = mnist_files.check(str(folder), LABELS).fingerprint
    assert len(bytes.fromhex(fingerprint)) == 32
    zipped = idx_folders.make(tmp_path / "zipped", suffix=".gz")
    os.utime(zipped / f"{TRAIN_IMAGES}.gz", (0, 0))
    renamed = tmp_path / "renamed"
    shutil.copytree(folder, renamed)
    for name in mnist.FILES:
        (renamed / name).rename(renamed / f"fashion-{name}")
    for other in (zipped, renamed):
        assert mnist_files.check(str(other), LABELS).fingerprint == fingerprint


@pytest.mark.parametrize("name", mnist.FILES)
def test_the_fingerprint_changes_with_one_byte_of_any_file(folder, name):
    before = mnist_files.check(str(folder), LABELS).fingerprint
    array = idx.read(str(folder / name))
    array.flat[7] = (array.flat[7] + 1) % 10
    idx.write(folder / name, array)
    assert mnist_files.check(str(folder), LABELS).fingerprint != before


def test_the_fingerprint_tells_train_from_test(tmp_path):
    files = idx_folders.arrays(train=20, test=20)
    one = idx_folders.write(tmp_path / "one", files)
    swapped = dict(zip(files, [*list(files.values())[2:], *list(files.values())[:2]], strict=True))
    two = idx_folders.write(tmp_path / "two", swapped)
    prints = {mnist_files.check(str(folder), LABELS).fingerprint for folder in (one, two)}
    assert len(prints) == 2


@pytest.mark.parametrize("name", mnist.FILES)
def test_names_a_missing_file(folder, name):
    (folder / name).unlink()
    refuses(folder, f"has no file {name}, with or without .gz")


def test_refuses_two_files_for_one(folder):
    shutil.copy(folder / TRAIN_LABELS, folder / f"emnist-{TRAIN_LABELS}.gz")
    refuses(folder, f"2 files of train labels: emnist-{TRAIN_LABELS}.gz, {TRAIN_LABELS}; keep")


def test_refuses_what_is_no_folder(folder, tmp_path):
    refuses(tmp_path / "none", "cannot be read as a folder of IDX files: No such file or directory")
    refuses(folder / TRAIN_IMAGES, "cannot be read as a folder of IDX files: Not a directory")


@pytest.mark.parametrize("name", mnist.FILES)
@pytest.mark.parametrize("compressed", [False, True])
def test_names_a_truncated_file(tmp_path, name, compressed):
    folder = idx_folders.make(tmp_path / "data", suffix=".gz" if compressed else "")
    name += ".gz" if compressed else ""
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    refuses(folder, "truncated", name)


@pytest.mark.parametrize("name", mnist.FILES)
def test_names_a_file_that_goes_on(folder, name):
    with (folder / name).open("ab") as file:
        file.write(b"\0")
    refuses(folder, "goes on after", name)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((60, 32, 32), np.uint8),
        np.zeros((60, 784), np.uint8),
        np.zeros((60, 28, 28, 1), np.uint8),
        np.zeros((60, 28, 28), np.float32),
        np.zeros((60, 28, 28), np.int8),
        np.zeros((0, 28, 28), np.uint8),
        np.zeros(60, np.uint8),
    ],
    ids=str,
)
def test_refuses_other_shapes_and_types_of_images(folder, array):
    idx.write(folder / TRAIN_IMAGES, array)
    refuses(folder, r"must hold images: uint8 \[examples, 28, 28\]", TRAIN_IMAGES)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((60, 1), np.uint8),
        np.zeros(60, np.int32),
        np.zeros((60, 7), np.int32),
        np.zeros((60, 28, 28), np.uint8),
    ],
    ids=str,
)
def test_refuses_other_shapes_and_types_of_labels(folder, array):
    idx.write(folder / TEST_LABELS, array)
    refuses(folder, r"must hold labels: uint8 \[examples\]", TEST_LABELS)


def test_refuses_images_and_labels_that_disagree(folder):
    idx.write(folder / TEST_LABELS, np.zeros(21, np.uint8))
    refuses(folder, f"has 20 images, but {folder / TEST_LABELS} has 21 labels", TEST_IMAGES)


def test_refuses_images_and_labels_that_changed_places(folder):
    (folder / TRAIN_IMAGES).rename(folder / "x")
    (folder / TRAIN_LABELS).rename(folder / TRAIN_IMAGES)
    (folder / "x").rename(folder / TRAIN_LABELS)
    refuses(folder, r"holds uint8 \[60\], must hold images", TRAIN_IMAGES)


def test_refuses_labels_out_of_range(folder):
    labels = np.zeros(60, np.uint8)
    labels[[17, 40, 59]] = 10, 255, 10
    idx.write(folder / TRAIN_LABELS, labels)
    refuses(
        folder, r"label 10 of example 17 is not in 0\.\.9 \(3 of 60 labels are out", TRAIN_LABELS
    )


@pytest.mark.parametrize("value", [0, 255])
def test_refuses_a_file_of_one_colour(folder, value):
    idx.write(folder / TEST_IMAGES, np.full((20, 28, 28), value, np.uint8))
    refuses(folder, f"every pixel of every image is {value}", TEST_IMAGES)


def test_labels_of_qmnist(folder):
    classes = idx_folders.arrays()[TRAIN_LABELS]
    extended = np.full((60, 8), 77, np.int32)
    extended[:, 0] = classes
    (folder / TRAIN_LABELS).unlink()
    idx.write(folder / "qmnist-train-labels-idx2-int.gz", extended)
    files = mnist_files.check(str(folder), LABELS).files
    examples = mnist_files.read_examples(files.train[0], range(60))
    assert [label for _, label in examples] == classes.tolist()
    assert mnist_files.read_labels(files.train).tolist() == classes.tolist()

    extended[5, 0] = -1
    idx.write(folder / "qmnist-train-labels-idx2-int.gz", extended)
    refuses(folder, "label -1 of example 5", "qmnist-train-labels-idx2-int.gz")


@pytest.fixture
def shards(tmp_path):
    """The same data as `folder`, the train files in 4 shards and the test files in 2."""
    files = idx_folders.sharded(idx_folders.arrays(), train=4, test=2)
    return idx_folders.write(tmp_path / "shards", {f"{name}.gz": files[name] for name in files})


def shard(name, number, shards=4):
    return mnist_names.shard(f"{name}.gz", number, shards)


def test_shards_are_the_same_data_set(folder, shards):
    whole, parts = (mnist_files.check(str(each), LABELS) for each in (folder, shards))
    assert parts.fingerprint == whole.fingerprint
    assert (parts.train_examples, parts.test_examples) == (60, 20)
    assert (len(parts.train_sizes), len(parts.test_sizes)) == (4, 2)
    made = idx_folders.arrays()
    images = np.concatenate(list(mnist_files.read_images(parts.files.train)))
    assert np.array_equal(images, made[TRAIN_IMAGES])
    labels = mnist_files.read_labels(parts.files.test)
    assert labels.dtype == np.int64 and labels.tolist() == made[TEST_LABELS].tolist()


def test_shards_are_in_the_order_of_their_numbers(tmp_path):
    files = idx_folders.sharded(idx_folders.arrays(), train=12)
    found = mnist_files.find(str(idx_folders.write(tmp_path / "shards", files)))
    assert [os.path.basename(pair.labels) for pair in found.train] == [
        f"{TRAIN_LABELS}-000{number:02d}-of-00012" for number in range(12)
    ]


def test_the_fingerprint_changes_with_the_order_of_shards(shards):
    before = mnist_files.check(str(shards), LABELS).fingerprint
    for name in (TRAIN_IMAGES, TRAIN_LABELS):
        one, two = (shards / shard(name, number) for number in (1, 2))
        one.rename(shards / "x")
        two.rename(one)
        (shards / "x").rename(two)
    assert mnist_files.check(str(shards), LABELS).fingerprint != before


@pytest.mark.parametrize("name", [TRAIN_IMAGES, TRAIN_LABELS])
def test_names_what_is_wrong_with_a_shard(shards, name):
    path = shards / shard(name, 2)
    path.write_bytes(path.read_bytes()[:-9])
    refuses(shards, "truncated", path.name)
    idx.write(path, np.full((3, 5), 11, np.uint8))
    refuses(shards, r"holds uint8 \[3, 5\], must hold", path.name)


def test_shards_that_disagree_in_number_of_examples(shards):
    idx.write(shards / shard(TRAIN_LABELS, 1), np.zeros(59, np.uint8))
    refuses(shards, "images, but .* has 59 labels; they must agree", shard(TRAIN_IMAGES, 1))


def test_a_label_out_of_range_is_counted_in_its_shard(shards):
    labels = idx.read(str(shards / shard(TEST_LABELS, 1, 2))).copy()
    labels[1] = 10
    idx.write(shards / shard(TEST_LABELS, 1, 2), labels)
    refuses(shards, "label 10 of example 1 is not in", shard(TEST_LABELS, 1, 2))


def test_labels_of_two_forms(shards):
    path = shards / shard(TRAIN_LABELS, 3)
    extended = np.zeros((len(idx.read(str(path))), 8), np.int32)
    idx.write(path, extended)
    refuses(shards, r"holds int32 \[\d+, 8\], but .*: not one form", path.name)


@pytest.mark.parametrize(
    ("sizes", "rows", "expected"),
    [
        ([5], [0, 4], [(0, [0, 4])]),
        ([2, 3, 4], [1, 2, 4, 8], [(0, [1]), (1, [0, 2]), (2, [3])]),
        ([2, 3, 4], [5, 6], [(2, [0, 1])]),
        ([2, 3], [], []),
    ],
)
def test_divide(sizes, rows, expected):
    divided = mnist_files.divide(np.array(rows, np.int64), sizes)
    assert [(number, own.tolist()) for number, own in divided] == expected


def test_labels_are_not_read_before_their_number_is_known_to_be_right(folder):
    count = 2**30 - 1
    content = bytes([0, 0, 8, 1]) + struct.pack(">I", count)
    (folder / TRAIN_LABELS).write_bytes(gzip.compress(content + b"never read"))
    refuses(folder, f"has 60 images, but .* has {count} labels", TRAIN_IMAGES)


def test_read_examples(folder):
    made = idx_folders.arrays()
    rows = [0, 13, 14, 59]
    pair = Pair(str(folder / TRAIN_IMAGES), str(folder / TRAIN_LABELS))
    read = list(mnist_files.read_examples(pair, rows))
    assert np.array_equal([image for image, _ in read], made[TRAIN_IMAGES][rows])
    assert [label for _, label in read] == made[TRAIN_LABELS][rows].tolist()
