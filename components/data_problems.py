"""What is wrong with a split, in words that name feature, value and count.

ExampleValidator finds that a value is out of range, but not which values are and how many examples
have them; it lets an empty split through, and one without a class. The statistics know.
"""

from collections.abc import Container, Iterator, Mapping

from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2, statistics_pb2

from schemas import mnist

_OUT_OF_RANGE = (
    anomalies_pb2.AnomalyInfo.INT_TYPE_SMALL_INT,
    anomalies_pb2.AnomalyInfo.INT_TYPE_BIG_INT,
)

# More wrong values than this are counted, not listed.
_LISTED = 5

Features = Mapping[str, statistics_pb2.FeatureNameStatistics]


def describe(
    statistics: statistics_pb2.DatasetFeatureStatistics,
    anomalies: anomalies_pb2.Anomalies,
    schema: schema_pb2.Schema,
) -> list[str]:
    """Everything that is wrong with a split, one line each; empty when nothing is.

    Args:
      statistics: Of the split, made with the schema.
      anomalies: What ExampleValidator found in the split.
      schema: What the split must look like. Each value of a categorical integer domain must occur.

    Raises:
      ValueError: The statistics do not count the values of a categorical feature.
    """
    if anomalies.data_missing or not statistics.num_examples:
        return ["it has no examples"]
    features = by_name(statistics)
    domains = {
        feature.name: feature.int_domain
        for feature in schema.feature
        if feature.int_domain.is_categorical and _is_integer(features.get(feature.name))
    }
    total = statistics.num_examples
    lines = list(_anomalies(anomalies, features, domains, total))
    for name, domain in domains.items():
        lines += _values(name, value_counts(features[name]), domain, total)
    return lines + list(_image_sizes(features, total))


def by_name(statistics: statistics_pb2.DatasetFeatureStatistics) -> Features:
    """The statistics of each feature."""
    return {".".join(feature.path.step): feature for feature in statistics.features}


def value_counts(feature: statistics_pb2.FeatureNameStatistics) -> dict[int, int]:
    """How many times each value of a categorical integer feature occurs, by value.

    Raises:
      ValueError: The statistics do not say.
    """
    buckets = feature.string_stats.rank_histogram.buckets
    if not buckets:
        raise ValueError(
            f"the statistics do not count the values of {'.'.join(feature.path.step)}; "
            "StatisticsGen needs the schema, and there the feature must be categorical"
        )
    counts = {int(bucket.label): round(bucket.sample_count) for bucket in buckets}
    return dict(sorted(counts.items()))


def _is_integer(feature: statistics_pb2.FeatureNameStatistics | None) -> bool:
    return feature is not None and feature.type == statistics_pb2.FeatureNameStatistics.INT


def _anomalies(
    anomalies: anomalies_pb2.Anomalies, features: Features, counted: Container[str], total: int
) -> Iterator[str]:
    """What ExampleValidator says, but for values out of range: `_values` counts those."""
    for info in anomalies.anomaly_info.values():
        name = ".".join(info.path.step)
        skipped = _OUT_OF_RANGE if name in counted else ()
        reasons = [reason.description for reason in info.reason if reason.type not in skipped]
        if reasons:
            yield f"{name}: {' '.join(reasons)} ({_presence(features.get(name), total)})"
    if anomalies.HasField("dataset_anomaly_info"):
        yield anomalies.dataset_anomaly_info.description


def _values(
    name: str, counts: Mapping[int, int], domain: schema_pb2.IntDomain, total: int
) -> Iterator[str]:
    allowed = range(domain.min, domain.max + 1)
    wrong = {value: count for value, count in counts.items() if value not in allowed}
    if wrong:
        listed = ", ".join(f"{value} in {wrong[value]:,}" for value in list(wrong)[:_LISTED])
        more = f", and {len(wrong) - _LISTED} other values" if len(wrong) > _LISTED else ""
        allowed_text = f"allowed are {domain.min} to {domain.max}"
        yield f"{name}: value {listed} of {total:,} examples{more}; {allowed_text}"
    absent = [str(value) for value in allowed if value not in counts]
    if absent:
        yield f"{name}: no example of {', '.join(absent)} among {total:,} examples"


def _image_sizes(features: Features, total: int) -> Iterator[str]:
    """The schema language has no word for the length of a bytes value."""
    size = mnist.HEIGHT * mnist.WIDTH
    stats = features[mnist.IMAGE].bytes_stats if mnist.IMAGE in features else None
    if stats and {stats.min_num_bytes, stats.max_num_bytes} != {size}:
        lengths = _span(stats.min_num_bytes, stats.max_num_bytes)
        present = _presence(features[mnist.IMAGE], total)
        yield f"{mnist.IMAGE}: {lengths} bytes long, must be {size} ({present})"


def _presence(feature: statistics_pb2.FeatureNameStatistics | None, total: int) -> str:
    if feature is None:
        return f"present in 0 of {total:,} examples"
    stats = getattr(feature, feature.WhichOneof("stats")).common_stats
    values = _span(stats.min_num_values, stats.max_num_values)
    return f"present in {stats.num_non_missing:,} of {total:,} examples, values in each: {values}"


def _span(low: float, high: float) -> str:
    return f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
