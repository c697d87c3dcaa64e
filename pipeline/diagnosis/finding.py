"""What a check finds."""

import enum
from dataclasses import dataclass


class Level(enum.Enum):
    """How bad it is: a warning costs time or a feature, a failure stops a run."""

    OK = enum.auto()
    WARNING = enum.auto()
    FAILURE = enum.auto()


@dataclass(frozen=True)
class Finding:
    """What a check found, and what to do about it where something is to be done."""

    level: Level
    text: str
    cure: str = ""
