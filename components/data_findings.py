"""What is found in a data set, as numbers that travel from node to node as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass

# Name of the file beside the splits.
FILE = "data_quality.json"

# Test images that are in the train files too.
TEST_OVERLAP = "test_overlap"
# Images with another label than one that is the same.
LABEL_CONFLICTS = "label_conflicts"
# Images that come a second time in the train files, or in the test files.
REPEATED_IMAGES = "repeated_images"
# Images whose pixels all have one value.
CONSTANT_IMAGES = "constant_images"
# Train images, of a sample, whose label all nearest neighbours contradict.
LABEL_NOISE = "label_noise"


@dataclass(frozen=True)
class Finding:
    """How many examples have something that they should not have.

    Attributes:
      count: Those that have it.
      total: Those that could have it.
      first: The first few, each as the positions concerned: `train 5`, or `train 5 = test 17` for
        two images that are the same. Positions count from 0, in the order of the files.
    """

    count: int
    total: int
    first: tuple[str, ...]

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.count / self.total if self.total else 0.0


def as_json(findings: Mapping[str, Finding]) -> dict[str, dict]:
    """The findings as JSON knows them."""
    return {
        kind: {"count": finding.count, "total": finding.total, "first": list(finding.first)}
        for kind, finding in findings.items()
    }


def from_json(values: Mapping[str, Mapping]) -> dict[str, Finding]:
    """The reverse of `as_json`."""
    return {
        kind: Finding(value["count"], value["total"], tuple(value["first"]))
        for kind, value in values.items()
    }
