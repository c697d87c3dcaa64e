"""Where a pushed model comes from: each node and artifact, up to the files of its data."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from components import mnist_files
from components.metrics import PUSHED_FILE, Metrics
from pipeline.history import words
from pipeline.history.problem import HistoryError
from pipeline.history.runs import LAST, History, Run, text_digest
from pipeline.history.store import Artifact, Execution

_KIND = "PushedModel"
_RECORD = "assets.extra/training.json"


@dataclass(frozen=True)
class Origin:
    """An artifact with the execution that made it and what that was given.

    Attributes:
      artifact: The artifact.
      execution: What made it; None for one that came from elsewhere.
      run: Name of that execution's run.
      inputs: Its inputs by key; empty where they are shown already.
      folder: Of the files that it read the data from; None for all but one node.
      files: Their names, where they are still there.
      repeated: Whether it comes earlier in the tree too, with its inputs.
    """

    artifact: Artifact
    execution: Execution | None
    run: str | None
    inputs: dict[str, list["Origin"]] = field(default_factory=dict)
    folder: str | None = None
    files: tuple[str, ...] = ()
    repeated: bool = False


@dataclass(frozen=True)
class Lineage:
    """A pushed model and where it comes from."""

    version: str
    folder: str
    run: str
    facts: dict[str, str]
    origin: Origin

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "version": self.version,
            "folder": self.folder,
            "run": self.run,
            "facts": self.facts,
            "origin": _as_dict(self.origin),
        }


def find(history: History, text: str) -> Artifact:
    """The artifact of a pushed model.

    Args:
      history: Where to look.
      text: Number of its version, its folder at the destination or below the root, or `last`.

    Raises:
      HistoryError: No run under the root pushed it.
    """
    found = list(history.store.artifacts(_KIND)) if history.store else []
    pushed = [each for each in found if each.properties.get("pushed") == 1]
    if not pushed:
        raise HistoryError(f"no run in {history.root} has pushed a model yet")
    if text == LAST:
        return pushed[-1]
    for artifact in reversed(pushed):
        properties = artifact.properties
        folders = (properties["pushed_destination"], artifact.uri)
        if text == properties["pushed_version"] or _absolute(text) in folders:
            return artifact
    return _same_training(history, pushed, text)


def trace(history: History, pushed: Artifact) -> Lineage:
    """Follows a pushed model to the files of its data."""
    origin = _origin(history, pushed, set())
    run = history.find(origin.run)
    return Lineage(
        version=pushed.properties["pushed_version"],
        folder=pushed.properties["pushed_destination"],
        run=run.name,
        facts=_facts(run, pushed, origin),
        origin=origin,
    )


def _same_training(history: History, pushed: list[Artifact], text: str) -> Artifact:
    """For a version made by a rollback, the one whose training it is."""
    destinations = dict.fromkeys(
        str(Path(each.properties["pushed_destination"]).parent) for each in reversed(pushed)
    )
    for folder in (Path(text), *(Path(each) / text for each in destinations)):
        record = _read(folder / _RECORD)
        for artifact in pushed if record else ():
            if _read(Path(artifact.uri) / _RECORD) == record:
                return artifact
    versions = ", ".join(each.properties["pushed_version"] for each in reversed(pushed[-5:]))
    raise HistoryError(
        f"no run in {history.root} pushed {text!r}; versions that its runs pushed: {versions}"
    )


def _origin(history: History, artifact: Artifact, seen: set[int]) -> Origin:
    execution = history.store.maker(artifact)
    if execution is None:
        return Origin(artifact, None, None)
    run = history.store.run_of(execution)
    if artifact.id in seen:
        return Origin(artifact, execution, run, repeated=True)
    seen.add(artifact.id)
    folder = execution.properties.get("input_base")
    return Origin(
        artifact,
        execution,
        run,
        inputs={
            key: [_origin(history, each, seen) for each in execution.inputs[key]]
            for key in sorted(execution.inputs, key=_along_the_data)
        },
        folder=folder,
        files=_files(folder) if folder else (),
    )


def _along_the_data(key: str) -> tuple[bool, bool, str]:
    """The data and the model come first, so that what else refers to them can be short."""
    return key != "examples", key != "model", key


def _files(folder: str) -> tuple[str, ...]:
    try:
        found = mnist_files.find(folder)
    except (OSError, ValueError):
        return ()
    return tuple(os.path.basename(path) for path in found.paths)


def walk(origin: Origin) -> Iterator[Origin]:
    """An artifact and all that it was made from, each as often as it was used."""
    yield origin
    for inputs in origin.inputs.values():
        for each in inputs:
            yield from walk(each)


def _facts(run: Run, pushed: Artifact, origin: Origin) -> dict[str, str]:
    """What the model was made of, from the executions that made it, in whatever run they were."""
    made = {each.execution.node: each.execution for each in walk(origin) if each.execution}
    properties = {node: execution.properties for node, execution in made.items()}
    data, trainer = properties.get("MnistExampleGen", {}), properties.get("Trainer", {})
    schema = properties.get("ImportSchemaGen", {})
    config = json.loads(trainer.get("custom_config", "{}"))
    optimizer = dict(config.get("optimizer", {}))
    metrics = _read(Path(pushed.uri) / PUSHED_FILE)
    accuracy = (
        Metrics.model_validate_json(metrics).accuracy if metrics else run.result.get("accuracy")
    )
    return {
        "folder": pushed.properties["pushed_destination"],
        "test accuracy": words.percent(accuracy),
        "data SHA-256": data.get("fingerprint", words.NONE),
        "schema SHA-256": text_digest(schema.get("text")) or words.NONE,
        "code SHA-256": config.get("code", words.NONE),
        "model": _with_arguments(
            config.get("train", {}).get("model", words.NONE),
            config.get("train", {}).get("model_arguments", {}),
        ),
        "optimizer": _with_arguments(optimizer.pop("name", words.NONE), optimizer),
        "training": ", ".join(
            f"{key} {words.value(value)}"
            for key, value in config.get("train", {}).items()
            if key in ("epochs", "batch_size", "seed", "strategy")
        ),
        "started from": _base(origin),
    }


def _base(origin: Origin) -> str:
    for each in walk(origin):
        if each.execution and each.execution.node == "Trainer":
            for base in each.inputs.get("base_model", ()):
                version = base.artifact.properties.get("pushed_version")
                if version:
                    return f"the weights of version {version}"
    return "random weights"


def _with_arguments(name: str, arguments: dict[str, Any]) -> str:
    inside = ", ".join(f"{key}={words.value(value)}" for key, value in arguments.items())
    return f"{name} ({inside})" if inside else name


def _as_dict(origin: Origin) -> dict[str, Any]:
    execution = origin.execution
    return {
        "artifact": {
            "id": origin.artifact.id,
            "type": origin.artifact.kind,
            "uri": origin.artifact.uri,
        },
        "execution": execution
        and {
            "id": execution.id,
            "node": execution.node,
            "run": origin.run,
            "started": execution.started.isoformat(),
            "seconds": execution.seconds,
        },
        "data": origin.folder and {"folder": origin.folder, "files": list(origin.files)},
        "inputs": {
            key: [_as_dict(each) for each in inputs] for key, inputs in origin.inputs.items()
        },
    }


def _absolute(text: str) -> str:
    return text if "://" in text else str(Path(text).absolute())


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
