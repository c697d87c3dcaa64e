import json

from tfx.types import standard_artifacts

from pipeline import headlines


def gate_headline(folder, warnings):
    report = standard_artifacts.String()
    report.uri = str(folder / "report")
    report.write(json.dumps({"counts": {}, "findings": {}, "warnings": warnings}))
    return headlines.of("DataGate", {"report": [report]})


def test_good_data(tmp_path):
    assert gate_headline(tmp_path, []) == "no anomalies"


def test_each_warning_is_a_line(tmp_path):
    assert gate_headline(tmp_path, ["one", "two"]).splitlines() == [
        "no anomalies, but:",
        "  - one",
        "  - two",
    ]


def test_a_node_with_nothing_to_say():
    assert headlines.of("ExampleValidator", {}) == ""
