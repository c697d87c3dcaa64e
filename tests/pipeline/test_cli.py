import subprocess
import sys

import pytest
from typer.testing import CliRunner

from components import publishing
from pipeline.cli import app

run = CliRunner().invoke


def test_help_names_every_command():
    result = run(app, ["--help"])
    assert result.exit_code == 0
    for command in ("run", "config", "fetch", "report"):
        assert command in result.output


@pytest.mark.parametrize("arguments", [["--help"], ["config"], ["run", "--help"]])
def test_quick_commands_do_not_import_tensorflow(arguments):
    code = (
        "import sys\n"
        "from pipeline.cli import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        "assert not {'tensorflow', 'tfx', 'keras', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_config_prints_what_the_flags_gave():
    result = run(app, ["config", "--config", "smoke", "--set", "train.epochs=7"])
    assert result.exit_code == 0
    assert "epochs: 7" in result.output


def test_a_wrong_setting_exits_with_2_and_one_message():
    result = run(app, ["config", "--set", "train.epoch=7"])
    assert result.exit_code == 2
    assert "did you mean train.epochs?" in result.output
    assert "Traceback" not in result.output


def test_a_rollback_at_a_destination_that_cannot_be_read(monkeypatch):
    def refuse(destination, version):
        raise PermissionError(13, "Permission denied", destination)

    monkeypatch.setattr(publishing, "rollback", refuse)
    result = run(app, ["rollback", "7", "--set", "push.destination=/closed"])
    assert result.exit_code == 2
    assert "Permission denied: '/closed'" in result.output


def test_the_file_of_verify_replicas_needs_a_folder(tmp_path):
    result = run(app, ["verify-replicas", "--out", f"{tmp_path}/none/table.md"])
    assert result.exit_code == 2
    assert "there is no folder" in result.output


def test_a_report_of_no_run_exits_with_2_and_one_message(tmp_path):
    result = run(app, ["report", "--set", f"root={tmp_path}"])
    assert result.exit_code == 2
    assert "no run has finished" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "command", ["run", "gc", "runs", "show last", "lineage last", "explain", "report"]
)
def test_runs_of_a_platform_are_not_looked_for_here(command):
    result = run(app, [*command.split(), "--set", "root=gs://bucket/root"])
    assert result.exit_code == 2
    assert "local folder, got gs://bucket/root" in result.output
