"""Cores, memory, disk, the folders that a run writes to, and its metadata store."""

import contextlib
import os
import resource
import shutil
import sqlite3
import tempfile
from pathlib import Path

import psutil

from pipeline.config import Settings
from pipeline.diagnosis.finding import Finding, Level

_GIB = 1 << 30

# GiB that a run of the whole data set must have, and that leave it room. Measured: 1.1 of memory,
# 3.3 of addresses, and 0.1 of disk with the data.
_MEMORY = (1.25, 2)
_ADDRESSES = 3.5
_DISK = (0.25, 2)

# A writer has the metadata store for itself for some milliseconds.
_BUSY_SECONDS = 5

_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def cores(_: Settings) -> Finding:
    """The CPU cores that this process may use."""
    return Finding(Level.OK, str(len(os.sched_getaffinity(0))))


def memory(_: Settings) -> Finding:
    """The memory that is free, swap included, and the addresses that this process may use."""
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY and addresses < _ADDRESSES * _GIB:
        text = f"{addresses / _GIB:.1f} GiB of addresses allowed; a run needs {_ADDRESSES} GiB"
        return Finding(Level.FAILURE, text, "raise the limit: ulimit -v unlimited")
    free = _memory_free() / _GIB
    return _enough(free, _MEMORY, f"{free:.1f} GiB free", "close other programs")


def disk(settings: Settings) -> Finding:
    """The space where a run writes."""
    free, folder = min(
        (shutil.disk_usage(_existing(folder)).free / _GIB, str(folder))
        for folder in _folders(settings)
    )
    cure = "remove what is no longer needed, or choose another folder: --set root=..."
    return _enough(free, _DISK, f"{free:.1f} GiB free for {folder}", cure)


def folders(settings: Settings) -> Finding:
    """Whether a run can write where it must."""
    for folder in _folders(settings):
        existing = _existing(folder)
        if any("\ud800" <= character <= "\udfff" for character in str(folder)):
            cure = "rename the working folder, or choose another folder with --set"
            return Finding(Level.FAILURE, f"{str(folder)!a} is not UTF-8", cure)
        try:
            with tempfile.TemporaryFile(dir=existing):
                pass
        except OSError as error:
            return Finding(
                Level.FAILURE,
                f"{existing} cannot be written: {error.strerror}",
                f"change its permissions, or choose another folder than {folder} with --set",
            )
    return Finding(Level.OK, "can be written")


def metadata(settings: Settings) -> Finding:
    """Whether the metadata store of earlier runs is whole; a kill does it no harm, a disk may."""
    path = Path(settings.root, "metadata.sqlite")
    if not path.exists():
        return Finding(Level.OK, "no earlier runs")
    if not os.access(path, os.R_OK | os.W_OK):
        return Finding(Level.FAILURE, f"{path} cannot be written", "change its permissions")
    try:
        with contextlib.closing(sqlite3.connect(path, _BUSY_SECONDS)) as store:
            [(report,)] = store.execute("PRAGMA quick_check(1)")
        problem = report.splitlines()[-1]
    except sqlite3.DatabaseError as error:
        problem = str(error)
    if problem == "ok":
        return Finding(Level.OK, "whole")
    if problem == "database is locked":  # Moving it away would spoil the run that writes to it.
        cure = "look again when the run that uses it has ended"
        return Finding(Level.WARNING, f"{path} is being written to", cure)
    return Finding(
        Level.FAILURE,
        f"{path} is damaged: {problem}",
        "move it away: all nodes then run again, and what was pushed stays",
    )


def _enough(free: float, limits: tuple[float, float], text: str, cure: str) -> Finding:
    least, comfortable = limits
    if free >= comfortable:
        return Finding(Level.OK, text)
    if free >= least:
        return Finding(Level.WARNING, f"{text}; a run should have {comfortable} GiB", cure)
    return Finding(Level.FAILURE, f"{text}; a run needs {least} GiB", cure)


def _memory_free() -> int:
    """Bytes that the system has available, or the container's limit where that is less."""
    available = psutil.virtual_memory().available + psutil.swap_memory().free
    limit = _CONTAINER_LIMIT.read_text("ascii").strip() if _CONTAINER_LIMIT.exists() else "max"
    return available if limit == "max" else min(available, int(limit))


def _folders(settings: Settings) -> list[Path]:
    """The local folders that a run writes to."""
    paths = [settings.root, settings.push.destination]
    fetched = not os.path.isdir(os.path.expanduser(settings.data.source))
    if fetched and not os.path.exists(settings.data.directory):  # Else it may be read only.
        paths.append(settings.data.directory)
    return [Path(path) for path in paths if "://" not in path] or [Path.cwd()]


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if os.path.exists(path))
