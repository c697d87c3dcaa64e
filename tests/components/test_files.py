import pytest

from components.files import write_whole


@pytest.mark.parametrize("before", [None, b"old and longer"])
def test_the_file_has_the_content_and_nothing_else_is_left(tmp_path, before):
    path = tmp_path / "name.txt"
    if before:
        path.write_bytes(before)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_content_and_no_rest(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_whole(path, b"new")
    assert list(tmp_path.iterdir()) == [path]
