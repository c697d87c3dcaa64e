"""The Trainer on files: killed, interrupted, and started again."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.trainer import actions
from tests.support import training

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    training.write_examples(folder)
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    """A run that nothing disturbs."""
    return training.run(folder, training.config(folder), "whole")


def checkpoints(folder):
    return sorted((folder / "checkpoints").glob("*/step-*"))


def start(folder, config):
    """The same training in a process of its own, which writes to `run`."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.training", str(folder), config],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@contextlib.contextmanager
def interrupting(number, monkeypatch, epoch):
    """Sends this process a signal in the midst of an epoch."""
    usual = actions.log_progress

    def log_and_interrupt(ended):
        usual(ended)
        if ended.number == epoch:
            os.kill(os.getpid(), number)

    before = signal.signal(number, signal.default_int_handler)  # In the background: ignored.
    try:
        with monkeypatch.context() as patch:
            patch.setattr(actions, "log_progress", log_and_interrupt)
            yield
    finally:
        signal.signal(number, before)


def test_nothing_is_left_of_a_run_that_ended(folder, whole):
    assert (whole / "saved_model.pb").exists()
    assert not checkpoints(folder)


@pytest.mark.timeout(600)
def test_a_real_kill_and_a_sigterm_change_nothing(folder, whole):
    """Each at a random moment after the first checkpoint of its process."""
    config = json.dumps(training.config(folder, train={"steps_per_call": 1}))
    moments = random.Random(0)
    for number in (signal.SIGKILL, signal.SIGTERM):
        process, before = start(folder, config), checkpoints(folder)
        while process.poll() is None and checkpoints(folder) in ([], before):
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.3))
        process.send_signal(number)
        output, _ = process.communicate(timeout=200)
        assert process.returncode == -number, output
        assert checkpoints(folder)
        if number == signal.SIGTERM:
            [line] = [line for line in output.splitlines() if "interrupted at step" in line]
            assert line.endswith("; the next run goes on there")
            step = int(line.split("step ")[1].split(";")[0])
            assert checkpoints(folder)[-1].name == f"step-{step:09d}"
    process = start(folder, config)
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    assert not checkpoints(folder)
    # Steps in one call or in several are the same steps.
    assert training.same(folder / "run" / "model", whole)
    assert training.history(folder, "run") == training.history(folder, "whole")


def test_where_the_images_are_kept_makes_no_difference(folder, whole, monkeypatch):
    """Cut off in the midst and gone on with, while they are in a file."""
    config = training.config(folder, train={"cache_megabytes": 0})
    with interrupting(signal.SIGINT, monkeypatch, 2), pytest.raises(KeyboardInterrupt):
        training.run(folder, config, "on_disk")
    assert training.same(training.run(folder, config, "on_disk"), whole)
    assert training.history(folder, "on_disk") == training.history(folder, "whole")


def test_another_training_does_not_go_on_from_it(folder, whole, monkeypatch, caplog):
    """Ctrl-C after the first epoch; then other settings, another start, and the same again."""
    caplog.set_level("INFO")
    config = training.config(folder)
    with interrupting(signal.SIGINT, monkeypatch, 1), pytest.raises(KeyboardInterrupt):
        training.run(folder, config, "cut")
    [*_, saved] = checkpoints(folder)
    assert saved.name == f"step-{training.STEPS_PER_EPOCH:09d}"

    training.run(folder, training.config(folder, train={"epochs": 1, "seed": 1}), "other")
    training.run(folder, config, "warm", base_model=str(whole))
    assert "resumed" not in caplog.text
    assert "warm start took over 10 of 10 weights" in caplog.text
    assert checkpoints(folder)[-1] == saved

    # When to save is no part of what is trained.
    config = training.config(folder, checkpoints={"steps": 7})
    resumed = training.run(folder, config, "cut")
    assert f"resumed at step {training.STEPS_PER_EPOCH} from {saved}" in caplog.text
    assert training.same(resumed, whole)
    assert training.history(folder, "cut") == training.history(folder, "whole")
    assert not checkpoints(folder)


def test_a_training_that_fails_leaves_nothing_to_go_on_from(folder):
    config = training.config(folder, optimizer={"name": "sgd", "learning_rate": 1e30})
    with pytest.raises(actions.NonFiniteLossError):
        training.run(folder, config, "failed")
    assert not checkpoints(folder)
