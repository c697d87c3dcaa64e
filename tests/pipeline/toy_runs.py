"""Runs the toy components as a pipeline, with real metadata."""

import subprocess
import sys
from pathlib import Path

from tfx.orchestration import metadata
from tfx.orchestration.pipeline import Pipeline

from pipeline.local_runner import NodeFailedError, run_nodes
from tests.pipeline.toy_components import Make, Push, Use


class Recorder:
    def __init__(self):
        self.events = []

    def started(self, node):
        self.events.append(("started", node))

    def discarded(self, node, problem):
        self.events.append(("discarded", node, problem))

    def finished(self, node, state, seconds, headline):
        assert seconds >= 0
        self.events.append((state, node, headline))

    def failed(self, node, seconds):
        self.events.append(("failed", node))

    def states(self):
        """How each node ended."""
        return {event[1]: event[0] for event in self.events}

    def discards(self):
        """Node and problem of each damaged output."""
        return [event[1:] for event in self.events if event[0] == "discarded"]


def run(
    folder: Path,
    run_id: str,
    text: str = "hello",
    cache: bool = True,
    pushes: bool = False,
    interrupted=lambda recorder: False,
):
    """Runs Make, Use, and if wanted Push; their root is `folder`.

    Returns:
      The recorder, and the results or what ended the run.
    """
    make = Make(text=text)
    components = [make, Use(model=make.outputs["model"])]
    if pushes:
        components.append(Push(model=make.outputs["model"], version=str(folder / "serving" / "1")))
    store = metadata.sqlite_metadata_connection_config(str(folder / "metadata.sqlite"))
    pipeline = Pipeline(
        pipeline_name="toy",
        pipeline_root=str(folder / "artifacts"),
        components=components,
        metadata_connection_config=store,
        enable_cache=cache,
    )
    recorder = Recorder()

    def headline(node, outputs):
        texts = [Path(artifact.uri, "text") for [artifact] in outputs.values()]
        return next((text.read_text() for text in texts if text.exists()), "")

    try:
        return recorder, run_nodes(
            pipeline, run_id, recorder, headline, lambda: interrupted(recorder)
        )
    except (NodeFailedError, KeyboardInterrupt) as error:
        return recorder, error


def killed_run(folder: Path, run_id: str) -> int:
    """A run in a process of its own that is killed inside Make; returns its exit code."""
    code = f"""
from pathlib import Path
from tests.pipeline.toy_runs import run
run(Path({str(folder)!r}), {run_id!r}, text="kill")
"""
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    return process.returncode
