"""The notebook runs from top to bottom, and says what its words promise."""

import copy
from pathlib import Path

import nbclient
import nbformat
import pytest

TOUR = Path(__file__).resolve().parents[2] / "notebooks" / "tour.ipynb"


@pytest.fixture(scope="module")
def committed():
    return nbformat.read(TOUR, as_version=4)


@pytest.fixture(scope="module")
def outputs(committed) -> dict[str, list]:
    """What each code cell shows, by the cell's id, after all were run as Jupyter does."""
    folder = {"metadata": {"path": str(TOUR.parent)}}
    ran = nbclient.NotebookClient(copy.deepcopy(committed), timeout=600, resources=folder).execute()
    return {cell.id: cell.outputs for cell in ran.cells if cell.cell_type == "code"}


def text(outputs: list) -> str:
    return "".join(output.text for output in outputs if output.output_type == "stream")


def pictures(outputs: list) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_it_is_committed_as_it_was_written_not_as_it_was_run(committed):
    nbformat.validate(committed)
    for cell in committed.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_it_runs_a_pipeline_that_pushes_a_model(outputs):
    assert "Pushed as version" in text(outputs["run"])
    assert text(outputs["result"]).startswith("pushed with test accuracy 0.9")


def test_the_misspelt_key_is_named(outputs):
    assert "did you mean train.epochs?" in text(outputs["mistake"])


def test_the_photo_is_read(outputs):
    assert text(outputs["photo"]).startswith("a 7, with probability")


def test_every_figure_is_drawn(outputs):
    for name in ("data", "result", "curves", "mistakes", "photo"):
        assert pictures(outputs[name]) == 1
