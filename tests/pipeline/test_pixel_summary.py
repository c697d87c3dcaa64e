import numpy as np
import pytest

from components import idx
from components.mnist_names import Pair
from components.schema import committed_text
from pipeline import pixel_summary
from schemas import mnist
from schemas.data_sets import EMNIST_LETTERS, MNIST
from tests.support import idx_folders


def pairs(folder, images, labels):
    names = list(mnist.FILES)[:2]
    idx_folders.write(folder, dict(zip(names, (images, labels.astype(np.uint8)), strict=True)))
    return [Pair(*(str(folder / name) for name in names))]


def blank(count):
    return np.zeros((count, mnist.HEIGHT, mnist.WIDTH), np.uint8)


def test_mean_images(tmp_path):
    images, labels, *_ = idx_folders.arrays(train=3000).values()
    means = pixel_summary.mean_images(pairs(tmp_path, images, labels), MNIST)
    for label in range(MNIST.num_classes):
        np.testing.assert_allclose(means[label], images[labels == label].mean(0), rtol=1e-15)


def test_a_class_without_an_image_has_a_mean_of_zeros(tmp_path):
    made = pairs(tmp_path, blank(2) + np.uint8(9), np.array([3, 3]))
    means = pixel_summary.mean_images(made, MNIST)
    assert np.all(means[3] == 9) and not means[[0, 9]].any()


def test_labels_count_from_the_first_class(tmp_path):
    made = pairs(tmp_path, blank(2) + np.uint8(9), np.array([1, 26]))
    means = pixel_summary.mean_images(made, EMNIST_LETTERS)
    assert np.all(means[[0, 25]] == 9) and not means[1:25].any()
    found = pixel_summary.summarize(made, EMNIST_LETTERS, means)
    assert found["label"].tolist() == [0, 25] and found["strangeness"].tolist() == [0, 0]


def test_what_is_said_of_an_image(tmp_path):
    images = blank(3)
    images[1, 4, 20] = 255
    images[2, :14] = 200  # the upper half
    means = np.zeros((MNIST.num_classes, mnist.HEIGHT, mnist.WIDTH))
    means[7] = 10.0
    found = pixel_summary.summarize(pairs(tmp_path, images, np.array([1, 2, 7])), MNIST, means)
    assert {name: values.tolist() for name, values in found.items()} == {
        "label": [1, 2, 7],
        "intensity": [0, 0, 25],  # a mean of 100, in steps of 4
        "bright_pixels": [0, 0, 50],
        "row": [0, 4, 6],  # 6.5, to the even neighbour
        "column": [0, 20, 14],  # 13.5
        "strangeness": [0, 0, 50],  # (190 + 10) / 2, in steps of 2
    }


@pytest.mark.parametrize("value", [0, 255])
def test_the_schema_admits_every_value(tmp_path, value):
    extreme = pixel_summary.summarize(
        pairs(tmp_path, blank(1) + np.uint8(value), np.array([0])),
        MNIST,
        np.full((MNIST.num_classes, mnist.HEIGHT, mnist.WIDTH), 255.0 - value),
    )
    text = committed_text("pixels")
    for name, [number] in extreme.items():
        if name != mnist.LABEL:
            domain = text[text.index(f'name: "{name}"') :].split("max: ")[1]
            assert 0 <= number <= int(domain.split()[0]), name


def test_blocks_are_put_together_in_order(tmp_path, monkeypatch):
    images, labels, *_ = idx_folders.arrays(train=50).values()
    made = pairs(tmp_path, images, labels)
    means = pixel_summary.mean_images(made, MNIST)
    whole = pixel_summary.summarize(made, MNIST, means)
    monkeypatch.setattr(idx, "_CHUNK", 7 * 784)
    assert np.array_equal(pixel_summary.mean_images(made, MNIST), means)
    for name, values in pixel_summary.summarize(made, MNIST, means).items():
        assert np.array_equal(values, whole[name])
