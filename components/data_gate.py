"""Ends the run when the data is not as the schema says: ExampleValidator only takes note."""

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

from components import data_problems
from schemas import mnist


class DataError(ValueError):
    """The data is not as the schema says; each line of the message is one thing wrong with it."""


@component
def DataGate(
    anomalies: InputArtifact[standard_artifacts.ExampleAnomalies],
    statistics: InputArtifact[standard_artifacts.ExampleStatistics],
    schema: InputArtifact[standard_artifacts.Schema],
    counts: OutputArtifact[standard_artifacts.String],
    label_names: Parameter[str],
    code: Parameter[str] = "",
) -> None:
    """Raises unless every split is as the schema says.

    Args:
      anomalies: Output of ExampleValidator.
      statistics: Output of a StatisticsGen that was given the schema.
      schema: The schema.
      counts: Output, for nodes to depend on: JSON, the examples of each class in each split.
      label_names: Names of the classes, as JSON.
      code: Fingerprint of the code, for the cache key alone.

    Raises:
      DataError: A split has an anomaly, is empty, lacks a class, or has images of another size.
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
            split_statistics, _read_anomalies(anomalies, split), contract
        )
        problems += [f"{split} split: {problem}" for problem in split_problems]
        if not split_problems:
            found[split] = class_counts(split_statistics, names)
    if problems:
        raise DataError("the data is not as the schema says\n" + "\n".join(problems))
    logging.info("examples of each class in each split: %s", found)
    counts.write(json.dumps(found))


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


def _read_anomalies(anomalies: artifact.Artifact, split: str) -> anomalies_pb2.Anomalies:
    folder = artifact_utils.get_split_uri([anomalies], split)
    with fileio.open(os.path.join(folder, _ANOMALIES_FILE), "rb") as file:
        return anomalies_pb2.Anomalies.FromString(file.read())
