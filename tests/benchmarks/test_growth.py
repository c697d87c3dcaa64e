"""The data of the measurement, and its table."""

import numpy as np
import pytest
import typer

from benchmarks import growth
from components import mnist_files
from schemas import data_sets, mnist
from tests.support import idx_folders


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three copies of a small data set, in two shards each."""
    original = idx_folders.make(tmp_path / "original", train=60, test=20)
    monkeypatch.setattr(growth.data, "fetch", lambda settings: str(original))
    monkeypatch.setattr(growth, "EXAMPLES_PER_SHARD", 50)
    growth.write(tmp_path / "grown", 3)
    return tmp_path / "grown"


def test_the_data_grows_in_shards(folder):
    found = mnist_files.check(str(folder), data_sets.MNIST.labels)
    assert found.train_sizes == (50, 10) * 3 and found.test_sizes == (20,) * 3
    labels = mnist_files.read_labels(found.files.train)
    assert labels.tolist() == idx_folders.arrays()[mnist.FILES[1]].tolist() * 3


def test_the_first_copy_is_the_original_and_no_two_are_alike(folder):
    pairs = mnist_files.find(str(folder)).train
    copies = np.split(np.concatenate(list(mnist_files.read_images(pairs))), 3)
    assert np.array_equal(copies[0], idx_folders.arrays()[mnist.FILES[0]])
    assert len(np.unique(np.concatenate(copies).reshape(180, -1), axis=0)) == 180


def test_the_data_is_the_same_each_time(folder, tmp_path):
    growth.write(tmp_path / "again", 3)
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_a_copy_is_turned_and_moved_a_little():
    image = np.zeros((1, mnist.HEIGHT, mnist.WIDTH), np.uint8)
    image[0, 10:18, 13:15] = 255  # an upright stroke
    for copy in range(1, 10):
        moved = growth._moved(image, copy)
        assert moved.dtype == np.uint8 and moved.shape == image.shape
        assert set(np.unique(moved)) == {0, 255}
        assert abs(np.count_nonzero(moved) - 16) <= 4
        rows, columns = np.nonzero(moved[0])
        assert abs(rows.mean() - 13.5) < 2 and abs(columns.mean() - 13.5) < 2


def test_the_table_compares_the_largest_with_the_least():
    values = {1: {"Make": 2.0, "all": 4.0}, 4: {"Make": 9, "all": 10}}
    assert growth._seconds_table(values).splitlines() == [
        "| seconds | 1x | 4x | 4x / 1x, per example |",
        "|---|---:|---:|---:|",
        "| Make | 2.0 | 9.0 | 1.12 |",
        "| all | 4.0 | 10.0 | 0.62 |",
    ]
    assert growth._memory_table({3: {"all": 2**31}}).splitlines() == [
        "| peak memory, MiB | 3x | 3x / 3x |",
        "|---|---:|---:|",
        "| all | 2,048 | 1.00 |",
    ]


@pytest.mark.parametrize("sizes", ["", "0,1", "2,1", "1,1", "1,x", "1.5"])
def test_sizes_must_increase(sizes):
    with pytest.raises(typer.BadParameter, match="must be whole numbers that increase"):
        growth._numbers(sizes)
