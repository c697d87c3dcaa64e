"""Runs the pipeline over and over, each time killed at another point; for `test_kills`.

Imports once and forks for each run, which then costs little more than the node that it is killed
in. Between some runs an output is damaged, as a failing disk might.

Usage: python -m tests.e2e.killing ROOT DESTINATION DATA; prints a line of JSON for each run.
"""

import dataclasses
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline import config, home, local_runner

NODES = (
    "ImportSchemaGen",
    "MnistExampleGen",
    "StatisticsGen",
    "ExampleValidator",
    "DataGate",
    "Baseline",
    "Trainer",
    "Evaluator",
    "ModelCheck",
    "Pusher",
)
# What a run imports on its way.
IMPORTS = (
    *local_runner.IMPORTS,
    "tensorflow_model_analysis",
    "components.trainer.module",
    "pipeline.gc",
    "pipeline.outcome",
    "pipeline.pipeline",
    "pipeline.run",
)
SETTINGS = (
    "data.eval_examples=200",
    "train.epochs=1",
    "evaluate.min_accuracy=0",
    "evaluate.min_class_accuracy=0",
)
FILE_BYTES = 350_000  # Less than the train split, more than the metadata.


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A run and how it went.

    Attributes:
      node: Where it met its fate; empty for one that had none.
      fate: Name of the function below that stands for it.
      code: Its exit code, negative for a signal.
      output: What it said.
      served: `manifest.of` each version at the push destination afterwards.
      damaged: File of an output of `node` that was damaged after this run.
    """

    node: str
    fate: str
    code: int
    output: str
    served: list[dict[str, str]]
    damaged: str | None


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def writing(node: str) -> None:
    """Dies as soon as the node has written something.

    At the latest it dies when it is through, and the Pusher before it publishes: its output is
    small, and the thread that looks for it may come too late.
    """
    from tfx.orchestration.portable.beam_executor_operator import BeamExecutorOperator
    from tfx.orchestration.portable.python_executor_operator import PythonExecutorOperator

    from components import publishing

    def watched(original):
        def run_executor(self, execution_info):
            if execution_info.pipeline_node.node_info.id != node:
                return original(self, execution_info)
            outputs = [each.uri for many in execution_info.output_dict.values() for each in many]
            threading.Thread(target=_die_once_written, args=[outputs], daemon=True).start()
            original(self, execution_info)
            return die()

        return run_executor

    for operator in (PythonExecutorOperator, BeamExecutorOperator):
        operator.run_executor = watched(operator.run_executor)
    if node == "Pusher":
        publishing.publish = lambda *_, **__: die()


def renaming(_: str) -> None:
    """Dies when the version has been copied and is about to get its name."""
    rename = os.rename

    def rename_or_die(source: str, target: str) -> None:
        die() if os.path.basename(source).startswith(".unfinished-") else rename(source, target)

    os.rename = rename_or_die


def publishing(node: str) -> None:
    """Dies when the node is through, just before ML Metadata knows."""
    _replace_publishing(node, lambda publish: die())


def published(node: str) -> None:
    """Dies just after ML Metadata knows; on one CPU, which must do as well."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def publish_and_die(publish: Callable[[], None]) -> None:
        publish()
        die()

    _replace_publishing(node, publish_and_die)


def full_disk(_: str) -> None:
    """May write small files only."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, resource.RLIM_INFINITY))


def nothing(_: str) -> None:
    """Lives."""


def fates() -> Iterator[tuple[str, Callable[[str], None]]]:
    for node in NODES:
        if node == "MnistExampleGen":
            yield node, full_disk
        yield node, writing
        if node == "Pusher":
            yield node, renaming
        yield node, publishing
        yield node, published
    yield "", nothing


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


# By node: which file is damaged once the node is through, and how.
DAMAGES = {
    "MnistExampleGen": ("examples/*/Split-train/*.gz", truncate),
    "Trainer": ("model/*/Format-Serving/variables/variables.data*", flip_a_bit),
    "ModelCheck": ("blessing/*/INFRA_BLESSED", Path.unlink),
}


def damage(root: str, node: str) -> str:
    """Damages the newest output of a node; returns the file."""
    pattern, act = DAMAGES[node]
    files = Path(root, "artifacts", node).glob(pattern)
    newest = max(files, key=lambda file: file.stat().st_mtime)
    act(newest)
    return str(newest)


def forked(action: Callable[[], int]) -> tuple[int, str]:
    """Exit code and output of an action in a process of its own."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os._exit(action())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return code, output.read().decode()


def main(root: str, destination: str, data: str) -> None:
    home.ensure()
    for module in IMPORTS:
        importlib.import_module(module)
    from components import versions
    from pipeline import gc, manifest, run

    folders = {"root": root, "push.destination": destination, "data.source": data}
    quoted = [f"{key}={json.dumps(path)}" for key, path in folders.items()]
    settings = config.load("smoke", [*quoted, *SETTINGS], {})

    def attempt(node: str, fate: Callable[[str], None], action: Callable[[], int]) -> None:
        def meet() -> int:
            fate(node)
            return action()

        code, output = forked(meet)
        paths = [versions.path(destination, each) for each in versions.numbers(destination)]
        damaged = damage(root, node) if fate is published and node in DAMAGES else None
        served = [manifest.of(path) for path in paths]
        result = Attempt(node, fate.__name__, code, output, served, damaged)
        print(json.dumps(dataclasses.asdict(result)), flush=True)

    for node, fate in fates():
        attempt(node, fate, lambda: run.run(settings))
    attempt("", nothing, lambda: gc.collect(settings, dry_run=False))
    attempt("", nothing, lambda: run.run(settings))


def _replace_publishing(node: str, act: Callable[[Callable[[], None]], None]) -> None:
    from tfx.orchestration.portable import execution_publish_utils

    original = execution_publish_utils.publish_succeeded_execution

    def publish(*, contexts, **arguments):
        if any(context.name.endswith(f".{node}") for context in contexts):
            act(lambda: original(contexts=contexts, **arguments))
        return original(contexts=contexts, **arguments)

    execution_publish_utils.publish_succeeded_execution = publish


def _die_once_written(outputs: list[str]) -> None:
    def files() -> Iterator[Path]:
        for output in outputs:
            yield from Path(output).rglob("*")

    while not any(file.is_file() and file.stat().st_size for file in files()):
        time.sleep(0.001)
    die()


if __name__ == "__main__":
    main(*sys.argv[1:])
