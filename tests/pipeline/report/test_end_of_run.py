"""What a run says about its report; whole runs are in tests/e2e."""

import io

import pytest
from rich.console import Console

from pipeline import run
from pipeline.report import page


@pytest.fixture
def console():
    return Console(file=io.StringIO(), width=80)


def test_the_report_is_named(console, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "write", lambda folder: folder / "report.html")
    run._report(console, tmp_path)
    assert console.file.getvalue() == f"Report: {tmp_path / 'report.html'}\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("the first line\nand the second"), "the first line and the second"),
        (KeyError("StatisticsGen"), "'StatisticsGen'"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
def test_a_report_that_fails_says_why_in_one_line(error, text, console, tmp_path, monkeypatch):
    def fail(folder):
        raise error

    monkeypatch.setattr(page, "write", fail)
    run._report(console, tmp_path)
    assert console.file.getvalue() == f"No report: {text}\n"


def test_a_run_without_a_record_says_why(console, tmp_path):
    run._report(console, tmp_path)
    [line] = console.file.getvalue().splitlines()
    assert line.startswith("No report: ") and "result.json" in line
