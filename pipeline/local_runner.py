"""Runs the pipeline in this process, one node after another, and tells a listener how it goes."""

import contextlib
import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol

from pipeline.memory import PeakMemory

State = Literal["done", "cached"]

# What `run_nodes` imports on its way, unless it is there already.
IMPORTS = (
    "pipeline.cache",
    "pipeline.headlines",
    "tfx.dsl.compiler.compiler",
    "tfx.orchestration.local.runner_utils",
    "tfx.orchestration.portable.launcher",
)


class Listener(Protocol):
    """What wants to know how the run goes."""

    def started(self, node: str) -> None: ...

    def discarded(self, node: str, problem: str) -> None: ...

    def finished(self, node: str, state: State, seconds: float, headline: str) -> None: ...

    def failed(self, node: str, seconds: float) -> None: ...


@dataclass(frozen=True)
class NodeResult:
    """What one node gave and took.

    Attributes:
      state: How it ended.
      seconds: How long it took.
      outputs: Its output artifacts by key.
      peak_memory: The most resident memory of this process while it ran, in bytes.
    """

    state: State
    seconds: float
    outputs: dict
    peak_memory: int


class NodeFailedError(RuntimeError):
    """A node ended with an error; the message says which, and why in plain words."""

    def __init__(self, node: str, reason: str):
        super().__init__(f"{node} failed: {reason}")
        self.node = node
        self.reason = reason


def run_nodes(
    tfx_pipeline,
    run_id: str,
    listener: Listener,
    headline,
    interrupted: Callable[[], bool] = lambda: False,
) -> dict[str, NodeResult]:
    """Runs each node of a TFX pipeline in topological order.

    TFX's LocalDagRunner does the same, but says only in log lines where it is, and not at all
    which node was served from the cache. It also serves what was damaged since.

    Args:
      tfx_pipeline: A `tfx.orchestration.pipeline.Pipeline`.
      run_id: Unique name of this run in ML Metadata.
      listener: Told of each node.
      headline: Function of (node id, outputs) that gives one line on what came out.
      interrupted: Says whether the run is to end. Asked before each node, as what a signal's
        handler raises is lost where Python happens to be in a callback of its own.

    Raises:
      NodeFailedError: The first node that failed; later ones did not start.
      KeyboardInterrupt: The run is to end.
    """
    from tfx.dsl.compiler import compiler, constants
    from tfx.orchestration import metadata
    from tfx.orchestration.local import runner_utils
    from tfx.orchestration.portable import launcher, runtime_parameter_utils

    from pipeline import cache

    ir = compiler.Compiler().compile(tfx_pipeline)
    runtime_parameter_utils.substitute_runtime_parameter(
        ir, {constants.PIPELINE_RUN_ID_PARAMETER_NAME: run_id}
    )
    deployment = runner_utils.extract_local_deployment_config(ir)
    connection = deployment.metadata_connection_config
    connection = getattr(connection, connection.WhichOneof("connection_config"))

    results = {}
    for node in (entry.pipeline_node for entry in ir.nodes):
        if interrupted():
            raise KeyboardInterrupt
        name = node.node_info.id
        listener.started(name)
        start = time.monotonic()
        try:
            executor_spec = runner_utils.extract_executor_spec(deployment, name)
            for problem in cache.discard_damaged(connection, ir, node, executor_spec):
                listener.discarded(name, problem)
            with PeakMemory() as memory, _no_command_line():
                execution = launcher.Launcher(
                    pipeline_node=node,
                    mlmd_connection=metadata.Metadata(connection),
                    pipeline_info=ir.pipeline_info,
                    pipeline_runtime_spec=ir.runtime_spec,
                    executor_spec=executor_spec,
                    custom_driver_spec=runner_utils.extract_custom_driver_spec(deployment, name),
                    custom_executor_operators=cache.RECORDING_OPERATORS,
                ).launch()
            state, outputs = _outcome(connection, execution.execution_id)
        except Exception as error:  # whatever a node raises is this run's end
            listener.failed(name, time.monotonic() - start)
            raise NodeFailedError(name, plain(error)) from error
        seconds = time.monotonic() - start
        results[name] = NodeResult(state, seconds, outputs, memory.bytes)
        listener.finished(name, state, seconds, headline(name, outputs))
    return results


@contextlib.contextmanager
def output_to(log: Path) -> Iterator[IO[str]]:
    """Sends whatever the process prints, from Python or C++, to a file; gives the terminal.

    TFX, Beam and TensorFlow print thousands of lines, some straight to the file descriptors.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    with (
        log.open("ab", buffering=0) as file,
        os.fdopen(os.dup(saved[0]), "w", encoding="utf-8") as terminal,
    ):
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield terminal
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, original in zip((1, 2), saved, strict=True):
                os.dup2(original, descriptor)
                os.close(original)


def plain(error: BaseException) -> str:
    """An error in one paragraph, without the wrapping of Beam and the queries of ML Metadata."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = re.split(r" \[while running| query: ", _last_words(str(error)))[0].strip()
    text = text.removeprefix(f"{type(error).__name__}: ")
    text = re.sub(r"^(\w+\.)+\w+: ", "", text)  # module.Class:, from another process or thread
    return text or type(error).__name__


def _last_words(text: str) -> str:
    """What an error says without the traceback that it brings from another process."""
    _, found, last = text.rpartition("Traceback (most recent call last):\n")
    if not found:
        return re.sub(r"^Pipeline \S+ failed in state \w+: ", "", text)
    lines = itertools.dropwhile(lambda line: line.startswith(" "), last.splitlines())
    return re.sub(r"^[\w.]+: ", "", "\n".join(lines))


def _outcome(connection, execution_id: int):
    from ml_metadata.proto import metadata_store_pb2
    from tfx.orchestration import metadata
    from tfx.orchestration.portable.mlmd import execution_lib

    with metadata.Metadata(connection) as handle:
        [execution] = handle.store.get_executions_by_id([execution_id])
        outputs = execution_lib.get_output_artifacts(handle, execution_id)
    states = metadata_store_pb2.Execution
    names: dict[int, State] = {states.COMPLETE: "done", states.CACHED: "cached"}
    if execution.last_known_state not in names:
        state = states.State.Name(execution.last_known_state)
        raise RuntimeError(f"its execution {execution_id} ended in state {state}")
    return names[execution.last_known_state], dict(outputs)


@contextlib.contextmanager
def _no_command_line() -> Iterator[None]:
    """Hides this program's flags: TFX hands sys.argv to executors, and Beam parses it."""
    arguments = sys.argv
    sys.argv = arguments[:1]
    try:
        yield
    finally:
        sys.argv = arguments
