"""The command, with what it prints and how it ends."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from components import idx
from pipeline.cli import app
from schemas import data_sets, mnist
from tests.support import idx_folders


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A data set with as many examples of each class, and the same with each even label 0."""
    folder = tmp_path_factory.mktemp("drift")
    even = idx_folders.arrays(train=600, test=500)
    uneven = dict(even)
    for name in list(mnist.FILES)[1::2]:
        labels = np.arange(len(even[name])) % data_sets.MNIST.num_classes
        even[name] = labels.astype(np.uint8)
        uneven[name] = np.where(labels % 2, labels, 0).astype(np.uint8)
    one, two = (
        idx_folders.write(folder / name, made) for name, made in (("one", even), ("two", uneven))
    )
    return str(one), str(two)


def run(*arguments):
    return CliRunner().invoke(app, ["drift", *arguments])


def test_no_drift(folders):
    result = run(folders[0], folders[0])
    assert result.exit_code == 0, result.output
    assert f"reference {folders[0]}: 600 train, 500 test" in result.output
    assert "drift" not in result.output.replace(folders[0], "")
    assert "chance" not in result.output


def test_shards_are_no_drift(folders, tmp_path):
    arrays = {name: idx.read(f"{folders[0]}/{name}") for name in mnist.FILES}
    shards = idx_folders.write(tmp_path / "shards", idx_folders.sharded(arrays, train=5))
    result = run(folders[0], str(shards), "--json")
    assert result.exit_code == 0, result.output
    assert {each["divergence"] for each in json.loads(result.stdout)["distances"]} == {0}
    assert f"other     {shards}: 600 train, 500 test" in run(folders[0], str(shards)).output


def test_drift_is_told_feature_by_feature(folders):
    result = run(*folders)
    assert result.exit_code == 3, result.output
    rows = [line.split() for line in result.output.splitlines() if line.startswith("test ")]
    assert rows[0] == ["test", "label", "0.3050", "0.02", "drift"]
    assert rows[1] == ["test", "intensity", "0.0000", "0.05", "ok"]
    assert max(map(len, result.output.replace(folders[1], "").splitlines())) < 100


def test_json(folders):
    result = run(*folders, "--json")
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert (report["reference"], report["other"]) == folders
    assert report["drifted"] is True
    [label] = [d for d in report["distances"] if (d["split"], d["feature"]) == ("test", "label")]
    assert label["drifted"] is True and label["divergence"] > label["threshold"] == 0.02


def test_few_images_are_remarked_upon(tmp_path):
    few = str(idx_folders.make(tmp_path / "few"))
    assert "fewer than 500 images in a file, chance alone may" in run(few, few).output


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("none", "none: cannot be read as a folder of IDX files"),
        ("ftp://host/a", "a folder or an http(s) address, got ftp://host/a"),
        ("http://127.0.0.1:9/a", "data.sha256 must name the files"),
    ],
)
def test_a_data_set_that_is_not_to_be_had(folders, other, message):
    result = run(folders[0], other)
    assert result.exit_code == 2
    assert message in result.output and "Traceback" not in result.output


def test_data_sets_of_other_classes_are_not_compared(folders):
    result = run("emnist-letters", "mnist")
    assert result.exit_code == 2
    assert "emnist-letters" in result.output
    result = run(folders[0], "emnist-letters")
    assert result.exit_code == 2
    assert "emnist-letters has 26 classes and the reference 10" in " ".join(result.output.split())


def test_two_addresses_cannot_share_their_hashes():
    result = run("http://127.0.0.1:9/a", "http://127.0.0.1:9/b")
    assert result.exit_code == 2
    assert "data.sha256 is for one address" in result.output
