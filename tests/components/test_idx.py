import bz2
import contextlib
import gzip
import io
import lzma
import os
import pickle
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from components import idx
from components.idx import IdxError, Storage
from tests.support.fuzz import EXAMPLES, damaged

ARRAY = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
HEADER = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 3, 4)
CONTENT = HEADER + ARRAY.tobytes()


def memory(content: bytes) -> Storage:
    """A storage whose every file has this content."""
    return Storage(lambda path: io.BytesIO(content), lambda path: [], (OSError,))


def refuses(content: bytes, reason: str) -> None:
    for stored in (content, gzip.compress(content)):
        with pytest.raises(IdxError, match=reason) as caught:
            idx.read("some/path", memory(stored))
        assert caught.value.path == "some/path"
        assert str(caught.value) == f"some/path: {caught.value.reason}"


def test_reads_the_format_as_it_is_defined():
    assert np.array_equal(idx.read("", memory(CONTENT)), ARRAY)
    assert np.array_equal(idx.read("", memory(gzip.compress(CONTENT))), ARRAY)


@pytest.mark.parametrize("name", ["file", "file.gz"])
def test_writes_what_it_reads(tmp_path, name):
    idx.write(tmp_path / name, ARRAY)
    content = (tmp_path / name).read_bytes()
    assert (gzip.decompress(content) if name.endswith(".gz") else content) == CONTENT
    assert np.array_equal(idx.read(str(tmp_path / name)), ARRAY)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@given(
    numpy_strategies.arrays(
        st.sampled_from([">u1", ">i1", ">i2", ">i4", ">f4", ">f8"]),
        numpy_strategies.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5),
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip_of_every_type_and_shape(tmp_path, array):
    idx.write(tmp_path / "file", array)
    again = idx.read(str(tmp_path / "file"))
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


def test_writing_the_same_gives_the_same_bytes(tmp_path):
    for name in ("one.gz", "two.gz"):
        idx.write(tmp_path / name, ARRAY)
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


@pytest.mark.parametrize("array", [np.uint8(1), np.zeros(2, np.int64), np.zeros(2, "U1")])
def test_refuses_to_write_what_the_format_cannot_hold(tmp_path, array):
    with pytest.raises(ValueError, match="IDX cannot hold"):
        idx.write(tmp_path / "file", np.asarray(array))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    idx.write(tmp_path / "file", ARRAY)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(idx.Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        idx.write(tmp_path / "file", ARRAY + 1)
    assert np.array_equal(idx.read(str(tmp_path / "file")), ARRAY)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "truncated: 4 of 4 bytes"),
        (CONTENT[:3], "truncated: 1 of 4 bytes"),
        (CONTENT[:10], "truncated: 6 of 12 bytes"),
        (CONTENT[:-1], "truncated: 1 of 24 bytes"),
        (HEADER, "truncated: 24 of 24 bytes"),
        (CONTENT + b"\0", r"goes on after the uint8 \[2, 3, 4\]"),
        (b"\x89PNG" + CONTENT, "no IDX file: it begins with the bytes 89 50 4e 47"),
        (b"<!DOCTYPE html>", "no IDX file"),
        (bytes([0, 0, 7, 3]) + CONTENT[4:], "no IDX file"),  # no such type
        (bytes([0, 0, 8, 0]), "no IDX file"),  # no dimensions
        (bytes([0, 0, 8, 33]) + bytes(200), "no IDX file"),  # more than an array can have
        (bytes([0, 1, 8, 3]) + CONTENT[4:], "no IDX file"),
    ],
)
def test_refuses_what_is_not_whole(content, reason):
    refuses(content, reason)


@pytest.mark.parametrize(
    ("content", "cure"),
    [
        (gzip.compress(CONTENT), "it is gzipped twice; unpack it once"),
        (b"PK\3\4" + CONTENT, "it is a zip archive; unpack it"),
        (bz2.compress(CONTENT), "it is a bzip2 file; unpack it"),
        (lzma.compress(CONTENT), "it is an xz file; unpack it"),
        (b"<html>404</html>", "it is a web page; the download went wrong"),
        (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS"),
        (b"\x93NUMPY\1\0", "it is a NumPy file; write it as IDX"),
    ],
    ids=["gzip", "zip", "bzip2", "xz", "web page", "Git LFS", "NumPy"],
)
def test_says_what_a_foreign_file_is(content, cure):
    with pytest.raises(IdxError, match=f"no IDX file: it begins with .*; {cure}"):
        idx.read("f", memory(gzip.compress(content)))


def test_a_named_pipe_and_a_device_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(IdxError, match=f"{path}: cannot be read: is no regular file"):
            idx.read_header(path)


def test_refuses_a_truncated_gzip():
    stored = gzip.compress(CONTENT)
    for length in range(2, len(stored)):
        with pytest.raises(IdxError, match="gzip stream is truncated"):
            idx.read("f", memory(stored[:length]))


def test_refuses_a_gzip_with_a_wrong_checksum():
    stored = bytearray(gzip.compress(CONTENT))
    stored[-8] ^= 1
    with pytest.raises(IdxError, match=r"gzip stream is corrupt.*CRC"):
        idx.read("f", memory(bytes(stored)))


def test_refuses_bytes_after_a_gzip():
    with pytest.raises(IdxError, match="gzip stream is corrupt"):
        idx.read("f", memory(gzip.compress(CONTENT) + b"more"))


def test_says_what_the_system_says(tmp_path):
    with pytest.raises(IdxError, match="none: cannot be read: No such file or directory"):
        idx.read(str(tmp_path / "none"))
    with pytest.raises(IdxError, match="cannot be read: Is a directory"):
        idx.read(str(tmp_path))


@pytest.mark.parametrize("shape", [(2**32 - 1,) * 3, (0, 2**32 - 1, 2**32 - 1), (2**30 + 1,)])
def test_refuses_a_header_that_announces_too_much(shape):
    refuses(bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape), "1 GiB")


def test_a_bomb_is_not_unpacked_past_what_the_header_admits():
    bomb = gzip.compress(CONTENT + bytes(256 << 20))
    tracemalloc.start()
    with pytest.raises(IdxError, match="goes on after"):
        idx.read("bomb", memory(bomb))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 << 20


@pytest.mark.parametrize(
    "take",
    [
        lambda storage: sum_of_pieces(storage),
        lambda storage: sum(block.nbytes for block in idx.read_blocks("f", storage)),
        lambda storage: len(list(idx.read_rows("f", [0, (64 << 20) - 1], storage))),
    ],
    ids=["scan", "read_blocks", "read_rows"],
)
def test_a_large_file_is_held_a_piece_at_a_time(take):
    count = 64 << 20
    bomb = gzip.compress(bytes([0, 0, 8, 1]) + struct.pack(">I", count) + bytes(count))
    tracemalloc.start()
    taken = take(memory(bomb))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken in (count, 2)
    assert peak < 8 << 20


def sum_of_pieces(storage):
    sizes = []
    idx.scan("f", lambda piece: sizes.append(len(piece)), storage)
    return sum(sizes)


@settings(max_examples=EXAMPLES, deadline=None)
@given(damaged(CONTENT))
def test_fuzz_raises_nothing_but_its_own_error(content):
    with contextlib.suppress(IdxError):
        array = idx.read("f", memory(content))
        plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        assert plain[4 + 4 * array.ndim :] == array.tobytes()
    with contextlib.suppress(IdxError):
        for _ in idx.read_blocks("f", memory(content)):
            pass


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("rows", [[], [0], [4999], [0, 1, 2], [3, 2000, 4998], range(5000)])
def test_read_rows(tmp_path, rows, compressed):
    array = np.random.default_rng(0).integers(0, 256, (5000, 28, 28), np.uint8)
    path = tmp_path / ("file.gz" if compressed else "file")
    idx.write(path, array)
    read = list(idx.read_rows(str(path), rows))
    assert np.array_equal(np.reshape(read, (-1, 28, 28)), array[list(rows)])


@pytest.mark.parametrize("shape", [(0, 3), (1,), (5000, 28, 28)])
def test_read_blocks(tmp_path, shape):
    array = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    idx.write(tmp_path / "file.gz", array)
    blocks = list(idx.read_blocks(str(tmp_path / "file.gz")))
    assert np.array_equal(np.concatenate([np.empty_like(array[:0]), *blocks]), array)
    assert all(block.nbytes <= 1 << 20 for block in blocks)
    assert len(blocks) == -(-array.nbytes // (1337 * 784)) if len(shape) == 3 else len(blocks) <= 1


def test_read_blocks_notices_truncation():
    with pytest.raises(IdxError, match="truncated"):
        list(idx.read_blocks("f", memory(CONTENT[:-1])))


def test_read_rows_refuses_a_row_that_is_not_there():
    with pytest.raises(IdxError, match="has 2 rows, none at 2"):
        list(idx.read_rows("f", [1, 2], memory(CONTENT)))


@pytest.mark.parametrize("rows", [[1, 0], [1, 1]])
def test_read_rows_refuses_rows_that_do_not_increase(rows):
    with pytest.raises(ValueError, match="rows must increase"):
        list(idx.read_rows("f", rows, memory(CONTENT)))


def test_read_rows_notices_truncation():
    with pytest.raises(IdxError, match="truncated"):
        list(idx.read_rows("f", [0, 1], memory(CONTENT[:-1])))


def test_the_error_survives_pickling():
    error = pickle.loads(pickle.dumps(IdxError("a/b", "is odd")))
    assert (error.path, error.reason, str(error)) == ("a/b", "is odd", "a/b: is odd")
