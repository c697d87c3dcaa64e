"""What the Evaluator and ModelCheck found about a model, as data and in plain words."""

from dataclasses import dataclass

import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.proto import validation_result_pb2

from components import evaluator, metrics
from components.metrics import Metrics
from components.model_check import reason_not_blessed
from schemas import mnist


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


def read(evaluation_uri: str, model_check_uri: str) -> Verdict:
    """Reads the verdict on a model.

    Args:
      evaluation_uri: Folder of the Evaluator's ModelEvaluation artifact.
      model_check_uri: Folder of ModelCheck's InfraBlessing artifact.

    Raises:
      FileNotFoundError: There is no evaluation in the folder.
    """
    found = evaluator.read(evaluation_uri)
    result = tfma.load_validation_result(evaluation_uri)
    return Verdict(
        metrics=found.model,
        baseline=found.baseline,
        refusals=tuple(_refusals(result, found.model, found.baseline)),
        nothing_new=reason_not_blessed(model_check_uri),
    )


def _refusals(
    result: validation_result_pb2.ValidationResult,
    model: Metrics,
    baseline: Metrics | None,
) -> list[str]:
    sentences = []
    for validation in result.metric_validations_per_slice:
        keys = validation.slice_key.single_slice_keys
        label = keys[0].int64_value if keys else None
        for failure in validation.failures:
            threshold = failure.metric_threshold
            if threshold.HasField("change_threshold"):
                allowed = -threshold.change_threshold.absolute.value
                sentences.append(_fell(model, baseline, label, allowed))
            else:
                least = threshold.value_threshold.lower_bound.value
                sentences.append(_too_low(model, label, least))
    missing = [int(spec.feature_values[mnist.LABEL]) for spec in result.missing_slices]
    sentences += [
        f"class {model.class_names[label]}: the test split has no example of it"
        for label in missing
    ]
    return sorted(sentences)


def _fell(model: Metrics, baseline: Metrics, label: int | None, allowed: float) -> str:
    now, before = _accuracy(model, label), _accuracy(baseline, label)
    sentence = (
        f"{_subject(model, label)} {_text(now)} is {_text(before - now)} below the pushed model's "
        f"{_text(before)}; at most {_text(allowed)} is allowed"
    )
    if label is not None:
        return sentence
    worst, _ = metrics.worst_fall(baseline, model)
    fall = [_text(of.class_accuracies[worst]) for of in (baseline, model)]
    return f"{sentence}; class {model.class_names[worst]} fell most, from {fall[0]} to {fall[1]}"


def _too_low(model: Metrics, label: int | None, least: float) -> str:
    accuracy = _text(_accuracy(model, label))
    sentence = f"{_subject(model, label)} {accuracy} is below {_text(least)}"
    if label is None:
        return sentence
    _, predicted, count = next(mistake for mistake in model.mistakes if mistake[0] == label)
    total = model.class_examples[label]
    return f"{sentence}; most often taken for {model.class_names[predicted]} ({count} of {total})"


def _subject(of: Metrics, label: int | None) -> str:
    return "accuracy" if label is None else f"class {of.class_names[label]}: accuracy"


def _accuracy(of: Metrics, label: int | None) -> float:
    return of.accuracy if label is None else of.class_accuracies[label]


def _text(fraction: float) -> str:
    """Five digits after the point: one of 40,000 test examples (EMNIST) counts for 0.000025."""
    return f"{fraction:.5f}".rstrip("0").rstrip(".")
