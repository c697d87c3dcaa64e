import json

import pytest
from tfx.types import standard_artifacts
from tfx.utils import path_utils

from components import training_record
from components.baseline import VERSION_FILE
from components.training_record import TrainingRecord
from kubeflow import retrain

DAY = 24 * 60 * 60
PUSHED = TrainingRecord(data="d" * 64, code="c" * 64, trained_at=100 * DAY)


def decide(*, days=1.0, max_age_days=0.0, **changes):
    arguments = {"data": PUSHED.data, "code": PUSHED.code, "pushed": PUSHED, **changes}
    now = PUSHED.trained_at + days * DAY
    return retrain.decide(now=now, max_age_days=max_age_days, **arguments)


def test_nothing_new_is_no_reason():
    assert not decide().train
    assert not decide(days=10_000).train
    assert not decide(days=29.9, max_age_days=30).train


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"pushed": None}, "no model with a training record"),
        ({"data": "e" * 64}, "the data changed: eeeeeeeeeeee, was dddddddddddd"),
        ({"code": "e" * 64}, "the code or its settings changed: eeeeeeeeeeee, was cccccccccccc"),
        ({"days": 30, "max_age_days": 30}, "30.0 days old, 30 are allowed"),
    ],
)
def test_reasons(arguments, reason):
    decision = decide(**arguments)
    assert decision.train
    [text] = decision.reasons
    assert reason in text


def test_all_reasons_are_named():
    assert len(decide(data="e" * 64, code="e" * 64, days=2, max_age_days=1).reasons) == 3


@pytest.fixture
def examples(tmp_path):
    artifact = standard_artifacts.Examples()
    artifact.uri = str(tmp_path / "examples")
    artifact.split_names = json.dumps(["train", "eval", "test"])
    for split in ("train", "eval", "test"):
        folder = tmp_path / "examples" / f"Split-{split}"
        folder.mkdir(parents=True)
        (folder / "examples-00000-of-00001.gz").write_bytes(split.encode())
    return artifact


@pytest.fixture
def baseline(tmp_path):
    artifact = standard_artifacts.Model()
    artifact.uri = str(tmp_path / "baseline")
    (tmp_path / "baseline").mkdir()
    return artifact


def run_gate(examples, baseline, code="code"):
    outputs = retrain.RetrainGate.EXECUTOR_SPEC.executor_class._FUNCTION(
        examples=examples, baseline=baseline, code=code, max_age_days=0.0
    )
    return outputs["decision"]


def push(baseline, tmp_path, record=None):
    (tmp_path / "baseline" / VERSION_FILE).write_text("7")
    folder = path_utils.serving_model_dir(baseline.uri)
    if record:
        training_record.write(folder, record)


def patterns(tmp_path):
    return [str(tmp_path / f"examples/Split-{split}/*") for split in ("train", "eval")]


def test_the_gate_opens_where_nothing_was_pushed(examples, baseline, tmp_path):
    (tmp_path / "baseline" / VERSION_FILE).write_text("none")
    assert run_gate(examples, baseline) == retrain.TRAIN


def test_the_gate_opens_for_a_model_without_record(examples, baseline, tmp_path):
    push(baseline, tmp_path)
    assert run_gate(examples, baseline) == retrain.TRAIN


def test_the_gate_stays_shut_until_the_data_or_the_code_change(examples, baseline, tmp_path):
    data = training_record.of_examples(patterns(tmp_path))
    push(baseline, tmp_path, TrainingRecord(data=data, code="code", trained_at=0.0))
    assert run_gate(examples, baseline) == retrain.SKIP
    assert run_gate(examples, baseline, code="other") == retrain.TRAIN
    # What the model is tested on does not make another model.
    (tmp_path / "examples/Split-test/examples-00000-of-00001.gz").write_bytes(b"new")
    assert run_gate(examples, baseline) == retrain.SKIP
    (tmp_path / "examples/Split-train/examples-00000-of-00001.gz").write_bytes(b"new")
    assert run_gate(examples, baseline) == retrain.TRAIN
