"""Cores, memory, disk, and the folders that a run writes to."""

import os
import shutil
import tempfile
from pathlib import Path

import psutil

from pipeline.config import Settings
from pipeline.diagnosis.finding import Finding, Level

_GIB = 1 << 30

# GiB that a run of the whole data set must have, and that leave it room.
_MEMORY = (2, 4)
_DISK = (1, 5)

_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def cores(_: Settings) -> Finding:
    """The CPU cores that this process may use."""
    return Finding(Level.OK, str(len(os.sched_getaffinity(0))))


def memory(_: Settings) -> Finding:
    """The memory that is free."""
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


def _enough(free: float, limits: tuple[float, float], text: str, cure: str) -> Finding:
    least, comfortable = limits
    if free >= comfortable:
        return Finding(Level.OK, text)
    level = Level.WARNING if free >= least else Level.FAILURE
    return Finding(level, f"{text}; a run should have {comfortable} GiB", cure)


def _memory_free() -> int:
    """Bytes that the system has available, or the container's limit where that is less."""
    available = psutil.virtual_memory().available
    limit = _CONTAINER_LIMIT.read_text("ascii").strip() if _CONTAINER_LIMIT.exists() else "max"
    return available if limit == "max" else min(available, int(limit))


def _folders(settings: Settings) -> list[Path]:
    """The local ones of the folders that a run writes to."""
    paths = (settings.root, settings.data.directory, settings.push.destination)
    return [Path(path) for path in paths if "://" not in path] or [Path.cwd()]


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())
