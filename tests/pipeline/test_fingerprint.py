import sys

import pytest

from pipeline import fingerprint


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "somepackage"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "code.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    sys.modules.pop("somepackage", None)


def test_the_same_code_gives_the_same_fingerprint(package):
    assert fingerprint.of_code("somepackage") == fingerprint.of_code("somepackage")


@pytest.mark.parametrize("change", ["content", "name", "new", "moved"])
def test_any_change_of_code_changes_it(package, change):
    before = fingerprint.of_code("somepackage")
    code = package / "inner" / "code.py"
    if change == "content":
        code.write_text("x = 2\n")
    elif change == "name":
        code.rename(package / "inner" / "other.py")
    elif change == "new":
        (package / "more.py").write_text("")
    else:
        code.rename(package / "code.py")
    assert fingerprint.of_code("somepackage") != before


def test_nested_packages_can_be_left_out(package):
    before = fingerprint.of_code("somepackage", nested=False)
    (package / "inner" / "code.py").write_text("x = 2\n")
    assert fingerprint.of_code("somepackage", nested=False) == before
    (package / "__init__.py").write_text("y = 1\n")
    assert fingerprint.of_code("somepackage", nested=False) != before


def test_what_is_no_code_does_not_matter(package):
    before = fingerprint.of_code("somepackage")
    (package / "notes.txt").write_text("hello")
    assert fingerprint.of_code("somepackage") == before


def test_another_stack_is_another_fingerprint(package, monkeypatch):
    before = fingerprint.of_code("somepackage")
    monkeypatch.setattr(fingerprint.metadata, "version", lambda name: "0.0")
    assert fingerprint.of_code("somepackage") != before
