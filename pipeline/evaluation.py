"""What the Evaluator measures on the test split, and what a model must reach to be pushed."""

from collections.abc import Iterable

from tensorflow_model_analysis.proto import config_pb2

from components.metrics import ACCURACY, CONFUSION_MATRIX, CROSS_ENTROPY
from schemas import mnist

# Accuracies are float32: one at a threshold must not fail by a rounding.
_ROUNDING = 1e-6

OVERALL = config_pb2.SlicingSpec()


def eval_config(
    *,
    num_classes: int,
    min_accuracy: float,
    min_class_accuracy: float,
    max_accuracy_drop: float,
    max_class_accuracy_drop: float,
) -> config_pb2.EvalConfig:
    """The configuration of the Evaluator: metrics overall and per class, and their thresholds.

    Without a baseline model, the Evaluator leaves the thresholds on drops aside.

    Args:
      num_classes: Number of classes.
      min_accuracy: Least accuracy over all test examples, from 0 to 1.
      min_class_accuracy: Least accuracy over the test examples of each class, from 0 to 1.
      max_accuracy_drop: Most that the accuracy may lie below the baseline model's, from 0 to 1.
      max_class_accuracy_drop: The same for the accuracy of each class.
    """
    classes = [class_slice(label) for label in range(num_classes)]
    # A `threshold` would hold for every slice alike, so each slice gets its own. Naming each class
    # makes a class that is missing from the test split a failure too.
    thresholds = [
        _threshold([OVERALL], min_accuracy, max_accuracy_drop),
        _threshold(classes, min_class_accuracy, max_class_accuracy_drop),
    ]
    metrics = [
        _metric("SparseCategoricalAccuracy", f'{{"name": "{ACCURACY}"}}', thresholds),
        _metric("SparseCategoricalCrossentropy", f'{{"name": "{CROSS_ENTROPY}"}}'),
        _metric(
            "MultiClassConfusionMatrixAtThresholds",
            # Below every probability: the most probable class always counts as predicted.
            f'{{"name": "{CONFUSION_MATRIX}", "thresholds": [-1.0]}}',
        ),
    ]
    return config_pb2.EvalConfig(
        model_specs=[
            config_pb2.ModelSpec(
                # Without it, TFMA first tries to load the SavedModel as a Keras model.
                model_type="tf_generic",
                signature_name="serving_default",
                label_key=mnist.LABEL,
                prediction_key="probabilities",
            )
        ],
        slicing_specs=[OVERALL, config_pb2.SlicingSpec(feature_keys=[mnist.LABEL])],
        metrics_specs=[config_pb2.MetricsSpec(metrics=metrics)],
    )


def class_slice(label: int) -> config_pb2.SlicingSpec:
    """The slice of the examples of one class."""
    return config_pb2.SlicingSpec(feature_values={mnist.LABEL: str(label)})


def _metric(
    class_name: str,
    config: str,
    thresholds: Iterable[config_pb2.PerSliceMetricThreshold] = (),
) -> config_pb2.MetricConfig:
    return config_pb2.MetricConfig(
        class_name=class_name, config=config, per_slice_thresholds=thresholds
    )


def _threshold(
    slices: list[config_pb2.SlicingSpec], least: float, most_drop: float
) -> config_pb2.PerSliceMetricThreshold:
    value = config_pb2.GenericValueThreshold(lower_bound={"value": least - _ROUNDING})
    change = config_pb2.GenericChangeThreshold(
        absolute={"value": -most_drop - _ROUNDING},
        direction=config_pb2.MetricDirection.HIGHER_IS_BETTER,
    )
    return config_pb2.PerSliceMetricThreshold(
        slicing_specs=slices,
        threshold=config_pb2.MetricThreshold(value_threshold=value, change_threshold=change),
    )
