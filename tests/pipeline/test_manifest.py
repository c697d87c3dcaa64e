import os

import pytest

from pipeline import manifest


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "artifact" / "variables").mkdir(parents=True)
    (tmp_path / "artifact" / "graph").write_text("graph")
    (tmp_path / "artifact" / "variables" / "data").write_bytes(bytes(1000))
    return tmp_path / "artifact"


def truncate(folder):
    os.truncate(folder / "variables" / "data", 999)


def flip_a_bit(folder):
    content = bytearray((folder / "variables" / "data").read_bytes())
    content[500] ^= 1
    (folder / "variables" / "data").write_bytes(content)


def delete(folder):
    (folder / "variables" / "data").unlink()


def delete_all(folder):
    (folder / "variables" / "data").unlink()
    (folder / "variables").rmdir()
    (folder / "graph").unlink()
    folder.rmdir()


def swap(folder):
    (folder / "graph").rename(folder / "other")
    (folder / "variables" / "data").rename(folder / "graph")
    (folder / "other").rename(folder / "variables" / "data")


def add(folder):
    (folder / "variables" / "more").touch()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (truncate, "variables/data has changed"),
        (flip_a_bit, "variables/data has changed"),
        (delete, "variables/data is missing"),
        (delete_all, "graph is missing"),
        (swap, "graph has changed"),
        (add, "variables/more was added"),
    ],
)
def test_names_the_file_and_what_became_of_it(folder, damage, problem):
    recorded = manifest.of(folder)
    assert manifest.difference(folder, recorded) is None
    damage(folder)
    assert manifest.difference(folder, recorded) == f"{folder}/{problem}"


def test_times_and_places_do_not_matter(folder, tmp_path):
    recorded = manifest.of(folder)
    os.utime(folder / "graph", (0, 0))
    moved = folder.rename(tmp_path / "elsewhere")
    assert manifest.difference(moved, recorded) is None


def test_one_file(tmp_path):
    file = tmp_path / "value"
    file.write_text("1")
    recorded = manifest.of(file)
    assert list(recorded) == ["."]
    assert manifest.difference(file, recorded) is None
    file.write_text("2")
    assert manifest.difference(file, recorded) == f"{file} has changed"
    file.unlink()
    assert manifest.difference(file, recorded) == f"{file} is missing"
