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


def start(strategy, output, cluster=None, index=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    if cluster:
        task = {"type": "worker", "index": index}
        environment["TF_CONFIG"] = json.dumps({"cluster": {"worker": cluster}, "task": task})
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, strategy, str(output)],
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


@pytest.mark.timeout(300)
def test_two_workers_train_like_one(tmp_path):
    cluster = [f"127.0.0.1:{port}" for port in free_ports(2)]
    outputs = [tmp_path / f"{name}.npz" for name in ("alone", "first", "second")]
    processes = [
        start("default", outputs[0]),
        start("multi_worker", outputs[1], cluster, 0),
        start("multi_worker", outputs[2], cluster, 1),
    ]
    try:
        for process in processes:
            log, _ = process.communicate(timeout=280)
            assert process.returncode == 0, log
    finally:
        for process in processes:
            process.kill()
    alone, *workers = [dict(np.load(output)) for output in outputs]
    for worker in workers:
        for name, expected in alone.items():
            tolerance = 1e-11 * np.abs(expected).max()
            np.testing.assert_allclose(worker[name], expected, rtol=0, atol=tolerance)
