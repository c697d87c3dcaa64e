"""Roots of runs as TFX and `pipeline/run.py` leave them, made without running anything."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ml_metadata.metadata_store import metadata_store
from ml_metadata.proto import metadata_store_pb2 as proto

from components import metrics
from components.metrics import Evaluation
from pipeline import config

# Node: its inputs as (key, node whose output it is), and its output as (key, type).
NODES = {
    "ImportSchemaGen": ((), ("schema", "Schema")),
    "MnistExampleGen": ((), ("examples", "Examples")),
    "Baseline": ((), ("model", "Model")),
    "Trainer": (
        (("schema", "ImportSchemaGen"), ("examples", "MnistExampleGen")),
        ("model", "Model"),
    ),
    "Evaluator": (
        (("model", "Trainer"), ("examples", "MnistExampleGen"), ("baseline_model", "Baseline")),
        ("evaluation", "ModelEvaluation"),
    ),
    "Pusher": (
        (("evaluation", "Evaluator"), ("model", "Trainer")),
        ("pushed_model", "PushedModel"),
    ),
}
_STATES = proto.Execution


class Root:
    """A folder of runs that grows."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        connection = proto.ConnectionConfig()
        connection.sqlite.filename_uri = str(folder / "metadata.sqlite")
        connection.sqlite.connection_mode = proto.SqliteMetadataSourceConfig.READWRITE_OPENCREATE
        self._store = metadata_store.MetadataStore(connection)
        self._made: dict[str, proto.Artifact] = {}

    def run(
        self,
        name: str,
        *overrides: str,
        result: dict[str, Any] | None = None,
        evaluation: Evaluation | None = None,
        cached: Iterable[str] = (),
        last: tuple[str, int] | None = ("Pusher", _STATES.COMPLETE),
        data: str = "d" * 64,
        version: int | None = None,
    ) -> None:
        """Adds a run.

        Args:
          name: Of the run.
          overrides: Settings that are not the defaults.
          result: What `result.json` holds; without one, the file is missing.
          evaluation: What the Evaluator found.
          cached: Nodes that were served from the cache.
          last: The last node that started, and its state; None when none started.
          data: Fingerprint of the data.
          version: What was pushed, if anything.
        """
        folder = self.folder / "logs" / name
        folder.mkdir(parents=True)
        settings = config.load("local", [f"root={self.folder}", *overrides], environment={})
        (folder / "settings.yaml").write_text(settings.as_yaml())
        if result is not None:
            (folder / "result.json").write_text(json.dumps(result))
        if last is None:
            return
        properties = {
            "ImportSchemaGen": {"digest": "5" * 64},
            "MnistExampleGen": {"fingerprint": data, "code": "c" * 64, "input_base": "/data"},
            "Trainer": {"custom_config": _custom_config(settings)},
        }
        pushed = _pushed(self.folder, version)
        run = self._context("pipeline_run", name)
        for node, (inputs, output) in NODES.items():
            reuse = node in cached
            state = last[1] if node == last[0] else _STATES.COMPLETE
            self._execute(
                run,
                node,
                inputs=[(key, self._made[maker]) for key, maker in inputs],
                output=(*output, pushed if node == "Pusher" else {}),
                properties=properties.get(node, {}),
                state=_STATES.CACHED if reuse else state,
            )
            if node == "Evaluator" and evaluation and not reuse:
                file = Path(self._made[node].uri) / metrics.FILE
                file.parent.mkdir(parents=True)
                file.write_text(evaluation.model_dump_json())
            if node == last[0]:
                break

    def _execute(
        self,
        run: proto.Context,
        node: str,
        *,
        inputs: Sequence[tuple[str, proto.Artifact]],
        output: tuple[str, str, dict[str, Any]],
        properties: dict[str, str],
        state: int,
    ) -> None:
        execution_type = self._store.put_execution_type(proto.ExecutionType(name=f"a.{node}"))
        execution = proto.Execution(type_id=execution_type, last_known_state=state)
        _set(execution, properties)
        [execution.id] = self._store.put_executions([execution])
        events = [_event(proto.Event.INPUT, key, artifact.id) for key, artifact in inputs]
        if state in (_STATES.COMPLETE, _STATES.CACHED):
            key, kind, values = output
            if state == _STATES.COMPLETE:
                self._made[node] = self._artifact(node, key, kind, execution.id, values)
            events.append(_event(proto.Event.OUTPUT, key, self._made[node].id))
        for event in events:
            event.execution_id = execution.id
        self._store.put_events(events)
        contexts = [run, self._context("node", f"mnist.{node}")]
        links = [
            proto.Association(context_id=context.id, execution_id=execution.id)
            for context in contexts
        ]
        self._store.put_attributions_and_associations([], links)

    def _artifact(
        self, node: str, key: str, kind: str, execution: int, values: dict[str, Any]
    ) -> proto.Artifact:
        artifact_type = self._store.put_artifact_type(proto.ArtifactType(name=kind))
        uri = self.folder / "artifacts" / node / key / str(execution)
        artifact = proto.Artifact(type_id=artifact_type, uri=str(uri))
        _set(artifact, values)
        [artifact.id] = self._store.put_artifacts([artifact])
        return artifact

    def _context(self, kind: str, name: str) -> proto.Context:
        found = self._store.get_context_by_type_and_name(kind, name)
        if found:
            return found
        context = proto.Context(
            type_id=self._store.put_context_type(proto.ContextType(name=kind)), name=name
        )
        [context.id] = self._store.put_contexts([context])
        return context


def pushed(version: int, accuracy: float, before: float | None = None) -> dict[str, Any]:
    """The result of a run that pushed its model."""
    return _ended("pushed", accuracy, before) | {"version": version}


def refused(accuracy: float, before: float, *reasons: str) -> dict[str, Any]:
    """The result of a run whose model was refused."""
    return _ended("refused", accuracy, before) | {"refusals": list(reasons)}


def nothing_new(accuracy: float, version: int) -> dict[str, Any]:
    """The result of a run whose model is the pushed one."""
    reason = f"identical to pushed version {version}"
    return _ended("nothing_new", accuracy, accuracy) | {"nothing_new": reason}


def _ended(verdict: str, accuracy: float, before: float | None) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "accuracy": accuracy,
        "baseline_accuracy": before,
        "refusals": [],
        "nothing_new": None,
        "version": None,
        "path": None,
        "seconds": 75.5,
    }


def _custom_config(settings: config.Settings) -> str:
    return json.dumps(
        {
            "code": "7" * 64,
            "train": settings.train.model_dump(mode="json"),
            "optimizer": settings.optimizer.model_dump(mode="json"),
        }
    )


def _pushed(folder: Path, version: int | None) -> dict[str, Any]:
    if version is None:
        return {"pushed": 0}
    return {
        "pushed": 1,
        "pushed_version": str(version),
        "pushed_destination": str(folder.parent / "serving" / str(version)),
    }


def _event(kind: int, key: str, artifact: int) -> proto.Event:
    steps = [proto.Event.Path.Step(key=key), proto.Event.Path.Step(index=0)]
    return proto.Event(type=kind, artifact_id=artifact, path=proto.Event.Path(steps=steps))


def _set(target, values: dict[str, Any]) -> None:
    for name, value in values.items():
        field = "int_value" if isinstance(value, int) else "string_value"
        setattr(target.custom_properties[name], field, value)
