"""Two worker processes on this machine, against one process."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]

# Trains a model with every kind of layer on partial batches; writes the weights and the metrics.
WORKER = """
import sys
from components.trainer import strategy as strategies
strategy = strategies.create(sys.argv[1])
import keras, numpy as np, tensorflow as tf
from components.trainer import inputs, models, processors
from components.trainer.loop import TrainingLoop

rng = np.random.default_rng(0)
data = {
    "image": rng.integers(0, 256, [29, 28, 28], np.uint8),
    "label": rng.integers(0, 10, 29),
}
batches = tf.data.Dataset.from_tensor_slices(data).batch(8)
with strategy.scope():
    model = models.create("sequence", dtype="float64", l2=1e-3)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
chain = [processors.ClipByGlobalNorm(0.5), processors.Accumulate(2)]
loop = TrainingLoop(model, optimizer, strategy=strategy, processors=chain)
metrics = loop.train(iter(inputs.distribute(strategy, batches.repeat(), 8)), 8)
metrics |= loop.evaluate(inputs.distribute(strategy, batches, 8))
values = [v.numpy() for v in model.variables if "seed_generator" not in v.path]
np.savez(sys.argv[2], *values, np.array(list(metrics.values())))
"""


# Trains without interruption, with images in a file; then again, where the second worker alone is
# asked to end; then goes on, on fresh objects. Writes the weights of both, and what a worker says
# that sees no checkpoint.
RESUMED = """
import sys
from components.trainer import strategy as strategies
strategy = strategies.create(sys.argv[1])
import keras, numpy as np
from components.trainer import checkpoints, controller, inputs, models, optimizers
from components.trainer.image_file import ImageFile
from components.trainer.loop import TrainingLoop
from components.trainer.settings import CheckpointSettings

first = strategy.cluster_resolver.task_id == 0
rng = np.random.default_rng(0)
data = {"image": ImageFile(), "label": rng.integers(0, 10, 29)}
data["image"].append(rng.integers(0, 256, [29, 28, 28], np.uint8))

def objects(folder, interrupted=lambda: False):
    with strategy.scope():
        model = models.create("mlp")
        optimizer = optimizers.create("schedule_free_adamw")
    return TrainingLoop(model, optimizer, strategy=strategy, steps_per_call=2), (
        checkpoints.Checkpoints(
            folder,
            strategy=strategy,
            settings=CheckpointSettings(minutes=0, steps=2),
            interrupted=interrupted,
        )
    )

def fit(loop, saved):
    controller.fit(
        loop,
        lambda step: iter(inputs.distribute(
            strategy, inputs.training(data, 8, seed=0, start=step), 8)),
        inputs.distribute(strategy, inputs.one_pass(data, 8), 8),
        epochs=2, steps_per_epoch=4, patience=2, checkpoints=saved,
    )
    return [v.numpy() for v in loop.model.variables if "seed_generator" not in v.path]

root = sys.argv[2].rsplit("/", 1)[0]
whole = fit(*objects(root + "/whole"))
points = []

def interrupted():
    points.append(0)
    return not first and len(points) == 4

try:
    fit(*objects(root + "/cut", interrupted))
    raise SystemExit("both workers should have been interrupted")
except checkpoints.Interrupted as error:
    print(error)
said = ""
loop, saved = objects(root + ("/cut" if first else "/elsewhere"))
try:
    saved.restore(loop=loop)
except checkpoints.CheckpointError as error:
    said = str(error)
except AssertionError:  # There is more in the checkpoint than a loop.
    said = "seen"
resumed = fit(*objects(root + "/cut"))
np.savez(sys.argv[2], said=said, **{f"whole{i}": v for i, v in enumerate(whole)},
         **{f"resumed{i}": v for i, v in enumerate(resumed)})
"""


def start(strategy, output, cluster=None, index=None, program=WORKER):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    if cluster:
        task = {"type": "worker", "index": index}
        environment["TF_CONFIG"] = json.dumps({"cluster": {"worker": cluster}, "task": task})
    return subprocess.Popen(
        [sys.executable, "-c", program, strategy, str(output)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait(processes):
    try:
        for process in processes:
            log, _ = process.communicate(timeout=580)
            assert process.returncode == 0, log
    finally:
        for process in processes:
            process.kill()


@pytest.mark.timeout(600)
def test_two_workers_train_like_one(tmp_path):
    cluster = [f"127.0.0.1:{port}" for port in free_ports(2)]
    outputs = [tmp_path / f"{name}.npz" for name in ("alone", "first", "second")]
    processes = [
        start("default", outputs[0]),
        start("multi_worker", outputs[1], cluster, 0),
        start("multi_worker", outputs[2], cluster, 1),
    ]
    wait(processes)
    alone, *workers = [dict(np.load(output)) for output in outputs]
    for worker in workers:
        for name, expected in alone.items():
            tolerance = 1e-11 * np.abs(expected).max()
            np.testing.assert_allclose(worker[name], expected, rtol=0, atol=tolerance)


@pytest.mark.timeout(600)
def test_workers_are_interrupted_and_go_on_together(tmp_path):
    cluster = [f"127.0.0.1:{port}" for port in free_ports(2)]
    outputs = [tmp_path / f"{name}.npz" for name in ("first", "second")]
    wait(
        [
            start("multi_worker", output, cluster, index, RESUMED)
            for index, output in enumerate(outputs)
        ]
    )
    first, second = (dict(np.load(output)) for output in outputs)
    assert first.pop("said") == "seen"
    assert f"this one sees no {tmp_path}/elsewhere/step-00" in str(second.pop("said"))
    for results in (first, second):
        for name in [name for name in results if name.startswith("whole")]:
            resumed = results[name.replace("whole", "resumed")]
            assert resumed.tobytes() == results[name].tobytes() == first[name].tobytes()
