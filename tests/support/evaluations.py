"""What an Evaluator might have found, without running one."""

from collections.abc import Mapping

from components.metrics import Evaluation, Metrics
from schemas import data_sets

_NAMES = data_sets.MNIST.label_names


def metrics(
    mistakes: Mapping[tuple[int, int], int] | None = None, examples: int = 100, **changes
) -> Metrics:
    """How a model did that was asked for `examples` of each class.

    Args:
      mistakes: Number of examples by label and predicted class.
      examples: Of each class.
      changes: Other values for the fields.
    """
    confusion = [[0] * len(_NAMES) for _ in _NAMES]
    for label in range(len(_NAMES)):
        confusion[label][label] = examples
    for (label, predicted), count in (mistakes or {}).items():
        confusion[label][label] -= count
        confusion[label][predicted] += count
    right = sum(confusion[label][label] for label in range(len(_NAMES)))
    fields = {
        "accuracy": right / (examples * len(_NAMES)),
        "cross_entropy": 0.05,
        "class_names": _NAMES,
        "confusion": confusion,
    }
    return Metrics(**{**fields, **changes})


def evaluation(model: Metrics | None = None, baseline: Metrics | None = None) -> Evaluation:
    """An evaluation; of a model that takes four 4s for 9s unless told."""
    return Evaluation(model=model or metrics({(4, 9): 4}), baseline=baseline)
