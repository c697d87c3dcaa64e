"""Distances between data sets of real digits."""

import numpy as np
import pytest

from components.mnist_files import find
from pipeline import divergence, pixel_summary
from schemas import data_sets, mnist
from schemas.data_sets import MNIST
from tests.support import idx_folders


@pytest.fixture(scope="module")
def real(mnist_files):
    """2,000 train and 1,000 test digits, by file name."""
    sizes = (2000, 2000, 1000, 1000)
    return {
        name: array[:size]
        for name, array, size in zip(mnist.FILES, mnist_files, sizes, strict=True)
    }


@pytest.fixture(scope="module")
def reference(real, tmp_path_factory):
    return str(idx_folders.write(tmp_path_factory.mktemp("reference"), real))


def change(arrays, images=lambda images: images, labels=lambda labels: labels):
    return {
        name: images(array) if array.ndim == 3 else labels(array) for name, array in arrays.items()
    }


def without(arrays, label):
    files = iter(arrays.items())
    kept = {}
    for (images_name, images), (labels_name, labels) in zip(files, files, strict=True):
        kept |= {images_name: images[labels != label], labels_name: labels[labels != label]}
    return kept


def drifted(reference, folder, arrays):
    """Features that drift, the same ones in both splits."""
    found = divergence.compare(reference, str(idx_folders.write(folder, arrays)), MNIST, MNIST)
    by_split = [
        {distance.feature for distance in found if distance.drifted and distance.split == split}
        for split in ("train", "test")
    ]
    assert by_split[0] == by_split[1]
    return by_split[0]


def test_a_data_set_does_not_lie_apart_from_itself(reference):
    found = divergence.compare(reference, reference, MNIST, MNIST)
    features = ["label", "intensity", "bright_pixels", "row", "column", "strangeness"]
    assert [(d.split, d.feature) for d in found] == [
        (split, feature) for split in ("train", "test") for feature in features
    ]
    assert all(distance.divergence == 0 and not distance.drifted for distance in found)


def test_other_digits_of_the_same_kind_are_no_drift(reference, tmp_path, mnist_files):
    others = {name: array[-1000:] for name, array in zip(mnist.FILES, mnist_files, strict=True)}
    assert drifted(reference, tmp_path, others) == set()


@pytest.mark.parametrize(
    ("images", "features"),
    [
        (
            lambda images: 255 - images,
            {"intensity", "bright_pixels", "row", "column", "strangeness"},
        ),
        (lambda images: np.roll(images, 2, axis=1), {"row", "strangeness"}),
        (lambda images: np.roll(images, 2, axis=2), {"column", "strangeness"}),
        (lambda images: images.transpose(0, 2, 1), {"strangeness"}),
    ],
    ids=["inverted", "moved down", "moved right", "transposed"],
)
def test_changed_images(reference, real, tmp_path, images, features):
    assert drifted(reference, tmp_path, change(real, images=images)) == features


def test_files_of_another_form_are_no_drift(reference, real, tmp_path):
    facts = data_sets.of_own(10, first_label=7, transposed=True)
    columns = change(real, lambda images: images.transpose(0, 2, 1), lambda labels: labels + 7)
    other = str(idx_folders.write(tmp_path, columns))
    for found in (
        divergence.compare(reference, other, MNIST, facts),
        divergence.compare(other, reference, facts, MNIST),
    ):
        assert {distance.divergence for distance in found} == {0}


def test_labels_that_mean_something_else(reference, real, tmp_path):
    moved = change(real, labels=lambda labels: (labels + 1) % MNIST.num_classes)
    assert drifted(reference, tmp_path, moved) == {"strangeness"}


def test_a_class_that_is_gone(reference, real, tmp_path):
    assert drifted(reference, tmp_path, without(real, 9)) == {"label"}


def test_the_distance_is_the_divergence_of_jensen_and_shannon(reference, real, tmp_path):
    folder = str(idx_folders.write(tmp_path, without(real, 4)))
    distances = divergence.compare(reference, folder, MNIST, MNIST)
    found = {(d.split, d.feature): d.divergence for d in distances}
    files = [find(where) for where in (reference, folder)]
    means = pixel_summary.mean_images(files[0].train, MNIST)
    for split in ("train", "test"):
        one, two = (pixel_summary.summarize(getattr(each, split), MNIST, means) for each in files)
        for feature in one:
            expected = jensen_shannon(one[feature], two[feature])
            assert found[split, feature] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def jensen_shannon(one, two):
    """In bits: mean of the divergences of Kullback and Leibler from the mean distribution."""
    size = max(one.max(), two.max()) + 1
    p, q = (np.bincount(values, minlength=size) / len(values) for values in (one, two))
    mean = (p + q) / 2
    return sum(np.sum(d[d > 0] * np.log2(d[d > 0] / mean[d > 0])) for d in (p, q)) / 2
