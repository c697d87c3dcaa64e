"""Writes and removes versions at a push destination so that a server sees whole ones only.

TF Serving looks at the folder at any moment, serves the highest number it finds there, and passes
over names that are not numbers. On a local file system a version is therefore made under another
name and renamed, and renamed again before it is removed. An object store cannot rename a folder:
there `saved_model.pb`, without which nothing loads, is written last and removed first.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping

from absl import logging
from tfx.dsl.io import fileio
from tfx.utils import io_utils

from components import versions

_UNFINISHED = ".unfinished-"

# From a version to the texts of further files, by path in its folder.
Documents = Callable[[int], Mapping[str, str]]


class PublishError(RuntimeError):
    """A model cannot be published; the message says why and what to do."""


def publish(
    model: str,
    destination: str,
    keep: int | None = None,
    clock: Callable[[], float] = time.time,
    documents: Documents = lambda version: {},
) -> int:
    """Publishes a SavedModel as the new highest version.

    Args:
      model: Folder of the SavedModel.
      destination: Folder of versions; made when missing.
      keep: Versions to keep, the new one included; the oldest are removed. None keeps all.
      clock: Seconds since the epoch. They become the version, as with TFX's own Pusher, unless
        there is a version as high already: then the new one is one higher.
      documents: Called with the version before anything of it can be seen; what it gives lies
        beside the model, as whole as the model.

    Returns:
      The new version.

    Raises:
      PublishError: `model` is no SavedModel, or another process publishes to `destination`.
      ValueError: `keep` is less than 1.
    """
    if keep is not None and keep < 1:
        raise ValueError(f"keep must be at least 1 version, got {keep}")
    if not fileio.exists(os.path.join(model, versions.SAVED_MODEL)):
        raise PublishError(f"{model} is no SavedModel: it has no {versions.SAVED_MODEL}")
    with _exclusive(destination):
        version = _publish(model, destination, clock, documents)
        if keep is not None:
            _prune(destination, keep)
    return version


def rollback(destination: str, version: int, clock: Callable[[], float] = time.time) -> int:
    """Makes an older version the served one, by publishing it again as a new highest version.

    Removing the versions above it instead could not be undone, and would let their numbers come
    back with other models. Note that a later run pushes the replaced model again if its training
    gives it again: change what it is trained on as well.

    Args:
      destination: Folder of versions.
      version: The version to serve again.
      clock: Seconds since the epoch.

    Returns:
      The version that is served now: a new one, or `version` when it is the highest already.

    Raises:
      VersionError: `version` is not at `destination`.
      PublishError: Another process publishes to `destination`.
    """
    versions.require(destination, version)
    with _exclusive(destination):
        source = versions.require(destination, version)
        if version == versions.current(destination):
            return version
        return _publish(source, destination, clock, lambda version: {})


def unfinished(destination: str) -> list[str]:
    """Folders at a local destination that a killed process left half-written or half-removed.

    The next `publish` removes them. While a process publishes, its own is among them.
    """
    if not (_is_local(destination) and os.path.isdir(destination)):
        return []
    names = sorted(os.listdir(destination))
    return [os.path.join(destination, name) for name in names if name.startswith(_UNFINISHED)]


@contextlib.contextmanager
def alone_at(destination: str) -> Iterator[None]:
    """Keeps other processes from publishing to a local destination for the block.

    Raises:
      PublishError: Another process publishes to `destination`.
    """
    if not (_is_local(destination) and os.path.isdir(destination)):
        yield  # Object stores have no locks; the numbers still keep two pushes apart.
        return
    descriptor = os.open(destination, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PublishError(
                f"another process is publishing to {destination}; run again when it is done"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _publish(model: str, destination: str, clock: Callable[[], float], documents: Documents) -> int:
    version = max([int(clock()), *(taken + 1 for taken in versions.numbers(destination))])
    target = versions.path(destination, version)
    texts = documents(version)
    if _is_local(destination):
        temporary = _temporary(destination, version)
        io_utils.copy_dir(model, temporary)
        write_texts(temporary, texts)
        _flush_tree(temporary)
        os.rename(temporary, target)
        _flush(destination)
    else:
        _copy_marker_last(model, target, texts)
    logging.info("Published %s as %s.", model, target)
    return version


def write_texts(folder: str, texts: Mapping[str, str]) -> None:
    """Writes files in UTF-8, given by their paths in `folder`."""
    for name, text in texts.items():
        io_utils.write_bytes_file(os.path.join(folder, name), text.encode())


def _prune(destination: str, keep: int) -> None:
    for version in versions.versions(destination)[:-keep]:
        folder = versions.path(destination, version)
        if _is_local(destination):
            temporary = _temporary(destination, version)
            os.rename(folder, temporary)
            folder = temporary
        else:
            fileio.remove(os.path.join(folder, versions.SAVED_MODEL))
        fileio.rmtree(folder)
        logging.info("Removed version %d from %s.", version, destination)


def _temporary(destination: str, version: int) -> str:
    return os.path.join(destination, f"{_UNFINISHED}{version}")


def _copy_marker_last(model: str, target: str, texts: Mapping[str, str]) -> None:
    others = [name for name in versions.files(model) if name != versions.SAVED_MODEL]
    for name in others:
        io_utils.copy_file(os.path.join(model, name), os.path.join(target, name))
    write_texts(target, texts)
    io_utils.copy_file(
        os.path.join(model, versions.SAVED_MODEL), os.path.join(target, versions.SAVED_MODEL)
    )


@contextlib.contextmanager
def _exclusive(destination: str) -> Iterator[None]:
    """Lets one process at a time publish, and leaves nothing unfinished behind."""
    fileio.makedirs(destination)
    with alone_at(destination):
        _clear(destination)  # Left by a process that was killed.
        try:
            yield
        finally:
            _clear(destination)


def _clear(destination: str) -> None:
    for folder in unfinished(destination):
        fileio.rmtree(folder)


def _is_local(path: str) -> bool:
    return "://" not in path


def _flush_tree(folder: str) -> None:
    """Has the system write `folder` to the disk, lest a power cut leave an empty version."""
    for parent, _, names in os.walk(folder):
        for name in names:
            _flush(os.path.join(parent, name))
        _flush(parent)


def _flush(path: str) -> None:
    """Flushes a file, or the entries of a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
