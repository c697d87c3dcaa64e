"""`python -m benchmarks`, with benchmarks that end at once."""

import pytest
import typer

from benchmarks import __main__ as bench


def test_the_page_has_what_was_measured_and_names_what_failed(tmp_path, monkeypatch, capsys):
    benchmarks = {"process": ("Nothing to say", []), "nowhere": ("Broken", [])}
    monkeypatch.setattr(bench, "BENCHMARKS", benchmarks)
    with pytest.raises(typer.Exit) as ended:
        bench.main(out=tmp_path / "RESULTS.md")
    assert ended.value.exit_code == 1
    page = (tmp_path / "RESULTS.md").read_text()
    assert "## Nothing to say\n\n`python -m benchmarks.process`" in page
    assert "## Broken\n\n`python -m benchmarks.nowhere`\n\nIt failed." in page
    assert "failed: nowhere" in capsys.readouterr().err


def test_an_unknown_benchmark_is_refused(tmp_path):
    with pytest.raises(typer.BadParameter, match="optimiser: not a benchmark"):
        bench.main(only=["optimiser"], out=tmp_path / "RESULTS.md")
    assert not list(tmp_path.iterdir())
