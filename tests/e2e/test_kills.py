"""A run survives being killed anywhere, a disk that errs, and the worst of places.

The place: a user whom the system does not know, without a home; a checkout that cannot be written;
folders with odd names; and, now and then, one CPU.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ml_metadata
import pytest
from ml_metadata.proto import metadata_store_pb2

from components import idx, mnist_files, versions
from pipeline import cache, data, manifest
from pipeline.data_settings import DataSettings
from tests.e2e.killing import NODES, Attempt
from tests.support import unprivileged

REPOSITORY = Path(__file__).parents[2]
ODD = "a b #1 %2F 'q' \"d\" ü日本 {x}@$HOME:;&|<>`=,~\nend"
SIGKILL = -9


@dataclasses.dataclass(frozen=True)
class Story:
    """What became of the attempts, in order, and where they left their traces."""

    attempts: list[Attempt]
    root: Path
    destination: Path
    checkout: Path

    def next_after(self, attempt: Attempt) -> Attempt:
        return self.attempts[self.attempts.index(attempt) + 1]

    def store(self) -> ml_metadata.MetadataStore:
        config = metadata_store_pb2.ConnectionConfig()
        config.sqlite.filename_uri = str(self.root / "metadata.sqlite")
        return ml_metadata.MetadataStore(config)

    def live(self) -> list[metadata_store_pb2.Artifact]:
        live = metadata_store_pb2.Artifact.LIVE
        return [artifact for artifact in self.store().get_artifacts() if artifact.state == live]


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    place = tmp_path_factory.mktemp("kills")
    checkout = _read_only_checkout(place / "checkout")
    work = place / ODD
    work.mkdir()
    root, destination = work / "runs", work / "serving"
    _write_data(work / "data")
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    command = [sys.executable, "-m", "tests.e2e.killing", root, destination, work / "data"]
    process = subprocess.run(
        [*unprivileged.command(), *command],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    attempts = [Attempt(**json.loads(line)) for line in process.stdout.splitlines()]
    return Story(attempts, root, destination, checkout)


def _write_data(folder: Path) -> None:
    """A part of MNIST: 2,200 train and 200 test examples."""
    folder.mkdir()
    mnist = data.fetch(DataSettings(directory=str(REPOSITORY / "data")))
    for file in mnist_files.find(mnist).paths:
        name = os.path.basename(file)
        idx.write(folder / name, idx.read(file)[: 2200 if name.startswith("train") else 200])


def _read_only_checkout(checkout: Path) -> Path:
    for package in ("components", "kubeflow", "pipeline", "schemas", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "golden")
        shutil.copytree(REPOSITORY / package, checkout / package, ignore=ignored)
    for path in (checkout, *checkout.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return checkout


def test_each_node_was_killed_at_each_point(story):
    killed = [each for each in story.attempts if each.code == SIGKILL]
    met = {(each.node, each.fate) for each in killed}
    points = {(node, fate) for node in NODES for fate in ("writing", "publishing", "published")}
    assert met == points | {("Pusher", "renaming")}
    for attempt in killed:
        before = list(NODES[: NODES.index(attempt.node)])
        assert (
            re.findall(r"^(\w+) +(?:done|cached) +[\d.]+ s", attempt.output, re.MULTILINE) == before
        )


def test_the_next_run_goes_on_where_the_killed_one_was(story):
    for attempt in story.attempts:
        if attempt.fate == "published" and not attempt.damaged and attempt.node != "Pusher":
            assert f"{attempt.node:<18} cached" in story.next_after(attempt).output


def test_only_a_whole_model_is_ever_served(story):
    [model] = [each.uri for each in story.live() if "/Trainer/model/" in each.uri]
    [version] = versions.versions(str(story.destination))
    assert os.listdir(story.destination) == [str(version)]
    whole = manifest.of(versions.path(str(story.destination), version))
    assert whole.items() >= manifest.of(os.path.join(model, "Format-Serving")).items()
    served = [attempt.served for attempt in story.attempts]
    first = next(i for i, attempt in enumerate(story.attempts) if attempt.served)
    assert (story.attempts[first].node, story.attempts[first].fate) == ("Pusher", "publishing")
    assert served == [[]] * first + [[whole]] * (len(served) - first)


def test_only_outputs_of_finished_nodes_are_ever_used(story):
    store, event = story.store(), metadata_store_pb2.Event
    executions = {each.id: each for each in store.get_executions()}
    events = store.get_events_by_execution_ids(list(executions))
    complete = metadata_store_pb2.Execution.COMPLETE
    finished = {
        each.artifact_id
        for each in events
        if each.type == event.OUTPUT and executions[each.execution_id].last_known_state == complete
    }
    used = {each.artifact_id for each in events if each.type == event.INPUT}
    assert used and used <= finished


def test_what_is_left_is_whole(story):
    artifacts = story.live()
    assert len(artifacts) > len(NODES)
    for artifact in artifacts:
        recorded = json.loads(artifact.custom_properties[cache.FILES].string_value)
        assert manifest.difference(artifact.uri, recorded) is None


def test_each_damaged_output_is_named_and_made_again(story):
    damaged = [attempt for attempt in story.attempts if attempt.damaged]
    assert [each.node for each in damaged] == ["MnistExampleGen", "Trainer", "ModelCheck"]
    live = {artifact.uri for artifact in story.live()}
    for attempt in damaged:
        output = story.next_after(attempt).output
        assert f"The cached output of {attempt.node} is damaged: {attempt.damaged}" in output
        assert f"{attempt.node:<18} done" in output
        assert not any(attempt.damaged.startswith(f"{uri}/") for uri in live)


def test_a_full_disk_is_told_and_leaves_nothing(story):
    [attempt] = [each for each in story.attempts if each.fate == "full_disk"]
    assert attempt.code == 1
    assert "MnistExampleGen failed: " in attempt.output
    assert "File too large" in attempt.output
    assert "Traceback" not in attempt.output


def test_in_the_end_all_is_well_and_cached(story):
    last, collected, again = story.attempts[-3:]
    [version] = versions.versions(str(story.destination))
    for attempt in (last, again):
        assert attempt.code == 0
        assert f"identical to pushed version {version}" in attempt.output
        for node in NODES:
            assert f"{node:<18} cached" in attempt.output
    assert collected.code == 0
    assert collected.output.count("Canceled execution ") == 2 * len(NODES) + 1
    assert "Removed artifacts/Trainer/model/" in collected.output
    running = metadata_store_pb2.Execution.RUNNING
    assert running not in {each.last_known_state for each in story.store().get_executions()}


def test_the_checkout_is_as_it_was(story):
    assert sorted(os.listdir(story.checkout)) == [
        "components",
        "kubeflow",
        "pipeline",
        "schemas",
        "tests",
    ]
