import io
import json

import numpy as np
import pytest

from components import idx, labels, publishing
from pipeline import images, predict
from pipeline.serve.model import PushedModel
from tests.support import photos, saved_models

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.fixture
def seven(tmp_path, digits) -> str:
    """A photo of a 7 in dark ink."""
    path = tmp_path / "seven.jpg"
    path.write_bytes(photos.encode(photos.sidelight(digits.images[0]), "JPEG"))
    return str(path)


@pytest.fixture
def several(tmp_path, digits) -> str:
    """The first five of MNIST's test images as a gzipped IDX file."""
    path = tmp_path / "images.gz"
    idx.write(path, digits.images[:5])
    return str(path)


def printed(capsys) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def give(monkeypatch, content: bytes) -> None:
    """Gives content on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_table(capsys, monkeypatch, tmp_path, seven, several, destination):
    monkeypatch.chdir(tmp_path)
    assert predict.predict(["seven.jpg", "images.gz"], destination) == predict.OK
    out, err = printed(capsys)
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["picture", "class", "probability", "or", "else", "note"]
    digits_by_picture = {line[0]: line[1] for line in lines if len(line) > 3}
    assert digits_by_picture["seven.jpg"] == "7"
    assert [digits_by_picture[f"images.gz[{row}]"] for row in range(5)] == list("72104")
    assert "dark ink" in out
    assert "version 1764500000" in out
    assert err == ""


def test_json(capsys, seven, several, destination):
    assert predict.predict([seven, several], destination, "json") == predict.OK
    rows = json.loads(printed(capsys)[0])
    assert [row["class"] for row in rows] == [7, 7, 2, 1, 0, 4]
    assert rows[0]["picture"] == seven
    assert rows[0]["notes"] == [images.INVERTED, images.SCALED]
    assert rows[1]["picture"] == f"{several}[0]"
    assert rows[1]["notes"] == []
    for row in rows:
        assert row["version"] == 1764500000
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-5)
        assert int(np.argmax(row["probabilities"])) == row["class"]


@pytest.mark.parametrize("name", ["seven", "several"])
def test_standard_input(capsys, monkeypatch, request, destination, name):
    with open(request.getfixturevalue(name), "rb") as file:
        give(monkeypatch, file.read())
    assert predict.predict(["-"], destination, "json") == predict.OK
    rows = json.loads(printed(capsys)[0])
    assert rows[0]["picture"].startswith("standard input")
    assert rows[0]["class"] == 7


def test_standard_input_that_is_no_picture(capsys, monkeypatch, destination):
    give(monkeypatch, b"Dear all")
    assert predict.predict(["-"], destination) == predict.FAILED
    assert printed(capsys)[1].startswith("standard input is no picture that is known here")


def test_an_idx_file_is_taken_as_it_is(several, digits):
    pictures = predict.read(several)
    np.testing.assert_array_equal([picture.image for picture in pictures], digits.images[:5])


@pytest.fixture
def letters(tmp_path) -> str:
    """A destination with a model of 26 letters, of which the brightest row is the number."""
    model = saved_models.save(saved_models.BrightRow(classes=26), str(tmp_path / "model"))
    labels.write(model, LETTERS)
    publishing.publish(model, str(tmp_path / "letters"))
    return str(tmp_path / "letters")


def test_classes_go_by_the_names_that_lie_in_the_model(tmp_path, monkeypatch, capsys, letters):
    monkeypatch.chdir(tmp_path)
    pictures = "images"
    idx.write(pictures, saved_models.images(np.array([25, 0])).swapaxes(1, 2))
    assert predict.predict([pictures], letters, "json", transposed=True) == predict.OK
    rows = json.loads(printed(capsys)[0])
    assert [(row["class"], row["label"]) for row in rows] == [(25, "Z"), (0, "A")]
    predict.predict([pictures], letters, transposed=True)
    assert [line.split()[1] for line in printed(capsys)[0].splitlines()[1:3]] == ["Z", "A"]


def test_many_images_go_in_batches(tmp_path, monkeypatch, capsys, digits, destination):
    monkeypatch.setattr(predict, "_BATCH", 3)
    idx.write(tmp_path / "images", digits.images[:7])
    assert predict.predict([str(tmp_path / "images")], destination, "json") == predict.OK
    rows = json.loads(printed(capsys)[0])
    assert [row["class"] for row in rows] == [7, 2, 1, 0, 4, 1, 4]


def test_what_is_wrong_with_each_file_is_said_and_the_others_are_read(
    tmp_path, capsys, seven, destination
):
    (tmp_path / "letter.txt").write_text("Dear all")
    idx.write(tmp_path / "labels", np.zeros(3, np.uint8))
    idx.write(tmp_path / "cut", np.zeros((3, 28, 28), np.uint8))
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-1])
    wrong = {
        "letter.txt": "is no picture that is known here; use PNG or JPEG",
        "missing.png": "cannot be read: No such file or directory",
        "": "cannot be read: Is a directory",
        "labels": "holds uint8 [3], must hold images: uint8 [examples, 28, 28]",
        "cut": "is truncated: 1 of 2352 bytes are missing",
    }
    files = [str(tmp_path / name) if name else str(tmp_path) for name in wrong]
    assert predict.predict([*files, seven], destination, "json") == predict.FAILED
    out, err = printed(capsys)
    assert [row["class"] for row in json.loads(out)] == [7]
    for file, line, problem in zip(files, err.splitlines(), wrong.values(), strict=True):
        assert line.startswith(file)
        assert line.endswith(problem)


def test_without_a_model_it_says_what_to_do(tmp_path, capsys, seven):
    assert predict.predict([seven], str(tmp_path / "none")) == predict.FAILED
    out, err = printed(capsys)
    assert out == ""
    assert err.endswith("run `make run` first\n")


@pytest.fixture(scope="module")
def model(destination) -> PushedModel:
    return PushedModel.load_current(destination)


@pytest.mark.parametrize("kind", photos.KINDS)
def test_pictures_of_all_kinds_are_recognized_about_as_well_as_mnist(kind, digits, model):
    count = 100

    def accuracy(pixels: np.ndarray) -> float:
        return np.mean(model.predict(pixels)[1] == digits.labels[:count])

    made = [images.prepare(photos.encode(kind(image))).image for image in digits.images[:count]]
    assert accuracy(np.stack(made)) >= accuracy(digits.images[:count]) - 0.05
