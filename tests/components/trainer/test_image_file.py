import errno
import os

import numpy as np
import pytest

from components.trainer import image_file
from components.trainer.image_file import ImageFile


@pytest.fixture
def images(examples):
    return examples(50)["image"]


@pytest.fixture
def stored(images):
    file = ImageFile()
    for part in np.split(images, [1, 20, 20]):
        file.append(part)
    return file


def test_images_are_taken_by_position(stored, images):
    assert len(stored) == 50
    for rows in ([0], [49, 3, 3, 17], range(50), []):
        taken = stored.take(np.array(rows, np.int32))
        assert taken.dtype == np.uint8
        np.testing.assert_array_equal(taken, images[list(rows)])


def test_images_that_are_not_contiguous_are_written_as_they_are(images):
    file = ImageFile()
    file.append(images.swapaxes(1, 2)[::2])
    np.testing.assert_array_equal(file.take(np.array([1])), images.swapaxes(1, 2)[[2]])


@pytest.mark.parametrize("row", [50, 10**9])
def test_a_position_that_is_not_there(stored, row):
    with pytest.raises(IndexError, match=f"there are 50 images, none at {row}"):
        stored.take(np.array([0, row]))


def test_nothing_is_left_in_the_folder(tmp_path, monkeypatch, images):
    monkeypatch.setattr(image_file.tempfile, "tempdir", str(tmp_path))
    file = ImageFile()
    file.append(images)
    assert os.fstat(file._file.fileno()).st_dev == tmp_path.stat().st_dev
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_message(images):
    with open("/dev/full", "wb", buffering=0) as full:
        file = ImageFile()
        file._file = full
        with pytest.raises(OSError, match=r"No space left.*TMPDIR, or set train\.cache") as caught:
            file.append(images)
    assert caught.value.errno == errno.ENOSPC
    assert len(file) == 0
