"""Which nodes of a cluster a pod with an accelerator goes to: selectors, tolerations, limits."""

import re
from dataclasses import dataclass, field

from kubeflow import tpu

GPU_RESOURCE = "nvidia.com/gpu"
_SPOT_LABEL = "cloud.google.com/gke-spot"


class GpuError(ValueError):
    """GPUs that are not written as TYPE:COUNT."""


@dataclass(frozen=True)
class Gpus:
    """GPUs of one node: the type as in `cloud.google.com/gke-accelerator`, and how many."""

    type: str
    count: int

    @property
    def name(self) -> str:
        """As in the settings: `nvidia-l4:1`."""
        return f"{self.type}:{self.count}"


@dataclass(frozen=True)
class Placement:
    """Where a pod may run and what it takes there.

    Attributes:
      resource: Name of the extended resource, e.g. `google.com/tpu`.
      count: How many of it, which is both request and limit.
      node_labels: Labels that the node must have.
      tolerations: Kubernetes tolerations, as dicts.
    """

    resource: str
    count: int
    node_labels: dict[str, str]
    tolerations: list[dict[str, str]] = field(default_factory=list)


def parse_gpus(text: str) -> Gpus:
    """GPUs named `TYPE:COUNT`, e.g. `nvidia-l4:1`.

    Raises:
      GpuError: The text has another form.
    """
    match = re.fullmatch(r"(nvidia-[a-z0-9-]*[a-z0-9]):([1-9]\d?)", text.strip())
    if not match or int(match[2]) > 16:
        raise GpuError(
            f"{text!r} are no GPUs: write TYPE:COUNT with the type as GKE labels it and 1 to 16 "
            "of them, e.g. nvidia-l4:1, nvidia-tesla-a100:2"
        )
    return Gpus(match[1], int(match[2]))


def for_tpu(entry: tpu.Slice, *, spot: bool) -> Placement:
    """The placement on a node pool of this TPU slice."""
    labels = {
        "cloud.google.com/gke-tpu-accelerator": entry.accelerator,
        "cloud.google.com/gke-tpu-topology": entry.topology,
    }
    return _placement(tpu.RESOURCE, entry.chips, labels, spot)


def for_gpus(gpus: Gpus, *, spot: bool) -> Placement:
    """The placement on a node pool with these GPUs."""
    labels = {"cloud.google.com/gke-accelerator": gpus.type}
    return _placement(GPU_RESOURCE, gpus.count, labels, spot)


def _placement(resource: str, count: int, labels: dict[str, str], spot: bool) -> Placement:
    # Accelerator nodes carry a taint named after their resource, spot nodes one more: they keep
    # away every pod that does not ask for them.
    tolerations = [{"key": resource, "operator": "Exists", "effect": "NoSchedule"}]
    if spot:
        labels = {**labels, _SPOT_LABEL: "true"}
        tolerations.append(
            {
                "key": _SPOT_LABEL,
                "operator": "Equal",
                "value": "true",
                "effect": "NoSchedule",
            }
        )
    return Placement(resource, count, labels, tolerations)
