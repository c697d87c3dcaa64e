"""Where training runs: one device, several replicas on one machine, several workers, a TPU.

Names: `default`, `one_device`, `mirrored` (every GPU), `mirrored:4` (4 GPUs, or 4 logical CPUs on a
machine without a GPU), `multi_worker` (a cluster described by TF_CONFIG) and `tpu`.
"""

import json
import os
import re
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

NAMES = "default, one_device, mirrored, mirrored:N, multi_worker, tpu"


class StrategyError(ValueError):
    """The strategy is unknown, or this machine cannot give it."""


def create(name: str) -> tf.distribute.Strategy:
    """Gives the strategy, after preparing the devices that it needs.

    Args:
      name: One of `NAMES`.

    Raises:
      StrategyError: The name is unknown or the machine lacks what the strategy needs.
    """
    replicas = _replicas(name)
    prepare_devices(name)
    if name == "default":
        return tf.distribute.get_strategy()
    if name == "one_device":
        kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
        return tf.distribute.OneDeviceStrategy(f"{kind}:0")
    if name == "multi_worker":
        return _multi_worker()
    if name == "tpu":
        return _tpu()
    kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    available = len(tf.config.list_logical_devices(kind))
    wanted = replicas or available
    if wanted > available:
        raise StrategyError(f"{name} needs {wanted} {kind}s, this machine has {available}")
    return tf.distribute.MirroredStrategy(
        [f"{kind}:{index}" for index in range(wanted)],
        # On CPUs the default are collective operations, whose group of devices is one for the life
        # of the process: a second strategy with another number of replicas could not be created.
        cross_device_ops=tf.distribute.ReductionToOneDevice() if kind == "CPU" else None,
    )


def prepare_devices(name: str) -> None:
    """Splits the CPU into as many logical devices as `mirrored:N` has replicas.

    TensorFlow fixes its devices at the first operation, so call this before any. Nothing happens
    for other strategies, or where there are GPUs.

    Raises:
      StrategyError: TensorFlow has started with fewer logical CPUs.
    """
    replicas = _replicas(name) or 1
    if replicas == 1 or tf.config.list_physical_devices("GPU"):
        return
    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or [None]) >= replicas:
        return
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * replicas
        )
    except RuntimeError as error:
        raise StrategyError(
            f"{name} needs {replicas} logical CPUs, but TensorFlow has started with "
            f"{len(tf.config.list_logical_devices('CPU'))}; create the strategy in a new process, "
            "before the first TensorFlow operation"
        ) from error


def sum_over_replicas(tensors):
    """All-reduces a tensor, or a list of tensors; call it in replica context."""
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tensors)


def replica_local(value: Any, dtype: tf.DType, name: str) -> tf.Variable:
    """A variable that each replica assigns by itself; all of them assign the same values to it."""
    return tf.Variable(
        value,
        dtype=dtype,
        name=name,
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
    )


def gather(strategy: tf.distribute.Strategy, values: Sequence[int]) -> np.ndarray:
    """What each worker knows; all workers must call it, outside of the replicas.

    Args:
      strategy: Of the workers.
      values: This worker's, as many as on the others.

    Returns:
      Int64 [replicas, values], the first worker's first; one row where there is one worker.
    """
    own = tf.constant([values], tf.int64)
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return own.numpy()
    return strategy.gather(strategy.run(lambda: tf.identity(own)), axis=0).numpy()


def own_folder(strategy: tf.distribute.Strategy, folder: str) -> str:
    """The folder on the first worker, one to throw away on others: all must save, one is kept."""
    resolver = strategy.cluster_resolver
    first = resolver is None or resolver.task_id in (None, 0)
    return folder if first else tempfile.mkdtemp()


def _replicas(name: str) -> int | None:
    """The N of `mirrored:N`; None for other names."""
    match = re.fullmatch(r"mirrored:([1-9]\d*)", name)
    if match:
        return int(match[1])
    if name not in NAMES.split(", "):
        raise StrategyError(f"strategy must be one of {NAMES} (N a positive integer), got {name!r}")
    return None


def _multi_worker() -> tf.distribute.Strategy:
    try:
        cluster = json.loads(os.environ["TF_CONFIG"])
        worker = cluster["cluster"]["worker"][cluster["task"]["index"]]
        # Beside a chief, which has the index 0 too, two would take themselves for the first.
        if {*cluster["cluster"], cluster["task"]["type"]} != {"worker"}:
            raise ValueError("there is another task than workers")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise StrategyError(
            'multi_worker needs TF_CONFIG={"cluster": {"worker": ["host:port", ...]}, "task": '
            f'{{"type": "worker", "index": i}}}}, got {os.environ.get("TF_CONFIG")!r}'
        ) from error
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except (RuntimeError, tf.errors.OpError) as error:
        raise StrategyError(f"multi_worker could not start worker {worker}: {error}") from error


def _tpu() -> tf.distribute.Strategy:
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise StrategyError(
            "tpu needs a TPU and a TensorFlow built for it (tensorflow-tpu); on a Cloud TPU VM "
            f"set TPU_NAME=local ({error})"
        ) from error
    return tf.distribute.TPUStrategy(resolver)
