"""What is wrong with a split, told from hand-made statistics."""

import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2, statistics_pb2

from components import data_problems
from components.schema import schema_text
from schemas import data_sets

SCHEMA = text_format.Parse(schema_text(data_sets.MNIST), schema_pb2.Schema())


def statistics(labels: dict[int, int], image_bytes=(784, 784)):
    total = sum(labels.values())
    common = f"common_stats {{ num_non_missing: {total} min_num_values: 1 max_num_values: 1 }}"
    buckets = " ".join(
        f"buckets {{ label: '{label}' sample_count: {count} }}" for label, count in labels.items()
    )
    return text_format.Parse(
        f"""
        num_examples: {total}
        features {{
          path {{ step: 'image' }} type: BYTES
          bytes_stats {{
            {common} min_num_bytes: {image_bytes[0]} max_num_bytes: {image_bytes[1]}
          }}
        }}
        features {{
          path {{ step: 'label' }} type: INT
          string_stats {{ {common} rank_histogram {{ {buckets} }} }}
        }}
        """,
        statistics_pb2.DatasetFeatureStatistics(),
    )


def describe(made, anomalies=""):
    parsed = text_format.Parse(anomalies, anomalies_pb2.Anomalies())
    return data_problems.describe(made, parsed, SCHEMA)


WHOLE = dict.fromkeys(range(data_sets.MNIST.num_classes), 100)


def test_nothing_is_wrong():
    assert describe(statistics(WHOLE)) == []


def test_values_out_of_range_are_counted():
    assert describe(statistics(WHOLE | {10: 37, -1: 1})) == [
        "label: value -1 in 1, 10 in 37 of 1,038 examples; allowed are 0 to 9"
    ]


def test_many_values_are_not_all_listed():
    made = statistics(WHOLE | dict.fromkeys(range(10, 20), 1))
    assert describe(made) == [
        "label: value 10 in 1, 11 in 1, 12 in 1, 13 in 1, 14 in 1 of 1,010 examples, "
        "and 5 other values; allowed are 0 to 9"
    ]


def test_classes_without_an_example_are_named():
    made = statistics({label: 5 for label in WHOLE if label not in (0, 7)})
    assert describe(made) == ["label: no example of 0, 7 among 40 examples"]


@pytest.mark.parametrize(
    ("lengths", "text"), [((783, 784), "783 to 784"), ((784, 3072), "784 to 3072"), ((1, 1), "1")]
)
def test_images_of_another_size(lengths, text):
    assert describe(statistics(WHOLE, lengths)) == [
        f"image: {text} bytes long, must be 784 "
        "(present in 1,000 of 1,000 examples, values in each: 1)"
    ]


def test_an_empty_split():
    assert describe(statistics_pb2.DatasetFeatureStatistics()) == ["it has no examples"]
    assert describe(statistics(WHOLE), "data_missing: true") == ["it has no examples"]


def test_what_the_validator_says_of_a_feature():
    anomalies = """
        anomaly_info { key: 'weight' value {
          path { step: 'weight' }
          reason { type: SCHEMA_NEW_COLUMN description: 'New column' }
        } }
    """
    assert describe(statistics(WHOLE), anomalies) == [
        "weight: New column (present in 0 of 1,000 examples)"
    ]


def test_what_the_validator_says_of_the_whole():
    anomalies = "dataset_anomaly_info { description: 'Half the examples of yesterday' }"
    assert describe(statistics(WHOLE), anomalies) == ["Half the examples of yesterday"]


def test_all_problems_are_told_at_once():
    made = statistics(dict.fromkeys(range(2, 11), 5), (3, 3))
    assert len(describe(made)) == 3


def test_statistics_made_without_the_schema_are_no_use():
    made = statistics(WHOLE)
    made.features[1].num_stats.min = 0
    with pytest.raises(ValueError, match="do not count the values of label; StatisticsGen needs"):
        describe(made)
