"""What the Evaluator and ModelCheck found about a model, as data and in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.proto import validation_result_pb2
from tensorflow_model_analysis.writers import eval_config_writer

from components.model_check import reason_not_blessed
from pipeline import evaluation
from schemas import mnist


@dataclass(frozen=True)
class Metrics:
    """How a model did on the test split.

    Attributes:
      accuracy: Share of examples whose most probable class is the label, from 0 to 1.
      cross_entropy: Mean over the examples, in nats.
      confusion: Examples by label (row) and predicted class (column); int64 [classes, classes].
    """

    accuracy: float
    cross_entropy: float
    confusion: np.ndarray

    @property
    def examples(self) -> int:
        """Number of examples."""
        return int(self.confusion.sum())

    @property
    def class_accuracies(self) -> np.ndarray:
        """Accuracy over the examples of each class; float64 [classes], NaN where there are none."""
        with np.errstate(invalid="ignore"):
            return self.confusion.diagonal() / self.confusion.sum(axis=1)


@dataclass(frozen=True)
class Verdict:
    """What came out about a model.

    Attributes:
      metrics: Of the model.
      baseline: Of the model that was pushed before; None when there was none.
      refusals: Why the model was refused, one sentence each; empty when it was accepted.
      nothing_new: Why an accepted model need not be pushed; None when it is to be pushed.
    """

    metrics: Metrics
    baseline: Metrics | None
    refusals: tuple[str, ...]
    nothing_new: str | None


def read(evaluation_uri: str, model_check_uri: str, label_names: Sequence[str]) -> Verdict:
    """Reads the verdict on a model.

    Args:
      evaluation_uri: Folder of the Evaluator's ModelEvaluation artifact.
      model_check_uri: Folder of ModelCheck's InfraBlessing artifact.
      label_names: Names of the classes.

    Raises:
      ValueError: There is no evaluation in the folder.
    """
    model, baseline = read_metrics(evaluation_uri)
    result = tfma.load_validation_result(evaluation_uri)
    return Verdict(
        metrics=model,
        baseline=baseline,
        refusals=tuple(_refusals(result, model, baseline, label_names)),
        nothing_new=reason_not_blessed(model_check_uri),
    )


def read_metrics(evaluation_uri: str) -> tuple[Metrics, Metrics | None]:
    """Reads how the model did, and how the model pushed before did, where there was one.

    Args:
      evaluation_uri: Folder of the Evaluator's ModelEvaluation artifact.

    Raises:
      ValueError: There is no evaluation in the folder.
    """
    metrics = _metrics_by_model(evaluation_uri)
    if not metrics:
        raise ValueError(f"{evaluation_uri} holds no evaluation of all test examples")
    baseline = metrics.get(tfma.BASELINE_KEY)
    # TFMA gives the model a name only next to a baseline.
    return metrics[tfma.CANDIDATE_KEY if baseline else ""], baseline


def _metrics_by_model(evaluation_uri: str) -> dict[str, Metrics]:
    """Metrics over all examples, by TFMA's name of the model."""
    config, *_ = eval_config_writer.load_eval_run(evaluation_uri)
    values: dict[str, dict] = {}
    for result in tfma.load_metrics(evaluation_uri):
        if result.slice_key.single_slice_keys:
            continue  # A class: the confusion matrix over all examples says the same.
        for pair in result.metric_keys_and_values:
            if not pair.key.is_diff:
                values.setdefault(pair.key.model_name, {})[pair.key.name] = pair.value
    return {
        model: Metrics(
            accuracy=metrics[evaluation.ACCURACY].double_value.value,
            cross_entropy=metrics[evaluation.CROSS_ENTROPY].double_value.value,
            confusion=_confusion(
                metrics[evaluation.CONFUSION_MATRIX], evaluation.count_classes(config)
            ),
        )
        for model, metrics in values.items()
    }


def _confusion(value, num_classes: int) -> np.ndarray:
    (matrix,) = value.multi_class_confusion_matrix_at_thresholds.matrices
    confusion = np.zeros((num_classes, num_classes), np.int64)
    for entry in matrix.entries:
        confusion[entry.actual_class_id, entry.predicted_class_id] = entry.num_weighted_examples
    return confusion


def _refusals(
    result: validation_result_pb2.ValidationResult,
    model: Metrics,
    baseline: Metrics | None,
    names: Sequence[str],
) -> list[str]:
    sentences = []
    for validation in result.metric_validations_per_slice:
        keys = validation.slice_key.single_slice_keys
        label = keys[0].int64_value if keys else None
        for failure in validation.failures:
            threshold = failure.metric_threshold
            if threshold.HasField("change_threshold"):
                allowed = -threshold.change_threshold.absolute.value
                sentences.append(_fell(model, baseline, label, allowed, names))
            else:
                least = threshold.value_threshold.lower_bound.value
                sentences.append(_too_low(model, label, least, names))
    missing = [names[int(spec.feature_values[mnist.LABEL])] for spec in result.missing_slices]
    sentences += [f"class {name}: the test split has no example of it" for name in missing]
    return sorted(sentences)


def _fell(
    model: Metrics, baseline: Metrics, label: int | None, allowed: float, names: Sequence[str]
) -> str:
    now, before = _accuracy(model, label), _accuracy(baseline, label)
    sentence = (
        f"{_subject(label, names)} {_text(now)} is {_text(before - now)} below the pushed model's "
        f"{_text(before)}; at most {_text(allowed)} is allowed"
    )
    if label is not None:
        return sentence
    worst = int(np.nanargmax(baseline.class_accuracies - model.class_accuracies))
    fall = [_text(metrics.class_accuracies[worst]) for metrics in (baseline, model)]
    return f"{sentence}; class {names[worst]} fell most, from {fall[0]} to {fall[1]}"


def _too_low(model: Metrics, label: int | None, least: float, names: Sequence[str]) -> str:
    accuracy = _text(_accuracy(model, label))
    sentence = f"{_subject(label, names)} {accuracy} is below {_text(least)}"
    if label is None:
        return sentence
    wrong = model.confusion[label].copy()
    wrong[label] = 0
    total = model.confusion[label].sum()
    other = names[wrong.argmax()]
    return f"{sentence}; most often taken for {other} ({wrong.max()} of {total})"


def _subject(label: int | None, names: Sequence[str]) -> str:
    return "accuracy" if label is None else f"class {names[label]}: accuracy"


def _accuracy(metrics: Metrics, label: int | None) -> float:
    return metrics.accuracy if label is None else metrics.class_accuracies[label]


def _text(fraction: float) -> str:
    """Five digits after the point: one of 40,000 test examples (EMNIST) counts for 0.000025."""
    return f"{fraction:.5f}".rstrip("0").rstrip(".")
