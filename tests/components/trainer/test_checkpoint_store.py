import json
import os
import shutil
import socket

import pytest
import tensorflow as tf

from components.trainer import checkpoint_store


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "checkpoints"


@pytest.fixture
def variable():
    return tf.Variable(0)


@pytest.fixture
def write(folder, variable):
    """Writes the checkpoint of a step, in which the variable is the number of the step."""

    def write(step):
        variable.assign(step)
        checkpoint_store.write(tf.train.Checkpoint(variable=variable), str(folder), step)

    return write


def read(folder, step):
    variable = tf.Variable(-1)
    checkpoint_store.read(tf.train.Checkpoint(variable=variable), str(folder), step)
    return int(variable.numpy())


def newest(folder):
    return checkpoint_store.newest(str(folder))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def file(folder, step, ending):
    [path] = (folder / f"step-{step:09d}").glob(f"*{ending}")
    return path


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_nothing_there(folder):
    assert newest(folder) == 0


def test_the_newest_comes_back_and_one_before_it_is_kept(folder, write):
    for step in (7, 40, 1_000):
        write(step)
        assert newest(folder) == step
        assert read(folder, step) == step
    assert names(folder) == ["step-000000040", "step-000001000"]


def test_a_step_can_be_written_again(folder, write, variable):
    write(7)
    variable.assign(8)
    checkpoint_store.write(tf.train.Checkpoint(variable=variable), str(folder), 7)
    assert newest(folder) == 7 and read(folder, 7) == 8


@pytest.mark.parametrize("damage", [truncate, flip_a_bit, os.remove])
@pytest.mark.parametrize("ending", [".index", ".data-00000-of-00001", "manifest.json"])
def test_a_damaged_one_is_passed_over_and_named(damage, ending, folder, write, caplog):
    write(7)
    write(8)
    damage(file(folder, 8, ending))
    assert newest(folder) == 7 and read(folder, 7) == 7
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert f"{folder}/step-000000008 is passed over" in record.getMessage()
    assert ending in record.getMessage() or "manifest.json" in record.getMessage()


def test_all_damaged_is_like_none(folder, write):
    write(7)
    truncate(file(folder, 7, ".index"))
    assert newest(folder) == 0


@pytest.mark.parametrize("manifest", ["", "[1]", "[[1, 2]]", "7", "null", "{", "{}"])
def test_a_manifest_of_another_kind_is_damage(manifest, folder, write):
    write(7)
    file(folder, 7, "manifest.json").write_text(manifest)
    assert newest(folder) == 0


def test_a_damaged_one_does_not_outlive_the_next(folder, write):
    write(7)
    write(20)
    truncate(file(folder, 20, ".index"))
    write(15)  # Training went on from 7.
    assert names(folder) == ["step-000000007", "step-000000015"]


def test_other_things_in_the_folder_are_no_checkpoints(folder, write):
    write(7)
    shutil.copytree(folder / "step-000000007", folder / "unfinished-1")
    shutil.copytree(folder / "step-000000007", folder / "step-later")
    assert newest(folder) == 7
    write(8)
    assert names(folder) == ["step-000000007", "step-000000008"]


def test_a_temporary_folder_that_tensorflow_left_is_no_damage(folder, write, monkeypatch):
    real = tf.train.Checkpoint.write

    def leaving(self, prefix):
        path = real(self, prefix)
        os.mkdir(f"{prefix}_temp")
        return path

    monkeypatch.setattr(tf.train.Checkpoint, "write", leaving)
    write(7)
    assert newest(folder) == 7 and read(folder, 7) == 7


def test_what_was_written_holds_no_pickle(folder, write):
    write(7)
    manifest = json.loads(file(folder, 7, "manifest.json").read_text())
    assert set(manifest) == {"state.index", "state.data-00000-of-00001"}


def test_another_process_of_the_same_number_elsewhere_is_not_in_the_way(folder, write, monkeypatch):
    """Two containers train the same at one root; the other is killed before its manifest."""
    usual = checkpoint_store._digests

    def other_is_killed(_):
        raise Killed

    def meanwhile(unfinished):
        with monkeypatch.context() as patch:
            patch.setattr(socket, "gethostname", lambda: "elsewhere")
            patch.setattr(checkpoint_store, "_digests", other_is_killed)
            with pytest.raises(Killed):
                write(9)
        return usual(unfinished)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_store, "_digests", meanwhile)
        write(7)
    assert newest(folder) == 7 and read(folder, 7) == 7
    write(8)
    assert names(folder) == ["step-000000007", "step-000000008"]


class Killed(BaseException):
    """Stands for a kill at one operation of the file system."""


@pytest.mark.parametrize("step", [8, 7], ids=["a new step", "the same step again"])
def test_a_kill_at_any_operation_leaves_a_whole_one(step, folder, write, monkeypatch):
    operations = ("rename", "rmtree", "makedirs", "exists", "listdir", "GFile")
    real = {name: getattr(tf.io.gfile, name) for name in operations}
    left = [0]

    def dying(name):
        def operation(*arguments, **keywords):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return real[name](*arguments, **keywords)

        return operation

    done, kills = False, 0
    while not done:
        shutil.rmtree(folder, ignore_errors=True)
        write(5)
        write(7)
        with monkeypatch.context() as patch:
            for name in operations:
                patch.setattr(tf.io.gfile, name, dying(name))
            left[0] = kills
            try:
                write(step)
                done = True
            except Killed:
                kills += 1
        found = newest(folder)
        assert found in (5, 7, step) and read(folder, found) == found
        # Only while a step is exchanged for itself, the one before it is the newest.
        assert found >= 7 or step == 7
        write(9)
        assert newest(folder) == 9 and len(names(folder)) == checkpoint_store.KEEP
    assert kills > 5
