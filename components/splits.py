"""Which examples of the files go to which split: the same ones every time.

Labels play no part in it, and neither does the order of the files: whether they are shuffled,
sorted by class or go through the classes in turns, a split gets about its share of each class.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Splits:
    """Positions in the train files (`train`, `eval`) and test files (`test`), increasing."""

    train: np.ndarray
    eval: np.ndarray
    test: np.ndarray


def choose(
    train_examples: int,
    test_examples: int,
    *,
    eval_examples: int,
    train_limit: int = 0,
    test_limit: int = 0,
) -> Splits:
    """Divides a data set.

    Args:
      train_examples: Examples in the train files.
      test_examples: Examples in the test files.
      eval_examples: Examples of the train files that go to the eval split.
      train_limit: At most this many of the others go to the train split; 0 is all.
      test_limit: At most this many of the test files go to the test split; 0 is all.

    Raises:
      ValueError: A number is out of range.
    """
    if not 0 < eval_examples < train_examples:
        raise ValueError(
            f"eval_examples must be from 1 to {train_examples - 1}, as the train files have "
            f"{train_examples} examples, got {eval_examples}"
        )
    for name, limit in (("train_limit", train_limit), ("test_limit", test_limit)):
        if limit < 0:
            raise ValueError(f"{name} must be a number of examples, or 0 for all, got {limit}")
    evaluation = _sample(train_examples, eval_examples)
    others = np.setdiff1d(np.arange(train_examples), evaluation, assume_unique=True)
    return Splits(
        train=others[_limited(len(others), train_limit)],
        eval=evaluation,
        test=_limited(test_examples, test_limit),
    )


def _limited(population: int, limit: int) -> np.ndarray:
    return _sample(population, min(limit or population, population))


def _sample(population: int, size: int) -> np.ndarray:
    """One position at random from each of `size` stretches of (nearly) equal length."""
    bounds = np.arange(size + 1) * population // size
    # NumPy promises that the legacy generator's numbers never change.
    offsets = np.random.RandomState(0).random_sample(size) * np.diff(bounds)
    return bounds[:-1] + offsets.astype(np.int64)
