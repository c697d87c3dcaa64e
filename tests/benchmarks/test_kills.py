import signal
import time

import pytest

from benchmarks import kills


@pytest.fixture
def findings():
    return kills.Findings()


@pytest.fixture
def place(tmp_path, findings):
    return kills.Workplace(tmp_path / "chain0", findings)


def version(place, number, *files):
    folder = place.folder / "serving" / str(number)
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).touch()


def watch_for_a_while(place, findings, looks=3):
    with place.watched(["a", "b"]):
        until = findings.looks + looks
        while findings.looks < until:
            time.sleep(0.01)


def test_whole_versions_are_no_fault(place, findings):
    version(place, 1, "a", "b")
    version(place, ".unfinished-2", "a")
    watch_for_a_while(place, findings)
    assert not findings.faults


def test_half_a_version_is_seen(place, findings):
    version(place, 1, "a")
    watch_for_a_while(place, findings)
    assert findings.faults[0] == "chain0: version 1 was seen with ['a'] alone"


def test_a_watcher_that_cannot_look_is_an_error(place, monkeypatch):
    def forbidden(_):
        raise PermissionError("no look")

    monkeypatch.setattr(kills.versions, "numbers", forbidden)
    with pytest.raises(PermissionError, match="no look"):
        watch_for_a_while(place, place.findings, looks=1)


def test_no_version_is_a_loss(place, findings):
    kills._check(place, "expected")
    assert findings.faults == ["chain0: 0 versions were pushed instead of one"]


def test_a_kill_is_counted_where_it_fell(place, findings):
    (place.folder / "output.txt").write_text("One    done    0.1 s\nTwo    cached    0.1 s  text\n")
    assert place.nodes_ended() == ["One", "Two"]
    findings.kills[2, signal.SIGTERM] += 1
    report = kills._report(findings, ["One", "Two", "Three"], 9.4)
    assert "| Three | 0 | 1 |\n| the last lines | 0 | 0 |\n| all | 0 | 1 |" in report
    assert "1 kills in 0 chains; a run without kills takes 9 s" in report
    assert "Lost or wrong: 0." in report
