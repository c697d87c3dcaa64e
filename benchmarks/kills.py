"""Kills real runs at random moments, again and again, and checks what comes out in the end.

    python -m benchmarks.kills [--kills 100] [--seed 0] [--chain 10]

A chain is a fresh folder in which `python -m pipeline run --config smoke` is killed, with SIGKILL
or SIGTERM at any moment of a run, and started again, until it has been killed often enough or is
faster than the next kill. What it pushed must then be the weights that a run without kills pushes,
bit by bit; and at every look at the push destination, whole versions were all there was. Prints a
Markdown table; exit code 1 when something was lost or wrong.
"""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.process import machine
from components import model_identity, versions

console = Console(stderr=True)
# Seconds of training, with many moments from which it can go on.
SETTINGS = ("checkpoints.steps=1", "train.steps_per_call=5", "train.epochs=4")
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
LOOK_SECONDS = 0.05
GRACE_SECONDS = 120  # From SIGTERM to the end of the process, on a busy machine.
NODE_ENDED = re.compile(r"^(\w+) +(?:done|cached) ", re.MULTILINE)


@dataclass
class Findings:
    """What was seen, over all chains."""

    kills: Counter = field(default_factory=Counter)  # by (nodes that had ended, signal)
    chains: int = 0
    resumed: int = 0  # trainings that went on from a checkpoint
    looks: int = 0  # at the push destination
    faults: list[str] = field(default_factory=list)


class Workplace:
    """A folder to run in."""

    def __init__(self, folder: Path, findings: Findings):
        self.folder, self.findings = folder, findings
        self.serving = str(folder / "serving")
        folder.mkdir()

    def start(self) -> subprocess.Popen:
        """Starts a run; what it prints is its `output`."""
        settings = [f"root={self.folder}/runs", f"push.destination={self.serving}", *SETTINGS]
        flags = [word for setting in settings for word in ("--set", setting)]
        with (self.folder / "output.txt").open("w") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "pipeline", "run", "--config", "smoke", *flags],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            )

    def output(self) -> str:
        """What the last run printed."""
        return (self.folder / "output.txt").read_text("utf-8")

    def nodes_ended(self) -> list[str]:
        """The nodes that ended in the last run, in order."""
        return NODE_ENDED.findall(self.output())

    def pushed(self) -> list[str]:
        """The folders of the versions at the push destination."""
        found = versions.versions(self.serving)
        return [versions.path(self.serving, version) for version in found]

    @contextlib.contextmanager
    def watched(self, files: list[str]) -> Iterator[None]:
        """Looks at the push destination all the time; each version must have all `files`."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(LOOK_SECONDS):
                self.findings.looks += 1
                for number in versions.numbers(self.serving):
                    present = versions.files(versions.path(self.serving, number))
                    if present != files:
                        self.fault(f"version {number} was seen with {present} alone")

        with ThreadPoolExecutor(max_workers=1) as pool:
            watcher = pool.submit(look)
            try:
                yield
            finally:
                done.set()
            watcher.result()  # It raises what kept the watcher from looking, if anything did.

    def fault(self, text: str) -> None:
        """Notes that something was lost or wrong."""
        self.findings.faults.append(f"{self.folder.name}: {text}")


def main(
    kills: Annotated[int, typer.Option(min=1, help="Kills in all.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the moments and the signals.")] = 0,
    chain: Annotated[int, typer.Option(min=1, help="Most kills in one folder.")] = 10,
) -> None:
    """Kills runs; see the module."""
    findings, moments = Findings(), random.Random(seed)
    work = Path(tempfile.mkdtemp(prefix="kills-"))
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("a run without kills", total=kills)
        whole = Workplace(work / "whole", findings)
        start = time.monotonic()
        if whole.start().wait():
            raise SystemExit(f"the run without kills failed:\n{whole.output()}")
        seconds, (expected,) = time.monotonic() - start, whole.pushed()
        while (left := kills - findings.kills.total()) > 0:
            place = Workplace(work / f"chain{findings.chains}", findings)
            _chain(place, min(chain, left), seconds, moments, expected, progress, bar)
            findings.chains += 1
    print(_report(findings, whole.nodes_ended(), seconds))
    if findings.faults:
        console.print(f"the folders of all runs: {work}")
        raise typer.Exit(1)
    shutil.rmtree(work)


def _chain(
    place: Workplace,
    kills: int,
    seconds: float,
    moments: random.Random,
    expected: str,
    progress: Progress,
    bar: int,
) -> None:
    """Kills a run up to `kills` times, lets it come to its end, and checks what was pushed."""
    with place.watched(versions.files(expected)):
        for _ in range(kills):
            number, after = moments.choice(SIGNALS), moments.uniform(0, seconds)
            progress.update(bar, description=f"{place.folder.name}: {number.name}, {after:.1f} s")
            process = place.start()
            try:
                code = process.wait(timeout=after)
            except subprocess.TimeoutExpired:
                _kill(place, process, number)
                progress.advance(bar)
            else:
                break  # It came to its end before.
        else:
            progress.update(bar, description=f"{place.folder.name}: to the end")
            code = place.start().wait()
    if code:
        place.fault(f"the last run ended with {code}: {place.output()[-500:]}")
    _check(place, expected)


def _kill(place: Workplace, process: subprocess.Popen, number: signal.Signals) -> None:
    place.findings.kills[len(place.nodes_ended()), number] += 1
    process.send_signal(number)
    try:
        code = process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        place.fault(f"a run was still there {GRACE_SECONDS} s after {number.name}")
        return
    if code not in (-number, 128 + number, 0):  # 0: its last node ended just before.
        place.fault(f"a run ended with {code} after {number.name}: {place.output()[-500:]}")


def _check(place: Workplace, expected: str) -> None:
    pushed = place.pushed()
    if len(pushed) != 1:
        place.fault(f"{len(pushed)} versions were pushed instead of one")
    for model in pushed:
        if not model_identity.same_variables(model, expected):
            place.fault(f"the weights in {model} are not those of a run without kills")
    logs = (place.folder / "runs" / "logs").glob("*/log.txt")
    resumed = ("resumed at step" in log.read_text("utf-8", "replace") for log in logs)
    place.findings.resumed += sum(resumed)


def _report(findings: Findings, nodes: list[str], seconds: float) -> str:
    """A Markdown table of the kills by the node that ran, and what came of them."""
    names = [f"start-up, {nodes[0]}", *nodes[1:], "the last lines"]
    lines = ["| killed in | SIGKILL | SIGTERM |", "|---|---:|---:|"]
    for ended, name in enumerate(names):
        counts = [findings.kills[ended, number] for number in SIGNALS]
        lines.append(f"| {name} | {counts[0]} | {counts[1]} |")
    totals = [sum(n for (_, s), n in findings.kills.items() if s == number) for number in SIGNALS]
    return "\n".join(
        [
            *lines,
            f"| all | {totals[0]} | {totals[1]} |",
            "",
            f"{findings.kills.total()} kills in {findings.chains} chains; a run without kills "
            f"takes {seconds:.0f} s. {findings.resumed} trainings went on from a checkpoint. "
            f"{findings.looks:,} looks at the push destination. Lost or wrong: "
            f"{len(findings.faults)}.",
            *(f"- {fault}" for fault in findings.faults),
            "",
            machine(),
        ]
    )


if __name__ == "__main__":
    typer.run(main)
