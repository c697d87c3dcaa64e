import tracemalloc

import numpy as np
import pytest

from components import data_findings, data_quality, idx, mnist_files
from components.data_findings import Finding
from components.idx import LOCAL
from components.mnist_names import Pair
from schemas import mnist
from tests.support import idx_folders

TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = mnist.FILES


@pytest.fixture
def arrays():
    return idx_folders.arrays()


@pytest.fixture
def measure(tmp_path, arrays):
    """Measures the arrays as they are when it is called."""

    def write_and_measure(suffix=""):
        folder = tmp_path / f"data{suffix}"
        idx_folders.write(folder, {name + suffix: array for name, array in arrays.items()})
        return data_quality.measure(mnist_files.find(str(folder)))

    return write_and_measure


def test_nothing_is_found_in_good_data(measure):
    found = measure()
    totals = {kind: finding.total for kind, finding in found.items() if kind != "label_noise"}
    assert totals == {
        "test_overlap": 20,
        "label_conflicts": 80,
        "repeated_images": 80,
        "constant_images": 80,
    }
    assert all(finding.count == 0 and finding.first == () for finding in found.values())


def test_test_images_that_are_in_the_train_files(arrays, measure):
    arrays[TEST_IMAGES][[4, 9]] = arrays[TRAIN_IMAGES][24]  # label 4
    arrays[TEST_LABELS][9] = 4
    found = measure()
    assert found["test_overlap"] == Finding(2, 20, ("train 24 = test 4", "train 24 = test 9"))
    assert found["repeated_images"] == Finding(1, 80, ("test 4 = test 9",))
    assert found["label_conflicts"].count == 0


def test_the_same_image_with_two_labels(arrays, measure):
    arrays[TRAIN_IMAGES][31] = arrays[TRAIN_IMAGES][10]  # labels 1 and 0
    arrays[TEST_IMAGES][2] = arrays[TRAIN_IMAGES][15]  # labels 2 and 5
    found = measure()
    assert found["label_conflicts"] == Finding(2, 80, ("train 10 = train 31", "train 15 = test 2"))
    assert found["repeated_images"] == Finding(1, 80, ("train 10 = train 31",))
    assert found["test_overlap"] == Finding(1, 20, ("train 15 = test 2",))


def test_images_of_one_colour(arrays, measure):
    arrays[TRAIN_IMAGES][59] = 0
    arrays[TEST_IMAGES][3] = 255
    assert measure()["constant_images"] == Finding(2, 80, ("train 59", "test 3"))


def test_one_pixel_makes_another_image(arrays, measure):
    arrays[TEST_IMAGES][0] = arrays[TRAIN_IMAGES][0]
    arrays[TEST_IMAGES][0, 27, 27] ^= 1
    assert measure()["test_overlap"].count == 0


def test_many_are_counted_and_a_few_listed(arrays, measure):
    arrays[TEST_IMAGES][:] = arrays[TRAIN_IMAGES][:20]
    found = measure()["test_overlap"]
    assert found.count == 20 and found.share == 1.0
    assert found.first == tuple(f"train {number} = test {number}" for number in range(5))


def test_gzip_makes_no_difference(arrays, measure):
    arrays[TRAIN_IMAGES][40:] = arrays[TRAIN_IMAGES][:20]
    assert measure() == measure(".gz")


def test_shards_make_no_difference(arrays, measure, tmp_path):
    arrays[TRAIN_IMAGES][40:] = arrays[TRAIN_IMAGES][:20]
    arrays[TEST_IMAGES][[3, 19]] = arrays[TRAIN_IMAGES][[11, 11]]
    arrays[TRAIN_IMAGES][33] = 7
    folder = idx_folders.write(tmp_path / "shards", idx_folders.sharded(arrays, train=7, test=3))
    assert data_quality.measure(mnist_files.find(str(folder))) == measure()


def test_an_image_is_remembered_in_a_few_bytes(tmp_path):
    """Memory may not grow with the data as fast as the data does."""
    count = 60_000
    images = np.zeros((count, mnist.HEIGHT, mnist.WIDTH), np.uint8)
    images[:, 0, :3] = np.arange(count)[:, None] >> [0, 8, 16] & 255
    idx.write(tmp_path / "images.gz", images)
    tracemalloc.start()
    digests, _ = data_quality._images([Pair(str(tmp_path / "images.gz"), "")], LOCAL)
    twins = data_quality._twins(np.concatenate([digests, digests[:2]]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert twins.tolist() == [[0, count], [1, count + 1]]
    assert peak < (4 << 20) + 100 * count


def test_blocks_are_counted_through(arrays, measure, monkeypatch):
    monkeypatch.setattr(idx, "_CHUNK", 7 * 784)
    arrays[TRAIN_IMAGES][[6, 7, 20]] = np.array([1, 2, 3], np.uint8)[:, None, None]
    assert measure()["constant_images"].first == ("train 6", "train 7", "train 20")


def test_findings_survive_json(arrays, measure):
    arrays[TEST_IMAGES][4] = arrays[TRAIN_IMAGES][24]
    found = measure()
    assert data_findings.from_json(data_findings.as_json(found)) == found
