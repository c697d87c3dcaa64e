"""`python -m pipeline run`: from settings to a verdict in plain words and an exit code."""

import contextlib
import gc
import importlib
import json
import logging
import signal
import textwrap
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from rich.console import Console

from components.files import write_whole
from pipeline import data, lock, preflight
from pipeline.config import ConfigError, Settings
from pipeline.console import NodeTable
from pipeline.engines import options, servers
from pipeline.local_runner import IMPORTS, NodeFailedError, output_to, plain, run_nodes

log = logging.getLogger(__name__)

OK, FAILED, WRONG_SETTINGS, REFUSED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143


class PreparationError(RuntimeError):
    """The run cannot start; the message says why and what to do."""


def run(settings: Settings) -> int:
    """Runs the pipeline in this process and says how it ended; see `cli.run` for exit codes."""
    console = Console(stderr=True, highlight=False)
    try:
        root = settings.local_root()
        options.check(settings)
        preflight.require(settings)
        root.mkdir(parents=True, exist_ok=True)
        with lock.hold(root / "lock"):
            folder = _new_run_folder(root)
            write_whole(folder / "settings.yaml", settings.as_yaml().encode())
            with output_to(folder / "log.txt") as terminal, _signals() as received:
                return _run(settings, folder, terminal, received)
    except ConfigError as error:
        _print_error(console, str(error))
        return WRONG_SETTINGS
    except (lock.AlreadyRunningError, preflight.NotReadyError, OSError) as error:
        _print_error(console, str(error))
        return FAILED


def _run(settings: Settings, folder: Path, terminal: IO[str], received: list[int]) -> int:
    console = Console(file=terminal, highlight=False)
    start = time.monotonic()
    table = None
    try:
        pipeline = _prepare(settings, console)
        from pipeline import headlines

        with (
            NodeTable([node.id for node in pipeline.components], terminal) as table,
            servers.running(settings.beam),
        ):
            _log_to(table)
            results = run_nodes(
                pipeline, folder.name, table, headlines.of, interrupted=lambda: bool(received)
            )
    except KeyboardInterrupt:
        node = table.running if table else None
        _write_result(folder, start, {"verdict": "interrupted", "node": node})
        return _say_interrupted(console, node, received)
    except NodeFailedError as error:
        if received:  # Beam makes an error of its own of the exception.
            _write_result(folder, start, {"verdict": "interrupted", "node": error.node})
            return _say_interrupted(console, error.node, received)
        _print_error(console, f"\n{error}")
        console.print(f"The whole log: {folder / 'log.txt'}", soft_wrap=True)
        ended = {"verdict": "failed", "node": error.node, "reason": error.reason}
        _write_result(folder, start, ended)
        return FAILED
    except (PreparationError, servers.StartError) as error:
        _print_error(console, str(error))
        _write_result(folder, start, {"verdict": "failed", "node": None, "reason": str(error)})
        return FAILED
    return _conclude(console, folder, results, start)


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Makes a KeyboardInterrupt of SIGTERM too, so that whatever cleans up after Ctrl-C does.

    A second signal of a kind has its usual effect.

    Yields:
      The numbers of the signals that came.
    """
    received: list[int] = []
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]

    def interrupt(number: int, _) -> None:
        received.append(number)
        signal.signal(number, usual[number])
        raise KeyboardInterrupt

    usual = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _say_interrupted(console: Console, node: str | None, received: list[int]) -> int:
    terminated = signal.SIGTERM in received
    where = f" in {node}" if node else ""
    console.print(f"\n{'Terminated' if terminated else 'Interrupted'}{where}.")
    console.print(
        "Run the same command again to go on: finished nodes are not repeated, and training goes "
        "on from its last checkpoint.",
        soft_wrap=True,
    )
    return TERMINATED if terminated else INTERRUPTED


def _prepare(settings: Settings, console: Console):
    """Gets the data and builds the pipeline.

    Raises:
      PreparationError: The data is not to be had, or a setting of the Trainer is wrong.
    """
    try:
        with console.status("checking the data"):
            files = data.fetch(settings.data)
        if remark := data.remark(files):
            console.print(f"Warning: {remark}", style="yellow", markup=False, soft_wrap=True)
            logging.getLogger(__name__).warning("%s", remark)
        with console.status("importing TensorFlow and TFX"), _uncollected():
            for module in IMPORTS:
                importlib.import_module(module)
            return _build(settings, files)
    except (ValueError, OSError) as error:
        raise PreparationError(str(error)) from error


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Nothing is collected meanwhile, and what there is afterwards is never looked at again.

    What TensorFlow and TFX bring stays to the end: to look through it over and over, to find no
    garbage, took a tenth of a short run.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def _conclude(console: Console, folder: Path, results: dict, start: float) -> int:
    from pipeline import headlines
    from pipeline.outcome import Outcome

    for warning in headlines.data_warnings(results["DataGate"].outputs):
        console.print(f"Warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    outcome = Outcome.of(results)
    nodes = {
        node: {
            "state": result.state,
            "seconds": round(result.seconds, 2),
            "peak_memory": result.peak_memory,
        }
        for node, result in results.items()
    }
    seconds = _write_result(folder, start, {**outcome.as_dict(), "nodes": nodes})
    style = "bold green" if outcome.accepted else "bold yellow"
    console.print(f"\n{outcome.sentence()}", style=style, markup=False, soft_wrap=True)
    console.print(f"{seconds:.0f} s in all; settings and log: {folder}", soft_wrap=True)
    _report(console, folder)
    return OK if outcome.accepted else REFUSED


def _report(console: Console, folder: Path) -> None:
    """Makes the report; whatever goes wrong with it, the run has ended well already."""
    try:
        with console.status("writing the report"):
            from pipeline.report import page

            path = page.write(folder)
    except (Exception, KeyboardInterrupt) as error:
        log.exception("the report could not be made")
        _print_error(console, f"No report: {textwrap.shorten(plain(error), 300)}")
    else:
        console.print(f"Report: {path}", soft_wrap=True)


def _print_error(console: Console, text: str) -> None:
    console.print(text, style="bold red", markup=False, soft_wrap=True)


def _new_run_folder(root: Path) -> Path:
    """`ROOT/logs/TIME`, in UTC; the time is the run's name in ML Metadata too."""
    while True:
        name = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")[:-3] + "Z"
        folder = root / "logs" / name
        try:
            folder.mkdir(parents=True)
        except FileExistsError:  # The clock was set back.
            continue
        return folder


def _build(settings: Settings, files: Path):
    """Imports TensorFlow and TFX, checks the Trainer's settings, and builds the pipeline."""
    import tensorflow as tf
    from absl import logging as absl_logging

    from components import mnist_files, versions
    from components.trainer import validation
    from pipeline.pipeline import Observed, create_pipeline

    absl_logging.set_verbosity(absl_logging.INFO)
    absl_logging.use_absl_handler()
    facts = settings.data.facts
    validation.validate(settings.train, settings.optimizer, facts.num_classes)
    try:
        pushed = versions.state(settings.push.destination)
    except (OSError, tf.errors.OpError) as error:
        message = f"push.destination {settings.push.destination} cannot be read: {error}"
        raise PreparationError(message) from error
    observed = Observed(
        data_folder=str(files),
        data_digest=mnist_files.check(str(files), facts.labels).fingerprint,
        pushed=pushed,
    )
    return create_pipeline(settings, observed)


def _log_to(table: NodeTable) -> None:
    components = logging.getLogger("components")
    components.setLevel(logging.INFO)
    components.addHandler(table)


def _write_result(folder: Path, start: float, ended: dict) -> float:
    """Writes how the run ended and how long it took since `start`; gives that time in seconds."""
    seconds = time.monotonic() - start
    result = {**ended, "seconds": round(seconds, 1)}
    write_whole(folder / "result.json", (json.dumps(result, indent=2) + "\n").encode())
    return seconds
