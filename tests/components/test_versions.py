"""What counts as a version at a push destination."""

import pytest

from components import versions


def make_version(destination, name, content="graph"):
    folder = destination / name
    (folder / "variables").mkdir(parents=True)
    (folder / "variables" / "variables.index").write_text("weights")
    (folder / "saved_model.pb").write_text(content)
    return folder


def test_versions_are_the_whole_numbered_folders_oldest_first(tmp_path):
    for name in ("1000", "9", "20", "007", "-3", "1.5", "latest", ".unfinished-30", "٣"):
        make_version(tmp_path, name)
    (tmp_path / "40").mkdir()
    (tmp_path / "50").write_text("a file")

    assert versions.versions(str(tmp_path)) == [9, 20, 1000]
    assert versions.current(str(tmp_path)) == 1000
    assert versions.numbers(str(tmp_path)) == [9, 20, 40, 50, 1000]


@pytest.mark.parametrize("exists", [False, True])
def test_a_destination_without_versions_is_no_error(tmp_path, exists):
    destination = tmp_path / "serving"
    if exists:
        destination.mkdir()

    assert versions.versions(str(destination)) == []
    assert versions.current(str(destination)) is None
    assert versions.state(str(destination)) == "none"


def test_require_names_what_is_there(tmp_path):
    make_version(tmp_path, "5")
    make_version(tmp_path, "7")

    assert versions.require(str(tmp_path), 5) == str(tmp_path / "5")
    with pytest.raises(versions.VersionError, match=r"no version 6 at .*; versions there: 5, 7"):
        versions.require(str(tmp_path), 6)
    with pytest.raises(versions.VersionError, match="versions there: none"):
        versions.require(str(tmp_path / "nowhere"), 6)


def test_state_changes_with_the_current_version_and_its_content_only(tmp_path):
    make_version(tmp_path, "1")
    current = make_version(tmp_path, "2")
    before = versions.state(str(tmp_path))
    assert before.startswith("2:")

    make_version(tmp_path / "elsewhere", "9")
    (tmp_path / "1" / "saved_model.pb").write_text("other")
    assert versions.state(str(tmp_path)) == before

    (current / "saved_model.pb").write_text("other")
    assert versions.state(str(tmp_path)) != before

    (current / "saved_model.pb").write_text("graph")
    assert versions.state(str(tmp_path)) == before
    make_version(tmp_path, "3")
    assert versions.state(str(tmp_path)) != before


def test_digest_covers_names_and_where_files_end(tmp_path):
    def digest_of(name, files):
        for path, content in files.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return versions.digest(str(tmp_path / name))

    digests = [
        digest_of("a", {"x": "12", "y": "3"}),
        digest_of("b", {"x": "1", "y": "23"}),
        digest_of("c", {"x": "12", "z": "3"}),
        digest_of("d", {"x": "12", "sub/y": "3"}),
    ]

    assert len(set(digests)) == 4
    assert digest_of("e", {"y": "3", "x": "12"}) == digests[0]
