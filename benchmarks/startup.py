"""What the commands take that need no model: from pressing Enter to the answer.

python -m benchmarks.startup [--repeats 5]
"""

import statistics
import sys
import tempfile
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.process import machine, measure

COMMANDS = {
    "`--help`": ["--help"],
    "`config`": ["config"],
    "`fetch`": ["fetch"],
    "`doctor`": ["doctor"],
    "`compile --target kubeflow`": ["compile", "--target", "kubeflow", "--config", "smoke"],
}
console = Console(stderr=True)


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Measurements of each command.")] = 5,
) -> None:
    """Prints seconds as Markdown."""
    print("| command | wall, s | user CPU, s |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in COMMANDS.items():
            output = ["--output", f"{folder}/compiled.yaml"] if arguments[0] == "compile" else []
            with console.status(name):
                usages = [
                    measure([sys.executable, "-m", "pipeline", *arguments, *output])
                    for _ in range(repeats)
                ]
            wall = statistics.median(usage.wall_seconds for usage in usages)
            user = statistics.median(usage.user_seconds for usage in usages)
            print(f"| {name} | {wall:.2f} | {user:.2f} |", flush=True)
    print(f"\nMedians of {repeats}; {machine()}")


if __name__ == "__main__":
    typer.run(main)
