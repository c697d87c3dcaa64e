"""What a model was trained on and when, kept inside the model so that it goes where the model goes.

The record lies in `assets.extra`, the folder of a SavedModel that TensorFlow leaves to others.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict
from tfx.dsl.io import fileio
from tfx.utils import io_utils

FILE = os.path.join("assets.extra", "training.json")
# The keys of the Trainer's custom_config that decide what model comes out.
_DECISIVE = ("code", "label_names", "optimizer", "train")


class TrainingDetails(BaseModel):
    """What people ask of a training.

    Attributes:
      source: Fingerprint of the code alone, without the settings.
      train: The settings of the Trainer, resolved.
      optimizer: The optimizer's name and its arguments.
      examples: Number of examples by split.
      weights: Number of values in the model's weights.
      epoch: The epoch that was exported, counted from 1.
      eval_accuracy: Of that epoch on the eval split, from 0 to 1.
      warm_start: What was taken over from the model pushed before; None for a start from nothing.
      software: Versions of Python and of the modules that matter, by name.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str
    train: dict[str, Any]
    optimizer: dict[str, Any]
    examples: dict[str, int]
    weights: int
    epoch: int
    eval_accuracy: float
    warm_start: str | None
    software: dict[str, str]


class TrainingRecord(BaseModel):
    """The record of one training.

    Attributes:
      data: `of_examples` of the files that were trained on.
      code: `of_config` of the Trainer's `custom_config`.
      trained_at: Seconds since the epoch.
      details: For people; nothing is decided by them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    data: str
    code: str
    trained_at: float
    details: TrainingDetails | None = None


def of_examples(patterns: Sequence[str]) -> str:
    """SHA-256 in hex of the content of TFRecord files, whatever folder they lie in.

    Args:
      patterns: File patterns, e.g. the Trainer's `train_files` and `eval_files`.

    Raises:
      FileNotFoundError: A pattern matches no file.
    """
    total = hashlib.sha256()
    for pattern in patterns:
        files = sorted(fileio.glob(pattern))
        if not files:
            raise FileNotFoundError(f"no files match {pattern}")
        for file in files:
            with fileio.open(file, "rb") as stream:
                content = stream.read()
            total.update(f"{os.path.basename(file)}\0{len(content)}\0".encode())
            total.update(hashlib.sha256(content).digest())
    return total.hexdigest()


def of_config(custom_config: Mapping[str, Any]) -> str:
    """SHA-256 in hex of the code and the settings that the Trainer gets.

    Args:
      custom_config: The Trainer's; keys that only say where it runs do not count.

    Raises:
      KeyError: It lacks `code`, `label_names`, `optimizer` or `train`.
    """
    decisive = {key: custom_config[key] for key in _DECISIVE}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def write(model: str, record: TrainingRecord) -> None:
    """Writes the record into the SavedModel in the folder `model`."""
    io_utils.write_string_file(os.path.join(model, FILE), record.model_dump_json())


def read(model: str) -> TrainingRecord | None:
    """The record of the SavedModel in the folder `model`; None when it has none.

    Raises:
      pydantic.ValidationError: The file is not a record.
    """
    file = os.path.join(model, FILE)
    if not fileio.exists(file):
        return None
    return TrainingRecord.model_validate_json(io_utils.read_string_file(file))
