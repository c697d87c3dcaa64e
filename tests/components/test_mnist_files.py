import gzip
import os
import shutil
import struct

import numpy as np
import pytest

from components import idx, mnist_files
from components.idx import IdxError
from schemas import mnist
from tests.support import idx_folders

TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = mnist.FILES
LABELS = range(10)


@pytest.fixture
def folder(tmp_path):
    return idx_folders.make(tmp_path / "data")


def refuses(folder, reason, name=""):
    with pytest.raises(IdxError, match=reason) as caught:
        mnist_files.check(str(folder), LABELS)
    assert caught.value.path == str(folder / name if name else folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("train-images-idx3-ubyte", "train_images"),
        ("train-labels.idx1-ubyte", "train_labels"),
        ("t10k-images-idx3-ubyte.gz", "test_images"),
        ("t10k-labels.idx1-ubyte.gz", "test_labels"),
        ("emnist-letters-train-images-idx3-ubyte.gz", "train_images"),
        ("emnist-digits-test-labels-idx1-ubyte", "test_labels"),
        ("qmnist-test-labels-idx2-int.gz", "test_labels"),
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
    assert mnist_files.role(name) == role


def test_finds_the_files(folder):
    (folder / "README").write_text("other files do not matter")
    assert mnist_files.find(str(folder)) == mnist_files.Files(
        *(str(folder / n) for n in mnist.FILES)
    )


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
    examples = mnist_files.read_examples(files.train_images, files.train_labels, range(60))
    assert [label for _, label in examples] == classes.tolist()
    assert mnist_files.read_labels(files.train_labels).tolist() == classes.tolist()

    extended[5, 0] = -1
    idx.write(folder / "qmnist-train-labels-idx2-int.gz", extended)
    refuses(folder, "label -1 of example 5", "qmnist-train-labels-idx2-int.gz")


def test_labels_are_not_read_before_their_number_is_known_to_be_right(folder):
    count = 2**30 - 1
    content = bytes([0, 0, 8, 1]) + struct.pack(">I", count)
    (folder / TRAIN_LABELS).write_bytes(gzip.compress(content + b"never read"))
    refuses(folder, f"has 60 images, but .* has {count} labels", TRAIN_IMAGES)


def test_read_examples(folder):
    made = idx_folders.arrays()
    rows = [0, 13, 14, 59]
    paths = str(folder / TRAIN_IMAGES), str(folder / TRAIN_LABELS)
    read = list(mnist_files.read_examples(*paths, rows))
    assert np.array_equal([image for image, _ in read], made[TRAIN_IMAGES][rows])
    assert [label for _, label in read] == made[TRAIN_LABELS][rows].tolist()
