"""The clients of a newer Kubeflow Pipelines understand the golden file with accelerators.

They need a newer protobuf than TFX 1.16 and so an environment of their own, which is made once.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
LOCK = HERE / "newer_kfp.txt"
GOLDEN = HERE.parent / "golden" / "kubeflow-tpu.yaml"


@pytest.fixture(scope="module")
def python():
    """The interpreter of an environment made from the lock, in the project's cache."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = REPOSITORY / ".cache" / f"newer-kfp-{digest}"
    interpreter = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        uv = shutil.which("uv") or str(REPOSITORY / ".tools" / "uv" / "bin" / "uv")
        subprocess.run(
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], check=True
        )
        subprocess.run(
            [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", interpreter, LOCK],
            check=True,
        )
        (folder / ".ready").touch()
    return interpreter


def test_it_reads_accelerators_selectors_and_tolerations(python):
    process = subprocess.run(
        [python, HERE / "newer_kfp_reads.py", GOLDEN],
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == {
        "accelerators": {"exec-trainer": ["google.com/tpu", "4"]},
        "placed": {
            "exec-trainer": {
                "labels": {
                    "cloud.google.com/gke-spot": "true",
                    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
                    "cloud.google.com/gke-tpu-topology": "2x2",
                },
                "tolerations": [
                    ["google.com/tpu", "Exists", "", "NoSchedule"],
                    ["cloud.google.com/gke-spot", "Equal", "true", "NoSchedule"],
                ],
            }
        },
    }
