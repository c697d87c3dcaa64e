"""Reads ML Metadata, and never writes: neither a database nor a table is made."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ml_metadata import errors
from ml_metadata.metadata_store import metadata_store
from ml_metadata.proto import metadata_store_pb2

from pipeline.history.problem import HistoryError

_EXECUTION = metadata_store_pb2.Execution
_STATES = {
    _EXECUTION.NEW: "waiting",
    _EXECUTION.RUNNING: "running",
    _EXECUTION.COMPLETE: "done",
    _EXECUTION.FAILED: "failed",
    _EXECUTION.CACHED: "cached",
    _EXECUTION.CANCELED: "canceled",
}
# One that was canceled was so some time after it had been killed.
_ENDED = ("done", "cached", "failed")
_OUTPUT, _INPUT = metadata_store_pb2.Event.OUTPUT, metadata_store_pb2.Event.INPUT


@dataclass(frozen=True)
class Artifact:
    """What a node made: its type's name, its folder, and its properties of either kind."""

    id: int
    kind: str
    uri: str
    properties: dict[str, Any]


@dataclass(frozen=True)
class Execution:
    """One node in one run.

    Attributes:
      id: In ML Metadata.
      node: Id of the node.
      state: waiting, running, done, cached, failed or canceled.
      started: When it was registered.
      seconds: How long it took; None while it runs, and for one that was killed.
      properties: The node's parameters.
      inputs: Artifacts by key.
      outputs: Artifacts by key; of a cached one those of the execution that made them.
    """

    id: int
    node: str
    state: str
    started: datetime
    seconds: float | None
    properties: dict[str, Any]
    inputs: dict[str, list[Artifact]] = field(default_factory=dict)
    outputs: dict[str, list[Artifact]] = field(default_factory=dict)


class Store:
    """The metadata of all runs under one root."""

    def __init__(self, path: Path):
        """Opens the database.

        Raises:
          HistoryError: It cannot be read, or not by this version of ML Metadata.
        """
        self._path = path
        config = metadata_store_pb2.ConnectionConfig()
        config.sqlite.filename_uri = str(path)
        config.sqlite.connection_mode = metadata_store_pb2.SqliteMetadataSourceConfig.READONLY
        with self._readable():
            self._store = metadata_store.MetadataStore(config)

    def runs(self) -> list[str]:
        """Names of all runs that came as far as their first node."""
        with self._readable():
            return [context.name for context in self._store.get_contexts_by_type("pipeline_run")]

    def executions(self, run: str) -> list[Execution]:
        """The nodes of a run in the order in which they started; none for an unknown run."""
        with self._readable():
            context = self._store.get_context_by_type_and_name("pipeline_run", run)
            return self._read(self._store.get_executions_by_context(context.id)) if context else []

    def maker(self, artifact: Artifact) -> Execution | None:
        """The execution that made an artifact, rather than found it in the cache."""
        with self._readable():
            events = self._store.get_events_by_artifact_ids([artifact.id])
            outputs = [event.execution_id for event in events if event.type == _OUTPUT]
            if not outputs:
                return None
            return self._read(self._store.get_executions_by_id([min(outputs)]))[0]

    def run_of(self, execution: Execution) -> str | None:
        """Name of the run that an execution is of."""
        with self._readable():
            contexts = self._store.get_contexts_by_execution(execution.id)
        return next((each.name for each in contexts if each.type == "pipeline_run"), None)

    def artifacts(self, kind: str) -> list[Artifact]:
        """All artifacts of a type, oldest first."""
        with self._readable():
            return sorted(
                map(_artifact, self._store.get_artifacts_by_type(kind)), key=lambda each: each.id
            )

    def _read(self, found: Iterable[metadata_store_pb2.Execution]) -> list[Execution]:
        found = sorted(found, key=lambda execution: execution.id)
        events = self._store.get_events_by_execution_ids([each.id for each in found])
        ids = {event.artifact_id for event in events}
        artifacts = {each.id: _artifact(each) for each in self._store.get_artifacts_by_id(ids)}
        executions = {each.id: self._execution(each) for each in found}
        for event in events:
            execution = executions[event.execution_id]
            ends = {_INPUT: execution.inputs, _OUTPUT: execution.outputs}.get(event.type)
            if ends is not None and event.artifact_id in artifacts:
                ends.setdefault(_key(event), []).append(artifacts[event.artifact_id])
        return list(executions.values())

    def _execution(self, found: metadata_store_pb2.Execution) -> Execution:
        contexts = self._store.get_contexts_by_execution(found.id)
        # The name of a node's context is the pipeline's and its own.
        node = next(each.name for each in contexts if each.type == "node").rpartition(".")[2]
        state = _STATES.get(found.last_known_state, "unknown")
        start, end = found.create_time_since_epoch, found.last_update_time_since_epoch
        return Execution(
            id=found.id,
            node=node,
            state=state,
            started=datetime.fromtimestamp(start / 1000, timezone.utc),
            seconds=(end - start) / 1000 if state in _ENDED else None,
            properties=_values(found.custom_properties),
        )

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (errors.StatusError, RuntimeError) as error:
            reason = str(error).splitlines()[0].split(" query: ")[0].strip()
            raise HistoryError(
                f"{self._path} cannot be read as ML Metadata: {reason}; ask again, and if it stays "
                "so, move the file away: the next run makes a new one"
            ) from None


def _artifact(found: metadata_store_pb2.Artifact) -> Artifact:
    values = {**_values(found.properties), **_values(found.custom_properties)}
    return Artifact(found.id, found.type, found.uri, values)


def _values(properties) -> dict[str, Any]:
    return {name: getattr(value, value.WhichOneof("value")) for name, value in properties.items()}


def _key(event: metadata_store_pb2.Event) -> str:
    return next((step.key for step in event.path.steps if step.HasField("key")), "")
