"""Prints the machine type for an accelerator, for nodepool.sh. Standard library only."""

import sys

from kubeflow import pools, tpu

# The smallest machine with each number of GPUs; other GPUs attach to general-purpose machines.
_GPU_MACHINES = {
    ("nvidia-l4", 1): "g2-standard-4",
    ("nvidia-l4", 2): "g2-standard-24",
    ("nvidia-l4", 4): "g2-standard-48",
    ("nvidia-l4", 8): "g2-standard-96",
    ("nvidia-tesla-a100", 1): "a2-highgpu-1g",
    ("nvidia-tesla-a100", 2): "a2-highgpu-2g",
    ("nvidia-tesla-a100", 4): "a2-highgpu-4g",
    ("nvidia-tesla-a100", 8): "a2-highgpu-8g",
    ("nvidia-tesla-t4", 1): "n1-standard-4",
    ("nvidia-tesla-t4", 2): "n1-standard-8",
    ("nvidia-tesla-t4", 4): "n1-standard-16",
}


def facts(accelerator: str) -> str:
    """`MACHINE` for a TPU slice, `MACHINE TYPE COUNT` for GPUs.

    Raises:
      SliceError: There is no such TPU slice on one host.
      GpuError: There is no machine known for the GPUs.
    """
    if not accelerator.startswith("nvidia"):
        return tpu.parse(accelerator).machine
    gpus = pools.parse_gpus(accelerator)
    machine = _GPU_MACHINES.get((gpus.type, gpus.count))
    if machine is None:
        known = ", ".join(f"{kind}:{count}" for kind, count in _GPU_MACHINES)
        raise pools.GpuError(f"no machine type known for {gpus.name}; known: {known}")
    return f"{machine} {gpus.type} {gpus.count}"


if __name__ == "__main__":
    try:
        print(facts(*sys.argv[1:]))
    except ValueError as error:
        sys.exit(f"nodepool: {error}")
