"""Each thing that can be wrong is found, and its cure named."""

import contextlib
import http.server
import importlib.metadata
import os
import resource
import shutil
import socket
import sqlite3
import sys
import threading
import types

import psutil
import pytest

from pipeline import config, doctor
from pipeline.diagnosis import machine, software, surroundings
from pipeline.diagnosis.finding import Finding, Level

GIB = 1 << 30


@pytest.fixture
def settings(tmp_path):
    return make(tmp_path)


def make(folder, **overrides):
    """Settings whose folders are below `folder`, not yet made."""
    chosen = {
        "root": f"{folder}/runs",
        "data.directory": f"{folder}/data",
        "push.destination": f"{folder}/serving",
        **overrides,
    }
    return config.load(None, [f"{key}={value}" for key, value in chosen.items()], {})


@pytest.fixture(autouse=True)
def bare_environment(tmp_path, monkeypatch):
    """No credentials, and no package index of one's own."""
    for name in surroundings._INDEX_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))


@pytest.fixture(autouse=True)
def fresh_report():
    clear = software._tensorflow_report.cache_clear
    clear()
    yield
    clear()


def good(_):
    return Finding(Level.OK, "well")


def bad(_):
    return Finding(Level.FAILURE, "broken", "mend it")


def poor(_):
    return Finding(Level.WARNING, "slow", "wait")


def test_only_a_failure_makes_the_exit_code(settings, capsys):
    assert doctor.doctor(settings, [good, poor]) == doctor.OK
    assert doctor.doctor(settings, [good, bad, poor]) == doctor.SICK
    out = capsys.readouterr().out
    assert "✓ good" in out
    assert "✗ bad" in out
    assert "mend it" in out


def test_on_this_machine_python_and_tensorflow_are_well(settings):
    for check in (software.python, software.tensorflow, software.gpus, machine.cores):
        assert check(settings).level == Level.OK
    assert importlib.metadata.version("tensorflow") in software.tensorflow(settings).text


def test_every_check_has_its_line(settings, capsys, monkeypatch):
    report = {"tensorflow": "2", "keras": "3", "gpus": 0}
    monkeypatch.setattr(software, "_tensorflow_report", lambda: report)
    monkeypatch.setattr(surroundings, "_answers", lambda address: True)
    doctor.doctor(settings)
    out = capsys.readouterr().out
    for check in doctor.CHECKS:
        assert check.__name__ in out


@pytest.mark.parametrize("version", [(3, 9, 1), (3, 14, 0), (2, 7, 18)])
def test_another_python(settings, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    found = software.python(settings)
    assert found.level == Level.FAILURE
    assert "must be 3.10 to 3.13" in found.text


def test_packages_other_than_locked(settings, monkeypatch, tmp_path):
    lock = tmp_path / "requirements.lock"
    numpy = importlib.metadata.version("numpy")
    lock.write_text(
        "# made by uv\n"
        f"numpy=={numpy} ; python_version >= '3.10' \\\n    --hash=sha256:00\n    # via keras\n"
        "numpy==0.1 ; python_version < '3' \\\n    --hash=sha256:00\n"
    )
    monkeypatch.setattr(software, "LOCK", lock)
    assert software.packages(settings) == Finding(Level.OK, "1 as in requirements.lock")
    with lock.open("a") as file:
        file.write("pytest==0.0.1 \\\n    --hash=sha256:00\nno-such-package==1\n")
    found = software.packages(settings)
    assert found.level == Level.FAILURE
    assert found.text.startswith("2 of 3 differ")
    assert "not 0.0.1" in found.text
    assert "no-such-package is missing" in found.text
    assert "make clean setup" in found.cure


def test_a_compiler_is_missing(settings, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = software.compiler(settings)
    assert (found.level, found.cure) == (Level.WARNING, "install g++")


def test_tensorflow_that_dies_or_hangs(settings, monkeypatch):
    monkeypatch.setattr(software, "_TENSORFLOW", "import os; os.abort()")
    found = software.tensorflow(settings)
    assert found.level == Level.FAILURE
    assert "exit code -6" in found.text
    software._tensorflow_report.cache_clear()
    monkeypatch.setattr(software, "_TENSORFLOW", "raise ImportError('no libcudart')")
    assert "ImportError: no libcudart" in software.tensorflow(settings).text
    software._tensorflow_report.cache_clear()
    monkeypatch.setattr(software, "_TENSORFLOW", "import time; time.sleep(60)")
    monkeypatch.setattr(software, "_TENSORFLOW_SECONDS", 0.1)
    assert "no answer in 0.1 s" in software.tensorflow(settings).text


def test_gpus_that_tensorflow_does_not_see(settings, monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA L4 (UUID: GPU-1)'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(software, "_tensorflow_report", lambda: {"gpus": 0})
    found = software.gpus(settings)
    assert found.level == Level.WARNING
    assert found.text == "1 present, 0 usable by TensorFlow"
    assert "and-cuda" in found.cure
    monkeypatch.setattr(software, "_tensorflow_report", lambda: {"gpus": 1})
    assert software.gpus(settings) == Finding(Level.OK, "1")


@pytest.mark.parametrize(
    ("gib", "swap", "level"),
    [(1, 0, Level.FAILURE), (1, 0.5, Level.WARNING), (1.5, 0, Level.WARNING), (100, 0, Level.OK)],
)
def test_memory(settings, monkeypatch, tmp_path, gib, swap, level):
    monkeypatch.setattr(machine, "_CONTAINER_LIMIT", tmp_path / "none")
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: types.SimpleNamespace(available=gib * GIB)
    )
    monkeypatch.setattr(psutil, "swap_memory", lambda: types.SimpleNamespace(free=swap * GIB))
    assert machine.memory(settings).level == level


def test_a_limit_on_addresses(settings, monkeypatch):
    def limit(which):
        assert which == resource.RLIMIT_AS
        return 3 * GIB, resource.RLIM_INFINITY

    monkeypatch.setattr(resource, "getrlimit", limit)
    found = machine.memory(settings)
    assert found.level == Level.FAILURE
    assert found.text == "3.0 GiB of addresses allowed; a run needs 3.5 GiB"
    assert "ulimit -v" in found.cure


@pytest.mark.parametrize(("limit", "level"), [("max", Level.OK), (str(GIB), Level.FAILURE)])
def test_a_container_may_have_less_memory_than_the_machine(
    settings, monkeypatch, tmp_path, limit, level
):
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(machine, "_CONTAINER_LIMIT", tmp_path / "memory.max")
    free = types.SimpleNamespace(available=100 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    assert machine.memory(settings).level == level


def test_the_fullest_disk_counts(settings, monkeypatch):
    def usage(path):
        return types.SimpleNamespace(free=(1 if path == machine._existing(path) else 0) * GIB)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    found = machine.disk(settings)
    assert found.level == Level.WARNING
    assert found.text.startswith("1.0 GiB free for ")


def test_a_full_disk(settings, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: types.SimpleNamespace(free=GIB // 10))
    found = machine.disk(settings)
    assert found.level == Level.FAILURE
    assert found.text.endswith("a run needs 0.25 GiB")


def test_folders_are_looked_at_and_not_made(settings, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    assert machine.folders(settings).level == Level.OK
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_cannot_be_written(tmp_path):
    found = machine.folders(make(tmp_path, root="/proc/runs"))
    assert found.level == Level.FAILURE
    assert found.text.startswith("/proc cannot be written")
    assert "/proc/runs" in found.cure


def test_a_working_folder_whose_name_is_not_utf_8(tmp_path, monkeypatch):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    monkeypatch.chdir(folder)
    found = machine.folders(make(tmp_path, root="runs"))
    assert found.level == Level.FAILURE
    assert found.text.endswith(r"\udcff/runs' is not UTF-8")


def test_data_that_is_there_may_lie_in_a_folder_that_cannot_be_written(tmp_path):
    assert machine.folders(make(tmp_path, **{"data.source": "/proc"})).level == Level.OK
    assert machine.folders(make(tmp_path, **{"data.directory": "/proc"})).level == Level.OK
    found = machine.folders(make(tmp_path, **{"data.directory": "/proc/none"}))
    assert found.level == Level.FAILURE


def test_a_metadata_store_is_whole_or_not(settings, tmp_path, monkeypatch):
    store = tmp_path / "runs" / "metadata.sqlite"
    assert machine.metadata(settings) == Finding(Level.OK, "no earlier runs")
    store.parent.mkdir()
    with contextlib.closing(sqlite3.connect(store)) as database:
        database.execute("CREATE TABLE Artifact (uri TEXT)")
        database.executemany("INSERT INTO Artifact VALUES (?)", [("x" * 1000,)] * 100)
        database.commit()
    content = store.read_bytes()
    assert machine.metadata(settings) == Finding(Level.OK, "whole")
    monkeypatch.setattr(machine, "_BUSY_SECONDS", 0)
    with contextlib.closing(sqlite3.connect(store)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        found = machine.metadata(settings)
    assert (found.level, found.text) == (Level.WARNING, f"{store} is being written to")
    store.write_bytes(content[: len(content) // 2])
    found = machine.metadata(settings)
    assert found.level == Level.FAILURE
    assert found.text == f"{store} is damaged: database disk image is malformed"
    assert "move it away" in found.cure
    store.write_text("no database, but long enough to be looked at")
    assert machine.metadata(settings).text == f"{store} is damaged: file is not a database"


def test_credentials_are_found_and_not_told(settings, tmp_path, monkeypatch):
    assert surroundings.credentials(settings) == Finding(Level.OK, "none, and none needed")
    secret = tmp_path / "gcloud" / "application_default_credentials.json"
    secret.parent.mkdir()
    secret.write_text('{"refresh_token": "sesame"}')
    found = surroundings.credentials(settings)
    assert found == Finding(Level.OK, "Google application default credentials are present")


@pytest.mark.parametrize(
    "override",
    [{"push.destination": "gs://bucket/x"}, {"vertex.project": "p"}, {"kubeflow.root": "gs://b"}],
)
def test_credentials_are_missing_where_the_settings_need_them(tmp_path, override):
    found = surroundings.credentials(make(tmp_path, **override))
    assert found.level == Level.FAILURE
    assert "gcloud auth application-default login" in found.cure


def test_credentials_at_a_wrong_path(settings, monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    found = surroundings.credentials(settings)
    assert found.level == Level.FAILURE
    assert "GOOGLE_APPLICATION_CREDENTIALS" in found.text


def test_where_no_server_is_named_none_is_asked(settings, monkeypatch):
    monkeypatch.setattr(surroundings, "_answers", lambda address: pytest.fail(address))
    assert surroundings.network(settings).text == "not needed by these settings"


def test_servers_that_are_asked(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(surroundings, "_answers", lambda address: not asked.append(address))
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example/simple/")
    chosen = make(
        tmp_path,
        **{
            "data.source": "https://data.example/mnist",
            "push.destination": "gs://bucket/x",
            "vertex.image": "europe-docker.pkg.dev/project/images/mnist",
        },
    )
    assert surroundings.network(chosen).level == Level.OK
    assert asked == [
        "https://packages.example/simple/",
        "https://data.example/mnist",
        "https://storage.googleapis.com/",
        "https://europe-docker.pkg.dev/v2/",
    ]


def test_a_silent_server_is_named_without_its_password(settings, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://user:sesame@127.0.0.1:9/simple")
    found = surroundings.network(settings)
    assert found.level == Level.WARNING
    assert found.text == "no answer from 127.0.0.1"
    assert "UV_DEFAULT_INDEX" in found.cure


@pytest.mark.parametrize(
    ("status", "level"), [(200, Level.OK), (404, Level.OK), (401, Level.OK), (502, Level.WARNING)]
)
def test_any_answer_shows_that_a_server_is_there(settings, monkeypatch, status, level):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            """Says nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/simple/"
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        found = surroundings.network(settings)
        server.shutdown()
        thread.join()
    assert found.level == level


def test_an_engine_that_answers_and_one_that_does_not(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        service = {"beam.engine": "portable", "beam.job_endpoint": f"127.0.0.1:{port}"}
        assert surroundings.engine(make(tmp_path, **service)).level == Level.OK
        flink = {"beam.engine": "flink", "beam.address": f"http://127.0.0.1:{port}"}
        found = surroundings.engine(make(tmp_path, **flink))
        assert (found.level, found.text) == (Level.OK, f"flink answers at 127.0.0.1:{port}")
    found = surroundings.engine(make(tmp_path, **flink))
    assert found.level == Level.FAILURE
    assert found.text == f"no answer from beam.address 127.0.0.1:{port}: Connection refused"
    assert found.cure == "start it there, or set beam.engine=local"


def test_the_lock_of_this_project_is_read_whole():
    locked = dict(software._locked(software.LOCK.read_text("utf-8")))
    assert locked["tensorflow"] == importlib.metadata.version("tensorflow")
    assert len(locked) > 200
