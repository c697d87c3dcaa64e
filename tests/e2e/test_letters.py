"""Every node with 26 classes, from files like EMNIST's, and what is served in the end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from components import idx
from pipeline import predict
from tests.support import idx_folders, saved_models

REPOSITORY = Path(__file__).parents[2]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TEST_LABELS = np.arange(520) % 26


def stored(labels: np.ndarray) -> np.ndarray:
    """Images column by column, whose row `label` is the brightest."""
    return saved_models.images(labels).swapaxes(1, 2)


@pytest.fixture(scope="module")
def pushed(tmp_path_factory) -> Path:
    """A place with the destination `serving`, after a run that ended well."""
    place = tmp_path_factory.mktemp("letters")
    train = np.arange(2600) % 26
    images = stored(np.concatenate([train, TEST_LABELS]))
    files = {
        "emnist-letters-train-images-idx3-ubyte.gz": images[: len(train)],
        "emnist-letters-train-labels-idx1-ubyte.gz": (train + 1).astype(np.uint8),
        "emnist-letters-test-images-idx3-ubyte.gz": images[len(train) :],
        "emnist-letters-test-labels-idx1-ubyte.gz": (TEST_LABELS + 1).astype(np.uint8),
    }
    settings = [
        f"data.source={idx_folders.write(place / 'files', files)}",
        f"data.label_names={json.dumps(list(LETTERS))}",
        "data.first_label=1",
        "data.transposed=true",
        "data.eval_examples=260",
        # It also takes labels, so their number matters twice.
        "train.model=encoder_decoder",
        "train.epochs=4",
        "optimizer.learning_rate=0.01",
        f"root={place}/runs",
        f"push.destination={place}/serving",
    ]
    process = subprocess.run(
        [sys.executable, "-m", "pipeline", "run", *(f"--set={setting}" for setting in settings)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return place


def test_the_pushed_model_answers_with_letters(pushed, capsys):
    pictures = str(pushed / "pictures")
    idx.write(pictures, stored(TEST_LABELS[:26]))
    assert predict.predict([pictures], str(pushed / "serving"), "json", transposed=True) == 0
    rows = json.loads(capsys.readouterr().out)
    assert "".join(row["label"] for row in rows) == LETTERS
    assert {len(row["probabilities"]) for row in rows} == {26}


def test_every_class_was_counted_in_every_split(pushed):
    [report] = (pushed / "runs/artifacts/DataGate/report").glob("*/value")
    splits = json.loads(report.read_text())["counts"]
    assert all(list(classes) == list(LETTERS) for classes in splits.values())
    assert splits["test"] == dict.fromkeys(LETTERS, 20)
