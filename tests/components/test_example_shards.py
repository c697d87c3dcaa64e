import pickle

import numpy as np
import pytest

from components import example_shards
from components.example_shards import Shard, Source
from components.mnist_names import Pair


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch):
    monkeypatch.setattr(example_shards, "EXAMPLES_PER_SHARD", 10)


def plan(sizes, rows):
    pairs = [Pair(f"images{number}", f"labels{number}") for number in range(len(sizes))]
    return example_shards.plan(pairs, sizes, np.asarray(rows), "out")


def positions(work, sizes):
    """Of all examples that are read, in order."""
    starts = np.cumsum([0, *sizes])
    return [
        int(starts[int(source.pair.images.removeprefix("images"))] + row)
        for each in work
        for source in each.sources
        for row in source.rows
    ]


@pytest.mark.parametrize(
    "sizes", [[100], [50, 50], [1, 99], [99, 1], [7] * 14 + [2], [25] * 4, [1] * 100], ids=str
)
@pytest.mark.parametrize("step", [1, 3, 60])
def test_every_example_is_read_once_and_the_shards_are_those_of_one_file(sizes, step):
    rows = np.arange(0, 100, step)
    work = plan(sizes, rows)
    assert positions(work, sizes) == rows.tolist()
    shards = [shard for each in work for shard in each.shards]
    parts = np.array_split(rows, -(-len(rows) // 10))
    assert shards == [
        Shard(f"out/data_tfrecord-{number:05d}-of-{len(parts):05d}.gz", len(part))
        for number, part in enumerate(parts)
    ]
    for each in work:
        read = sum(len(source.rows) for source in each.sources)
        assert read == sum(shard.examples for shard in each.shards)


def test_one_worker_goes_through_one_file():
    [work] = plan([100], range(100))
    assert [source.pair.images for source in work.sources] == ["images0"]
    assert len(work.shards) == 10


def test_as_many_workers_as_large_files():
    work = plan([40, 40, 40], range(120))
    assert [len(each.shards) for each in work] == [4, 4, 4]
    assert [[s.pair.images for s in each.sources] for each in work] == [
        ["images0"],
        ["images1"],
        ["images2"],
    ]


def test_a_shard_over_two_files_belongs_to_the_first():
    first, second = plan([25, 35], range(60))
    assert [(s.pair.images, len(s.rows)) for s in first.sources] == [
        ("images0", 25),
        ("images1", 5),
    ]
    assert [(s.pair.images, s.rows[0], len(s.rows)) for s in second.sources] == [("images1", 5, 30)]


@pytest.mark.parametrize("size", [1, 4, 10, 12, 50, 1_000])
def test_little_is_read_twice(size):
    """Up to the last example that it needs, a worker unpacks each of its gzipped files."""
    sizes = [size] * (3_000 // size)
    work = plan(sizes, np.arange(3_000))
    unpacked = sum(int(source.rows[-1]) + 1 for each in work for source in each.sources)
    assert unpacked <= 1.25 * 3_000
    assert len(work) >= min(len(sizes), 3_000 // 50)


@pytest.mark.parametrize("rows", [[0], [7], [8], [0, 1, 2], [3, 500, 501], range(1_000)], ids=str)
def test_a_source_has_its_rows(rows):
    source = Source.at(Pair("images", "labels"), np.array(rows))
    assert source.rows.dtype == np.int64 and source.rows.tolist() == list(rows)


def test_work_travels_to_another_process_and_is_small(monkeypatch):
    monkeypatch.setattr(example_shards, "EXAMPLES_PER_SHARD", 5_000)
    work = plan([60_000], np.flatnonzero(np.arange(60_000) % 12))
    sent = pickle.dumps(work)
    assert pickle.loads(sent) == work
    assert len(sent) < 9_000
