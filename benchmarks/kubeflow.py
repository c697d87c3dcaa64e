"""Compiling for each platform, and a whole run of the smoke data under each platform's rules.

    python -m benchmarks.kubeflow [--repeats 3]

Prints a Markdown table. Every task of a run is a process of its own, as its container would be.
"""

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.process import Usage, machine, measure

TARGETS = {"kubeflow": ".yaml", "vertex": ".json"}
console = Console(stderr=True)


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Compilations of each kind.")] = 3,
) -> None:
    """Measures `compile` and `launch`."""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for target, suffix in TARGETS.items():
            compiled = Path(folder) / f"{target}{suffix}"
            with console.status(f"compiling for {target}"):
                usages = [_compile(target, compiled) for _ in range(repeats)]
            rows[f"compile for {target}, median of {repeats}"] = usages
            with console.status(f"a run under the rules of {target}"):
                rows[f"run under the rules of {target}, `smoke` settings"] = [
                    _launch(target, compiled)
                ]
    print(f"{machine()}\n\n| | wall, s | user CPU, s |\n|---|---|---|")
    for name, usages in rows.items():
        wall = statistics.median(usage.wall_seconds for usage in usages)
        user = statistics.median(usage.user_seconds for usage in usages)
        print(f"| {name} | {wall:.1f} | {user:.1f} |")


def _compile(target: str, output: Path) -> Usage:
    return _pipeline(
        "compile", "--target", target, "--config", "smoke", "--output", str(output),
        "--set", f"push.destination={output}-serving",
    )  # fmt: skip


def _launch(target: str, compiled: Path) -> Usage:
    return _pipeline(
        "launch", str(compiled), "--rules", target,
        "--root", f"{compiled}-root", "--logs", f"{compiled}-logs",
    )  # fmt: skip


def _pipeline(*arguments: str) -> Usage:
    return measure([sys.executable, "-m", "pipeline", *arguments])


if __name__ == "__main__":
    typer.run(main)
