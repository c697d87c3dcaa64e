"""How far two data sets lie apart, as TensorFlow Data Validation measures it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import tensorflow_data_validation as tfdv
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from components import mnist_files
from components.schema import schema_text
from pipeline import pixel_summary
from pipeline.pixel_summary import Pair
from schemas import mnist


@dataclass(frozen=True)
class Distance:
    """How far two data sets lie apart in one feature.

    Attributes:
      split: `train` or `test` files.
      feature: Its name in `schemas/mnist.pbtxt` or `schemas/pixels.pbtxt`.
      divergence: Jensen-Shannon divergence of the two distributions, from 0 to 1.
      threshold: Most that the schema admits.
    """

    split: str
    feature: str
    divergence: float
    threshold: float

    @property
    def drifted(self) -> bool:
        """Whether it is more than the schema admits."""
        return self.divergence > self.threshold


def compare(reference: str, other: str) -> list[Distance]:
    """Compares train files with train files and test files with test files.

    Args:
      reference: Folder of a checked data set.
      other: Another one.
    """
    schema = _schema()
    pairs, other_pairs = _pairs(reference), _pairs(other)
    means = pixel_summary.mean_images(pairs["train"])
    distances = []
    for split, pair in pairs.items():
        before = _statistics(pair, means, schema)
        after = _statistics(other_pairs[split], means, schema)
        distances += _distances(split, before, after, schema)
    return distances


def _pairs(folder: str) -> dict[str, Pair]:
    files = mnist_files.find(folder)
    return {
        "train": Pair(files.train_images, files.train_labels),
        "test": Pair(files.test_images, files.test_labels),
    }


def _schema() -> schema_pb2.Schema:
    """The label as the pipeline knows it, and the features of `pixel_summary`."""
    pixels, contract = (
        text_format.Parse(schema_text(name), schema_pb2.Schema()) for name in ("pixels", "mnist")
    )
    label = [feature for feature in contract.feature if feature.name == mnist.LABEL]
    return schema_pb2.Schema(feature=[*label, *pixels.feature])


def _statistics(
    pair: Pair, means: np.ndarray, schema: schema_pb2.Schema
) -> statistics_pb2.DatasetFeatureStatisticsList:
    return tfdv.generate_statistics_from_dataframe(
        pd.DataFrame(pixel_summary.summarize(pair, means)),
        tfdv.StatsOptions(schema=schema),
        n_jobs=1,
    )


def _distances(
    split: str,
    before: statistics_pb2.DatasetFeatureStatisticsList,
    after: statistics_pb2.DatasetFeatureStatisticsList,
    schema: schema_pb2.Schema,
) -> list[Distance]:
    anomalies = tfdv.validate_statistics(after, schema, previous_statistics=before)
    measured = {
        ".".join(info.path.step): info.drift_measurements[0] for info in anomalies.drift_skew_info
    }
    names = [feature.name for feature in schema.feature]
    return [Distance(split, n, measured[n].value, measured[n].threshold) for n in names]
