"""Damaged files for property-based tests.

`make fuzz` looks longer.
"""

import gzip
import os
import struct

from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "500"))


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """Files made from a whole one by up to four accidents; rarely still whole."""
    accidents = st.lists(_accidents(), min_size=1, max_size=4)
    return st.one_of(st.binary(max_size=64), accidents.map(lambda those: _apply(content, those)))


def _accidents() -> st.SearchStrategy:
    position = st.integers(0, 2**16)
    dimension = st.sampled_from([0, 1, 2, 255, 2**16, 2**30, 2**31, 2**32 - 1])
    return st.one_of(
        st.tuples(st.just(_flip), position, st.integers(1, 255)),
        st.tuples(st.just(_cut), position, st.integers(1, 64)),
        st.tuples(st.just(_insert), position, st.binary(min_size=1, max_size=32)),
        st.tuples(st.just(_resize), st.integers(0, 3), dimension),
        st.tuples(st.just(_compress), position, position),
    )


def _apply(content: bytes, accidents) -> bytes:
    for accident, where, what in accidents:
        content = accident(content, where % (len(content) + 1), what)
    return content


def _flip(content: bytes, where: int, mask: int) -> bytes:
    return (
        content[:where]
        + bytes(byte ^ mask for byte in content[where : where + 1])
        + (content[where + 1 :])
    )


def _cut(content: bytes, where: int, length: int) -> bytes:
    return content[:where] + content[where + length :]


def _insert(content: bytes, where: int, piece: bytes) -> bytes:
    return content[:where] + piece + content[where:]


def _resize(content: bytes, number: int, size: int) -> bytes:
    start = 4 + 4 * number
    return content[:start] + struct.pack(">I", size) + content[start + 4 :]


def _compress(content: bytes, *_) -> bytes:
    return gzip.compress(content, mtime=0)
