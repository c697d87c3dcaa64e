"""Writes local files so that nobody ever reads half of one."""

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name beside it, then renames it.

    Args:
      path: The file; replaced when it exists. Its folder must exist.
      content: All of it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
