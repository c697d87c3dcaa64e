"""How much of what spoils results is let through. No TensorFlow here: settings are read first."""

from collections.abc import Iterator, Mapping

from pydantic import Field

from components.data_findings import (
    CONSTANT_IMAGES,
    LABEL_CONFLICTS,
    LABEL_NOISE,
    REPEATED_IMAGES,
    TEST_OVERLAP,
    Finding,
)
from components.trainer.settings import Section

# Of fewer images nothing can be said about the share of wrong labels.
_ENOUGH = 100

# What is found, and what to do about it.
_WORDS = {
    TEST_OVERLAP: (
        "test images that are in the train files too",
        "accuracy on them says nothing: take them out of the train files",
    ),
    LABEL_CONFLICTS: (
        "images with another label than the same image elsewhere",
        "one of the two is wrong: correct it, or take both out",
    ),
    REPEATED_IMAGES: (
        "images that come again in their file",
        "each time counts: take out those that were not meant",
    ),
    CONSTANT_IMAGES: (
        "images of one colour",
        "they show nothing: take them out",
    ),
    LABEL_NOISE: (
        "labels that all nearest neighbours contradict, in a sample of the train files",
        "about this share of all labels is wrong, or classes overlap: look at these",
    ),
}


class DataLimits(Section):
    """What is found in the data is a warning; beyond these limits it is more. From 0 to 1."""

    test_overlap: float = Field(
        0.1, ge=0, le=1, description="Share of test images in the train files; more stops the run"
    )
    label_conflicts: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Share of images that occur with two labels; more stops the run",
    )
    constant_images: float = Field(
        0.01, ge=0, le=1, description="Share of images of one colour; more stops the run"
    )
    label_noise: float = Field(
        0.05, ge=0, le=1, description="Estimated share of wrong labels; more gives a warning"
    )
    class_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Examples of each class in a split, relative to an equal share of them; fewer "
        "give a warning",
    )


def problems(findings: Mapping[str, Finding], limits: DataLimits) -> list[str]:
    """What must stop the run, one line each."""
    return [
        f"{_line(kind, finding)} (data.limits.{kind}={getattr(limits, kind):g})"
        for kind, finding in findings.items()
        if kind in (TEST_OVERLAP, LABEL_CONFLICTS, CONSTANT_IMAGES)
        and finding.share > getattr(limits, kind)
    ]


def warnings(
    findings: Mapping[str, Finding], counts: Mapping[str, Mapping[str, int]], limits: DataLimits
) -> list[str]:
    """What a person should know, one line each.

    Args:
      findings: Of the files, by kind.
      counts: Examples of each class in each split.
      limits: How much is let through in silence.
    """
    lines = [
        _line(kind, finding)
        for kind, finding in findings.items()
        if finding.count and (kind != LABEL_NOISE or _is_noisy(finding, limits))
    ]
    return [*lines, *_rare_classes(counts, limits.class_share)]


def _is_noisy(finding: Finding, limits: DataLimits) -> bool:
    return finding.total >= _ENOUGH and finding.share > limits.label_noise


def _line(kind: str, finding: Finding) -> str:
    what, cure = _WORDS[kind]
    listed = ", ".join(finding.first)
    more = ", ..." if finding.count > len(finding.first) else ""
    share = f"{finding.count:,} of {finding.total:,} ({100 * finding.share:.3g}%)"
    return f"{what}: {share}: {listed}{more}; {cure}"


def _rare_classes(counts: Mapping[str, Mapping[str, int]], least: float) -> Iterator[str]:
    for split, by_class in counts.items():
        total = sum(by_class.values())
        fewest = least * total / len(by_class)
        rare = [f"{count:,} of {name}" for name, count in by_class.items() if count < fewest]
        if rare:
            yield (
                f"rare classes in the {split} split: {', '.join(rare)} among {total:,} examples, "
                f"less than {least:g} of an equal share (data.limits.class_share); get more of "
                "them, or set train.class_weights"
            )
