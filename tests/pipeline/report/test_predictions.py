import base64
import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from tfx.utils import path_utils

from components.trainer import models, signatures
from components.trainer.image_file import ImageFile
from pipeline.report import predictions
from pipeline.report.predictions import Examples, Predictions
from tests.support import saved_models

LABELS = np.repeat(np.arange(10), 3)
NAMES = "0123456789"


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    return predictions.read_examples(saved_models.examples_artifact(LABELS, str(folder)))


def made(labels, probabilities) -> tuple[Predictions, Examples]:
    """Predictions of the most probable class, and images that tell the examples apart."""
    labels, probabilities = np.array(labels), np.array(probabilities, np.float32)
    images = np.arange(len(labels), dtype=np.uint8)[:, None, None] * np.ones((28, 28), np.uint8)
    return Predictions(labels, probabilities, probabilities.argmax(axis=1)), Examples(
        images, labels
    )


def rows(*pairs: dict[int, float]) -> list[list[float]]:
    return [[pair.get(digit, 0.0) for digit in range(10)] for pair in pairs]


def test_the_test_split_is_read_in_order(examples):
    np.testing.assert_array_equal(examples.labels, LABELS)
    np.testing.assert_array_equal(examples.images, saved_models.images(LABELS))


def test_a_models_answers(examples, tmp_path):
    model = saved_models.BrightRow(confused=(8, 3))

    found = predictions.predict(
        saved_models.model_artifact(model, str(tmp_path / "model")), examples
    )

    np.testing.assert_array_equal(found.right, LABELS != 8)
    np.testing.assert_array_equal(found.classes, np.where(LABELS == 8, 3, LABELS))
    np.testing.assert_allclose(
        found.probabilities, model.image(examples.images)["probabilities"], atol=1e-6
    )
    assert found.confusion[8, 3] == 3 and found.confusion[7, 7] == 3
    assert found.confusion.sum() == len(LABELS)


def test_images_in_a_file_are_the_same(examples, tmp_path, monkeypatch):
    monkeypatch.setattr(predictions, "_MEMORY_BYTES", 0)
    monkeypatch.setattr(predictions, "_BATCH", 7)
    artifact = saved_models.examples_artifact(LABELS, str(tmp_path))
    in_a_file = predictions.read_examples(artifact)
    assert isinstance(in_a_file.images, ImageFile)
    assert [len(batch) for batch in in_a_file.batches()] == [7, 7, 7, 7, 2]
    np.testing.assert_array_equal(np.concatenate(list(in_a_file.batches())), examples.images)
    np.testing.assert_array_equal(in_a_file.image(29), examples.images[29])


@pytest.mark.parametrize("name", ["mlp", "sequence", "encoder_decoder"])
def test_each_architecture_answers(name, examples, tmp_path):
    model = SimpleNamespace(uri=str(tmp_path))
    signatures.export(models.create(name), path_utils.serving_model_dir(model.uri))

    found = predictions.predict(model, examples)

    assert found.probabilities.shape == (len(LABELS), 10)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-5)
    assert 0 <= found.right.mean() <= 1


def test_the_worst_mistakes_come_first():
    found, examples = made(
        [1, 2, 3, 4],
        rows({1: 0.4, 7: 0.6}, {2: 1.0}, {3: 0.1, 5: 0.9}, {4: 0.2, 9: 0.5, 0: 0.3}),
    )

    mistakes = list(predictions.worst_mistakes(found, examples, NAMES, 36))

    assert [mistake.example for mistake in mistakes] == [2, 3, 0]
    worst = mistakes[0]
    assert (worst.label, worst.predicted) == ("3", "5")
    assert worst.label_probability == pytest.approx(0.1)
    assert worst.predicted_probability == pytest.approx(0.9)


def test_no_more_mistakes_than_asked_for():
    found, examples = made([1] * 50, rows(*[{1: 0.3, 2: 0.7}] * 50))
    mistakes = list(predictions.worst_mistakes(found, examples, NAMES, 36))
    assert [mistake.example for mistake in mistakes] == list(range(36))


def test_a_perfect_model_has_no_mistakes():
    found, examples = made([1, 2], rows({1: 1.0}, {2: 1.0}))
    assert list(predictions.worst_mistakes(found, examples, NAMES, 36)) == []


def test_the_picture_of_a_mistake_is_the_image():
    found, examples = made([1, 2], rows({1: 1.0}, {3: 1.0}))
    [mistake] = predictions.worst_mistakes(found, examples, NAMES, 36)
    start, data = mistake.image.split(",")
    assert start == "data:image/png;base64"
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
    np.testing.assert_array_equal(pixels, examples.images[1])
