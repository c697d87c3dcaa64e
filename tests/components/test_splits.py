import numpy as np
import pytest

from components import splits


def choose(train=60_000, test=10_000, eval_examples=5_000, **limits):
    return splits.choose(train, test, eval_examples=eval_examples, **limits)


def test_sizes_of_the_default():
    chosen = choose()
    assert [len(chosen.train), len(chosen.eval), len(chosen.test)] == [55_000, 5_000, 10_000]


def test_train_and_eval_divide_the_train_files():
    chosen = choose()
    assert np.array_equal(np.sort(np.r_[chosen.train, chosen.eval]), np.arange(60_000))
    assert np.array_equal(chosen.test, np.arange(10_000))


@pytest.mark.parametrize("split", ["train", "eval", "test"])
def test_positions_increase(split):
    positions = getattr(choose(train_limit=7_777, test_limit=333), split)
    assert np.all(np.diff(positions) > 0)


def test_the_choice_never_changes():
    # A pushed model's eval split must mean the same after an update of NumPy.
    assert choose().eval[:5].tolist() == [6, 20, 31, 42, 53]
    assert choose(train_limit=10).train[:3].tolist() == [3293, 10291, 15617]


@pytest.mark.parametrize(
    "labels",
    [
        np.sort(np.arange(60_000) % 10),
        np.arange(60_000) % 10,
        np.arange(60_000) // 12 % 10,
        np.random.default_rng(1).integers(0, 10, 60_000),
    ],
    ids=["sorted", "in turns", "in runs", "shuffled"],
)
@pytest.mark.parametrize(("split", "size"), [("eval", 5_000), ("train", 6_000)])
def test_each_class_gets_its_share_however_the_file_is_sorted(labels, split, size):
    rows = getattr(choose(train_limit=6_000), split)
    share = np.bincount(labels[rows], minlength=10) / size
    whole = np.bincount(labels, minlength=10) / len(labels)
    # Four standard deviations of a random sample; most of these orders stay far below.
    assert np.all(np.abs(share - whole) < 4 * np.sqrt(whole * (1 - whole) / size))


def test_a_limit_above_what_there_is_takes_all():
    chosen = choose(train_limit=10**6, test_limit=10_000)
    assert [len(chosen.train), len(chosen.test)] == [55_000, 10_000]


def test_train_limit_does_not_touch_eval():
    assert np.array_equal(choose(train_limit=5).eval, choose().eval)


@pytest.mark.parametrize("count", [0, -1, 60, 61])
def test_eval_examples_must_leave_something_to_train_on(count):
    with pytest.raises(ValueError, match=f"eval_examples must be from 1 to 59.*got {count}"):
        choose(train=60, eval_examples=count)


@pytest.mark.parametrize("limit", ["train_limit", "test_limit"])
def test_limits_are_not_negative(limit):
    with pytest.raises(ValueError, match=f"{limit} must be .*got -1"):
        choose(**{limit: -1})


def test_smallest_data_set():
    chosen = choose(train=2, test=1, eval_examples=1)
    assert sorted([*chosen.train, *chosen.eval]) == [0, 1]
    assert chosen.test.tolist() == [0]
