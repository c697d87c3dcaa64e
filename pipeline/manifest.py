"""Which files an artifact has and what is in them, to find out later whether that still holds."""

from pathlib import Path

import pooch

Manifest = dict[str, str]
"""SHA-256 in hex of each file by its path below the artifact's; `.` where it is a file itself."""


def of(path: str) -> Manifest:
    """Reads all files at `path`, a folder or one file."""
    top = Path(path)
    files = [top] if top.is_file() else sorted(file for file in top.rglob("*") if file.is_file())
    return {file.relative_to(top).as_posix(): pooch.file_hash(file) for file in files}


def difference(path: str, recorded: Manifest) -> str | None:
    """The first file at `path` that is not as recorded, and how, in plain words.

    Args:
      path: A folder or a file.
      recorded: What `of` gave when it was known to be right.

    Returns:
      None when all is as it was.
    """
    found = of(path)
    for name in sorted(recorded.keys() | found.keys()):
        if recorded.get(name) != found.get(name):
            file = Path(path, name)
            if name not in found:
                return f"{file} is missing"
            if name not in recorded:
                return f"{file} was added"
            return f"{file} has changed"
    return None
