import hashlib
import os
import shutil

import pytest

from pipeline import changes, config, gc, lock
from pipeline.history.problem import HistoryError
from pipeline.history.runs import History
from tests.support import histories


def test_runs_come_newest_first(history, names):
    assert [run.name for run in history.runs()] == sorted(vars(names).values(), reverse=True)
    assert [run.name for run in history.runs(2)] == [names.killed, names.interrupted]


@pytest.mark.parametrize(
    ("name", "verdict", "node"),
    [
        ("pushed", "pushed", None),
        ("same", "nothing_new", None),
        ("refused", "refused", None),
        ("failed", "failed", "Trainer"),
        ("unprepared", "failed", None),
        ("interrupted", "interrupted", "Trainer"),
        ("killed", "killed", "Evaluator"),
    ],
)
def test_each_says_how_it_ended(history, names, name, verdict, node):
    run = history.find(getattr(names, name))
    assert (run.verdict, run.stopped_in) == (verdict, node)


def test_a_failure_is_known_without_a_result_too(root, names, tmp_path):
    copy = shutil.copytree(root, tmp_path / "runs")
    os.remove(copy / "logs" / names.failed / "result.json")
    run = History(str(copy)).find(names.failed)
    assert (run.verdict, run.stopped_in) == ("failed", "Trainer")


def test_the_newest_is_running_as_long_as_its_process_lives(root, tmp_path):
    copy = shutil.copytree(root, tmp_path / "runs")
    with lock.hold(copy / "lock"):
        history = History(str(copy))
        assert [run.verdict for run in history.runs(2)] == ["running", "interrupted"]
        assert history.find("last").seconds > 0
    assert History(str(copy)).find("last").verdict == "killed"


def test_what_gc_cancels_is_no_other_end(root, names, tmp_path, capsys):
    copy = shutil.copytree(root, tmp_path / "runs")
    places = [f"root={copy}", f"push.destination={tmp_path}/serving"]
    assert gc.collect(config.load(None, places, {}), dry_run=False) == gc.OK
    assert "Canceled execution" in capsys.readouterr().out
    run = History(str(copy)).find(names.killed)
    evaluator = run.executions["Evaluator"]
    assert (evaluator.state, evaluator.seconds) == ("canceled", None)
    assert (run.verdict, run.stopped_in) == ("killed", "Evaluator")
    assert (run.state_of("Evaluator"), run.state_of("Trainer")) == ("killed", "done")
    assert run.state_of("Pusher") is None


def test_a_run_is_found_by_the_beginning_of_its_name(history, names):
    assert history.find("20251130T09").name == names.better
    assert history.find("last").name == names.killed
    for run in history.runs():
        assert history.find(history.short(run.name)).name == run.name
        assert history.short(run.name) == run.name[:13]


def test_names_of_one_minute_are_told_apart(tmp_path):
    for name in ("20251130T080001000Z", "20251130T080002000Z", "20251130T090000000Z"):
        (tmp_path / "logs" / name).mkdir(parents=True)
    history = History(str(tmp_path))
    assert history.short("20251130T080001000Z") == "20251130T080001"
    assert history.short("20251130T090000000Z") == "20251130T0900"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2024", r"no run '2024' in .*; last, or one of: 20251130T1500, 20251130T1400, .*"),
        ("2025", r"'2025' is the beginning of 8 runs: 20251130T1500, .*, \.\.\."),
        ("20251130T1", r"beginning of 6 runs: .*"),
    ],
)
def test_what_cannot_be_found_says_what_can(history, text, message):
    with pytest.raises(HistoryError, match=message):
        history.find(text)


def test_without_runs_it_says_how_to_make_one(tmp_path):
    (tmp_path / "logs" / "notes").mkdir(parents=True)
    with pytest.raises(HistoryError, match=r"no runs in .*; `python -m pipeline run` makes one"):
        History(str(tmp_path))


def test_the_fingerprints_are_those_the_nodes_were_given(history, names):
    assert history.find(names.refused).fingerprints == {
        "data": "e" * 64,
        "schema": hashlib.sha256(histories.SCHEMA.encode()).hexdigest(),
        "code": "c" * 64,
        "training code": "7" * 64,
    }
    assert history.find(names.unprepared).fingerprints == {}


def test_the_evaluation_is_found_through_the_cache(history, names):
    evaluation = history.find(names.same).evaluation
    assert evaluation == history.find(names.better).evaluation
    assert evaluation.model.accuracy == 0.994
    assert history.find(names.failed).evaluation is None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("logs/{}/result.json", "{"),
        ("logs/{}/result.json", "[1]"),
        ("logs/{}/result.json", '{"seconds": 3.0}'),
        ("logs/{}/settings.yaml", "a: ["),
        ("logs/{}/settings.yaml", "text"),
        ("logs/{}/settings.yaml", "\udcff"),
        ("artifacts/Evaluator/evaluation/5/evaluation.json", "{}"),
    ],
)
def test_a_damaged_file_is_named(root, names, tmp_path, file, text):
    # The metadata holds the paths of the first folder.
    copy = shutil.copytree(root, tmp_path / "runs")
    path = (root if file.startswith("artifacts") else copy) / file.format(names.pushed)
    whole = path.read_text()
    path.write_text(text, errors="surrogateescape")
    try:
        run = History(str(copy)).find(names.pushed)
        with pytest.raises(HistoryError, match=rf"{path.name} is damaged"):
            list(changes.flat(run.settings)), run.verdict, run.evaluation
    finally:
        path.write_text(whole)
