"""Python, the installed packages, and whether TensorFlow starts and sees the GPUs."""

import functools
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from pipeline.config import Settings
from pipeline.diagnosis.finding import Finding, Level

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"

_OLDEST, _NEWEST = (3, 10), (3, 13)

_TENSORFLOW = """
import json, keras, tensorflow as tf
gpus = len(tf.config.list_physical_devices("GPU"))
print(json.dumps({"tensorflow": tf.__version__, "keras": keras.__version__, "gpus": gpus}))
"""
_TENSORFLOW_SECONDS = 180


def python(_: Settings) -> Finding:
    """The interpreter's version."""
    version = ".".join(map(str, sys.version_info[:3]))
    if _OLDEST <= sys.version_info[:2] <= _NEWEST:
        return Finding(Level.OK, version)
    allowed = f"{'.'.join(map(str, _OLDEST))} to {'.'.join(map(str, _NEWEST))}"
    return Finding(Level.FAILURE, f"{version}, must be {allowed}", "run `make setup`")


def packages(_: Settings) -> Finding:
    """The installed packages against the lock."""
    locked = list(_locked(LOCK.read_text("utf-8")))
    wrong = [problem for name, version in locked if (problem := _difference(name, version))]
    if not wrong:
        return Finding(Level.OK, f"{len(locked)} as in {LOCK.name}")
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return Finding(
        Level.FAILURE,
        f"{len(wrong)} of {len(locked)} differ from {LOCK.name}: {', '.join(wrong[:3])}{more}",
        "run `make clean setup`",
    )


def compiler(_: Settings) -> Finding:
    """The C++ compiler, which one dependency is built with."""
    path = shutil.which("g++")
    if path:
        return Finding(Level.OK, path)
    return Finding(Level.WARNING, "no g++; `make setup` needs it", "install g++")


def tensorflow(_: Settings) -> Finding:
    """Whether TensorFlow starts; in a process of its own, which a wrong CPU would end."""
    report = _tensorflow_report()
    if "error" in report:
        return Finding(
            Level.FAILURE,
            f"does not start: {report['error']}",
            "run `make clean setup`; the packages need a CPU with AVX instructions",
        )
    return Finding(Level.OK, f"{report['tensorflow']} with Keras {report['keras']}")


def gpus(_: Settings) -> Finding:
    """The GPUs of the machine against those that TensorFlow uses."""
    present, usable = _gpus_present(), _tensorflow_report().get("gpus", 0)
    if usable >= present:
        return Finding(Level.OK, str(usable) if usable else "none; training runs on the CPU")
    return Finding(
        Level.WARNING,
        f"{present} present, {usable} usable by TensorFlow",
        "install the NVIDIA libraries of this TensorFlow: its extra `and-cuda`",
    )


def _locked(text: str) -> Iterator[tuple[str, str]]:
    """Name and version of each package that the lock has for this system."""
    for line in text.splitlines():
        if re.match(r"[A-Za-z0-9]", line):
            requirement = Requirement(line.removesuffix("\\"))
            if not requirement.marker or requirement.marker.evaluate():
                yield requirement.name, str(requirement.specifier).removeprefix("==")


def _difference(name: str, version: str) -> str | None:
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} is missing"
    return None if installed == version else f"{name} is {installed}, not {version}"


@functools.cache
def _tensorflow_report() -> dict:
    try:
        process = subprocess.run(
            [sys.executable, "-c", _TENSORFLOW],
            capture_output=True,
            text=True,
            timeout=_TENSORFLOW_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer in {_TENSORFLOW_SECONDS} s"}
    if process.returncode:
        last = process.stderr.strip().rpartition("\n")[2]
        return {"error": last or f"exit code {process.returncode}"}
    return json.loads(process.stdout.strip().rpartition("\n")[2])


def _gpus_present() -> int:
    if not shutil.which("nvidia-smi"):
        return 0
    listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return len(re.findall(r"^GPU \d+:", listing.stdout, re.MULTILINE))
