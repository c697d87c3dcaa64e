"""Says whether this machine can run the pipeline, and how to cure what is wrong."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.config import Settings
from pipeline.diagnosis import machine, software, surroundings
from pipeline.diagnosis.finding import Finding, Level

OK, SICK = 0, 1

Check = Callable[[Settings], Finding]

CHECKS: Sequence[Check] = (
    software.python,
    software.packages,
    software.compiler,
    software.tensorflow,
    software.gpus,
    machine.cores,
    machine.memory,
    machine.disk,
    machine.folders,
    machine.metadata,
    surroundings.engine,
    surroundings.credentials,
    surroundings.network,
)

_MARKS = {
    Level.OK: ("✓", "green"),
    Level.WARNING: ("!", "yellow"),
    Level.FAILURE: ("✗", "bold red"),
}
_NAME_WIDTH = max(len(check.__name__) for check in CHECKS)


def doctor(settings: Settings, checks: Sequence[Check] = CHECKS) -> int:
    """Prints one line for each check, and under it the cure where one is needed.

    Args:
      settings: Of the run to be.
      checks: What to look at.

    Returns:
      Exit code: 1 when something keeps the pipeline from running, else 0.
    """
    console = Console(highlight=False)
    levels = []
    for check in checks:
        with console.status(check.__name__):
            finding = check(settings)
        _print(console, check.__name__, finding)
        levels.append(finding.level)
    return SICK if Level.FAILURE in levels else OK


def _print(console: Console, name: str, finding: Finding) -> None:
    mark, style = _MARKS[finding.level]
    line = Table.grid(padding=(0, 1))
    line.add_column(width=1)
    line.add_column(width=_NAME_WIDTH)
    line.add_column(overflow="fold")
    cure = ("\n" + finding.cure, style) if finding.cure else ""
    line.add_row(Text(mark, style), name, Text.assemble(finding.text, cure))
    console.print(line)
