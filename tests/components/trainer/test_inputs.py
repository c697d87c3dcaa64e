import itertools

import numpy as np
import pytest
import tensorflow as tf

from components.trainer import inputs
from components.trainer import strategy as strategies
from components.trainer.image_file import ImageFile


def serialize(image: bytes, label: int | None) -> bytes:
    feature = {"image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image]))}
    if label is not None:
        feature["label"] = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


@pytest.fixture
def numbered(examples):
    """11 examples; the first pixel is the number of the example."""
    data = examples(11)
    data["image"][:, 0, 0] = np.arange(11)
    return data


@pytest.fixture(params=["in memory", "in a file"])
def kept(request, numbered):
    """The same examples, kept in either way."""
    if request.param == "in memory":
        return numbered
    file = ImageFile()
    file.append(numbered["image"])
    return {**numbered, "image": file}


@pytest.fixture
def files(tmp_path, numbered):
    """Two files, of 7 and 4 examples."""
    data = numbered
    paths = []
    for name, rows in [("a.gz", range(7)), ("b.gz", range(7, 11))]:
        paths.append(str(tmp_path / name))
        with tf.io.TFRecordWriter(paths[-1], "GZIP") as writer:
            for row in rows:
                writer.write(serialize(data["image"][row].tobytes(), int(data["label"][row])))
    return paths, data


def order(batches, count=None):
    """The numbers of the examples, batch by batch."""
    return [batch["image"][:, 0, 0].numpy().tolist() for batch in batches.take(count or -1)]


def test_decode_gives_back_the_bytes(examples):
    data = examples(3)
    serialized = [
        serialize(image.tobytes(), int(label))
        for image, label in zip(data["image"], data["label"], strict=True)
    ]
    batch = inputs.decode(tf.constant(serialized))
    assert batch["image"].dtype == tf.uint8 and batch["label"].dtype == tf.int64
    np.testing.assert_array_equal(batch["image"], data["image"])
    np.testing.assert_array_equal(batch["label"], data["label"])


def test_decode_without_a_label():
    batch = inputs.decode(tf.constant([serialize(bytes(784), None)]))
    assert batch["label"].numpy().tolist() == [-1]


@pytest.mark.parametrize("size", [0, 783, 785, 1568])
def test_decode_refuses_an_image_of_the_wrong_size(size):
    serialized = [serialize(bytes(784), 1), serialize(bytes(size), 1)]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must hold 784 bytes"):
        inputs.decode(tf.constant(serialized))


def test_load_keeps_the_order_of_the_files(files, tmp_path):
    paths, data = files
    for pattern in (paths, str(tmp_path / "*.gz")):
        loaded = inputs.load(pattern)
        assert loaded["image"].dtype == np.uint8 and loaded["label"].dtype == np.int64
        np.testing.assert_array_equal(loaded["image"], data["image"])
        np.testing.assert_array_equal(loaded["label"], data["label"])


@pytest.mark.parametrize(("images", "on_disk"), [(11, False), (10, True), (7, True), (0, True)])
def test_load_keeps_no_more_in_memory_than_it_may(files, monkeypatch, images, on_disk):
    monkeypatch.setattr(inputs, "_PARSE_BATCH", 2)
    paths, data = files
    loaded = inputs.load(paths, memory_bytes=images * 784)
    assert isinstance(loaded["image"], ImageFile) == on_disk
    found = loaded["image"].take(np.arange(11)) if on_disk else loaded["image"]
    np.testing.assert_array_equal(found, data["image"])
    np.testing.assert_array_equal(loaded["label"], data["label"])


def test_load_without_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no TFRecord file matches"):
        inputs.load(str(tmp_path / "none-*"))


def test_a_file_without_examples(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "empty.gz"), "GZIP"):
        pass
    loaded = inputs.load(str(tmp_path / "*"))
    assert loaded["image"].shape == (0, 28, 28) and loaded["label"].shape == (0,)
    with pytest.raises(ValueError, match="no examples to train on"):
        inputs.training(loaded, 4, seed=0)


def test_one_pass_keeps_order_and_the_partial_batch(kept):
    batches = inputs.one_pass(kept, 4)
    assert order(batches) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


def test_training_shuffles_anew_in_each_pass_and_repeats_by_its_seed(kept):
    first = order(inputs.training(kept, 4, seed=3), 6)
    assert [len(batch) for batch in first] == [4, 4, 3, 4, 4, 3]
    passes = [list(itertools.chain(*first[:3])), list(itertools.chain(*first[3:]))]
    assert passes[0] != passes[1] and passes[0] != list(range(11))
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(11))
    assert first == order(inputs.training(kept, 4, seed=3), 6)
    assert first != order(inputs.training(kept, 4, seed=4), 6)


@pytest.mark.parametrize("start", range(7))
def test_training_goes_on_from_any_step(kept, start):
    whole = order(inputs.training(kept, 4, seed=3), 10)
    assert order(inputs.training(kept, 4, seed=3, start=start), 10 - start) == whole[start:]


def test_every_place_of_a_pass_sees_every_example():
    numbered = {"image": np.zeros([7, 28, 28], np.uint8), "label": np.arange(7)}
    batches = inputs.training(numbered, 7, seed=0).take(2000)
    orders = np.array([batch["label"] for batch in batches])
    for place in range(7):
        counts = np.bincount(orders[:, place], minlength=7)
        # Binomial(2000, 1/7): mean 286, standard deviation 16.
        assert np.all(np.abs(counts - 2000 / 7) < 5 * 16), counts


def test_no_tuner_holds_up_the_end_of_an_iterator(numbered):
    strategy = strategies.create("default")
    for batches in (inputs.training(numbered, 4, seed=0), inputs.one_pass(numbered, 4)):
        distributed = inputs.distribute(strategy, batches, 4)
        assert distributed.options().autotune.enabled is False


def test_pad():
    batch = {"image": tf.ones([3, 28, 28], tf.uint8), "label": tf.constant([1, 2, 3], tf.int64)}
    padded = inputs.pad(batch, 5)
    assert padded["label"].numpy().tolist() == [1, 2, 3, 0, 0]
    assert padded["weight"].numpy().tolist() == [1, 1, 1, 0, 0]
    assert padded["image"].shape == [5, 28, 28] and not padded["image"].numpy()[3:].any()
    weighted = inputs.pad({**batch, "weight": tf.constant([0.5, 0.0, 2.0])}, 4)
    assert weighted["weight"].numpy().tolist() == [0.5, 0, 2, 0]


@pytest.mark.parametrize("name", ["default", "one_device", "mirrored:4"])
@pytest.mark.parametrize("padded", [True, False])
def test_distribute_gives_each_example_to_one_replica(kept, name, padded):
    strategy = strategies.create(name)
    batches = inputs.one_pass(kept, 6)
    seen, sizes = [], []
    for batch in inputs.distribute(strategy, batches, 6, padded=padded):
        parts = [strategy.experimental_local_results(value) for value in batch.values()]
        for part in zip(*parts, strict=True):
            slice_ = dict(zip(batch, part, strict=True))
            kept = slice_["weight"] > 0 if padded else slice_["label"] > -1
            seen += slice_["image"].numpy()[kept.numpy(), 0, 0].tolist()
            sizes.append(len(slice_["label"]))
    assert seen == list(range(11))
    if padded:
        assert len(set(sizes)) == 1 and sum(sizes) % 2 == 0
    else:
        assert sum(sizes) == 11
