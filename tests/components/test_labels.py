import pytest

from components import labels
from tests.support import saved_models

NAMES = ("T-shirt/top", "ankle boot", "を", "quote'\"")


def test_names_come_back_in_their_order(tmp_path):
    labels.write(str(tmp_path), NAMES)
    assert labels.read(str(tmp_path)) == NAMES
    assert (tmp_path / "assets.extra" / "labels.json").read_bytes().isascii()


def test_classes_of_a_model_without_names_are_named_by_their_numbers(tmp_path):
    folder = saved_models.save(saved_models.BrightRow(), str(tmp_path))
    assert labels.read(folder) == tuple("0123456789")


@pytest.mark.parametrize("text", ["{}", "[1, 2]", "[", '"ab"'])
def test_damaged_names_are_an_error(tmp_path, text):
    labels.write(str(tmp_path), NAMES)
    (tmp_path / "assets.extra" / "labels.json").write_text(text)
    with pytest.raises(ValueError, match="labels.json must hold a JSON list of names, got"):
        labels.read(str(tmp_path))


def test_what_is_no_model_is_an_error(tmp_path):
    (tmp_path / "saved_model.pb").write_text("no graph")
    with pytest.raises(ValueError, match=r"saved_model\.pb is damaged"):
        labels.read(str(tmp_path))


def test_a_model_that_gives_no_probabilities_is_an_error(tmp_path):
    model = saved_models.BrightRow()
    model.signatures = lambda: {"png": model.png}
    folder = saved_models.save(model, str(tmp_path))
    with pytest.raises(ValueError, match="no signature serving_default that gives probabilities"):
        labels.read(folder)
