import os
import signal

import pytest

from pipeline import config, run


@pytest.fixture
def ended_by(tmp_path, monkeypatch):
    """Ends a run by a signal while it prepares; returns its exit code."""
    settings = config.load("local", [f"root={tmp_path}/runs"], environment={})

    def end(number, prepare=None):
        def die(*_):
            os.kill(os.getpid(), number)

        monkeypatch.setattr(run, "_prepare", prepare or die)
        return run.run(settings)

    return end


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGTERM, 143, "Terminated"), (signal.SIGINT, 130, "Interrupted")],
)
def test_a_signal_ends_a_run_in_plain_words(number, code, word, ended_by, capfd):
    usual = signal.getsignal(number)
    assert ended_by(number) == code
    output, _ = capfd.readouterr()
    assert f"\n{word}.\nRun the same command again to go on" in output
    assert "Traceback" not in output
    assert signal.getsignal(number) is usual


def test_the_next_run_is_not_locked_out(ended_by):
    assert ended_by(signal.SIGTERM) == 143
    assert ended_by(signal.SIGINT) == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_node_that_makes_an_error_of_a_signal_has_not_failed(number, code, ended_by, capfd):
    """As Beam does, which wraps whatever is raised while it works."""

    def prepare(*_):
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            raise run.NodeFailedError("Evaluator", "KeyboardInterrupt") from None

    assert ended_by(number, prepare) == code
    output = capfd.readouterr().out
    assert "ed in Evaluator.\nRun the same command again" in output and "failed" not in output


def test_an_ignored_signal_stays_ignored(ended_by):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        seen = []

        def prepare(*_):
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("went on")
            raise run.PreparationError("enough")

        assert ended_by(signal.SIGINT, prepare) == run.FAILED
        assert seen
    finally:
        signal.signal(signal.SIGINT, before)
