"""What is looked at before each run, so that one which cannot end does not begin."""

from collections.abc import Callable, Sequence

from pipeline.config import Settings
from pipeline.diagnosis import machine, surroundings
from pipeline.diagnosis.finding import Finding, Level

# Those of doctor's checks that take no time.
CHECKS: Sequence[Callable[[Settings], Finding]] = (
    machine.folders,
    machine.disk,
    machine.memory,
    machine.metadata,
    surroundings.engine,
)


class NotReadyError(RuntimeError):
    """The machine cannot carry a run; the message says why and what to do."""


def require(settings: Settings, checks: Sequence[Callable[[Settings], Finding]] = CHECKS) -> None:
    """Changes nothing.

    Raises:
      NotReadyError: A check failed.
    """
    for check in checks:
        finding = check(settings)
        if finding.level is Level.FAILURE:
            raise NotReadyError(f"{finding.text}; {finding.cure}")
