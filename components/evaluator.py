"""TFX's Evaluator, which also takes a baseline artifact that holds no model."""

from typing import Any

from tfx import types
from tfx.components import Evaluator as TfxEvaluator
from tfx.components.evaluator import executor
from tfx.dsl.components.base import executor_spec
from tfx.types import standard_component_specs

from components import baseline


class Executor(executor.Executor):
    """Evaluates without a baseline when nothing was pushed yet."""

    def Do(
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Runs TFX's executor; see there."""
        key = standard_component_specs.BASELINE_MODEL_KEY
        pushed = [a for a in input_dict.get(key, []) if baseline.pushed_version(a) is not None]
        super().Do({**input_dict, key: pushed}, output_dict, exec_properties)


class Evaluator(TfxEvaluator):
    """TFX's Evaluator with the executor above; same inputs, outputs and parameters."""

    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)
