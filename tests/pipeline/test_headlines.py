import json

import pytest
from tfx.types import standard_artifacts

from pipeline import headlines


def gate(folder, warnings):
    report = standard_artifacts.String()
    report.uri = str(folder / "report")
    report.write(json.dumps({"counts": {}, "findings": {}, "warnings": warnings}))
    return {"report": [report]}


@pytest.mark.parametrize(
    ("warnings", "headline"),
    [
        ([], "no anomalies"),
        (["one"], "no anomalies, 1 warning"),
        (["one", "two"], "no anomalies, 2 warnings"),
    ],
)
def test_warnings_about_the_data(tmp_path, warnings, headline):
    outputs = gate(tmp_path, warnings)
    assert headlines.of("DataGate", outputs) == headline
    assert headlines.data_warnings(outputs) == warnings


def test_a_node_with_nothing_to_say():
    assert headlines.of("ExampleValidator", {}) == ""
