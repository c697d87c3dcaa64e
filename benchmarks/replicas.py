"""Throughput of the training loop on several replicas, and what their exchange costs.

    python -m benchmarks.replicas [--rounds 5] [--steps 80]

One device, 2 and 4 logical devices of this machine's CPUs, and two worker processes, each with the
default model and the same global batch of 128 examples in memory: replicas that share the cores
cannot be faster than one device, so what counts is how much slower they are. Then 2 logical devices
with a model that normalizes batches and a part of the exchange left out, which gives wrong weights:
what that saves is what it costs. Each has processes of its own, which wait while another is timed.
In a round each is timed once, in alternating order, after a warm-up that is not timed.
"""

import json
import os
import socket
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from benchmarks.contestants import Contestant, Train, take_turns
from benchmarks.process import machine

BATCH = 128
# Modules of `components.trainer` whose sums over the replicas are left out.
STATISTICS, GRADIENTS = "layers", "gradients"


@dataclass(frozen=True)
class Case:
    """A way to train; see `TrainSettings.strategy`."""

    title: str
    strategy: str
    model: str = "cnn"
    processes: int = 1
    left_out: tuple[str, ...] = ()


REPLICAS = [
    Case("one device", "default"),
    Case("2 logical devices", "mirrored:2"),
    Case("4 logical devices", "mirrored:4"),
    Case("2 worker processes", "multi_worker", processes=2),
]
NORMALIZED = "deep_cnn"  # It has BatchNormalization after each convolution.
WHOLE = Case("nothing", "mirrored:2", NORMALIZED)
WITHOUT = [
    Case("statistics of BatchNormalization", "mirrored:2", NORMALIZED, left_out=(STATISTICS,)),
    Case("gradients", "mirrored:2", NORMALIZED, left_out=(GRADIENTS,)),
    Case("both", "mirrored:2", NORMALIZED, left_out=(STATISTICS, GRADIENTS)),
]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each")] = 5,
    steps: Annotated[int, typer.Option(min=1, help="Training steps in each")] = 80,
) -> None:
    """Prints milliseconds per step of each, as Markdown."""
    contestants = {case: _contestant(case) for case in [*REPLICAS, WHOLE, *WITHOUT]}
    _print(take_turns(contestants, rounds=rounds, steps=steps, warm_up=steps), steps)
    print(f"\nMedians of {rounds} rounds of {steps} steps, batches of {BATCH}; {machine()}")


def _contestant(case: Case) -> Contestant:
    addresses = tuple(f"127.0.0.1:{port}" for port in _free_ports(case.processes))
    starts = [(_join, (addresses, index)) for index in range(case.processes)]
    return Contestant(_trainer, case, starts=starts)


def _print(taken: dict[Case, list[float]], steps: int) -> None:
    def ratio(case: Case, other: Case) -> float:
        return statistics.median(a / b for a, b in zip(taken[case], taken[other], strict=True))

    one = REPLICAS[0]
    print("| | examples/s | ms a step | time of one device |\n|---|---|---|---|")
    for case in REPLICAS:
        seconds = statistics.median(taken[case]) / steps
        print(
            f"| {case.title} | {BATCH / seconds:,.0f} | {1000 * seconds:.1f} | "
            f"{ratio(case, one):.2f} |"
        )
    print(
        f"\n| 2 logical devices, model `{NORMALIZED}`, without the exchange of | ms a step | "
        "it costs |\n|---|---|---|"
    )
    for case in [WHOLE, *WITHOUT]:
        milliseconds = 1000 * statistics.median(taken[case]) / steps
        print(f"| {case.title} | {milliseconds:.1f} | {1 - ratio(case, WHOLE):.0%} of the step |")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _join(addresses: Sequence[str], index: int) -> None:
    """Tells this process, one of several workers, where the others are."""
    if len(addresses) > 1:
        task = {"type": "worker", "index": index}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": task})


def _trainer(case: Case) -> Train:
    from components.trainer import strategy as strategies

    strategy = strategies.create(case.strategy)

    import keras

    from benchmarks.loop import examples_in_memory
    from components.trainer import gradients, inputs, layers, models
    from components.trainer.loop import TrainingLoop

    for module in (layers, gradients):
        if module.__name__.rpartition(".")[2] in case.left_out:
            module.sum_over_replicas = lambda tensors: tensors
    with strategy.scope():
        model, optimizer = models.create(case.model), keras.optimizers.AdamW()
    loop = TrainingLoop(model, optimizer, strategy=strategy)
    iterator = iter(inputs.distribute(strategy, examples_in_memory(), BATCH))
    return lambda steps: loop.train(iterator, steps)


if __name__ == "__main__":
    typer.run(main)
