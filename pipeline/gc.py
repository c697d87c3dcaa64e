"""`python -m pipeline gc`: removes what killed runs left behind, and nothing that is of use."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

import ml_metadata
from ml_metadata.proto import metadata_store_pb2
from rich.console import Console
from rich.filesize import decimal

from components import publishing
from pipeline import lock, preflight
from pipeline.config import Settings
from pipeline.diagnosis import machine

OK, FAILED = 0, 1

# A training that was killed is usually gone on with at once; its settings may have changed since.
_KEEP_CHECKPOINTS_DAYS = 30

_ACTIVE = (metadata_store_pb2.Execution.NEW, metadata_store_pb2.Execution.RUNNING)


@dataclass(frozen=True)
class Garbage:
    """A file or folder to remove, and why nobody will miss it."""

    path: Path
    why: str

    def size(self) -> int:
        """In bytes."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(file.lstat().st_size for file in files if not file.is_dir())

    def remove(self) -> None:
        """Removes it."""
        if self.path.is_dir():
            shutil.rmtree(self.path)
        else:
            self.path.unlink()


def collect(settings: Settings, dry_run: bool) -> int:
    """Marks the executions of killed runs as canceled, and removes what they left.

    Args:
      settings: Of the runs: their root and push destination.
      dry_run: Say what there is to do, and do nothing.

    Returns:
      Exit code.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    root = settings.local_root()
    if not (root / "metadata.sqlite").is_file():
        console.print(f"Nothing to remove: {root} has no metadata store.")
        return OK
    try:
        preflight.require(settings, [machine.metadata])
        with lock.hold(root / "lock"), publishing.alone_at(settings.push.destination):
            _collect(root, settings.push.destination, dry_run, console)
    except (
        preflight.NotReadyError,
        lock.AlreadyRunningError,
        publishing.PublishError,
        OSError,
    ) as error:
        console.print(str(error), style="bold red")
        return FAILED
    return OK


def _collect(root: Path, destination: str, dry_run: bool, console: Console) -> None:
    store = _open(root / "metadata.sqlite")
    stale = [each for each in store.get_executions() if each.last_known_state in _ACTIVE]
    for execution in stale:
        node = _node(store, execution)
        verb = "Would cancel" if dry_run else "Canceled"
        console.print(f"{verb} execution {execution.id} of {node}: the run it was in is gone.")
        execution.last_known_state = metadata_store_pb2.Execution.CANCELED
    if stale and not dry_run:
        store.put_executions(stale)

    freed = 0
    verb = "Would remove" if dry_run else "Removed"
    for garbage in (*_in_root(root, store), *_at_destination(destination)):
        size = garbage.size()
        freed += size
        if not dry_run:
            garbage.remove()
        console.print(f"{verb} {_short(garbage.path, root)} ({decimal(size)}): {garbage.why}.")
    would = "would be " if dry_run else ""
    console.print(f"{decimal(freed)} {would}freed." if freed else "Nothing to remove.")


def _in_root(root: Path, store: ml_metadata.MetadataStore) -> Iterator[Garbage]:
    """Below the root, while no run uses it: whatever is no output that could be used again."""
    artifacts = root / "artifacts"
    live = _live(store)
    for folder in sorted(artifacts.glob("*/[!.]*/*")):
        if folder.name.isdigit() and folder.parts[-3:] not in live:
            yield from _unless_empty(folder, "no run can use it")
    for folder in sorted(artifacts.glob("*/.system/*/*")):
        yield from _unless_empty(folder, "a node's working folder")
    for folder in sorted(root.glob("checkpoints/*")):
        if _days_since_changed(folder) > _KEEP_CHECKPOINTS_DAYS:
            yield Garbage(folder, f"no run went on from it for {_KEEP_CHECKPOINTS_DAYS} days")
    for file in sorted(root.glob("logs/*/.*.unfinished")):
        yield Garbage(file, "a file that was not written to its end")


def _days_since_changed(folder: Path) -> float:
    newest = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
    return (time.time() - newest) / 86_400


def _at_destination(destination: str) -> Iterator[Garbage]:
    for folder in publishing.unfinished(destination):
        yield Garbage(Path(folder), "a push that was not finished")


def _live(store: ml_metadata.MetadataStore) -> set[tuple[str, ...]]:
    """Node, key and execution of all outputs that a later run may be served.

    Without the root, which may have been moved. A value lies in a file in its folder.
    """
    paths = [
        PurePath(artifact.uri).parts
        for artifact in store.get_artifacts()
        if artifact.state == metadata_store_pb2.Artifact.LIVE
    ]
    return {parts[-3:] for parts in paths} | {parts[-4:-1] for parts in paths}


def _unless_empty(folder: Path, why: str) -> Iterator[Garbage]:
    """TFX leaves empty folders after good runs too; they are not worth a line."""
    if any(not path.is_dir() for path in folder.rglob("*")):
        yield Garbage(folder, why)


def _open(path: Path) -> ml_metadata.MetadataStore:
    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(path)
    config.sqlite.connection_mode = metadata_store_pb2.SqliteMetadataSourceConfig.READWRITE
    try:
        return ml_metadata.MetadataStore(config)
    except (ml_metadata.errors.StatusError, RuntimeError) as error:
        message = f"{path} cannot be read as ML Metadata: {error}"
        raise preflight.NotReadyError(message) from None


def _node(store: ml_metadata.MetadataStore, execution: metadata_store_pb2.Execution) -> str:
    """`PIPELINE.NODE`, from the contexts that TFX puts an execution in."""
    contexts = store.get_contexts_by_execution(execution.id)
    return next((each.name for each in contexts if each.type == "node"), "a node")


def _short(path: Path, root: Path) -> str:
    return os.path.relpath(path, root) if path.is_relative_to(root) else str(path)
