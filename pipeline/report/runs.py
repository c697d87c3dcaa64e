"""Runs of the past: their folder under `ROOT/logs` and what ML Metadata knows of them."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pydantic
import yaml
from ml_metadata import errors
from ml_metadata.proto import metadata_store_pb2
from tfx.dsl.io import fileio
from tfx.orchestration import metadata
from tfx.orchestration.portable.mlmd import execution_lib

from pipeline.local_runner import State
from pipeline.outcome import Outcome

_RESULT = "result.json"
_METADATA = "metadata.sqlite"
LAST = "last"
# Of `Outcome.as_dict`: a run that did not come to its end has another one, or none.
_VERDICTS = ("pushed", "nothing_new", "refused")
_FINISHED = (metadata_store_pb2.Execution.COMPLETE, metadata_store_pb2.Execution.CACHED)


class RunError(ValueError):
    """There is no such run, or nothing to report of it; the message says what there is."""


@dataclass(frozen=True)
class Node:
    """What ML Metadata knows of a node in a run.

    Attributes:
      parameters: Its execution properties.
      outputs: TFX artifacts by key.
    """

    parameters: dict[str, Any]
    outputs: dict[str, list]


class Use(pydantic.BaseModel):
    """What a node took; `peak_memory` in bytes."""

    state: State
    seconds: float
    peak_memory: int


class Result(pydantic.BaseModel):
    """What `result.json` holds beside the outcome."""

    seconds: float
    nodes: dict[str, Use]


@dataclass(frozen=True)
class Record:
    """What a run was told to do, and what its nodes gave.

    Attributes:
      folder: `ROOT/logs/NAME`.
      settings_yaml: The settings as they were resolved then.
      settings: The same, parsed.
      nodes: By name.
    """

    folder: Path
    settings_yaml: str
    settings: dict[str, Any]
    nodes: dict[str, Node]

    @property
    def name(self) -> str:
        """The time it started, in UTC, e.g. 20260131T235959123Z."""
        return self.folder.name

    @property
    def started(self) -> str:
        """When, for people."""
        return datetime.strptime(self.name[:15], "%Y%m%dT%H%M%S").strftime("%-d %B %Y, %H:%M UTC")

    def output(self, node: str, key: str):
        """The one artifact that a node gave under a key."""
        [artifact] = self.nodes[node].outputs[key]
        return artifact


@dataclass(frozen=True)
class Run(Record):
    """A run whose nodes all finished.

    Attributes:
      outcome: How it ended.
      result: What it took.
    """

    outcome: Outcome
    result: Result


def finished(root: Path) -> list[Path]:
    """Folders of the runs whose nodes all finished, the oldest first."""
    return sorted(
        file.parent for file in root.glob(f"logs/*/{_RESULT}") if _verdict(file) in _VERDICTS
    )


def _verdict(result: Path) -> str | None:
    """How a run ended; None where its record is damaged, which is not to spoil those of others."""
    try:
        return json.loads(result.read_bytes())["verdict"]
    except (ValueError, KeyError, TypeError):
        return None


def find(root: Path, name: str = LAST) -> Path:
    """The folder of a finished run.

    Args:
      root: Of the runs.
      name: The beginning of the run's name, or `last`.

    Raises:
      RunError: There is none of this name, more than one, or none at all.
    """
    folders = finished(root)
    if not folders:
        raise RunError(f"no run has finished under {root / 'logs'}; start one with `make run`")
    if name == LAST:
        return folders[-1]
    found = [folder for folder in folders if folder.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(folder.name for folder in found[-3:])
        raise RunError(f"{name!r} is the beginning of {len(found)} finished runs: {names}")
    if (root / "logs" / name).is_dir():
        log = root / "logs" / name / "log.txt"
        raise RunError(f"run {name} did not finish, so that there is nothing to report; see {log}")
    last = ", ".join(folder.name for folder in folders[-3:])
    raise RunError(f"no run {name!r} under {root / 'logs'}; the last that finished: {last}")


def previous(folder: Path) -> Path | None:
    """The folder of the run that finished before this one at the same root, if any."""
    earlier = [other for other in finished(folder.parents[1]) if other.name < folder.name]
    return max(earlier, default=None)


def load(folder: Path) -> Run:
    """Reads a finished run.

    Raises:
      RunError: Its result is of another version, ML Metadata does not know it, or what a node gave
        is gone.
    """
    content = (folder / _RESULT).read_bytes()
    try:
        outcome = pydantic.TypeAdapter(Outcome).validate_json(content)
        result = Result.model_validate_json(content)
    except pydantic.ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise RunError(
            f"{folder / _RESULT} is not as this version writes it: {where}: {problem['msg']}; "
            "run again"
        ) from None
    record = load_record(folder)
    missing = sorted(set(result.nodes) - set(record.nodes))
    if missing:
        raise RunError(
            f"{folder.parents[1] / _METADATA} does not know what {', '.join(missing)} gave in run "
            f"{folder.name}"
        )
    for name in result.nodes:
        for artifact in (each for found in record.nodes[name].outputs.values() for each in found):
            if not fileio.exists(artifact.uri):
                raise RunError(f"what {name} gave in run {folder.name} is gone: {artifact.uri}")
    return Run(**vars(record), outcome=outcome, result=result)


def load_record(folder: Path) -> Record:
    """Reads what a run was told and what its nodes gave, as far as ML Metadata knows it.

    Raises:
      RunError: Its settings or the metadata cannot be read.
    """
    file, database = folder / "settings.yaml", folder.parents[1] / _METADATA
    try:
        settings_yaml = file.read_text("utf-8")
        settings = yaml.safe_load(settings_yaml)
        name = settings["name"]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as error:
        raise RunError(f"{file} cannot be read: {error}") from None
    try:
        nodes = _read_nodes(database, folder.name, name) if database.is_file() else {}
    except (errors.StatusError, RuntimeError) as error:
        raise RunError(f"{database} cannot be read as ML Metadata: {error}") from None
    return Record(folder, settings_yaml, settings, nodes)


def _read_nodes(database: Path, run: str, pipeline: str) -> dict[str, Node]:
    connection = metadata.sqlite_metadata_connection_config(str(database))
    connection.sqlite.connection_mode = metadata_store_pb2.SqliteMetadataSourceConfig.READONLY
    nodes = {}
    with metadata.Metadata(connection) as handle:
        context = handle.store.get_context_by_type_and_name("pipeline_run", run)
        executions = handle.store.get_executions_by_context(context.id) if context else []
        for execution in executions:
            if execution.last_known_state not in _FINISHED:
                continue
            contexts = handle.store.get_contexts_by_execution(execution.id)
            [name] = [each.name for each in contexts if each.type == "node"]
            nodes[name.removeprefix(f"{pipeline}.")] = Node(
                parameters={
                    key: getattr(value, value.WhichOneof("value"))
                    for key, value in execution.custom_properties.items()
                },
                outputs=dict(execution_lib.get_output_artifacts(handle, execution.id)),
            )
    return nodes
