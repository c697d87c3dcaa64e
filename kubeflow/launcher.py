"""Runs a compiled pipeline on this machine: each task's container command as a process of its own.

It does what a backend does (the order, what is handed over, the conditions) and lacks what needs a
cluster: images, the cache, retries, placement.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import yaml

from kubeflow.document import Document, DocumentError
from kubeflow.rules import Json, Place, Resolved, Rules

State = Literal["done", "skipped"]

_CONDITION = re.compile(r"inputs\.parameter_values\['([^']+)'\] == '([^']*)'")
_LOG_LINES = 20
# Artifacts that are one file: TFX's value artifacts.
_SINGLE_FILES = ("tfx.Boolean", "tfx.Float", "tfx.Integer", "tfx.JsonValue", "tfx.String")
# What imports as `kubeflow` in the images does so here.
_PROJECT = Path(__file__).resolve().parent.parent


class Listener(Protocol):
    """What wants to know how the run goes."""

    def started(self, task: str) -> None: ...

    def finished(self, task: str, state: State, seconds: float) -> None: ...


@dataclass(frozen=True)
class TaskResult:
    """How a task ended: its outputs by key, none when it was skipped."""

    state: State
    parameters: Json = field(default_factory=dict)
    artifacts: dict[str, Json] = field(default_factory=dict)


class TaskFailedError(RuntimeError):
    """A task ended with an error."""

    def __init__(self, task: str, code: int, log: Path):
        lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
        tail = "\n".join(f"    {line}" for line in lines[-_LOG_LINES:])
        super().__init__(f"task {task!r} failed with exit code {code}; the end of {log}:\n{tail}")
        self.task = task
        self.code = code


def launch(
    document: Document,
    rules: Rules,
    place: Place,
    listener: Listener,
    *,
    parallel: int = 2,
) -> dict[str, TaskResult]:
    """Runs all tasks, each as soon as those it depends on have ended.

    Args:
      document: The compiled pipeline.
      rules: The backend whose behaviour is wanted.
      place: Where the run keeps things; logs are `SCRATCH/TASK/log.txt`.
      listener: Told of each task.
      parallel: Most tasks at a time; at least 1.

    Returns:
      The result of each task.

    Raises:
      DocumentError: The root is no local folder, the tasks depend on each other in a circle, or a
        condition is of a kind that is not supported here.
      TaskFailedError: The first task that failed; those under way are ended.
    """
    if not place.root or "://" in place.root:
        raise DocumentError(
            f"the pipeline root is {place.root!r}; a run on this machine keeps its artifacts in a "
            "folder: --root FOLDER"
        )
    run = _Run(document, rules, place)
    waiting = {name: _upstream(task) for name, task in run.tasks.items()}
    running: dict[Future[tuple[TaskResult, float]], str] = {}
    with ThreadPoolExecutor(parallel) as pool, run.ended_on_error():
        while waiting or running:
            ready = [name for name, needs in waiting.items() if needs <= run.results.keys()]
            for name in sorted(ready)[: parallel - len(running)]:
                del waiting[name]
                listener.started(name)
                running[pool.submit(run.timed, name)] = name
            if not running:
                raise DocumentError(
                    f"these tasks wait for each other: {', '.join(sorted(waiting))}"
                )
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                name = running.pop(future)
                run.results[name], seconds = future.result()
                listener.finished(name, run.results[name].state, seconds)
    return run.results


class _Run:
    def __init__(self, document: Document, rules: Rules, place: Place):
        self.tasks: Json = document.spec["root"]["dag"]["tasks"]
        self.results: dict[str, TaskResult] = {}
        self._document = document
        self._rules = rules
        self._place = place
        self._processes: list[subprocess.Popen] = []
        self._ended = False

    @contextlib.contextmanager
    def ended_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._ended = True
            for process in self._processes:
                process.terminate()
            raise

    def timed(self, name: str) -> tuple[TaskResult, float]:
        start = time.monotonic()
        return self._task(name), time.monotonic() - start

    def _task(self, name: str) -> TaskResult:
        task = self.tasks[name]
        if any(self.results[upstream].state == "skipped" for upstream in _upstream(task)):
            return TaskResult("skipped")
        resolved = self._resolve(task)
        condition = task.get("triggerPolicy", {}).get("condition")
        if condition and not _holds(condition, resolved.parameters):
            return TaskResult("skipped")
        spec = self._document.spec
        component = spec["components"][task["componentRef"]["name"]]
        container = spec["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
        handed = self._rules.executor_input(self._place, name, component, resolved)
        _make_folders(handed)
        hook = container.get("lifecycle", {}).get("preCacheCheck")
        if hook and self._rules.runs_hooks:
            self._start(name, hook, handed, container.get("env", []))
        self._start(name, container, handed, container.get("env", []))
        return _collect(name, handed)

    def _resolve(self, task: Json) -> Resolved:
        inputs = task.get("inputs", {})
        parameters = {
            key: self._parameter(source) for key, source in inputs.get("parameters", {}).items()
        }
        artifacts = {}
        for key, source in inputs.get("artifacts", {}).items():
            output = source["taskOutputArtifact"]
            artifacts[key] = self.results[output["producerTask"]].artifacts[
                output["outputArtifactKey"]
            ]
        return Resolved(parameters, artifacts)

    def _parameter(self, source: Json) -> Any:
        if "taskOutputParameter" in source:
            output = source["taskOutputParameter"]
            return self.results[output["producerTask"]].parameters[output["outputParameterKey"]]
        if "componentInputParameter" in source:
            return self._document.parameters[source["componentInputParameter"]]
        return source["runtimeValue"]["constant"]

    def _start(self, name: str, container: Json, handed: Json, variables: list[Json]) -> None:
        folder = self._place.scratch / name
        (folder / "outputs").mkdir(parents=True, exist_ok=True)
        text = json.dumps(handed)
        words = [*container.get("command", []), *container.get("args", [])]
        program = [word.replace("{{$}}", text) for word in words]
        if program[0] == "python":
            program[0] = sys.executable
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(_PROJECT), os.getenv("PYTHONPATH")])),
            **{variable["name"]: variable["value"] for variable in variables},
        }
        log = folder / "log.txt"
        with log.open("ab") as file:
            process = subprocess.Popen(
                program, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT
            )
            self._processes.append(process)
            if self._ended:  # The run ended between the check of the task and this line.
                process.terminate()
            code = process.wait()
        if code:
            raise TaskFailedError(name, code, log)


def _make_folders(handed: Json) -> None:
    """Local folders stand in for a bucket here, and in a bucket no folder has to be made."""
    Path(handed["outputs"]["outputFile"]).parent.mkdir(parents=True, exist_ok=True)
    for entry in handed["outputs"]["artifacts"].values():
        [artifact] = entry["artifacts"]
        schema = yaml.safe_load(artifact["type"].get("instanceSchema", "")) or {}
        place = Path(artifact["uri"])
        folder = place.parent if schema.get("title") in _SINGLE_FILES else place
        folder.mkdir(parents=True, exist_ok=True)


def _collect(name: str, handed: Json) -> TaskResult:
    """What the container wrote, on top of what it was handed."""
    outputs = handed["outputs"]
    file = Path(outputs["outputFile"])
    written = json.loads(file.read_text("utf-8")) if file.exists() else {}
    artifacts = {}
    for key, entry in outputs["artifacts"].items():
        [artifact] = entry["artifacts"]
        [update] = written.get("artifacts", {}).get(key, {}).get("artifacts", [{}])
        artifacts[key] = {
            **artifact,
            "name": f"{name}-{key}",
            "uri": update.get("uri") or artifact["uri"],
            "metadata": {**artifact["metadata"], **update.get("metadata", {})},
        }
    parameters = dict(written.get("parameterValues", {}))
    for key, entry in outputs["parameters"].items():
        if key not in parameters:
            parameters[key] = Path(entry["outputFile"]).read_text("utf-8")
    return TaskResult("done", parameters, artifacts)


def _upstream(task: Json) -> set[str]:
    return set(task.get("dependentTasks", ()))


def _holds(condition: str, parameters: Json) -> bool:
    match = _CONDITION.fullmatch(condition)
    if not match:
        raise DocumentError(
            f"condition {condition!r}: only inputs.parameter_values['NAME'] == 'VALUE' is supported"
        )
    return parameters[match[1]] == match[2]
