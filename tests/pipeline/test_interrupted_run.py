import os
import signal

import pytest

from pipeline import config, run


@pytest.fixture
def ended_by(tmp_path, monkeypatch):
    """Ends a run by a signal while it prepares; returns its exit code."""
    settings = config.load("local", [f"root={tmp_path}/runs"], environment={})

    def end(number):
        monkeypatch.setattr(run, "_prepare", lambda *_: os.kill(os.getpid(), number))
        return run.run(settings)

    return end


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGTERM, 143, "Terminated"), (signal.SIGINT, 130, "Interrupted")],
)
def test_a_signal_ends_a_run_in_plain_words(number, code, word, ended_by, capfd):
    usual = signal.getsignal(signal.SIGTERM)
    assert ended_by(number) == code
    output, _ = capfd.readouterr()
    assert f"\n{word}.\nRun the same command again to go on" in output
    assert "Traceback" not in output
    assert signal.getsignal(signal.SIGTERM) is usual


def test_the_next_run_is_not_locked_out(ended_by):
    assert ended_by(signal.SIGTERM) == 143
    assert ended_by(signal.SIGINT) == 130
