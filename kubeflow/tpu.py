"""The TPU slices that one pod can hold, and what Kubernetes calls them.

Source: "Plan TPUs in GKE", table of single-host machine types, and the Vertex AI training
documentation for `vertex_machine`.
"""

from dataclasses import dataclass

RESOURCE = "google.com/tpu"


class SliceError(ValueError):
    """A TPU slice that does not exist, or that does not fit in one pod."""


@dataclass(frozen=True)
class Slice:
    """One host full of TPU chips.

    Attributes:
      generation: `v5e`, ...
      topology: Chips along each axis, e.g. `2x2`.
      chips: Number of chips, all of the host's.
      accelerator: Value of the node label `cloud.google.com/gke-tpu-accelerator`.
      machine: Machine type on Google Kubernetes Engine, and on Vertex AI where it has it.
    """

    generation: str
    topology: str
    chips: int
    accelerator: str
    machine: str

    @property
    def name(self) -> str:
        """As in the settings: `v5e:2x2`."""
        return f"{self.generation}:{self.topology}"


def _slices(
    generation: str, accelerator: str, machine: str, topologies: dict[int, str]
) -> list[Slice]:
    return [
        Slice(generation, topology, chips, accelerator, machine.format(chips))
        for chips, topology in topologies.items()
    ]


_FLAT = {1: "1x1", 4: "2x2", 8: "2x4"}

SLICES = {
    entry.name: entry
    for entry in (
        *_slices("v4", "tpu-v4-podslice", "ct4p-hightpu-{}t", {4: "2x2x1"}),
        *_slices("v5e", "tpu-v5-lite-podslice", "ct5lp-hightpu-{}t", _FLAT),
        *_slices("v5p", "tpu-v5p-slice", "ct5p-hightpu-{}t", {4: "2x2x1"}),
        *_slices("v6e", "tpu-v6e-slice", "ct6e-standard-{}t", _FLAT),
        *_slices("v7x", "tpu7x", "tpu7x-standard-{}t", {1: "1x1x1", 4: "2x2x1"}),
    )
}

# Of the generations above, Vertex AI training runs TensorFlow on this one alone.
VERTEX_GENERATION = "v5e"


def parse(text: str) -> Slice:
    """The slice named `GENERATION:TOPOLOGY`.

    Raises:
      SliceError: There is no such slice on one host.
    """
    name = text.strip().lower()
    if name in SLICES:
        return SLICES[name]
    generation, _, topology = name.partition(":")
    known = sorted({entry.generation for entry in SLICES.values()})
    if generation not in known:
        raise SliceError(
            f"{text!r} is no TPU slice: write GENERATION:TOPOLOGY, one of {', '.join(SLICES)}"
        )
    valid = [entry.name for entry in SLICES.values() if entry.generation == generation]
    chips = _product(topology)
    if chips is not None and chips > max(SLICES[entry].chips for entry in valid):
        reason = (
            f"{text!r} has {chips} chips and so more than one host; a step of Kubeflow Pipelines "
            "is one pod, and a pod is on one host"
        )
    else:
        reason = f"{text!r} is no slice that a single host of {generation} offers"
    raise SliceError(f"{reason}; choose one of {', '.join(valid)}")


def parse_for_vertex(text: str) -> Slice:
    """Like `parse`, and refuses what Vertex AI training does not run TensorFlow on.

    Raises:
      SliceError: There is no such slice, or not on Vertex AI.
    """
    entry = parse(text)
    if entry.generation != VERTEX_GENERATION:
        valid = [e.name for e in SLICES.values() if e.generation == VERTEX_GENERATION]
        raise SliceError(
            f"Vertex AI training does not run TensorFlow on {entry.name!r}; choose one of "
            f"{', '.join(valid)}, or use Kubeflow"
        )
    return entry


def _product(topology: str) -> int | None:
    sides = topology.split("x")
    if not all(side.isdigit() for side in sides):
        return None
    chips = 1
    for side in sides:
        chips *= int(side)
    return chips
