"""The versions at a push destination: `DESTINATION/<integer>/saved_model.pb`, as TF Serving reads.

Destinations are local folders or object stores that `tfx.dsl.io.fileio` knows (`gs://...`).
"""

import hashlib
import os
import re

from tfx.dsl.io import fileio

SAVED_MODEL = "saved_model.pb"
NONE = "none"


class VersionError(ValueError):
    """A version is not at the destination; the message says which ones are."""


def versions(destination: str) -> list[int]:
    """The whole versions at `destination`, oldest first; none when there is no such folder.

    A folder without a `saved_model.pb` is not counted: that file is written last, so the version
    is still on its way or was abandoned.
    """
    return [version for version in numbers(destination) if is_whole(destination, version)]


def numbers(destination: str) -> list[int]:
    """The version numbers taken at `destination`, whole or not, ascending."""
    if not fileio.isdir(destination):
        return []
    # Object stores list folders with a trailing slash.
    names = [name.rstrip("/") for name in fileio.listdir(destination)]
    return sorted(int(name) for name in names if re.fullmatch("0|[1-9][0-9]*", name))


def is_whole(destination: str, version: int) -> bool:
    """Whether `version` is at `destination` in full."""
    return fileio.exists(os.path.join(path(destination, version), SAVED_MODEL))


def current(destination: str) -> int | None:
    """The version that TF Serving serves, the highest; None when there is none."""
    return max(versions(destination), default=None)


def path(destination: str, version: int) -> str:
    """The folder of `version`."""
    return os.path.join(destination, str(version))


def require(destination: str, version: int) -> str:
    """The folder of `version`, which must exist.

    Raises:
      VersionError: It is not at `destination`.
    """
    present = versions(destination)
    if version not in present:
        there = ", ".join(map(str, present)) or NONE
        raise VersionError(f"no version {version} at {destination}; versions there: {there}")
    return path(destination, version)


def state(destination: str) -> str:
    """What is served at `destination`, as a short text for cache keys.

    Returns:
      The current version and the SHA-256 of its files, or `none`.
    """
    version = current(destination)
    return NONE if version is None else f"{version}:{digest(path(destination, version))}"


def digest(folder: str) -> str:
    """SHA-256 in hex of all files under `folder`, their names included."""
    total = hashlib.sha256()
    for name in files(folder):
        with fileio.open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def files(folder: str) -> list[str]:
    """Paths of all files under `folder`, relative to it, sorted."""
    found = []
    for parent, _, names in fileio.walk(folder):
        relative = os.path.relpath(parent, folder)
        found += [os.path.normpath(os.path.join(relative, name)) for name in names]
    return sorted(found)
