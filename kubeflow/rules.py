"""What each backend hands over to a container: its ExecutorInput, in JSON form."""

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a run keeps things.

    Attributes:
      root: Pipeline root.
      pipeline: Name of the pipeline.
      run: Name of the run, unique.
      scratch: Folder of this machine in the place of the containers' own disks.
    """

    root: str
    pipeline: str
    run: str
    scratch: Path


@dataclass(frozen=True)
class Resolved:
    """What a task consumes: values of parameters, and RuntimeArtifacts in JSON form, by key."""

    parameters: Json = field(default_factory=dict)
    artifacts: dict[str, Json] = field(default_factory=dict)


class Rules(Protocol):
    """A backend."""

    name: str
    # Whether it runs the hook of a container that may update its parameters before the cache is
    # asked, as TFX's file-based ExampleGens have it.
    runs_hooks: bool

    def executor_input(
        self, place: Place, task: str, component: Json, resolved: Resolved
    ) -> Json: ...


class KubeflowRules:
    """Open-source Kubeflow Pipelines, backend 2.5 or newer with published logs."""

    name = "kubeflow"
    runs_hooks = False

    def executor_input(self, place: Place, task: str, component: Json, resolved: Resolved) -> Json:
        """Input artifacts lose their type, and there is one more output."""
        folder = f"{place.root}/{place.pipeline}/{place.run}/{task}/{uuid.uuid4()}"
        untyped = {
            key: {**artifact, "type": {"instanceSchema": ""}}
            for key, artifact in resolved.artifacts.items()
        }
        result = _executor_input(folder, component, resolved.parameters, untyped)
        result["outputs"]["artifacts"]["executor-logs"] = {
            "artifacts": [
                {
                    "type": {"schemaTitle": "system.Artifact"},
                    "uri": f"{folder}/executor-logs",
                    "metadata": {},
                }
            ]
        }
        local = place.scratch / task
        result["outputs"]["outputFile"] = str(local / "output_metadata.json")
        result["outputs"]["parameters"] = {
            key: {"outputFile": str(local / "outputs" / key)}
            for key in component.get("outputDefinitions", {}).get("parameters", {})
        }
        return result


class VertexRules:
    """Vertex AI Pipelines."""

    name = "vertex"
    runs_hooks = True

    def executor_input(self, place: Place, task: str, component: Json, resolved: Resolved) -> Json:
        """Artifacts are typed, and everything lies under the pipeline root."""
        # PROJECT_NUMBER/JOB/TASK_ID
        folder = f"{place.root}/0/{place.run}/{task}_{uuid.uuid4().int % 10**19}"
        result = _executor_input(folder, component, resolved.parameters, resolved.artifacts)
        result["outputs"]["outputFile"] = f"{folder}/executor_output.json"
        result["outputs"]["parameters"] = {
            key: {"outputFile": f"{folder}/{key}"}
            for key in component.get("outputDefinitions", {}).get("parameters", {})
        }
        return result


RULES: dict[str, Rules] = {rules.name: rules for rules in (KubeflowRules(), VertexRules())}


def _executor_input(
    folder: str, component: Json, parameters: Json, artifacts: dict[str, Json]
) -> Json:
    outputs = component.get("outputDefinitions", {}).get("artifacts", {})
    return {
        "inputs": {
            "parameterValues": parameters,
            "artifacts": {key: {"artifacts": [entry]} for key, entry in artifacts.items()},
        },
        "outputs": {
            "artifacts": {
                key: {
                    "artifacts": [
                        {
                            "type": definition["artifactType"],
                            "uri": f"{folder}/{key}",
                            "metadata": definition.get("metadata", {}),
                        }
                    ]
                }
                for key, definition in outputs.items()
            }
        },
    }
