import gzip
import hashlib
import io
import json
import pickle
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tfx.dsl.components.base import base_driver
from tfx.types import artifact_utils, standard_artifacts

from components import example_gen, example_shards, idx, label_noise, mnist_files, splits
from components.example_gen import MnistExampleGen
from components.idx import IdxError
from components.mnist_names import Pair
from components.trainer import inputs
from pipeline import data
from pipeline.data_settings import DataSettings
from schemas import data_sets, mnist
from tests.support import idx_folders
from tests.support.ingest import BEAM, generate

TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = mnist.FILES


@pytest.fixture(autouse=True)
def _no_command_line(monkeypatch):
    monkeypatch.setattr(sys, "argv", sys.argv[:1])  # TFX parses it


@pytest.fixture
def folder(tmp_path):
    return idx_folders.make(tmp_path / "idx")


def read(examples, split) -> list[bytes]:
    folder = artifact_utils.get_split_uri([examples], split)
    files = sorted(str(path) for path in Path(folder).iterdir())
    return [record.numpy() for record in tf.data.TFRecordDataset(files, compression_type="GZIP")]


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_example_of_the_files_is_in_its_split(folder, tmp_path):
    examples = generate(folder, tmp_path / "out")
    made = idx_folders.arrays()
    chosen = splits.choose(60, 20, eval_examples=10)
    for split, prefix in (("train", "train"), ("eval", "train"), ("test", "t10k")):
        rows = getattr(chosen, split)
        batch = inputs.decode(tf.constant(read(examples, split)))
        images, labels = (made[f"{prefix}-{kind}-ubyte"] for kind in ("images-idx3", "labels-idx1"))
        assert np.array_equal(batch[mnist.IMAGE], images[rows])
        assert np.array_equal(batch[mnist.LABEL], labels[rows])


def test_an_example_has_two_features_of_one_value(folder, tmp_path):
    [first, *_] = read(generate(folder, tmp_path / "out"), "test")
    features = tf.train.Example.FromString(first).features.feature
    assert set(features) == {mnist.IMAGE, mnist.LABEL}
    [image] = features[mnist.IMAGE].bytes_list.value
    assert image == idx_folders.arrays()[TEST_IMAGES][0].tobytes()
    assert features[mnist.LABEL].int64_list.value == [0]


def test_the_artifact_says_what_it_holds(folder, tmp_path):
    examples = generate(folder, tmp_path / "out")
    assert artifact_utils.decode_split_names(examples.split_names) == list(mnist.SPLITS)
    counts = json.loads(examples.get_string_custom_property("counts"))
    assert counts == {"train": 50, "eval": 10, "test": 20}
    assert examples.get_string_custom_property("payload_format") == "FORMAT_TF_EXAMPLE"
    assert examples.get_string_custom_property("file_format") == "tfrecords_gzip"


def test_shards_are_named_as_tfx_names_them(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(example_shards, "EXAMPLES_PER_SHARD", 20)
    generate(folder, tmp_path / "out")
    assert sorted(digests(tmp_path / "out")) == [
        "Split-eval/data_tfrecord-00000-of-00001.gz",
        "Split-test/data_tfrecord-00000-of-00001.gz",
        *(f"Split-train/data_tfrecord-0000{number}-of-00003.gz" for number in range(3)),
        "data_quality.json",
    ]


def test_what_is_found_in_the_files_lies_beside_the_splits(folder, tmp_path):
    images = idx.read(str(folder / TEST_IMAGES)).copy()
    images[7] = idx_folders.arrays()[TRAIN_IMAGES][3]
    idx.write(folder / TEST_IMAGES, images)
    generate(folder, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "data_quality.json").read_text())
    assert found["test_overlap"] == {"count": 1, "total": 20, "first": ["train 3 = test 7"]}
    assert found["constant_images"] == {"count": 0, "total": 80, "first": []}


def test_output_is_the_same_bytes_each_time(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(example_shards, "EXAMPLES_PER_SHARD", 7)
    zipped = idx_folders.make(tmp_path / "zipped", suffix=".gz")
    threads = [*BEAM, "--direct_running_mode=multi_threading", "--direct_num_workers=4"]
    for name, source, beam in (("a", folder, BEAM), ("b", folder, threads), ("c", zipped, BEAM)):
        generate(source, tmp_path / name, beam)
    assert digests(tmp_path / "a") == digests(tmp_path / "b") == digests(tmp_path / "c")


@pytest.mark.parametrize("shards", [1, 2, 3, 13])
def test_a_data_set_in_shards_gives_the_same_bytes(folder, tmp_path, monkeypatch, shards):
    monkeypatch.setattr(example_shards, "EXAMPLES_PER_SHARD", 7)
    files = idx_folders.sharded(idx_folders.arrays(), train=shards, test=min(shards, 5))
    sharded = idx_folders.write(
        tmp_path / "shards", {f"{name}.gz": part for name, part in files.items()}
    )
    threads = [*BEAM, "--direct_running_mode=multi_threading", "--direct_num_workers=4"]
    fingerprint = mnist_files.check(str(folder), data_sets.MNIST.labels).fingerprint
    generate(folder, tmp_path / "a")
    generate(sharded, tmp_path / "b", threads, fingerprint=fingerprint)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def work_on(folder, output, rows) -> example_shards.Work:
    pair = Pair(str(folder / TRAIN_IMAGES), str(folder / TRAIN_LABELS))
    shards = (example_shards.Shard(output, len(rows)),)
    return example_shards.Work((example_shards.Source.at(pair, rows),), shards)


def test_a_worker_that_comes_second_writes_the_same(folder, tmp_path):
    work = work_on(folder, f"{tmp_path}/o/x.gz", np.arange(5))
    example_gen.write_shards(pickle.loads(pickle.dumps(work)))
    first = digests(tmp_path / "o")
    example_gen.write_shards(work)
    assert digests(tmp_path / "o") == first
    assert list(first) == ["x.gz"]


def test_the_files_are_read_about_as_often_as_there_are_splits(tmp_path, monkeypatch):
    """However many shards are written, and though nobody can begin in the middle of a gzip."""
    monkeypatch.setattr(example_shards, "EXAMPLES_PER_SHARD", 10)
    files = idx_folders.sharded(idx_folders.arrays(train=600, test=200), train=8, test=3)
    folder = idx_folders.write(
        tmp_path / "idx", {f"{name}.gz": part for name, part in files.items()}
    )
    size = sum(path.stat().st_size for path in folder.iterdir())
    data_set = mnist_files.check(str(folder), data_sets.MNIST.labels)
    chosen = splits.choose(600, 200, eval_examples=50)
    examples = standard_artifacts.Examples()
    examples.uri = str(tmp_path / "out")
    examples.split_names = artifact_utils.encode_split_names(list(mnist.SPLITS))
    work = example_gen._plan(data_set, chosen, examples, 0, False)
    read = Counted()
    monkeypatch.setattr(example_gen, "_open", read)
    monkeypatch.setattr(idx, "_CHUNK", 4 * 784)
    for each in work:
        example_gen.write_shards(each)
    assert sum(len(each.shards) for each in work) == 55 + 5 + 20
    assert len(work) >= 8 + 1 + 3
    assert size < read.bytes < 2.2 * size


class Counted:
    """Opens files and counts the bytes that are read from them."""

    bytes = 0

    def __call__(self, path):
        counter = self

        class File(io.FileIO):
            def read(self, size=-1):
                content = super().read(size)
                counter.bytes += len(content)
                return content

        return File(path)


def test_a_data_set_like_emnist_gives_the_same_bytes_as_its_upright_original(tmp_path):
    """Images column by column, labels from 1, and files of EMNIST's names make no difference."""
    upright = idx_folders.arrays(classes=26)
    kept = [
        array.swapaxes(1, 2) if array.ndim == 3 else array + np.uint8(1)
        for array in upright.values()
    ]
    letters = dict(zip(data_sets.EMNIST_LETTERS.files, kept, strict=True))
    one = idx_folders.write(tmp_path / "upright", upright)
    two = idx_folders.write(tmp_path / "letters", letters)
    generate(one, tmp_path / "a", num_classes=26)
    generate(two, tmp_path / "b", num_classes=26, first_label=1, transposed=1)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_labels_outside_of_the_data_sets_own_are_refused(tmp_path):
    folder = idx_folders.make(tmp_path / "idx")  # labels 0 to 9
    for properties, label in (({"first_label": 1}, "0"), ({"num_classes": 9}, "9")):
        with pytest.raises(IdxError, match=f"label {label} of example"):
            generate(folder, tmp_path / "out", **properties)


def test_limits(folder, tmp_path):
    examples = generate(folder, tmp_path / "out", train_limit=7, test_limit=3)
    assert [len(read(examples, split)) for split in mnist.SPLITS] == [7, 10, 3]


def test_real_mnist(tmp_path):
    folder = data.fetch(DataSettings(directory=str(tmp_path / "data")))
    fingerprint = mnist_files.check(folder, data_sets.MNIST.labels).fingerprint
    examples = generate(
        folder,
        tmp_path / "out",
        fingerprint=fingerprint,
        eval_examples=500,
        train_limit=1_000,
        test_limit=500,
    )
    rows = splits.choose(60_000, 10_000, eval_examples=500, test_limit=500).test
    batch = inputs.decode(tf.constant(read(examples, "test")))
    assert np.array_equal(batch[mnist.IMAGE], idx.read(f"{folder}/{TEST_IMAGES}")[rows])
    assert np.array_equal(batch[mnist.LABEL], idx.read(f"{folder}/{TEST_LABELS}")[rows])
    train = inputs.decode(tf.constant(read(examples, "train")))
    assert set(train[mnist.LABEL].numpy()) == set(data_sets.MNIST.labels)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "has no file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is truncated"),
        (lambda path: path.write_bytes(b"<html>not found</html>"), "is no IDX file"),
        (lambda path: idx.write(path, np.full(20, 10, np.uint8)), "label 10 of example 0"),
        (lambda path: idx.write(path, np.zeros(19, np.uint8)), "has 20 images, but"),
    ],
    ids=["missing", "truncated", "web page", "label", "disagree"],
)
def test_bad_input_is_refused_before_anything_is_written(folder, tmp_path, damage, reason):
    damage(folder / TEST_LABELS)
    with pytest.raises(IdxError, match=reason) as caught:
        generate(folder, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_storage_errors_are_plain(tmp_path):
    with pytest.raises(IdxError, match="none: cannot be read as a folder of IDX files"):
        generate(tmp_path / "none", tmp_path / "out")
    with pytest.raises(IdxError, match=r"none: cannot be read: .*No such file or directory"):
        idx.read(str(tmp_path / "none"), example_gen.storage())


def test_numbers_out_of_range_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="eval_examples must be from 1 to 59"):
        generate(folder, tmp_path / "out", eval_examples=60)
    assert not (tmp_path / "out").exists()


def test_data_that_changed_since_the_pipeline_was_made_is_refused(folder, tmp_path):
    before = mnist_files.check(str(folder), data_sets.MNIST.labels).fingerprint
    generate(folder, tmp_path / "one", fingerprint=before)
    images = idx.read(str(folder / TEST_IMAGES))
    idx.write(folder / TEST_IMAGES, images[::-1])
    after = mnist_files.check(str(folder), data_sets.MNIST.labels).fingerprint
    with pytest.raises(RuntimeError, match=f"has changed.*{after}, {before} is expected"):
        generate(folder, tmp_path / "two", fingerprint=before)
    assert not (tmp_path / "two").exists()


def test_reading_holds_little_of_a_file(tmp_path, monkeypatch):
    """A worker never holds an images file, only about a MiB of it."""
    folder = idx_folders.make(tmp_path / "idx", train=20_000)
    largest = 0
    read_piece = idx._pieces

    def watch(content, size, path):
        nonlocal largest
        largest = max(largest, size)
        return read_piece(content, size, path)

    monkeypatch.setattr(idx, "_pieces", watch)
    work = work_on(folder, str(tmp_path / "x.gz"), np.arange(0, 20_000, 3))
    example_gen.write_shards(work)
    assert 784 < largest <= 1 << 20


def test_memory_does_not_grow_with_the_images(tmp_path, monkeypatch):
    """From the check to the last shard, on 75 MiB of images in a few gzipped bytes."""
    monkeypatch.setattr(label_noise, "_POOL", 1_000)
    count = 100_000
    folder = idx_folders.make(tmp_path / "idx", suffix=".gz")
    images = np.zeros((count, mnist.HEIGHT, mnist.WIDTH), np.uint8)
    images[::1_000] = 1
    with gzip.open(folder / f"{TRAIN_IMAGES}.gz", "wb", compresslevel=1) as file:
        file.write(idx.Header(images.dtype, images.shape).pack() + images.tobytes())
    size = images.nbytes
    del images
    idx.write(
        folder / f"{TRAIN_LABELS}.gz", np.arange(count, dtype=np.uint32).astype(np.uint8) % 10
    )
    tracemalloc.start()
    generate(folder, tmp_path / "out", eval_examples=1_000, train_limit=2_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20 < size / 3


def test_the_fingerprints_of_content_and_code_are_part_of_the_cache_key():
    component = MnistExampleGen(
        input_base="in",
        fingerprint="abc",
        num_classes=26,
        transposed=True,
        eval_examples=5,
        code="def",
    )
    assert component.exec_properties == {
        "input_base": "in",
        "fingerprint": "abc",
        "num_classes": 26,
        "first_label": 0,
        "transposed": 1,
        "eval_examples": 5,
        "train_limit": 0,
        "test_limit": 0,
        "code": "def",
    }
    assert set(component.outputs) == {"examples"}


def test_no_driver_hook_is_needed():
    assert MnistExampleGen.DRIVER_CLASS is base_driver.BaseDriver
