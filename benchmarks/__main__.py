"""Runs the benchmarks one after another and writes their tables to benchmarks/RESULTS.md.

    python -m benchmarks [--only loop --only serve] [--torch PYTHON]

PYTHON is one that has PyTorch and NumPy, which then joins the comparison of the loops. Each is a
process of its own. What one fails to measure is named in the page, and in the exit code.
"""

import os
import subprocess
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.process import machine
from components.files import write_whole

# Title, and arguments, by name of the module.
BENCHMARKS = {
    "pipeline": ("The whole pipeline", ["--repeats", "3"]),
    "loop": ("Training", ["--rounds", "15"]),
    "checkpoints": ("Cost of checkpoints", []),
    "growth": ("More data", []),
    "replicas": ("Several replicas", []),
    "inputs": ("Input pipeline", []),
    "optimizers": ("Cost of an optimizer's step", ["--cost"]),
    "startup": ("Start-up", []),
    "serve": ("Serving", []),
    "kubeflow": ("Kubeflow Pipelines and Vertex AI", []),
}
PACKAGES = ("tfx", "tensorflow", "keras", "apache-beam", "numpy")
RESULTS = Path("benchmarks/RESULTS.md")
# Without what TensorFlow and Google's packages say when they are imported.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore::FutureWarning"}
console = Console(stderr=True)


def main(
    only: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(BENCHMARKS)}; all if none.")
    ] = None,
    torch: Annotated[
        Path | None, typer.Option(help="A Python that has PyTorch and NumPy.", exists=True)
    ] = None,
    out: Annotated[Path, typer.Option(help="The page.")] = RESULTS,
) -> None:
    """Measures and writes the page."""
    unknown = set(only or ()) - set(BENCHMARKS)
    if unknown:
        raise typer.BadParameter(f"only: {', '.join(sorted(unknown))}: not a benchmark")
    today = datetime.now(timezone.utc).date()
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    page = f"# Measured on {today}\n\n{machine()}; {versions}. `make bench` measures it again.\n"
    failed = []
    for name in only or BENCHMARKS:
        title, arguments = BENCHMARKS[name]
        command = ["-m", f"benchmarks.{name}", *arguments]
        shown = f"python {' '.join(command)}"
        if torch and name == "loop":
            command += ["--torch", str(torch)]
            shown += " --torch PYTHON"
        console.print(shown, highlight=False)
        ended = subprocess.run(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            text=True,
            env={**QUIET, **os.environ},
        )
        if ended.returncode:
            failed.append(name)
        report = "It failed." if ended.returncode else ended.stdout.strip()
        page += f"\n## {title}\n\n`{shown}`\n\n{report}\n"
        write_whole(out, page.encode())  # An hour's work should not be lost to a Ctrl-C.
    console.print(f"{out}", highlight=False)
    if failed:
        console.print(f"failed: {', '.join(failed)}", style="bold red", highlight=False)
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
