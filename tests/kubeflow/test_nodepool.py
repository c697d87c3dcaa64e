import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubeflow import nodepool, pools, tpu

SCRIPT = Path(__file__).parents[2] / "kubeflow" / "nodepool.sh"


def run(*arguments, path=None):
    environment = {**os.environ, "PYTHON": sys.executable}
    if path:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return subprocess.run(
        [SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def gcloud(tmp_path):
    """A gcloud that writes down its arguments."""
    program = tmp_path / "gcloud"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\n')
    program.chmod(0o755)
    return tmp_path


def test_a_tpu_pool_scales_from_zero(gcloud):
    process = run("cluster", "us-west1-c", "v5e:2x2", "--spot", "--max-nodes", "3", path=gcloud)
    assert process.returncode == 0
    assert process.stdout.split() == [
        "gcloud",
        "container",
        "node-pools",
        "create",
        "trainer-v5e-2x2-spot",
        "--cluster=cluster",
        "--location=us-west1-c",
        "--machine-type=ct5lp-hightpu-4t",
        "--num-nodes=0",
        "--enable-autoscaling",
        "--min-nodes=0",
        "--max-nodes=3",
        "--spot",
    ]
    assert "nothing was run" in process.stderr
    assert not (gcloud / "called").exists()


def test_a_gpu_pool_names_type_and_count():
    process = run("cluster", "us-west1-c", "nvidia-tesla-t4:2")
    assert "--machine-type=n1-standard-8" in process.stdout
    assert "--accelerator=type=nvidia-tesla-t4,count=2," in process.stdout


def test_yes_runs_what_is_printed_without(gcloud):
    printed = run("cluster", "us-west1-c", "v6e:2x4", path=gcloud).stdout.split()
    process = run("cluster", "us-west1-c", "v6e:2x4", "--yes", path=gcloud)
    assert process.returncode == 0
    assert (gcloud / "called").read_text().split() == printed[1:]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cluster"], "usage: nodepool.sh CLUSTER LOCATION"),
        (["c", "l", "v5e:4x4", "--yes"], "more than one host"),
        (["c", "l", "nvidia-l4:3", "--yes"], "known: nvidia-l4:1"),
        (["c", "l", "v5e:2x2", "--yes", "--now"], "unknown option --now"),
        (["c", "l", "v5e:2x2", "--yes", "--max-nodes"], "--max-nodes needs a number"),
        (["c", "l", "v5e:2x2", "--yes", "--max-nodes", "0"], "positive number, got '0'"),
    ],
)
def test_wrong_arguments_run_nothing(gcloud, arguments, message):
    process = run(*arguments, path=gcloud)
    assert process.returncode == 2
    assert message in process.stderr
    assert not (gcloud / "called").exists()


@pytest.mark.parametrize("name", tpu.SLICES)
def test_every_slice_has_its_machine(name):
    assert nodepool.facts(name) == tpu.SLICES[name].machine


def test_unknown_gpus_are_refused():
    with pytest.raises(pools.GpuError, match="no machine type known for nvidia-h100:1"):
        nodepool.facts("nvidia-h100:1")
