"""TFX's cache serves what was damaged since; ours does not."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.pipeline.toy_runs import run

CACHED = {"Make": "cached", "Use": "cached"}


def output(results, node, key):
    [artifact] = results[node].outputs[key]
    return Path(artifact.uri)


def truncate(model):
    (model / "text").write_text("hel")


def flip_a_bit(model):
    content = bytearray((model / "variables" / "data").read_bytes())
    content[500] ^= 1
    (model / "variables" / "data").write_bytes(content)


def delete(model):
    (model / "variables" / "data").unlink()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (truncate, "text has changed"),
        (flip_a_bit, "variables/data has changed"),
        (delete, "variables/data is missing"),
        (shutil.rmtree, "text is missing"),
    ],
)
def test_a_damaged_output_is_named_and_made_again(tmp_path, damage, problem):
    _, first = run(tmp_path, "one")
    model = output(first, "Make", "model")
    damage(model)

    recorder, second = run(tmp_path, "two")
    assert recorder.discards() == [("Make", f"{model}/{problem}")]
    assert recorder.states() == {"Make": "done", "Use": "done"}
    assert (output(second, "Use", "copy") / "text").read_text() == "hello 1"

    recorder, third = run(tmp_path, "three")
    assert (recorder.discards(), recorder.states()) == ([], CACHED)
    assert output(third, "Make", "model") == output(second, "Make", "model") != model


def test_nodes_before_the_damage_stay_cached(tmp_path):
    _, first = run(tmp_path, "one")
    note = output(first, "Use", "note")
    note.write_text("abused")
    recorder, second = run(tmp_path, "two")
    assert recorder.discards() == [("Use", f"{note} has changed")]
    assert recorder.states() == {"Make": "cached", "Use": "done"}
    assert output(second, "Use", "note").read_text() == "used"


def test_an_output_without_a_record_is_not_trusted(tmp_path):
    _, first = run(tmp_path, "one")
    with sqlite3.connect(tmp_path / "metadata.sqlite") as store:
        store.execute("DELETE FROM ArtifactProperty WHERE name = 'files'")
    recorder, _ = run(tmp_path, "two")
    model = output(first, "Make", "model")
    assert recorder.discards() == [("Make", f"{model} was made without a record of its files")]
    assert recorder.states() == {"Make": "done", "Use": "done"}


def test_a_push_is_repeated_when_its_version_is_gone(tmp_path):
    run(tmp_path, "one", pushes=True)
    assert run(tmp_path, "two", pushes=True)[0].states() == {**CACHED, "Push": "cached"}
    version = tmp_path / "serving" / "1"
    shutil.rmtree(version)
    recorder, _ = run(tmp_path, "three", pushes=True)
    assert recorder.discards() == [("Push", f"{version}, which it pushed, is no longer there")]
    assert recorder.states() == {**CACHED, "Push": "done"}
    assert (version / "saved_model.pb").exists()


def test_without_a_cache_nothing_is_looked_at(tmp_path):
    _, first = run(tmp_path, "one")
    truncate(output(first, "Make", "model"))
    recorder, _ = run(tmp_path, "two", cache=False)
    assert recorder.discards() == []
    assert recorder.states() == {"Make": "done", "Use": "done"}


def test_folders_of_a_lost_metadata_store_do_not_mix_with_new_ones(tmp_path):
    _, first = run(tmp_path, "one")
    model = output(first, "Make", "model")
    (model / "stale").touch()
    (tmp_path / "metadata.sqlite").unlink()
    _, second = run(tmp_path, "two")
    assert output(second, "Make", "model") == model  # Executions are counted from 1 again.
    assert not (model / "stale").exists()


def test_a_clock_that_was_set_back(tmp_path):
    _, first = run(tmp_path, "one")
    with sqlite3.connect(tmp_path / "metadata.sqlite") as store:
        # Milliseconds: the year 2100. An artifact's own times are part of its users' cache keys.
        store.execute("UPDATE Execution SET create_time_since_epoch = 4102444800000")
    recorder, second = run(tmp_path, "two")
    assert recorder.states() == CACHED
    assert output(second, "Use", "copy") == output(first, "Use", "copy")
    recorder, _ = run(tmp_path, "three", text="other")
    assert recorder.events[1] == ("done", "Make", "other 1")
    assert run(tmp_path, "four", text="other")[0].states() == CACHED
