"""The runs under a root: their settings, how they ended, and what ML Metadata knows of them."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from components import metrics
from components.metrics import Evaluation
from pipeline import lock
from pipeline.history.problem import HistoryError
from pipeline.history.store import Execution, Store

LAST = "last"
FINGERPRINTS = ("data", "schema", "code", "training code")
# As far as the minute, so that it can be read as a time.
_SHORTEST = len("20261130T1034")


class Run:
    """One run.

    Attributes:
      name: Its name in ML Metadata, which is the time when it started, in UTC.
      folder: Where its settings, its log and its result are.
    """

    def __init__(self, name: str, folder: Path, store: Store | None, alive: bool):
        """Makes the run; files are read when they are asked for.

        Args:
          name: See above.
          folder: See above.
          store: The metadata; None where there is none yet.
          alive: Whether a process works on it now.
        """
        self.name = name
        self.folder = folder
        self._store = store
        self._alive = alive

    @property
    def started(self) -> datetime:
        """When it started."""
        return datetime.strptime(f"{self.name[:-1]}000+0000", "%Y%m%dT%H%M%S%f%z")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Its settings as nested dictionaries; empty when they are lost."""
        return _read(self.folder / "settings.yaml", _parse_yaml)

    @cached_property
    def result(self) -> dict[str, Any]:
        """How it ended, as `pipeline/run.py` wrote it; empty for one that did not get so far."""
        result = _read(self.folder / "result.json", json.loads)
        if result and "verdict" not in result:
            raise _damaged(self.folder / "result.json", "it has no verdict")
        return result

    @cached_property
    def executions(self) -> dict[str, Execution]:
        """Its nodes by id, in the order in which they started."""
        found = self._store.executions(self.name) if self._store else []
        return {execution.node: execution for execution in found}

    @property
    def verdict(self) -> str:
        """pushed, nothing_new, refused, failed, interrupted, running or killed."""
        if self.result:
            return self.result["verdict"]
        if self._alive:
            return "running"
        return "failed" if self._in_state("failed") else "killed"

    @property
    def stopped_in(self) -> str | None:
        """The node in which it failed, was stopped or is now; None for one that came to its end."""
        if self.result:
            return self.result.get("node")
        # `gc` cancels what was at work when its process was killed.
        return next(filter(None, map(self._in_state, ("failed", "running", "canceled"))), None)

    def state_of(self, node: str) -> str | None:
        """How a node ended: as its run, where that ended while it was at work; None: not started.

        In the database it is at work for ever, or until `gc` cancels it.
        """
        execution = self.executions.get(node)
        if execution is None:
            return None
        caught = execution.state in ("running", "canceled") and self.verdict != "running"
        return self.verdict if caught else execution.state

    @property
    def seconds(self) -> float | None:
        """How long it took, as far as that is known."""
        if self.verdict == "running":
            return (datetime.now(timezone.utc) - self.started).total_seconds()
        return self.result.get("seconds")

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """How its model did on the test split; None when it has none, or its files are gone."""
        evaluator = self.executions.get("Evaluator")
        for artifact in evaluator.outputs.get("evaluation", []) if evaluator else []:
            text = _text(Path(artifact.uri) / metrics.FILE)
            try:
                return Evaluation.model_validate_json(text) if text else None
            except ValidationError as error:
                raise _damaged(Path(artifact.uri) / metrics.FILE, error) from None
        return None

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """SHA-256 of what its nodes were given, by name, as far as the run came."""
        values = (
            self._property("MnistExampleGen", "fingerprint"),
            text_digest(self._property("ImportSchemaGen", "text")),
            self._property("MnistExampleGen", "code"),
            self.trainer_config.get("code"),
        )
        return {name: value for name, value in zip(FINGERPRINTS, values, strict=True) if value}

    @property
    def trainer_config(self) -> Mapping[str, Any]:
        """The Trainer's `custom_config`; empty when it did not start."""
        return json.loads(self._property("Trainer", "custom_config") or "{}")

    def _property(self, node: str, name: str) -> str | None:
        execution = self.executions.get(node)
        return execution.properties.get(name) if execution else None

    def _in_state(self, state: str) -> str | None:
        return next((node for node, each in self.executions.items() if each.state == state), None)


def text_digest(text: str | None) -> str | None:
    """SHA-256 in hex of a text."""
    return hashlib.sha256(text.encode()).hexdigest() if text else None


class History:
    """All runs under a root."""

    def __init__(self, root: str):
        """Finds the runs.

        Raises:
          HistoryError: There are none, or the metadata cannot be read.
        """
        self.root = Path(root)
        database = self.root / "metadata.sqlite"
        self.store = Store(database) if database.is_file() else None
        logs = self.root / "logs"
        names = {folder.name for folder in logs.glob("*Z") if folder.is_dir()}
        names |= set(self.store.runs() if self.store else ())
        self._names = sorted(filter(_is_time, names), reverse=True)
        if not self._names:
            raise HistoryError(
                f"no runs in {self.root}; `python -m pipeline run` makes one, and "
                "--set root=... or --config looks elsewhere"
            )

    def __len__(self) -> int:
        return len(self._names)

    def runs(self, limit: int | None = None) -> list[Run]:
        """The runs, newest first.

        Args:
          limit: The most there will be; None gives all.
        """
        return [self._run(name) for name in self._names[:limit]]

    def find(self, text: str) -> Run:
        """A run by its name, the beginning of it, or `last`.

        Raises:
          HistoryError: There is none, or there are several.
        """
        if text == LAST:
            return self._run(self._names[0])
        found = [name for name in self._names if name.startswith(text)]
        if len(found) == 1 or text in found:
            return self._run(text if text in found else found[0])
        if not found:
            newest = ", ".join(map(self.short, self._names[:5]))
            raise HistoryError(f"no run {text!r} in {self.root}; {LAST}, or one of: {newest}")
        several = ", ".join(map(self.short, found[:5])) + (", ..." if found[5:] else "")
        raise HistoryError(f"{text!r} is the beginning of {len(found)} runs: {several}")

    def short(self, name: str) -> str:
        """The shortest beginning of a run's name that `find` takes, to the minute at least."""
        others = [other for other in self._names if other != name]
        for length in range(_SHORTEST, len(name)):
            if not any(other.startswith(name[:length]) for other in others):
                return name[:length]
        return name

    def _run(self, name: str) -> Run:
        # One run at a time: it can only be the newest.
        alive = name == self._names[0] and lock.holder(self.root / "lock") is not None
        return Run(name, self.root / "logs" / name, self.store, alive)


def _is_time(name: str) -> bool:
    try:
        datetime.strptime(name, "%Y%m%dT%H%M%S%fZ")
    except ValueError:
        return False
    return True


def _parse_yaml(text: str) -> Any:
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _read(path: Path, parse: Callable[[str], Any]) -> dict[str, Any]:
    """A file's names and values; none where it is missing."""
    text = _text(path)
    try:
        found = parse(text) if text else {}
    except (ValueError, yaml.YAMLError) as error:
        raise _damaged(path, error) from None
    if not isinstance(found, dict):
        raise _damaged(path, f"it holds a {type(found).__name__}, not names with values")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise _damaged(path, error) from None
    except OSError as error:
        raise HistoryError(f"{path} cannot be read: {error.strerror}") from None


def _damaged(path: Path, problem: Exception | str) -> HistoryError:
    return HistoryError(f"{path} is damaged: {problem}; remove it: the run is listed without it")
