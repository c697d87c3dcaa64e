"""Measures a command: wall time, CPU time and memory of the whole process tree."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

SAMPLE_SECONDS = 0.2


@dataclass(frozen=True)
class Usage:
    """What a command took."""

    wall_seconds: float
    user_seconds: float
    peak_bytes: int  # resident memory, summed over the processes of the tree
    output: str


def measure(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Usage:
    """Runs a command to its end.

    Raises:
      RuntimeError: It failed; the message ends with its last output.
    """
    # As in the Makefile: without bytecode, each process spends its time on compiling its imports.
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = os.times().children_user
    with tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**inherited, **(environment or {})},
        )
        peak = _Peak(process.pid)
        code = process.wait()
        seconds = time.monotonic() - start
        peak.stop()
        output.seek(0)
        text = output.read()
    if code:
        raise RuntimeError(f"{' '.join(command)} ended with {code}:\n{text[-2000:]}")
    return Usage(seconds, os.times().children_user - before, peak.bytes, text)


def run_pipeline(folder: Path, *settings: str, config: str = "local") -> Usage:
    """Runs the pipeline with its root in FOLDER/runs and its models in FOLDER/serving.

    Args:
      folder: Of the run.
      *settings: As `--set` takes them.
      config: As `--config` takes it.

    Raises:
      RuntimeError: It failed; the message ends with its last output.
    """
    places = (f"root={folder}/runs", f"push.destination={folder}/serving")
    flags = [word for setting in (*places, *settings) for word in ("--set", setting)]
    return measure([sys.executable, "-m", "pipeline", "run", "--config", config, *flags])


def result(folder: Path) -> dict:
    """`result.json` of the one run in the folder of `run_pipeline`."""
    [path] = (folder / "runs" / "logs").glob("*/result.json")
    return json.loads(path.read_text())


def machine() -> str:
    """One line on what this was measured on."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(": ")[1].strip() for line in file if "model name" in line), "?")
    memory = psutil.virtual_memory().total / 2**30
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, Python {python}"


class _Peak:
    """Samples the memory of a process and its descendants in a thread."""

    def __init__(self, pid: int):
        self.bytes = 0
        self._process = psutil.Process(pid)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            try:
                tree = [self._process, *self._process.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            self.bytes = max(self.bytes, sum(_resident(process) for process in tree))


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0
