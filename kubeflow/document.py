"""Reads compiled files the way the backends do, and refuses what they refuse."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from kubeflow.targets import Target

_ARGO_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_ARGO_LENGTH = 128 - len("-driver")
_PIPELINE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")


class DocumentError(ValueError):
    """The backend would refuse the file; the message says why."""


@dataclass(frozen=True)
class Document:
    """A compiled pipeline.

    Attributes:
      spec: PipelineSpec in JSON form.
      root: Pipeline root.
      parameters: Values of the pipeline's own parameters.
      kubernetes: The platform document's executors, by label; empty on Vertex AI.
    """

    spec: dict[str, Any]
    root: str
    parameters: dict[str, Any] = field(default_factory=dict)
    kubernetes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the pipeline."""
        return self.spec["pipelineInfo"]["name"]


def load(path: Path, rules: Target) -> Document:
    """Reads a compiled file.

    Args:
      path: The file.
      rules: The backend whose rules apply.

    Raises:
      DocumentError: The backend would refuse it.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"{path} cannot be read: {error}") from None
    try:
        return _for_kubeflow(path, text) if rules == "kubeflow" else _for_vertex(path, text)
    except (yaml.YAMLError, json.JSONDecodeError) as error:
        raise DocumentError(f"{path} is not valid {path.suffix[1:].upper()}: {error}") from None


def _for_kubeflow(path: Path, text: str) -> Document:
    if path.suffix != ".yaml":
        raise DocumentError(f"Kubeflow's clients take .yaml files only, got {path.name}")
    first, *others = yaml.safe_load_all(text)
    if "pipelineSpec" in first:
        raise DocumentError(
            f"{path.name} holds a PipelineJob, which is Vertex AI's format; Kubeflow takes a bare "
            "PipelineSpec: compile with --target kubeflow"
        )
    if len(others) > 1 or any(set(other) != {"platforms"} for other in others):
        raise DocumentError(
            f"{path.name} must hold one PipelineSpec and at most one platform document"
        )
    _check_spec(first, path, versions=("2.1.0",))
    for name, task in first["root"]["dag"]["tasks"].items():
        _require_argo_name(name)
        executor = _executor(first, task)
        if "container" not in executor:
            raise DocumentError(f"task {name!r}: {', '.join(executor)} executors not implemented")
    platform = others[0]["platforms"] if others else {}
    executors = platform.get("kubernetes", {}).get("deploymentSpec", {}).get("executors", {})
    unknown = sorted(set(executors) - set(first["deploymentSpec"]["executors"]))
    if unknown:
        raise DocumentError(f"the platform document names unknown executors: {', '.join(unknown)}")
    return Document(first, first.get("defaultPipelineRoot", ""), {}, executors)


def _for_vertex(path: Path, text: str) -> Document:
    if path.suffix == ".json":
        job = json.loads(text)
    else:
        documents = list(yaml.safe_load_all(text))
        if len(documents) != 1:
            raise DocumentError(
                f"{path.name} holds {len(documents)} documents; Vertex AI's client takes one: "
                "compile with --target vertex"
            )
        [job] = documents
    if "pipelineSpec" not in job:
        raise DocumentError(f"{path.name} holds no PipelineJob: compile with --target vertex")
    _check_spec(job["pipelineSpec"], path, versions=("2.0.0", "2.1.0"))
    runtime = job.get("runtimeConfig", {})
    return Document(
        job["pipelineSpec"],
        runtime.get("gcsOutputDirectory", ""),
        runtime.get("parameterValues", {}),
    )


def _check_spec(spec: dict[str, Any], path: Path, versions: tuple[str, ...]) -> None:
    try:
        json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    except json_format.ParseError as error:
        raise DocumentError(f"{path.name} is no PipelineSpec: {error}") from None
    if spec.get("schemaVersion") not in versions:
        raise DocumentError(
            f"schema version {spec.get('schemaVersion')!r} is not supported, "
            f"only {' and '.join(versions)}"
        )
    name = spec.get("pipelineInfo", {}).get("name", "")
    if not _PIPELINE_NAME.fullmatch(name):
        raise DocumentError(
            f"pipeline name {name!r} must be lower case letters, digits and '-', 128 at most"
        )
    if not spec.get("root", {}).get("dag", {}).get("tasks"):
        raise DocumentError(f"{path.name} has no tasks")


def _executor(spec: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    label = spec["components"][task["componentRef"]["name"]]["executorLabel"]
    return spec["deploymentSpec"]["executors"][label]


def _require_argo_name(name: str) -> None:
    if not _ARGO_NAME.fullmatch(name) or len(name) > _ARGO_LENGTH:
        raise DocumentError(
            f"task name {name!r} is none that Argo takes: lower case letters, digits and '-', "
            f"{_ARGO_LENGTH} at most"
        )
