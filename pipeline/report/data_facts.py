"""What a run learned about its data, and how that differs from the run before."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tfx.dsl.io import fileio
from tfx.types import artifact, artifact_utils
from tfx.utils import io_utils

from components import data_gate, data_problems
from pipeline.report import runs
from pipeline.report.runs import Record, RunError
from schemas import mnist

# Parameters of the ExampleGen that decide which examples are in which split.
_DECISIVE = (
    "fingerprint",
    "num_classes",
    "first_label",
    "transposed",
    "eval_examples",
    "train_limit",
    "test_limit",
)
# Parameter of DataGate.
_NAMES = "label_names"

Counts = Mapping[str, Mapping[str, int]]  # split -> class -> examples


@dataclass(frozen=True)
class Shift:
    """How far the shares of the classes in a split moved.

    Attributes:
      split: Its name.
      name: The class whose share moved most.
      before: That share in the earlier run, from 0 to 1.
      now: The same in this run. `abs(now - before)` is the L-infinity distance of the two
        distributions, TFDV's measure of drift.
    """

    split: str
    name: str
    before: float
    now: float


@dataclass(frozen=True)
class Drift:
    """The data of a run beside those of the run before.

    Attributes:
      run: Name of the run before.
      same: Whether both read the same files and split them alike.
      shifts: One for each split that both have.
    """

    run: str
    same: bool
    shifts: tuple[Shift, ...]

    @classmethod
    def between(cls, before: Record, now: Record) -> "Drift":
        """The drift from an earlier run to a later one."""
        identities = [
            [run.nodes["MnistExampleGen"].parameters.get(name) for name in _DECISIVE]
            for run in (before, now)
        ]
        earlier, later = class_counts(before), class_counts(now)
        return cls(
            run=before.name,
            same=identities[0] == identities[1],
            shifts=tuple(
                largest_shift(split, earlier[split], later[split])
                for split in later
                if split in earlier
            ),
        )


def drift(run: Record) -> Drift | None:
    """The drift since the run before; None where there is none, or its record is not whole."""
    folder = runs.previous(run.folder)
    if folder is None:
        return None
    try:
        before = runs.load_record(folder)
    except RunError:  # Of that run, not of this one.
        return None
    # A run of an earlier version did not name its classes.
    named = "DataGate" in before.nodes and _NAMES in before.nodes["DataGate"].parameters
    if not named or not fileio.exists(_statistics(before).uri):
        return None
    return Drift.between(before, run)


def class_counts(run: Record) -> Counts:
    """Examples of each class in each split."""
    statistics = _statistics(run)
    names = json.loads(run.nodes["DataGate"].parameters[_NAMES])
    return {
        split: data_gate.class_counts(data_gate.read_statistics(statistics, split), names)
        for split in mnist.SPLITS
    }


def anomalies(run: Record) -> list[str]:
    """What is wrong with the data, one line each, as DataGate says it."""
    statistics = _statistics(run)
    found = run.output("ExampleValidator", "anomalies")
    schema = run.output("ImportSchemaGen", "schema")
    contract = io_utils.SchemaReader().read(
        io_utils.get_only_uri_in_dir(artifact_utils.get_single_uri([schema]))
    )
    return [
        f"{split} split: {problem}"
        for split in mnist.SPLITS
        for problem in data_problems.describe(
            data_gate.read_statistics(statistics, split),
            data_gate.read_anomalies(found, split),
            contract,
        )
    ]


def largest_shift(split: str, before: Mapping[str, int], now: Mapping[str, int]) -> Shift:
    """The class whose share of a split moved most, given examples by class."""
    totals = [sum(counts.values()) for counts in (before, now)]
    shares = {
        name: (before.get(name, 0) / totals[0], now.get(name, 0) / totals[1])
        for name in {**now, **before}
    }
    name = max(shares, key=lambda each: abs(shares[each][1] - shares[each][0]))
    return Shift(split, name, *shares[name])


def _statistics(run: Record) -> artifact.Artifact:
    return run.output("StatisticsGen", "statistics")
