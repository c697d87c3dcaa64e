"""The commands as a person or a program meets them."""

import json
import re
import subprocess
import sys

import pytest

from tests.support import histories

COMMANDS = [
    ["runs"],
    ["runs", "--json"],
    ["show", "20251130T09"],
    ["compare", "20251130T08", "20251130T09"],
    ["lineage", "8"],
    ["lineage", "8", "--json"],
    ["explain"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_imports_tensorflow_or_tfx(command, root):
    code = (
        "import sys, time\n"
        "from pipeline.cli import app\n"
        f"app({[*command, '--set', f'root={root}']!r}, standalone_mode=False)\n"
        "assert not {'tensorflow', 'tfx', 'keras', 'apache_beam'} & set(sys.modules)\n"
        # Importing either takes longer than this on any machine.
        "assert time.process_time() < 4"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_line_fits_the_terminal(command, width, run):
    result = run(*command, width=width)
    assert result.exit_code == 0, result.output
    if "--json" not in command:
        # A path is not cut, so that it can be copied.
        lines = [line for line in result.output.splitlines() if "below /" not in line]
        assert max(map(len, lines)) <= width


def test_runs_are_listed_with_what_each_changed(run, names):
    lines = run("runs", width=120).output.splitlines()
    assert lines[0].split() == ["run", "when", "took", "verdict", "accuracy", "version"]
    by_run = {
        line.split()[0]: (line, below) for line, below in zip(lines[1::2], lines[2::2], strict=True)
    }
    assert len(by_run) == len(vars(names))
    line, below = by_run["20251130T0900"]
    assert "1 min 16 s    pushed         99.40% 8" in line
    assert below.strip() == (
        "cnn, adopt; train.epochs 7 → 9; optimizer.name schedule_free_adamw → adopt; "
        "optimizer.learning_rate – → 0.002"
    )
    line, below = by_run["20251130T1100"]
    assert "refused" in line
    assert below.strip() == "cnn, schedule_free_adamw; train.epochs 9 → 1; other data"
    line, below = by_run["20251130T1500"]
    assert "killed" in line
    assert below.strip() == "in Evaluator; cnn, schedule_free_adamw; nothing changed"


def test_the_list_can_be_short_and_says_that_it_is(run):
    result = run("runs", "--limit", "2")
    assert "2 of 8 runs; --limit shows more" in result.output
    assert "20251130T1300" not in result.output


def test_the_list_for_programs(run, names):
    entries = json.loads(run("runs", "--json", "--limit", "7").output)
    assert len(entries) == 7
    assert entries[3] == {
        "run": names.failed,
        "short": "20251130T1200",
        "started": "2025-11-30T12:00:00+00:00",
        "seconds": 3.0,
        "verdict": "failed",
        "node": "Trainer",
        "accuracy": None,
        "version": None,
        "model": "cnn",
        "optimizer": "schedule_free_adamw",
        "changed": {"train.epochs": [1, 7], "data": ["e" * 64, "d" * 64]},
    }
    # The first of all runs is the one that has none to be compared with.
    assert entries[-1]["changed"] == {
        "train.epochs": [7, 9],
        "optimizer.name": ["schedule_free_adamw", "adopt"],
        "optimizer.learning_rate": [None, 0.002],
    }
    assert json.loads(run("runs", "--json").output)[-1]["changed"] is None


def test_a_run_is_shown_in_full(run):
    output = run("show", "20251130T09", width=120).output
    for expected in (
        "pushed its model as version 8",
        "started        2025-11-30",
        "data           dddddddddddd\n",
        "train.epochs=9\noptimizer.name=adopt\noptimizer.learning_rate=0.002\n",
        "Trainer          done    0.0 s  artifacts/Trainer/model/10",
        "MnistExampleGen  cached  0.0 s  artifacts/MnistExampleGen/examples/2",
        "994 of 1,000 right: 99.40%, 98.70 to 99.72% with 95% confidence",
        "4           100    98.00%   90.00%             9 (2)",
    ):
        assert expected in output


def test_the_node_in_which_a_run_ended_shows_it(run):
    assert "Trainer          interrupted      –" in run("show", "20251130T14").output
    assert "Evaluator        killed      –" in run("show", "20251130T15").output
    assert "none was started" in run("show", "20251130T13").output


def test_two_runs_beside_each_other(run):
    output = re.sub(" +", " ", run("compare", "20251130T09", "20251130T11").output)
    for expected in (
        "verdict pushed refused",
        "train.epochs 9 1",
        "optimizer.learning_rate 0.002 –",
        "data dddddddddddd eeeeeeeeeeee",
        "code cccccccccccc the same",
        "all 99.40% 97.00% -2.40",
        "2 96.00% 100.00% +4.00",
        "4 98.00% 70.00% -28.00",
        "MnistExampleGen cached 0.0 s",
    ):
        assert expected in output


def test_a_run_without_numbers_can_be_compared_too(run):
    output = run("compare", "20251130T14", "20251130T12").output
    assert "The settings are the same." in output
    assert "Trainer          interrupted  failed" in output
    assert "class " not in output


def test_files_of_the_evaluator_that_are_gone_are_no_obstacle(run, tmp_path):
    root = histories.Root(tmp_path / "runs")
    root.run("20251130T080000000Z", result=histories.pushed(7, 0.98), version=7)
    for command in (["show"], ["compare", "last", "last"]):
        result = run(*command, root=root.folder)
        assert result.exit_code == 0
        assert "98.00%" in result.output
        assert "Nothing is known by class: the files of the Evaluator are gone." in result.output


def test_a_lineage_is_a_tree(run):
    output = run("lineage", "8", width=120).output
    assert "Version 8, pushed by run 20251130T090000000Z" in output
    assert "├── model of Trainer, 0.0 s\n" in output
    assert "│   ├── examples of MnistExampleGen, 0.0 s, cached from 20251130T080000000Z" in output
    assert "    ├── model of Trainer, as above" in output


def test_a_lineage_for_programs(run, names):
    found = json.loads(run("lineage", "last", "--json").output)
    assert found["run"] == names.better
    trainer = found["origin"]["inputs"]["model"][0]
    assert trainer["execution"]["node"] == "Trainer"
    examples = trainer["inputs"]["examples"][0]
    assert examples["execution"]["run"] == names.pushed
    assert examples["data"] == {"folder": "/data", "files": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "2024"], "no run '2024' in"),
        (["show", "2025"], "is the beginning of 8 runs"),
        (["compare", "last", "2024"], "no run '2024' in"),
        (["lineage", "99"], "no run in"),
        (["explain", "nonsense"], "no run 'nonsense' in"),
    ],
)
def test_what_is_not_there_is_one_error(arguments, message, run):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_runs_each_command_says_so(command, run, tmp_path):
    result = run(*command, root=tmp_path)
    assert result.exit_code == 2
    assert result.output.startswith(f"no runs in {tmp_path}; ")
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_read_is_one_error(run, tmp_path):
    (tmp_path / "metadata.sqlite").write_text("this is no database")
    result = run("runs", root=tmp_path)
    assert result.exit_code == 2
    assert "metadata.sqlite cannot be read as ML Metadata: " in result.output
    assert "Traceback" not in result.output
