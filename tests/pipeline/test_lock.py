import fcntl
import json
import os
import socket
import subprocess
import sys

import pytest

from pipeline import lock

HOLD = """
import sys, pathlib
from pipeline import lock
with lock.hold(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_told_who_holds_the_lock(tmp_path):
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout.readline() == "held\n"
        assert lock.holder(path) == first.pid
        told = f"process {first.pid} on {socket.gethostname()}, started 20"
        with pytest.raises(lock.AlreadyRunningError, match=told), lock.hold(path):
            pass
        first.kill()
        os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
        assert lock.holder(path) is None  # Dead, although nobody has asked for its exit code.
        first.wait()
        assert lock.holder(path) is None
        assert json.loads(path.read_text())["pid"] == first.pid  # It had no time to tidy up.
        with lock.hold(path):
            assert json.loads(path.read_text())["pid"] == os.getpid()
        assert path.read_text() == ""


def test_the_lock_is_free_after_an_error(tmp_path):
    path = tmp_path / "lock"
    with pytest.raises(KeyError), lock.hold(path):
        raise KeyError
    with lock.hold(path):
        pass


def test_nobody_holds_a_lock_that_nobody_took(tmp_path):
    path = tmp_path / "lock"
    assert lock.holder(path) is None
    with lock.hold(path):
        assert lock.holder(path) == os.getpid()
    assert lock.holder(path) is None


def test_a_younger_process_of_the_same_number_does_not_hold_it(tmp_path):
    path = tmp_path / "lock"
    path.write_text(json.dumps({"pid": os.getpid(), "started": "2020-01-01T00:00:00+00:00"}))
    assert lock.holder(path) is None


def test_a_lock_that_nobody_signed(tmp_path):
    path = tmp_path / "lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(lock.AlreadyRunningError, match="a process that is just starting"):
            lock.hold(path).__enter__()
