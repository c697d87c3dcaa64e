"""Where a model comes from: data, code, settings, software."""

import json
import os
from datetime import datetime, timezone

from tensorflow.core.protobuf import saved_model_pb2
from tfx.utils import path_utils

from components import baseline, calls, training_record, versions
from pipeline.report.runs import Record


def facts(run: Record) -> dict[str, str]:
    """What identifies the model of a run and all that it was made from, by name."""
    ingest = run.nodes["MnistExampleGen"].parameters
    trainer = json.loads(run.nodes["Trainer"].parameters["custom_config"])
    model = run.output("Trainer", "model")
    folder = path_utils.serving_model_path(model.uri)
    record = training_record.read(folder)
    before = baseline.pushed_version(run.output("Baseline", "model"))
    return {
        "Run": run.name,
        "Data": ingest["input_base"],
        "Data fingerprint": ingest["fingerprint"],
        "Schema fingerprint": versions.digest(run.output("ImportSchemaGen", "schema").uri),
        "Code fingerprint": trainer["code"],
        "Model": model.uri,
        "Model trained": _time(record.trained_at) if record else "not recorded",
        "Compared with": "nothing, it is the first" if before is None else f"version {before}",
        "Architecture": calls.call(trainer["train"]["model"], trainer["train"]["model_arguments"]),
        "Optimizer": calls.optimizer(trainer["optimizer"]),
        "TensorFlow": _tensorflow_version(folder),
        "TFX": model.get_string_custom_property("tfx_version"),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def _tensorflow_version(model: str) -> str:
    """Of the TensorFlow that exported a SavedModel, from the model itself."""
    with open(os.path.join(model, versions.SAVED_MODEL), "rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    return saved.meta_graphs[0].meta_info_def.tensorflow_version
