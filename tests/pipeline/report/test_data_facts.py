from pathlib import Path

import pytest

from pipeline.report import data_facts, runs
from pipeline.report.data_facts import Drift
from pipeline.report.runs import Node, Record

PARAMETERS = {
    "fingerprint": "abc",
    "eval_examples": 10,
    "train_limit": 0,
    "test_limit": 0,
    "code": "1",
}


def record(name: str, **parameters) -> Record:
    nodes = {"MnistExampleGen": Node({**PARAMETERS, **parameters}, {})}
    return Record(Path("logs", name), "", {}, nodes)


def counts(**changes: int) -> dict[str, int]:
    return {**dict.fromkeys("0123456789", 10), **{name[1:]: n for name, n in changes.items()}}


def test_the_largest_shift_is_that_of_shares_not_of_numbers():
    twice = {name: 2 * count for name, count in counts().items()}
    assert data_facts.largest_shift("train", counts(), twice).now == 0.1
    shift = data_facts.largest_shift("train", counts(), {**twice, "3": 0, "8": 40})
    assert (shift.name, shift.before, shift.now) == ("3", 0.1, 0.0)


def test_a_class_that_was_not_there_before_counts():
    before = counts()
    del before["4"]
    shift = data_facts.largest_shift("eval", before, counts())
    assert (shift.split, shift.name, shift.before, shift.now) == ("eval", "4", 0.0, 0.1)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"code": "2"}, True),
        ({"fingerprint": "abd"}, False),
        ({"eval_examples": 11}, False),
        ({"train_limit": 5}, False),
        ({"test_limit": 5}, False),
    ],
)
def test_data_are_the_same_when_files_and_splits_are(change, same, monkeypatch):
    by_run = {
        "before": {"train": counts(), "eval": counts()},
        "now": {"train": counts(_7=30), "test": counts()},
    }
    monkeypatch.setattr(data_facts, "class_counts", lambda run: by_run[run.name])

    drift = Drift.between(record("before"), record("now", **change))

    assert drift.run == "before"
    assert drift.same is same
    [shift] = drift.shifts  # Only the train split is in both.
    assert (shift.split, shift.name, shift.now) == ("train", "7", 0.25)


def test_a_run_before_that_stopped_early_or_did_not_name_its_classes_is_not_compared(monkeypatch):
    monkeypatch.setattr(runs, "previous", lambda folder: folder)
    for nodes in ({}, {"DataGate": Node({}, {})}):
        before = Record(Path("logs", "before"), "", {}, nodes)
        monkeypatch.setattr(runs, "load_record", lambda folder, before=before: before)
        assert data_facts.drift(record("now")) is None


def test_a_run_before_whose_record_is_damaged_is_not_compared(tmp_path):
    for name in ("20260101T030405006Z", "20260201T030405006Z"):
        folder = tmp_path / "logs" / name
        folder.mkdir(parents=True)
        (folder / "result.json").write_text('{"verdict": "pushed"}')
    assert data_facts.drift(Record(folder, "", {}, {})) is None


def test_the_first_run_has_nothing_to_be_compared_with(tmp_path):
    assert data_facts.drift(Record(tmp_path / "logs" / "now", "", {}, {})) is None
