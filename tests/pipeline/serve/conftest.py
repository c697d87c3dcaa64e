"""Two models whose answers differ, and a server of the first."""

import numpy as np
import pytest

from components import publishing
from pipeline.serve.holder import Holder
from tests.support import saved_models, serving


@pytest.fixture(scope="session")
def plain(tmp_path_factory) -> str:
    """A model that is right about `saved_models.images`."""
    folder = str(tmp_path_factory.mktemp("plain"))
    return saved_models.save(saved_models.BrightRow(), folder)


@pytest.fixture(scope="session")
def confused(tmp_path_factory) -> str:
    """A model that takes a 7 for a 1."""
    folder = str(tmp_path_factory.mktemp("confused"))
    return saved_models.save(saved_models.BrightRow(confused=(7, 1)), folder)


@pytest.fixture
def pushed(tmp_path, plain) -> str:
    """A destination where version 10 is the model that is right."""
    destination = str(tmp_path / "serving" / "mnist")
    publishing.publish(plain, destination, clock=lambda: 10)
    return destination


@pytest.fixture
def holder(pushed) -> Holder:
    return Holder(pushed)


@pytest.fixture
def address(holder):
    """Of a server of `holder`."""
    with serving.running(holder) as address:
        yield address


@pytest.fixture(scope="session")
def sevens() -> np.ndarray:
    """Two images, uint8 [2, 28, 28]."""
    return saved_models.images(np.array([7, 7]))
