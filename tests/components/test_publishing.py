"""A server that looks at the destination at any moment sees whole versions only."""

import fcntl
import os
import subprocess
import sys
import threading

import pytest
from tfx.dsl.io import fileio

from components import publishing, versions

FILES = {
    "saved_model.pb": "graph",
    "fingerprint.pb": "print",
    "variables/variables.index": "index",
    "variables/variables.data-00000-of-00001": "weights",
}


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path / "model")


@pytest.fixture
def destination(tmp_path):
    return str(tmp_path / "serving")


@pytest.fixture
def object_store():
    """A destination that is not on the local file system: TensorFlow's in-memory one."""
    destination = "ram://serving"
    yield destination
    if fileio.exists(destination):
        fileio.rmtree(destination)


def write_model(folder, **changes):
    for name, content in {**FILES, **changes}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return str(folder)


def read_version(destination, version):
    folder = versions.path(destination, version)
    contents = {}
    for name in versions.files(folder):
        with fileio.open(os.path.join(folder, name)) as file:
            contents[name] = file.read()
    return contents


def at(seconds):
    return lambda: seconds


@pytest.mark.parametrize("store", ["destination", "object_store"])
def test_publishes_every_file_under_the_time(store, model, request):
    store = request.getfixturevalue(store)

    assert publishing.publish(model, store, clock=at(1700000000.9)) == 1700000000

    assert read_version(store, 1700000000) == FILES
    assert [name.rstrip("/") for name in fileio.listdir(store)] == ["1700000000"]


@pytest.mark.parametrize("store", ["destination", "object_store"])
def test_a_new_version_is_the_highest_whatever_the_clock_says(store, model, request):
    store = request.getfixturevalue(store)
    publishing.publish(model, store, clock=at(2000))

    assert publishing.publish(model, store, clock=at(2000)) == 2001
    assert publishing.publish(model, store, clock=at(5)) == 2002
    assert publishing.publish(model, store, clock=at(3000)) == 3000


def test_a_number_that_an_abandoned_folder_holds_is_not_used(model, destination):
    os.makedirs(os.path.join(destination, "2000"))

    assert publishing.publish(model, destination, clock=at(2000)) == 2001


@pytest.mark.parametrize("store", ["destination", "object_store"])
def test_keeps_the_last_versions(store, model, request):
    store = request.getfixturevalue(store)
    for time in (10, 20, 30, 40):
        publishing.publish(model, store, keep=2, clock=at(time))

    assert versions.numbers(store) == [30, 40]
    assert [read_version(store, version) for version in (30, 40)] == [FILES, FILES]


def test_keeps_all_versions_unless_told(model, destination):
    for time in (10, 20, 30):
        publishing.publish(model, destination, clock=at(time))

    assert versions.versions(destination) == [10, 20, 30]


def test_what_is_no_version_stays(model, destination):
    os.makedirs(os.path.join(destination, "notes"))
    publishing.publish(model, destination, keep=1, clock=at(10))
    publishing.publish(model, destination, keep=1, clock=at(20))

    assert sorted(os.listdir(destination)) == ["20", "notes"]


@pytest.mark.parametrize("keep", [0, -1])
def test_must_keep_a_version(keep, model, destination):
    with pytest.raises(ValueError, match=f"keep must be at least 1 version, got {keep}"):
        publishing.publish(model, destination, keep=keep)

    assert not os.path.exists(destination)


def test_publishes_models_only(tmp_path, destination):
    (tmp_path / "empty").mkdir()

    with pytest.raises(publishing.PublishError, match=r"empty is no SavedModel: it has no saved_"):
        publishing.publish(str(tmp_path / "empty"), destination)

    assert not os.path.exists(destination)


def test_a_failure_half_way_publishes_nothing(model, destination, monkeypatch):
    publishing.publish(model, destination, clock=at(10))
    original, copied = fileio.copy, []

    def copy_until_the_disk_is_full(source, target, overwrite=False):
        copied.append(target)
        if len(copied) == 3:
            raise OSError("No space left on device")
        original(source, target, overwrite=overwrite)

    monkeypatch.setattr(fileio, "copy", copy_until_the_disk_is_full)
    with pytest.raises(OSError, match="No space left"):
        publishing.publish(model, destination, clock=at(20))

    assert os.listdir(destination) == ["10"]


@pytest.mark.parametrize("store", ["destination", "object_store"])
def test_documents_lie_beside_the_model_and_stay_there(store, model, request):
    store = request.getfixturevalue(store)

    def documents(version):
        return {"assets.extra/card.md": f"Näherung, version {version}"}

    publishing.publish(model, store, clock=at(10), documents=documents)
    publishing.publish(model, store, clock=at(20))
    publishing.rollback(store, 10, clock=at(30))

    with_document = {**FILES, "assets.extra/card.md": "Näherung, version 10"}
    assert read_version(store, 10) == read_version(store, 30) == with_document
    assert read_version(store, 20) == FILES


@pytest.mark.parametrize("store", ["destination", "object_store"])
def test_documents_that_cannot_be_made_keep_the_model_back(store, model, request):
    store = request.getfixturevalue(store)

    def documents(version):
        raise KeyError("accuracy")

    with pytest.raises(KeyError, match="accuracy"):
        publishing.publish(model, store, clock=at(10), documents=documents)

    assert versions.numbers(store) == []
    assert [name for name in fileio.listdir(store) if name.startswith(".")] == []


# Forks in a process of its own: this one may have threads of TensorFlow.
KILL_AT_EACH_COPY = """
import os, sys
from tfx.dsl.io import fileio
from components import publishing

def kill_at_copy(number):
    original, copied = fileio.copy, []
    def copy(source, target, overwrite=False):
        original(source, target, overwrite=overwrite)
        copied.append(target)
        if len(copied) == number:
            os.kill(os.getpid(), 9)
    fileio.copy = copy

for number in range(1, int(sys.argv[3]) + 1):
    child = os.fork()
    if child == 0:
        kill_at_copy(number)
        publishing.publish(sys.argv[1], sys.argv[2])
    print(os.waitpid(child, 0)[1], os.listdir(sys.argv[2]))
"""


def test_a_kill_half_way_leaves_no_version_and_no_obstacle(model, destination, pytestconfig):
    publishing.publish(model, destination, clock=at(10))

    command = [sys.executable, "-c", KILL_AT_EACH_COPY, model, destination, str(len(FILES))]
    run = subprocess.run(
        command, cwd=pytestconfig.rootpath, capture_output=True, text=True, check=True
    )

    attempts = run.stdout.splitlines()
    assert len(attempts) == len(FILES)
    for attempt in attempts:
        assert attempt.startswith("9 ['")  # Killed by signal 9.
        assert attempt.count(".unfinished-") == 1
    assert versions.numbers(destination) == [10]
    assert publishing.publish(model, destination, clock=at(30)) == 30
    assert sorted(os.listdir(destination)) == ["10", "30"]
    assert read_version(destination, 30) == FILES


def test_what_a_killed_process_left_is_named(model, destination):
    publishing.publish(model, destination, clock=at(10))
    assert publishing.unfinished(destination) == []
    left = os.path.join(destination, ".unfinished-20")
    os.rename(versions.path(destination, 10), left)
    assert publishing.unfinished(destination) == [left]
    assert publishing.unfinished(destination + "-nowhere") == []
    assert publishing.unfinished("ram://nowhere") == []


def test_alone_at_a_destination_nobody_else_publishes(model, destination):
    with publishing.alone_at(destination):  # Not there yet: nothing to keep anybody from.
        publishing.publish(model, destination, clock=at(10))
    with publishing.alone_at(destination), pytest.raises(publishing.PublishError):
        publishing.publish(model, destination, clock=at(20))
    with pytest.raises(BlockingIOError), publishing.alone_at(destination):
        raise BlockingIOError
    assert publishing.publish(model, destination, clock=at(20)) == 20


def test_a_reader_never_sees_a_part_of_a_version(model, destination):
    top_level = {name.split("/")[0] for name in FILES}
    seen, done = set(), threading.Event()

    def watch():
        while not done.is_set():
            for version in versions.numbers(destination):
                seen.add(frozenset(os.listdir(versions.path(destination, version))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for time in range(100, 140):
            publishing.publish(model, destination, clock=at(time))
    finally:
        done.set()
        watcher.join()

    assert seen == {frozenset(top_level)}


def test_an_object_store_gets_the_file_that_makes_a_version_last(model, object_store, monkeypatch):
    order = []
    for name in ("copy", "remove", "rmtree"):
        _record(monkeypatch, name, order)

    publishing.publish(model, object_store, keep=1, clock=at(10))
    assert order[-1] == ("copy", "saved_model.pb")
    assert len(order) == len(FILES)

    order.clear()
    publishing.publish(model, object_store, keep=1, clock=at(20))
    assert order[len(FILES) :] == [("remove", "saved_model.pb"), ("rmtree", "10")]


def _record(monkeypatch, name, order):
    original = getattr(fileio, name)

    def recorded(*paths, **options):
        original(*paths, **options)
        order.append((name, os.path.basename(paths[-1])))

    monkeypatch.setattr(fileio, name, recorded)


def test_two_processes_do_not_publish_at_once(model, destination):
    publishing.publish(model, destination, clock=at(10))
    descriptor = os.open(destination, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(publishing.PublishError, match="another process is publishing to"):
            publishing.publish(model, destination, clock=at(20))
        with pytest.raises(publishing.PublishError, match="another process is publishing to"):
            publishing.rollback(destination, 10)
    finally:
        os.close(descriptor)

    assert publishing.publish(model, destination, clock=at(20)) == 20


@pytest.mark.parametrize("store", ["destination", "object_store"])
def test_rollback_publishes_an_older_version_again(store, tmp_path, request):
    store = request.getfixturevalue(store)
    publishing.publish(write_model(tmp_path / "good"), store, clock=at(10))
    bad = write_model(tmp_path / "bad", **{"saved_model.pb": "bad graph"})
    publishing.publish(bad, store, clock=at(20))

    assert publishing.rollback(store, 10, clock=at(30)) == 30

    assert versions.versions(store) == [10, 20, 30]
    assert read_version(store, 30) == FILES
    # Back again: nothing is lost by a rollback.
    assert publishing.rollback(store, 20, clock=at(40)) == 40
    assert read_version(store, 40)["saved_model.pb"] == "bad graph"


def test_rollback_to_what_is_served_changes_nothing(model, destination):
    publishing.publish(model, destination, clock=at(10))
    publishing.publish(model, destination, clock=at(20))

    assert publishing.rollback(destination, 20) == 20

    assert versions.versions(destination) == [10, 20]


def test_rollback_to_a_missing_version_says_which_there_are(model, destination):
    publishing.publish(model, destination, clock=at(10))

    with pytest.raises(versions.VersionError, match=r"no version 15 .*; versions there: 10$"):
        publishing.rollback(destination, 15)
    with pytest.raises(versions.VersionError, match="versions there: none"):
        publishing.rollback(destination + "-nowhere", 15)
    assert not os.path.exists(destination + "-nowhere")
