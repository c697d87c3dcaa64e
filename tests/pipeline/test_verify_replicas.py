import dataclasses

import keras
import pytest

from components.trainer import strategy as strategies
from pipeline import verify_replicas
from pipeline.replica_cases import CASES, OURS
from pipeline.verify_replicas import Row

# Devices are fixed at TensorFlow's first operation, so this comes before any test.
strategies.prepare_devices("mirrored:8")

BY_NAME = {case.name: case for case in CASES}

# The rest of the table is what `python -m pipeline verify-replicas` runs.
HERE = [
    "partial last batch, empty replicas",
    "activity regularizer",
    "add_loss",
    "BatchNormalization, empty replicas",
    "dropout",
    "clip adaptively",
    "gradient noise",
    "accumulate 2 batches",
    "loss scale, one replica overflows",
    "model deep_cnn, without kinks",
]


@pytest.mark.parametrize("name", HERE)
def test_ours_is_exact(name):
    case = dataclasses.replace(BY_NAME[name], keras_optimizer=None)
    rows = verify_replicas.compare(case, [1, 4])
    assert [row.trained_by for row in rows] == ["ours, float64", "ours, float32"]
    for row in rows:
        assert row.passes, row


def test_a_type_that_is_not_judged_is_shown_all_the_same():
    case = dataclasses.replace(BY_NAME["full batches"], keras_optimizer=None, judged=["float64"])
    rows = verify_replicas.compare(case, [1])
    assert [(row.trained_by, row.tolerance) for row in rows] == [
        ("ours, float64", 1e-12),
        ("ours, float32", None),
    ]


def test_one_case_alone_is_not_judged_in_float32():
    assert all("float64" in case.judged for case in CASES)
    assert [case.name for case in CASES if "float32" not in case.judged] == ["model deep_cnn"]


def test_only_kinks_keep_it_from_agreeing():
    pairs = zip(
        BY_NAME["model deep_cnn"].build(OURS).layers,
        BY_NAME["model deep_cnn, without kinks"].build(OURS).layers,
        strict=True,
    )
    seen = set()
    for old, new in pairs:
        before, after = ({**layer.get_config(), "name": ""} for layer in (old, new))
        if (type(old), before) != (type(new), after):
            seen.add((type(old), type(new)))
            before.pop("activation", None)
            assert after.pop("activation", "softplus") == "softplus" and before == after
    assert seen == {
        (keras.layers.Activation, keras.layers.Activation),
        (keras.layers.MaxPooling2D, keras.layers.AveragePooling2D),
    }


def test_keras_is_off_where_it_is_said_to_be():
    rows = verify_replicas.compare(BY_NAME["clip by norm"], [1, 2])
    assert all(row.passes for row in rows)
    for row in rows[2:]:
        assert row.differences[0] < 1e-12 < 1e-3 < row.differences[1]


def test_a_wrong_result_fails_and_is_written_down(tmp_path, capsys):
    wrong = dataclasses.replace(
        BY_NAME["clip by value"], name="wrong", processors=list, keras_optimizer=None
    )
    right = dataclasses.replace(BY_NAME["full batches"], keras_optimizer=None)
    out = tmp_path / "table.md"
    assert not verify_replicas.verify([1], out, [right, wrong])
    printed = capsys.readouterr().out
    assert "wrong, ours, float64: above 1e-12" in printed
    lines = out.read_text().partition("\n\n|")[2].splitlines()
    assert lines[:2] == [" case | trained by | 1 |", "|---|---|---:|"]
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| full batches"] * 2 + ["| wrong"] * 2
    assert list(tmp_path.iterdir()) == [out]
    assert verify_replicas.verify([1], None, [right])


def test_a_failure_in_training_is_a_result():
    row = verify_replicas.compare(
        dataclasses.replace(BY_NAME["full batches"], processors=lambda: [None]), [1]
    )[0]
    assert row.differences == ("TypeError",) and not row.passes


def test_what_passes():
    assert Row("a", "ours, float64", (0.0, 1e-12), 1e-12).passes
    assert not Row("a", "ours, float64", (0.0, 2e-12), 1e-12).passes
    assert not Row("a", "ours, float64", (float("inf"),), 1e-12).passes
    assert Row("a", "model.fit, float64", (0.5, "ValueError"), None).passes


def test_markdown():
    rows = [
        Row("a", "ours, float64", (0.0, 1.23e-15), 1e-12),
        Row("a", "x", (0.5, "KeyError"), None),
    ]
    assert verify_replicas.markdown(rows, [1, 2]) == (
        "| case | trained by | 1 | 2 |\n"
        "|---|---|---:|---:|\n"
        "| a | ours, float64 | 0e+00 | 1e-15 |\n"
        "| a | x | 5e-01 | KeyError |\n"
    )


def test_case_names_are_unique():
    assert len(BY_NAME) == len(CASES)
