"""A run that cannot end does not begin: one message, and nothing is made."""

import resource
import shutil
import subprocess
import sys
import types
from datetime import datetime, timezone

import pytest

from pipeline import config, preflight, run
from pipeline.diagnosis.finding import Finding, Level
from tests.support import unprivileged


def make(folder, **overrides):
    chosen = {"root": f"{folder}/runs", "push.destination": f"{folder}/serving", **overrides}
    return config.load("smoke", [f"{key}={value}" for key, value in chosen.items()], {})


def test_a_failure_ends_it_and_a_warning_does_not(tmp_path):
    well, poor = Finding(Level.OK, "well"), Finding(Level.WARNING, "slow", "wait")
    bad = Finding(Level.FAILURE, "broken", "mend it")
    preflight.require(make(tmp_path), [lambda _: well, lambda _: poor])
    with pytest.raises(preflight.NotReadyError, match="^broken; mend it$"):
        preflight.require(make(tmp_path), [lambda _: well, lambda _: bad])


def full(monkeypatch, folder):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: types.SimpleNamespace(free=1 << 20))
    return make(folder), "a run needs 0.25 GiB"


def unwritable_root(monkeypatch, folder):
    return make(folder, root="/proc/runs"), "/proc cannot be written"


def unwritable_destination(monkeypatch, folder):
    return make(folder, **{"push.destination": "/proc/serving"}), "another folder than /proc/serv"


def a_file_for_a_root(monkeypatch, folder):
    (folder / "runs").touch()
    return make(folder), "runs cannot be written: Not a directory"


@pytest.mark.parametrize(
    "circumstance", [full, unwritable_root, unwritable_destination, a_file_for_a_root]
)
def test_a_run_is_refused_before_it_makes_anything(tmp_path, monkeypatch, capsys, circumstance):
    settings, message = circumstance(monkeypatch, tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert run.run(settings) == run.FAILED
    printed = capsys.readouterr().err
    assert message in printed
    assert len(printed.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def refused(checkout, folder, *command, **options) -> str:
    """What the command says when it is started with a root and a destination in `folder`."""
    flags = ["--set", f"root={folder}/runs", "--set", f"push.destination={folder}/serving"]
    process = subprocess.run(
        [*command, sys.executable, "-m", "pipeline", "run", *flags],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert process.returncode == run.FAILED, process.stderr
    assert process.stdout == ""
    return process.stderr


@pytest.mark.parametrize("name", ["runs", "serving"])
def test_a_folder_that_permissions_keep_a_user_from(tmp_path, pytestconfig, name):
    closed = tmp_path / name
    closed.mkdir(mode=0o555)
    printed = refused(pytestconfig.rootpath, tmp_path, *unprivileged.command())
    assert printed == (
        f"{closed} cannot be written: Permission denied; change its permissions, or choose another "
        f"folder than {closed} with --set\n"
    )
    assert list(tmp_path.iterdir()) == [closed]


def test_a_process_that_may_not_have_the_memory(tmp_path, pytestconfig):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.RLIM_INFINITY))

    printed = refused(pytestconfig.rootpath, tmp_path, preexec_fn=limit)
    assert printed == (
        "2.0 GiB of addresses allowed; a run needs 3.5 GiB; raise the limit: ulimit -v unlimited\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_two_runs_in_one_millisecond_have_a_folder_each(tmp_path, monkeypatch):
    class Clock:
        times = iter([datetime(2026, 1, 1, tzinfo=timezone.utc)] * 3 + [datetime(2026, 1, 2)])

        @classmethod
        def now(cls, zone):
            return next(cls.times)

    monkeypatch.setattr(run, "datetime", Clock)
    folders = [run._new_run_folder(tmp_path) for _ in range(2)]
    assert [folder.name for folder in folders] == ["20260101T000000000Z", "20260102T000000000Z"]
