"""How far two data sets lie apart, as TensorFlow Data Validation measures it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import tensorflow_data_validation as tfdv
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from components import mnist_files
from components.mnist_names import Pair
from components.schema import committed_text, schema_text
from pipeline import pixel_summary
from schemas import mnist
from schemas.data_sets import Facts

_PIXELS = "pixels"


@dataclass(frozen=True)
class Distance:
    """How far two data sets lie apart in one feature.

    Attributes:
      split: `train` or `test` files.
      feature: Its name in the data set's schema or in `schemas/pixels.pbtxt`.
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


def compare(reference: str, other: str, facts: Facts, other_facts: Facts) -> list[Distance]:
    """Compares train files with train files and test files with test files.

    Args:
      reference: Folder of a checked data set.
      other: Another one, of as many classes.
      facts: Of the reference.
      other_facts: Of the other: the files may differ in form.
    """
    schema = _schema(facts)
    files, other_files = mnist_files.find(reference), mnist_files.find(other)
    means = pixel_summary.mean_images(files.train, facts)
    distances = []
    for split in ("train", "test"):
        before = _statistics(getattr(files, split), facts, means, schema)
        after = _statistics(getattr(other_files, split), other_facts, means, schema)
        distances += _distances(split, before, after, schema)
    return distances


def _schema(facts: Facts) -> schema_pb2.Schema:
    """The label as the pipeline knows it, and the features of `pixel_summary`."""
    pixels, contract = (
        text_format.Parse(text, schema_pb2.Schema())
        for text in (committed_text(_PIXELS), schema_text(facts))
    )
    label = [feature for feature in contract.feature if feature.name == mnist.LABEL]
    return schema_pb2.Schema(feature=[*label, *pixels.feature])


def _statistics(
    pairs: Sequence[Pair], facts: Facts, means: np.ndarray, schema: schema_pb2.Schema
) -> statistics_pb2.DatasetFeatureStatisticsList:
    return tfdv.generate_statistics_from_dataframe(
        pd.DataFrame(pixel_summary.summarize(pairs, facts, means)),
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
