"""DataGate behind the real StatisticsGen and ExampleValidator."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tfx.components.example_validator import executor as validator_executor
from tfx.components.statistics_gen import executor as statistics_executor
from tfx.types import artifact_utils, standard_artifacts

from components import data_findings
from components.data_findings import Finding
from components.data_gate import DataError, DataGate, class_counts, read_statistics
from components.data_limits import DataLimits
from components.schema import schema_text
from schemas import data_sets, mnist

NAMES = data_sets.MNIST.label_names
BEAM = ["--runner=FnApiRunner", "--sdk_container_image=unused"]


@pytest.fixture(scope="module", autouse=True)
def _no_command_line():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", sys.argv[:1])  # TFX parses it
        yield


def example(label=None, image=bytes(784), **floats) -> bytes:
    made = tf.train.Example()
    features = made.features.feature
    if image is not None:
        features[mnist.IMAGE].bytes_list.value.append(image)
    if label is not None:
        features[mnist.LABEL].int64_list.value.extend(np.atleast_1d(label))
    for name, value in floats.items():
        features[name].float_list.value.append(value)
    return made.SerializeToString()


GOOD = [example(label % 10) for label in range(100)]


def make(artifact_class, folder, splits=()):
    artifact = artifact_class()
    artifact.uri = str(folder)
    if splits:
        artifact.split_names = artifact_utils.encode_split_names(list(splits))
    return artifact


class Gate:
    """Everything between the examples and the gate."""

    def __init__(self, folder, **splits):
        examples = make(standard_artifacts.Examples, folder / "examples", splits)
        for split, records in splits.items():
            path = f"{artifact_utils.get_split_uri([examples], split)}/data.gz"
            tf.io.gfile.makedirs(path.rpartition("/")[0])
            with tf.io.TFRecordWriter(path, "GZIP") as writer:
                for record in records:
                    writer.write(record)
        (folder / "schema").mkdir()
        (folder / "schema" / "schema.pbtxt").write_text(schema_text(data_sets.MNIST))
        self.schema = make(standard_artifacts.Schema, folder / "schema")
        self.statistics = make(standard_artifacts.ExampleStatistics, folder / "statistics")
        self.anomalies = make(standard_artifacts.ExampleAnomalies, folder / "anomalies")
        self.report = make(standard_artifacts.String, folder / "report")
        self.examples = examples
        self.found()
        context = statistics_executor.Executor.Context(
            beam_pipeline_args=list(BEAM), tmp_dir=str(folder / "tmp")
        )
        statistics_executor.Executor(context).Do(
            {"examples": [examples], "schema": [self.schema]},
            {"statistics": [self.statistics]},
            {},
        )
        validator_executor.Executor().Do(
            {"statistics": [self.statistics], "schema": [self.schema]},
            {"anomalies": [self.anomalies]},
            {},
        )

    def found(self, **findings: Finding) -> None:
        """What MnistExampleGen found in the files."""
        path = Path(self.examples.uri) / data_findings.FILE
        path.write_text(json.dumps(data_findings.as_json(findings)))

    def run(self, **limits: float) -> dict:
        """Runs the component; gives its report."""
        names = ("examples", "anomalies", "statistics", "schema")
        DataGate.EXECUTOR_SPEC.executor_class().Do(
            {name: [getattr(self, name)] for name in names},
            {"report": [self.report]},
            {"label_names": json.dumps(NAMES), "limits": DataLimits(**limits).model_dump_json()},
        )
        return json.loads(self.report.read())


def test_good_data_passes(tmp_path):
    gate = Gate(tmp_path, train=GOOD, test=[*GOOD, example(3)])
    report = gate.run()
    counts = report["counts"]
    assert report["warnings"] == []
    assert counts["train"] == dict.fromkeys(NAMES, 10)
    assert counts["test"]["3"] == 11
    assert class_counts(read_statistics(gate.statistics, "test"), NAMES) == counts["test"]


def test_what_spoils_results_is_reported_and_stops_the_run_beyond_its_limit(tmp_path):
    gate = Gate(tmp_path, train=GOOD)
    overlap = Finding(3, 60, ("train 5 = test 1", "train 5 = test 2", "train 8 = test 30"))
    gate.found(test_overlap=overlap)
    report = gate.run()
    assert report["findings"]["test_overlap"]["count"] == 3
    [warning] = report["warnings"]
    assert "train files too: 3 of 60 (5%): train 5 = test 1, train 5 = test 2" in warning
    with pytest.raises(DataError, match=r"files: test images .*data\.limits\.test_overlap=0\.04"):
        gate.run(test_overlap=0.04)


def test_no_split_is_not_a_good_split(tmp_path):
    gate = Gate(tmp_path, train=GOOD)
    gate.statistics.split_names = artifact_utils.encode_split_names([])
    with pytest.raises(ValueError, match="are of no split"):
        gate.run()


# Records of a split, and what must be said of it.
BAD = {
    "high_label": (
        [*GOOD, *[example(10)] * 3],
        "label: value 10 in 3 of 103 examples; allowed are 0 to 9",
    ),
    "empty": ([], "it has no examples"),
    "class_missing": (
        [record for number, record in enumerate(GOOD) if number % 10 != 4],
        "label: no example of 4 among 90 examples",
    ),
    "image_size": (
        [*GOOD, example(3, image=bytes(783))],
        "image: 783 to 784 bytes long, must be 784 "
        "(present in 101 of 101 examples, values in each: 1)",
    ),
    "image_missing": (
        [*GOOD, example(3, image=None)],
        "minimum fraction = 1.000000, actual = 0.990099 "
        "(present in 100 of 101 examples, values in each: 1)",
    ),
    "two_labels": (
        [*GOOD, example([1, 2])],
        "(present in 101 of 101 examples, values in each: 1 to 2)",
    ),
    "extra_feature": (
        [*GOOD, example(3, weight=0.5)],
        "weight: New column (column in data but not in schema) "
        "(present in 1 of 101 examples, values in each: 1)",
    ),
    "no_label_at_all": (
        [example()] * 5,
        "label: Column is completely missing (present in 0 of 5 examples)",
    ),
}


@pytest.fixture(scope="module")
def refusal(tmp_path_factory):
    """The error about a data set in which every split but one is bad."""
    folder = tmp_path_factory.mktemp("gate")
    gate = Gate(folder, good=GOOD, **{split: records for split, (records, _) in BAD.items()})
    with pytest.raises(DataError) as caught:
        gate.run()
    assert not (folder / "report").exists()
    return str(caught.value).splitlines()


def test_the_error_names_every_bad_split(refusal):
    first, *lines = refusal
    assert first == "the data is not as it must be"
    assert {line.split(" split: ")[0] for line in lines} == set(BAD)


@pytest.mark.parametrize("split", BAD)
def test_the_error_names_feature_value_and_count(refusal, split):
    lines = [line for line in refusal if line.startswith(f"{split} split: ")]
    assert len(lines) == 1
    assert BAD[split][1] in lines[0]
