"""What killed runs left behind goes, and whatever a later run could use stays."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import time

import pytest
from typer.testing import CliRunner

from pipeline import config, gc, lock
from pipeline.cli import app
from tests.pipeline.toy_runs import killed_run, run

CACHED = {"Make": "cached", "Use": "cached", "Push": "cached"}


# Where TFX tells an executor to keep what it needs for the moment.
WORKING = "artifacts/Make/.system/executor_execution/4/.temp/shard"


@pytest.fixture(scope="module")
def remains(tmp_path_factory):
    """A root with a good run and a killed one, and a push destination with half a version."""
    folder = tmp_path_factory.mktemp("remains")
    run(folder, "one", pushes=True)
    assert killed_run(folder, "two") == -9
    unfinished = folder / "serving" / ".unfinished-2"
    unfinished.mkdir()
    (unfinished / "saved_model.pb").write_bytes(bytes(2000))
    (folder / WORKING).write_bytes(bytes(500))
    (folder / "logs" / "two").mkdir(parents=True)
    (folder / "logs" / "two" / ".result.json.123.unfinished").write_text("{")
    (folder / "logs" / "two" / "log.txt").write_text("the end")
    return folder


@pytest.fixture
def root(remains, tmp_path):
    """`remains` at the place where it was made, which the metadata names; restored afterwards."""
    copy = tmp_path / "copy"
    shutil.copytree(remains, copy)
    yield remains
    shutil.rmtree(remains, ignore_errors=True)
    shutil.copytree(copy, remains)


def settings(root):
    return config.load(None, [f"root={root}", f"push.destination={root}/serving"], {})


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} - {"lock"}


def states(root):
    with sqlite3.connect(root / "metadata.sqlite") as store:
        return [state for (state,) in store.execute("SELECT last_known_state FROM Execution")]


LEFT = {
    "artifacts/Make/model/4/variables/data",
    WORKING,
    "serving/.unfinished-2/saved_model.pb",
    "logs/two/.result.json.123.unfinished",
}
COMPLETE, RUNNING, CANCELED = 3, 2, 6


def test_removes_what_a_killed_run_left(root, capsys):
    before = files(root)
    assert before >= LEFT
    assert states(root) == [COMPLETE] * 3 + [RUNNING]

    assert gc.collect(settings(root), dry_run=False) == gc.OK

    assert files(root) == before - LEFT
    assert states(root) == [COMPLETE] * 3 + [CANCELED]
    assert capsys.readouterr().out.splitlines() == [
        "Canceled execution 4 of toy.Make: the run it was in is gone.",
        "Removed artifacts/Make/model/4 (1.0 kB): no run can use it.",
        "Removed artifacts/Make/.system/executor_execution/4 (500 bytes): a node's working folder.",
        "Removed logs/two/.result.json.123.unfinished (1 byte): a file that was not written to its "
        "end.",
        "Removed serving/.unfinished-2 (2.0 kB): a push that was not finished.",
        "3.5 kB freed.",
    ]
    assert run(root, "three", pushes=True)[0].states() == CACHED
    assert gc.collect(settings(root), dry_run=False) == gc.OK
    assert capsys.readouterr().out.splitlines()[-1] == "Nothing to remove."


def test_a_dry_run_says_it_and_does_nothing(root, capsys):
    before = files(root)
    assert gc.collect(settings(root), dry_run=True) == gc.OK
    assert files(root) == before
    assert states(root)[-1] == RUNNING
    out = capsys.readouterr().out
    assert "Would cancel execution 4" in out
    assert "Would remove artifacts/Make/model/4 (1.0 kB)" in out
    assert "3.5 kB would be freed." in out


def test_what_was_found_damaged_goes(root, capsys):
    damaged = root / "artifacts" / "Make" / "model" / "1"
    (damaged / "text").write_text("abused")
    assert run(root, "three", pushes=True)[0].states()["Make"] == "done"
    assert gc.collect(settings(root), dry_run=False) == gc.OK
    assert not damaged.exists()
    assert run(root, "four", pushes=True)[0].states() == CACHED


def test_a_root_that_was_moved_keeps_its_outputs(root, tmp_path):
    moved = tmp_path / "moved"
    before = files(root)
    shutil.move(root, moved)
    assert gc.collect(settings(moved), dry_run=False) == gc.OK
    assert files(moved) == before - LEFT


def test_what_is_not_of_a_run_stays(root):
    note = root / "artifacts" / "Make" / "model" / "notes" / "mine"
    note.parent.mkdir()
    note.touch()
    version = root / "serving" / "7"  # Being copied by hand, maybe.
    version.mkdir()
    assert gc.collect(settings(root), dry_run=False) == gc.OK
    assert note.exists() and version.exists()


def test_checkpoints_go_when_nobody_has_gone_on_from_them_for_a_month(root, capsys):
    now = time.time()
    for name, days in (("new", 29), ("old", 31)):
        file = root / "checkpoints" / name / "step-000000007" / "state.index"
        file.parent.mkdir(parents=True)
        file.write_bytes(bytes(300))
        for path in (file, file.parent, file.parents[1]):
            os.utime(path, (now - 86_400 * days,) * 2)
    assert gc.collect(settings(root), dry_run=False) == gc.OK
    assert "Removed checkpoints/old (300 bytes): no run went on" in capsys.readouterr().out
    assert {path.name for path in (root / "checkpoints").iterdir()} == {"new"}


def test_never_beside_a_run(root, capsys):
    before = files(root)
    with lock.hold(root / "lock"):
        assert gc.collect(settings(root), dry_run=False) == gc.FAILED
    assert f"process {os.getpid()} " in capsys.readouterr().out
    descriptor = os.open(root / "serving", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert gc.collect(settings(root), dry_run=False) == gc.FAILED
    finally:
        os.close(descriptor)
    assert "another process is publishing" in capsys.readouterr().out
    assert files(root) == before


def test_a_damaged_metadata_store_is_no_reason_to_remove_everything(root, capsys):
    store = root / "metadata.sqlite"
    os.truncate(store, store.stat().st_size // 2)
    before = files(root)
    assert gc.collect(settings(root), dry_run=False) == gc.FAILED
    assert "metadata.sqlite is damaged" in capsys.readouterr().out
    store.unlink()
    assert gc.collect(settings(root), dry_run=False) == gc.OK
    assert "has no metadata store" in capsys.readouterr().out
    assert files(root) == before - {"metadata.sqlite"}


def test_a_metadata_store_of_a_later_version_is_one_message(root, capsys):
    with contextlib.closing(sqlite3.connect(root / "metadata.sqlite")) as store, store:
        store.execute("UPDATE MLMDEnv SET schema_version = 99")
    before = files(root)
    assert gc.collect(settings(root), dry_run=False) == gc.FAILED
    out = capsys.readouterr().out
    assert "metadata.sqlite cannot be read as ML Metadata: MLMD database version 99 is" in out
    assert files(root) == before


def test_no_root_is_made(tmp_path):
    root = tmp_path / "none"
    result = CliRunner().invoke(app, ["gc", "--dry-run", "--set", f"root={root}"])
    assert (result.exit_code, result.output) == (
        0,
        f"Nothing to remove: {root} has no metadata store.\n",
    )
    assert not root.exists()
