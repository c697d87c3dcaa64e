"""What the commands take that train nothing: from pressing Enter to the answer.

    python -m benchmarks.startup [--repeats 5]

Commands on earlier runs are asked of a run with the `smoke` settings that is made first.
"""

import statistics
import sys
import tempfile
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.process import Usage, machine, measure

COMMANDS = (
    "--help",
    "config",
    "fetch",
    "doctor",
    "runs",
    "show last",
    "compare last last",
    "lineage last",
    "explain",
    "report",
    "compile --target kubeflow",
)
console = Console(stderr=True)


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Measurements of each command.")] = 5,
) -> None:
    """Prints seconds as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        places = [f"root={folder}/runs", f"push.destination={folder}/serving"]
        options = ["--config", "smoke", *(word for each in places for word in ("--set", each))]
        with console.status("a run to ask about"):
            _pipeline("run", *options)
        print("| command | wall, s | user CPU, s |\n|---|---|---|")
        for command in COMMANDS:
            words = command.split()
            if command != "--help":
                words += options
            if words[0] == "compile":
                words += ["--output", f"{folder}/compiled.yaml"]
            with console.status(command):
                usages = [_pipeline(*words) for _ in range(repeats)]
            wall = statistics.median(usage.wall_seconds for usage in usages)
            user = statistics.median(usage.user_seconds for usage in usages)
            print(f"| `{command}` | {wall:.2f} | {user:.2f} |", flush=True)
    print(f"\nMedians of {repeats}; {machine()}")


def _pipeline(*words: str) -> Usage:
    return measure([sys.executable, "-m", "pipeline", *words])


if __name__ == "__main__":
    typer.run(main)
