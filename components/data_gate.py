"""Ends the run when the data is not as it must be: ExampleValidator only takes note."""

import json
import os
from collections.abc import Sequence

from absl import logging
from tensorflow_metadata.proto.v0 import anomalies_pb2, statistics_pb2
from tfx.components.example_validator.executor import DEFAULT_FILE_NAME as _ANOMALIES_FILE
from tfx.components.statistics_gen import stats_artifact_utils
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.io import fileio
from tfx.types import artifact, artifact_utils, standard_artifacts
from tfx.utils import io_utils

from components import data_findings, data_limits, data_problems
from components.data_findings import Finding
from components.data_limits import DataLimits
from schemas import mnist


class DataError(ValueError):
    """The data is not as it must be; each line of the message is one thing wrong with it."""


@component
def DataGate(
    examples: InputArtifact[standard_artifacts.Examples],
    anomalies: InputArtifact[standard_artifacts.ExampleAnomalies],
    statistics: InputArtifact[standard_artifacts.ExampleStatistics],
    schema: InputArtifact[standard_artifacts.Schema],
    report: OutputArtifact[standard_artifacts.String],
    label_names: Parameter[str],
    limits: Parameter[str] = "{}",
    code: Parameter[str] = "",
) -> None:
    """Raises unless every split is as the schema says and the files are within the limits.

    Args:
      examples: Output of MnistExampleGen.
      anomalies: Output of ExampleValidator.
      statistics: Output of a StatisticsGen that was given the schema.
      schema: The schema.
      report: Output, for nodes to depend on: JSON with `counts`, the examples of each class in each
        split; `findings`, of `data_quality.measure`; `warnings`, a list of lines.
      label_names: Names of the classes, as JSON.
      limits: `DataLimits`, as JSON.
      code: Fingerprint of the code, for the cache key alone.

    Raises:
      DataError: A split has an anomaly, is empty, lacks a class, or has images of another size; or
        there is more in the files than the limits admit.
      ValueError: The statistics were made without the schema, or of no split.
    """
    contract = io_utils.SchemaReader().read(
        io_utils.get_only_uri_in_dir(artifact_utils.get_single_uri([schema]))
    )
    splits = artifact_utils.decode_split_names(statistics.split_names)
    if not splits:
        raise ValueError(f"the statistics at {statistics.uri} are of no split; nothing to check")
    problems, found, names = [], {}, json.loads(label_names)
    for split in splits:
        split_statistics = read_statistics(statistics, split)
        split_problems = data_problems.describe(
            split_statistics, read_anomalies(anomalies, split), contract
        )
        problems += [f"{split} split: {problem}" for problem in split_problems]
        if not split_problems:
            found[split] = class_counts(split_statistics, names)
    findings = _read_findings(examples)
    admitted = DataLimits.model_validate_json(limits)
    problems += [f"files: {problem}" for problem in data_limits.problems(findings, admitted)]
    if problems:
        raise DataError("the data is not as it must be\n" + "\n".join(problems))
    warnings = data_limits.warnings(findings, found, admitted)
    for warning in warnings:
        logging.warning("%s", warning)
    report.write(
        json.dumps(
            {"counts": found, "findings": data_findings.as_json(findings), "warnings": warnings}
        )
    )


def class_counts(
    statistics: statistics_pb2.DatasetFeatureStatistics, label_names: Sequence[str]
) -> dict[str, int]:
    """Examples of each class, by its name."""
    counts = data_problems.value_counts(data_problems.by_name(statistics)[mnist.LABEL])
    return {label_names[label]: count for label, count in counts.items()}


def read_statistics(
    statistics: artifact.Artifact, split: str
) -> statistics_pb2.DatasetFeatureStatistics:
    """StatisticsGen's statistics of a split."""
    return stats_artifact_utils.load_statistics(statistics, split).proto().datasets[0]


def read_anomalies(anomalies: artifact.Artifact, split: str) -> anomalies_pb2.Anomalies:
    """What ExampleValidator found in a split."""
    folder = artifact_utils.get_split_uri([anomalies], split)
    with fileio.open(os.path.join(folder, _ANOMALIES_FILE), "rb") as file:
        return anomalies_pb2.Anomalies.FromString(file.read())


def _read_findings(examples: artifact.Artifact) -> dict[str, Finding]:
    with fileio.open(os.path.join(examples.uri, data_findings.FILE)) as file:
        return data_findings.from_json(json.loads(file.read()))
