"""TFX's Evaluator, which also takes a baseline artifact that holds no model."""

import os
from collections.abc import Sequence
from typing import Any

import tensorflow_model_analysis as tfma
from tfx import types
from tfx.components import Evaluator as TfxEvaluator
from tfx.components.evaluator import executor
from tfx.dsl.components.base import executor_spec
from tfx.types import artifact_utils, standard_component_specs
from tfx.utils import io_utils, path_utils

from components import baseline, labels, metrics
from components.metrics import Evaluation, Metrics


class Executor(executor.Executor):
    """Evaluates without a baseline when nothing was pushed yet, and sums up in a JSON file."""

    def Do(
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Runs TFX's executor, see there; then writes `metrics.FILE` beside what it wrote."""
        key = standard_component_specs.BASELINE_MODEL_KEY
        pushed = [a for a in input_dict.get(key, []) if baseline.pushed_version(a) is not None]
        super().Do({**input_dict, key: pushed}, output_dict, exec_properties)
        folder = artifact_utils.get_single_uri(output_dict[standard_component_specs.EVALUATION_KEY])
        model = artifact_utils.get_single_uri(input_dict[standard_component_specs.MODEL_KEY])
        names = labels.read(path_utils.serving_model_path(model))
        text = summarize(folder, names).model_dump_json()
        io_utils.write_string_file(os.path.join(folder, metrics.FILE), text)


class Evaluator(TfxEvaluator):
    """TFX's Evaluator with the executor above; same inputs, outputs and parameters."""

    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)


def read(evaluation_uri: str) -> Evaluation:
    """Reads what the Evaluator found.

    Args:
      evaluation_uri: Folder of its ModelEvaluation artifact, local or `gs://...`.

    Raises:
      FileNotFoundError: There is no evaluation in the folder.
      pydantic.ValidationError: The file is damaged.
    """
    text = io_utils.read_string_file(os.path.join(evaluation_uri, metrics.FILE))
    return Evaluation.model_validate_json(text)


def summarize(evaluation_uri: str, class_names: Sequence[str]) -> Evaluation:
    """Reads from what TFX's executor wrote how the model and the one pushed before did.

    Args:
      evaluation_uri: Folder of its ModelEvaluation artifact.
      class_names: Names of the classes, in the order of their numbers.

    Raises:
      ValueError: There is no evaluation in the folder.
    """
    by_model = _metrics_by_model(evaluation_uri, class_names)
    if not by_model:
        raise ValueError(f"{evaluation_uri} holds no evaluation of all test examples")
    pushed = by_model.get(tfma.BASELINE_KEY)
    # TFMA gives the model a name only next to a baseline.
    return Evaluation(model=by_model[tfma.CANDIDATE_KEY if pushed else ""], baseline=pushed)


def _metrics_by_model(folder: str, class_names: Sequence[str]) -> dict[str, Metrics]:
    """Metrics over all examples, by TFMA's name of the model."""
    values: dict[str, dict] = {}
    for result in tfma.load_metrics(folder):
        if result.slice_key.single_slice_keys:
            continue  # A class: the confusion matrix over all examples says the same.
        for pair in result.metric_keys_and_values:
            if not pair.key.is_diff:
                values.setdefault(pair.key.model_name, {})[pair.key.name] = pair.value
    return {
        model: Metrics(
            accuracy=of[metrics.ACCURACY].double_value.value,
            cross_entropy=of[metrics.CROSS_ENTROPY].double_value.value,
            class_names=tuple(class_names),
            confusion=_confusion(of[metrics.CONFUSION_MATRIX], len(class_names)),
        )
        for model, of in values.items()
    }


def _confusion(value, classes: int) -> list[list[int]]:
    (matrix,) = value.multi_class_confusion_matrix_at_thresholds.matrices
    confusion = [[0] * classes for _ in range(classes)]
    for entry in matrix.entries:
        count = round(entry.num_weighted_examples)
        confusion[entry.actual_class_id][entry.predicted_class_id] = count
    return confusion
