"""One run at a time per metadata store: two would repeat each other's cold work."""

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import psutil


class AlreadyRunningError(RuntimeError):
    """Another process holds the lock; the message says which and since when."""


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on `path` for the block.

    The system drops the lock with the process that holds it, so that one which died is no
    obstacle.

    Raises:
      AlreadyRunningError: Another process holds it.
      OSError: The file cannot be written, or its file system has no locks.
    """
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunningError(_describe(file, path)) from None
        file.truncate(0)
        started = datetime.now().astimezone().isoformat(timespec="seconds")
        json.dump({"pid": os.getpid(), "host": socket.gethostname(), "started": started}, file)
        file.flush()
        yield
        file.truncate(0)


def holder(path: Path) -> int | None:
    """Id of the process that holds the lock on `path`; None when none does.

    It takes no lock to find out: a run that is just starting would be refused.
    """
    try:
        held = json.loads(path.read_text("utf-8"))
        since = datetime.fromisoformat(held["started"]).timestamp()
        process = psutil.Process(held["pid"])
        # A process that is younger than the lock has only the number of one that died.
        alive = process.create_time() < since + 1 and process.status() != psutil.STATUS_ZOMBIE
        return held["pid"] if alive else None
    except (OSError, ValueError, KeyError, psutil.NoSuchProcess):
        return None


def _describe(file, path: Path) -> str:
    file.seek(0)
    try:
        held = json.load(file)
        who = f"process {held['pid']} on {held['host']}, started {held['started']}"
    except (ValueError, KeyError):
        who = "a process that is just starting"
    return (
        f"another process uses {path.parent} ({who}); wait for it, or choose another folder: "
        "--set root=..."
    )
