"""Reads and writes IDX, the file format of MNIST and of the data sets made in its image.

An IDX file is two zero bytes, a byte for the element type, a byte for the number of dimensions,
each dimension as a big-endian uint32, and then the elements, row by row
(LeCun, Cortes and Burges, "The MNIST database of handwritten digits").
Files may be gzipped; their content says whether they are, not their name.
"""

import contextlib
import gzip
import math
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from components.files import write_whole

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"

# What other files begin with, and what to do about it.
_FOREIGN = {
    _GZIP: "it is gzipped twice; unpack it once",
    b"PK\3\4": "it is a zip archive; unpack it",
    b"BZh": "it is a bzip2 file; unpack it, or gzip its content",
    b"\xfd7zX": "it is an xz file; unpack it, or gzip its content",
    b"<": "it is a web page; the download went wrong, get the file again",
    b"vers": "it is a pointer of Git LFS; run `git lfs pull` where it came from",
    b"\x93NUM": "it is a NumPy file; write it as IDX with `components.idx.write`",
}

# Twice the largest data set in this format (EMNIST by class). A few bytes of gzip may stand for
# terabytes of zeros: what a header admits is read, but no header may admit more than this.
MAX_BYTES = 1 << 30

# As many dimensions as NumPy 1 has.
_MAX_RANK = 32

# Bytes held at a time.
_CHUNK = 1 << 20


class IdxError(ValueError):
    """A file, or a folder of them, is not what it must be.

    Attributes:
      path: The file or folder.
      reason: What is wrong with it.
    """

    def __init__(self, path: str | os.PathLike, reason: str):
        super().__init__(f"{os.fspath(path)}: {reason}")
        self.path = os.fspath(path)
        self.reason = reason

    def __reduce__(self):
        return type(self), (self.path, self.reason)


@dataclass(frozen=True)
class Storage:
    """Where files are: how to open one for reading, list a folder, and what that raises."""

    open: Callable[[str], IO[bytes]]
    listdir: Callable[[str], Sequence[str]]
    errors: tuple[type[Exception], ...]


def _open(path: str) -> IO[bytes]:
    # Opening a named pipe would wait for a writer; a device has no end.
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(f"is no regular file ({stat.filemode(mode)[0]} in `ls -l`)")
    return open(path, "rb")


LOCAL = Storage(_open, os.listdir, (OSError,))


@dataclass(frozen=True)
class Header:
    """What a file says it holds."""

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of one entry of the first dimension."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def data_bytes(self) -> int:
        """Bytes after the header."""
        return self.shape[0] * self.row_bytes

    @property
    def data_offset(self) -> int:
        """Bytes of the header."""
        return 4 + 4 * len(self.shape)

    def pack(self) -> bytes:
        """What a file begins with."""
        code = next(c for c, name in _TYPES.items() if np.dtype(name) == self.dtype)
        return struct.pack(f">HBB{len(self.shape)}I", 0, code, len(self.shape), *self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.newbyteorder('=')} {list(self.shape)}"


def read_header(path: str, storage: Storage = LOCAL) -> Header:
    """Reads what a file says it holds, and nothing else.

    Raises:
      IdxError: It cannot be read or is no IDX file.
    """
    with _content(path, storage) as content:
        return _header(content, path)


def read(path: str, storage: Storage = LOCAL) -> np.ndarray:
    """Reads a whole file.

    Returns:
      The array in the file's shape and type (big-endian where that makes a difference).

    Raises:
      IdxError: It cannot be read, is no IDX file, is damaged, or is not as long as it says.
    """
    data = bytearray()
    header = scan(path, data.extend, storage)
    return np.frombuffer(data, header.dtype).reshape(header.shape)


def scan(path: str, take: Callable[[bytes], None], storage: Storage = LOCAL) -> Header:
    """Reads a whole file, a piece of at most 1 MiB at a time.

    Args:
      path: The file.
      take: Called with each piece of the elements' bytes, in order.
      storage: Where the file is.

    Returns:
      The header.

    Raises:
      IdxError: As for `read`.
    """
    with _content(path, storage) as content:
        header = _header(content, path)
        for piece in _pieces(content, header.data_bytes, path):
            take(piece)
        # Also what makes gzip compare its checksum.
        if content.read(1):
            raise IdxError(path, f"goes on after the {header} that its header announces")
    return header


def read_rows(path: str, rows: Sequence[int], storage: Storage = LOCAL) -> Iterator[np.ndarray]:
    """Reads some entries of the first dimension, holding about 1 MiB of them at a time.

    Args:
      path: The file.
      rows: Their positions, in increasing order.
      storage: Where the file is.

    Yields:
      Array of shape `header.shape[1:]` for each of `rows`.

    Raises:
      IdxError: As for `read`, or the file has no such row.
      ValueError: `rows` do not increase.
    """
    rows = np.asarray(rows, np.int64)
    if np.any(np.diff(rows) <= 0):
        raise ValueError("rows must increase, each one once")
    with _content(path, storage) as content:
        header = _header(content, path)
        per_block = max(1, _CHUNK // max(1, header.row_bytes))
        first = 0
        while first < len(rows):
            start = int(rows[first])
            last = int(np.searchsorted(rows, start + per_block))
            count = int(rows[last - 1]) + 1 - start
            if not 0 <= start <= start + count <= header.shape[0]:
                raise IdxError(path, f"has {header.shape[0]} rows, none at {start + count - 1}")
            content.seek(header.data_offset + start * header.row_bytes)
            yield from _rows(content, header, count, path)[rows[first:last] - start]
            first = last


def read_blocks(path: str, storage: Storage = LOCAL) -> Iterator[np.ndarray]:
    """Reads a whole file, about 1 MiB of it at a time.

    Args:
      path: The file.
      storage: Where the file is.

    Yields:
      Array of shape `[rows, *header.shape[1:]]`; together they are the file, in order.

    Raises:
      IdxError: As for `read`.
    """
    with _content(path, storage) as content:
        header = _header(content, path)
        per_block = max(1, _CHUNK // max(1, header.row_bytes))
        for start in range(0, header.shape[0], per_block):
            yield _rows(content, header, min(per_block, header.shape[0] - start), path)


def write(path: str | os.PathLike, array: np.ndarray) -> None:
    """Writes an array, under a temporary name first; gzipped where `path` ends in `.gz`.

    Args:
      path: The file; replaced when it exists.
      array: At least one dimension; one of IDX's types.

    Raises:
      ValueError: IDX cannot hold the array.
    """
    path = Path(path)
    header = Header(array.dtype.newbyteorder(">"), array.shape)
    if header.dtype not in map(np.dtype, _TYPES.values()) or not 1 <= array.ndim <= _MAX_RANK:
        raise ValueError(f"IDX cannot hold {array.dtype} {list(array.shape)}")
    content = header.pack() + array.astype(header.dtype).tobytes()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_whole(path, content)


def why(error: Exception) -> str:
    """What a storage's error says, without the path and without the operation's details."""
    return getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)


@contextlib.contextmanager
def _content(path: str, storage: Storage) -> Iterator[IO[bytes]]:
    """The uncompressed content, any failure to read it as an IdxError."""
    try:
        with storage.open(path) as file:
            compressed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            if compressed:
                with gzip.GzipFile(fileobj=file) as content:
                    yield content
            else:
                yield file
    except EOFError:
        raise IdxError(path, "the gzip stream is truncated; get the file again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise IdxError(path, f"the gzip stream is corrupt ({error}); get the file again") from None
    except storage.errors as error:
        raise IdxError(path, f"cannot be read: {why(error)}") from None


def _header(content: IO[bytes], path: str) -> Header:
    magic = b"".join(_pieces(content, 4, path))
    zeros, code, rank = magic[:2], magic[2], magic[3]
    if zeros != b"\0\0" or code not in _TYPES or not 1 <= rank <= _MAX_RANK:
        guess = next((text for start, text in _FOREIGN.items() if magic.startswith(start)), "")
        raise IdxError(
            path,
            f"is no IDX file: it begins with the bytes {magic.hex(' ')}, "
            "where 00 00, a type and a number of dimensions must be"
            + (f"; {guess}" if guess else ""),
        )
    shape = struct.unpack(f">{rank}I", b"".join(_pieces(content, 4 * rank, path)))
    header = Header(np.dtype(_TYPES[code]), shape)
    # A dimension of 0 must not hide others whose product no array can have.
    if header.dtype.itemsize * math.prod(max(1, size) for size in shape) > MAX_BYTES:
        raise IdxError(path, f"announces {header}, more than the {MAX_BYTES >> 30} GiB admitted")
    return header


def _rows(content: IO[bytes], header: Header, count: int, path: str) -> np.ndarray:
    """The next `count` entries of the first dimension."""
    block = b"".join(_pieces(content, count * header.row_bytes, path))
    return np.frombuffer(block, header.dtype).reshape(count, *header.shape[1:])


def _pieces(content: IO[bytes], size: int, path: str) -> Iterator[bytes]:
    """Exactly `size` bytes, at most `_CHUNK` at a time."""
    left = size
    while left:
        piece = content.read(min(left, _CHUNK))
        if not piece:
            raise IdxError(path, f"is truncated: {left} of {size} bytes are missing")
        left -= len(piece)
        yield piece
