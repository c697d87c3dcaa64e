"""Whether a run should train at all: is there a reason, compared with the model pushed last?"""

import time
from dataclasses import dataclass, field

from absl import logging
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputDict, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import artifact_utils, standard_artifacts
from tfx.utils import io_utils, path_utils

from components import baseline as baselines
from components import training_record
from components.training_record import TrainingRecord

TRAIN, SKIP = "train", "skip"
_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class Decision:
    """Whether to train, and what speaks for it; no reasons when nothing does."""

    reasons: list[str] = field(default_factory=list)

    @property
    def train(self) -> bool:
        """Whether there is any reason to train."""
        return bool(self.reasons)


def decide(
    *, data: str, code: str, now: float, pushed: TrainingRecord | None, max_age_days: float
) -> Decision:
    """Compares what a model would be trained on now with what the pushed one was trained on.

    Args:
      data: Fingerprint of the training data, as in `training_record.of_examples`.
      code: Fingerprint of the code and the training settings.
      now: Seconds since the epoch.
      pushed: Record of the model pushed last; None where there is no model, or one without record.
      max_age_days: Age from which the pushed model is a reason by itself; 0: never.
    """
    if pushed is None:
        return Decision(["no model with a training record is pushed"])
    reasons = []
    if data != pushed.data:
        reasons.append(f"the data changed: {data[:12]}, was {pushed.data[:12]}")
    if code != pushed.code:
        reasons.append(f"the code or its settings changed: {code[:12]}, was {pushed.code[:12]}")
    age = (now - pushed.trained_at) / _DAY
    if max_age_days and age >= max_age_days:
        reasons.append(f"the pushed model is {age:.1f} days old, {max_age_days:g} are allowed")
    return Decision(reasons)


@component
def RetrainGate(
    examples: InputArtifact[standard_artifacts.Examples],
    baseline: InputArtifact[standard_artifacts.Model],
    code: Parameter[str],
    max_age_days: Parameter[float],
) -> OutputDict(decision=str):
    """Decides whether the nodes from the Trainer on should run.

    Args:
      examples: What the Trainer would read.
      baseline: Output of Baseline, the model pushed last, if any.
      code: Fingerprint of the code and the training settings, as the Trainer records it.
      max_age_days: See `decide`.

    Returns:
      `decision`: `train` or `skip`.
    """
    pushed = None
    if baselines.pushed_version(baseline) is not None:
        pushed = training_record.read(path_utils.serving_model_path(baseline.uri))
    patterns = [
        io_utils.all_files_pattern(artifact_utils.get_split_uri([examples], split))
        for split in ("train", "eval")
    ]
    decision = decide(
        data=training_record.of_examples(patterns),
        code=code,
        now=time.time(),
        pushed=pushed,
        max_age_days=max_age_days,
    )
    reasons = "; ".join(decision.reasons) or "data, code and settings are those of the pushed model"
    logging.info("%s: %s", TRAIN if decision.train else SKIP, reasons)
    return {"decision": TRAIN if decision.train else SKIP}
