"""The live table of a run: one line a node, with state, seconds and one headline."""

import logging
import time
from typing import IO

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from pipeline.local_runner import State

STYLES = {
    "waiting": "dim",
    "running": "bold cyan",
    "done": "green",
    "cached": "blue",
    "failed": "bold red",
}


class NodeTable(logging.Handler):
    """A `local_runner.Listener` that draws; log lines of the running node show as its headline.

    On a terminal the table is redrawn in place; elsewhere each node prints one line when it ends.
    """

    def __init__(self, nodes: list[str], stream: IO[str]):
        super().__init__(logging.INFO)
        self.console = Console(file=stream, highlight=False)
        self._rows = {node: _Row() for node in nodes}
        self._live = Live(
            self,
            console=self.console,
            refresh_per_second=4,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> "NodeTable":
        if self.console.is_terminal:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *_) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def started(self, node: str) -> None:
        self._rows[node] = _Row("running", since=time.monotonic())

    def discarded(self, node: str, problem: str) -> None:
        self.console.print(
            f"The cached output of {node} is damaged: {problem}. It is made again.",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )

    def finished(self, node: str, state: State, seconds: float, headline: str) -> None:
        self._end(node, _Row(state, seconds, headline))

    def failed(self, node: str, seconds: float) -> None:
        self._end(node, _Row("failed", seconds))

    def emit(self, record: logging.LogRecord) -> None:
        """Shows a component's own log message beside the node that runs now."""
        for row in self._rows.values():
            if row.state == "running":
                row.headline = record.getMessage()

    @property
    def running(self) -> str | None:
        """The node that runs now."""
        return next((node for node, row in self._rows.items() if row.state == "running"), None)

    def __rich__(self) -> Group:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(width=1)
        table.add_column(no_wrap=True)
        table.add_column(width=7)
        table.add_column(justify="right", width=8)
        table.add_column(overflow="fold")
        for node, row in self._rows.items():
            table.add_row(
                row.mark(), node, Text(row.state, STYLES[row.state]), row.time(), Text(row.headline)
            )
        return Group(table)

    def _end(self, node: str, row: "_Row") -> None:
        self._rows[node] = row
        if not self.console.is_terminal:
            line = f"{node:<18} {row.state:<7} {row.seconds:7.1f} s  {row.headline}"
            self.console.print(line.rstrip(), soft_wrap=True, markup=False)


class _Row:
    def __init__(
        self, state: str = "waiting", seconds: float = 0.0, headline: str = "", since: float = 0.0
    ):
        self.state = state
        self.seconds = seconds
        self.headline = headline
        self._since = since
        self._spinner = Spinner("dots", style=STYLES["running"])

    def mark(self) -> Spinner | Text:
        if self.state == "running":
            return self._spinner
        marks = {"waiting": "·", "done": "✓", "cached": "↺", "failed": "✗"}
        return Text(marks[self.state], STYLES[self.state])

    def time(self) -> str:
        if self.state == "waiting":
            return ""
        seconds = time.monotonic() - self._since if self.state == "running" else self.seconds
        return f"{seconds:.1f} s"
