"""Edits of a compiled pipeline (the JSON form of KFP's PipelineSpec), each in place.

TFX's compiler knows neither the naming rules of Argo, nor retries, placement, conditions, nor
that a node must not be cached. Nodes are named by their id in the TFX pipeline until `rename`.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

Spec = dict[str, Any]

_SPECIFICATION = "--json_serialized_inputs_spec_args"


class CompileError(ValueError):
    """The pipeline cannot be compiled for the platform; the message says why and what to do."""


def tasks(spec: Spec) -> dict[str, Any]:
    """The task specs by name."""
    return spec["root"]["dag"]["tasks"]


def component(spec: Spec, task: str) -> dict[str, Any]:
    """The component that a task runs."""
    return spec["components"][tasks(spec)[task]["componentRef"]["name"]]


def executor_label(spec: Spec, task: str) -> str:
    """Key of the task's executor in the deployment, and in the platform document."""
    return component(spec, task)["executorLabel"]


def container(spec: Spec, task: str) -> dict[str, Any]:
    """The container that a task runs.

    Raises:
      CompileError: It runs none: it is a resolver or an importer.
    """
    executor = spec["deploymentSpec"]["executors"][executor_label(spec, task)]
    if "container" not in executor:
        kind = ", ".join(executor)
        raise CompileError(
            f"{task} is a {kind} node, which open-source Kubeflow Pipelines cannot run or place; "
            "use a component with an executor"
        )
    return executor["container"]


def kebab(node: str) -> str:
    """`MnistExampleGen` as `mnist-example-gen`, which Argo and Kubernetes take as a name.

    Raises:
      CompileError: Nothing is left of the name.
    """
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+", "-", node)
    name = name.strip("-").lower()
    if not name:
        raise CompileError(f"node id {node!r} has no letter or digit to make a name from")
    return name


def rename(spec: Spec) -> None:
    """Gives tasks, components and executors the names that Argo takes, as KFP's SDK does.

    Raises:
      CompileError: Two nodes would get one name.
    """
    names: dict[str, str] = {}
    for node in sorted(tasks(spec)):
        name = kebab(node)
        if name in names.values():
            other = next(key for key, value in names.items() if value == name)
            raise CompileError(f"nodes {other!r} and {node!r} would both be named {name!r}")
        names[node] = name
    components, executors = {}, {}
    for node, name in names.items():
        task = tasks(spec)[node]
        old = component(spec, node)
        executors[f"exec-{name}"] = spec["deploymentSpec"]["executors"][old["executorLabel"]]
        components[f"comp-{name}"] = {**old, "executorLabel": f"exec-{name}"}
        task["componentRef"]["name"] = f"comp-{name}"
        task["taskInfo"]["name"] = name
        if "dependentTasks" in task:
            task["dependentTasks"] = sorted(names[upstream] for upstream in task["dependentTasks"])
        for source in _task_outputs(task):
            source["producerTask"] = names[source["producerTask"]]
    spec["components"] = components
    spec["deploymentSpec"]["executors"] = executors
    spec["root"]["dag"]["tasks"] = {names[node]: task for node, task in tasks(spec).items()}


def do_not_cache(spec: Spec, nodes: Iterable[str]) -> None:
    """Has these nodes run each time."""
    for node in nodes:
        tasks(spec)[node].pop("cachingOptions", None)


def retry(spec: Spec, task: str, count: int) -> None:
    """Has a failed task tried again, after 30 s, 60 s, ... up to 10 minutes."""
    tasks(spec)[task]["retryPolicy"] = {
        "maxRetryCount": count,
        "backoffDuration": "30s",
        "backoffFactor": 2.0,
        "backoffMaxDuration": "600s",
    }


def request(spec: Spec, task: str, *, cpu: float, memory: str) -> None:
    """Asks for cores and memory, as request and as limit: the pod is not the first to be evicted.

    Args:
      spec: The pipeline.
      task: Name of the task.
      cpu: Cores.
      memory: A Kubernetes quantity, e.g. `4G` or `3Gi`.
    """
    gigabytes = _gigabytes(memory)
    container(spec, task).setdefault("resources", {}).update(
        cpuLimit=cpu, cpuRequest=cpu, memoryLimit=gigabytes, memoryRequest=gigabytes
    )


def accelerate(spec: Spec, task: str, *, resource: str, count: int) -> None:
    """Asks for accelerators.

    Newer releases of KFP have a second pair of fields, `resourceType` and `resourceCount`. All
    backends still read this one, and older backends and clients refuse the other.
    """
    accelerator = {"type": resource, "count": str(count)}
    container(spec, task).setdefault("resources", {})["accelerator"] = accelerator


def set_environment(spec: Spec, task: str, variables: dict[str, str]) -> None:
    """Sets environment variables of a task's container."""
    container(spec, task)["env"] = [
        {"name": name, "value": value} for name, value in sorted(variables.items())
    ]


def set_image(spec: Spec, task: str, image: str) -> None:
    """Runs a task in another image."""
    container(spec, task)["image"] = image


def set_executor(spec: Spec, task: str, class_path: str) -> None:
    """Runs a task with another executor class."""
    args = container(spec, task)["args"]
    args[args.index("--executor_class_path") + 1] = class_path


def edit_parameter(spec: Spec, task: str, name: str, edit: Callable[[Any], Any]) -> None:
    """Replaces the JSON in a string parameter of a task by what `edit` makes of it."""
    value = tasks(spec)[task]["inputs"]["parameters"][name]["runtimeValue"]
    value["constant"] = json.dumps(edit(json.loads(value["constant"])), sort_keys=True)


def downstream(spec: Spec, task: str) -> list[str]:
    """A task and all that depend on it, sorted."""
    found = {task}
    while True:
        more = {
            name
            for name, entry in tasks(spec).items()
            if name not in found and found & set(entry.get("dependentTasks", ()))
        }
        if not more:
            return sorted(found)
        found |= more


def run_only_if(spec: Spec, names: Iterable[str], *, gate: str, output: str, value: str) -> None:
    """Skips tasks unless the output `output` of the task `gate` is `value`.

    TFX's own conditions read metadata of artifacts, which open-source KFP cannot.
    """
    definitions = component(spec, gate)["outputDefinitions"]
    definitions.setdefault("parameters", {})[output] = {"parameterType": "STRING"}
    source = {"producerTask": gate, "outputParameterKey": output}
    for name in names:
        task = tasks(spec)[name]
        inputs = component(spec, name).setdefault("inputDefinitions", {})
        inputs.setdefault("parameters", {})[output] = {"parameterType": "STRING"}
        parameters = task.setdefault("inputs", {}).setdefault("parameters", {})
        parameters[output] = {"taskOutputParameter": dict(source)}
        task["dependentTasks"] = sorted({*task.get("dependentTasks", ()), gate})
        task["triggerPolicy"] = {
            "condition": f"inputs.parameter_values['{output}'] == '{value}'",
        }


def compact(spec: Spec) -> None:
    """Takes the line breaks and blanks out of the JSON that containers get as an argument."""
    for name in tasks(spec):
        args = container(spec, name).get("args", [])
        if _SPECIFICATION in args:
            place = args.index(_SPECIFICATION) + 1
            args[place] = json.dumps(json.loads(args[place]), sort_keys=True)


def _task_outputs(task: dict[str, Any]) -> list[dict[str, str]]:
    inputs = task.get("inputs", {})
    sources = [source.get("taskOutputArtifact") for source in inputs.get("artifacts", {}).values()]
    sources += [s.get("taskOutputParameter") for s in inputs.get("parameters", {}).values()]
    return [source for source in sources if source]


def _gigabytes(memory: str) -> float:
    number, unit = re.fullmatch(r"(\d+)([MGT]i?)", memory).groups()
    exponent = "MGT".index(unit[0]) + 2
    base = 1024 if unit.endswith("i") else 1000
    return int(number) * base**exponent / 1000**3
