"""The last pushed model as an artifact, for comparing and for a warm start.

TFX's way is a Resolver, which asks a metadata store that Kubeflow Pipelines does not have. The
push destination itself knows better: it also knows of rollbacks.
"""

import json
import os

from tfx.dsl.component.experimental.annotations import OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.io import fileio
from tfx.types import artifact, standard_artifacts
from tfx.utils import io_utils, path_utils

from components import labels, versions

# Read from the artifact's folder, as not every orchestrator hands custom properties on.
VERSION_FILE = "pushed_version"


@component
def Baseline(
    model: OutputArtifact[standard_artifacts.Model],
    push_destination: Parameter[str],
    label_names: Parameter[str],
    state: Parameter[str] = "",
) -> None:
    """Copies the current version at `push_destination` into the artifact `model`.

    Where there is none yet, the artifact holds no model: see `pushed_version`.

    Args:
      model: Output; the SavedModel lies where TFX looks for it (`Format-Serving`).
      push_destination: Folder of versions.
      label_names: Names of the classes of the model that is to be trained, as JSON.
      state: `versions.state(push_destination)` when the pipeline object is built, so that the
        output is served from the cache exactly as long as the destination stays the same. Empty
        where the pipeline is compiled for later; such a platform must not cache this node.

    Raises:
      RuntimeError: The destination is no longer in `state`.
      ValueError: The current version tells other classes apart: comparing with it would say
        nothing, and a model pushed over it would answer its users with other classes.
    """
    found = versions.state(push_destination)
    if state not in ("", found):
        raise RuntimeError(
            f"{push_destination} was in state {state} when this run started and is now in state "
            f"{found}: something else pushed to it; run again"
        )
    version = versions.current(push_destination)
    if version is not None:
        pushed = versions.path(push_destination, version)
        _require_same_classes(pushed, tuple(json.loads(label_names)))
        io_utils.copy_dir(pushed, path_utils.serving_model_dir(model.uri))
        model.set_string_custom_property(VERSION_FILE, str(version))
    io_utils.write_string_file(
        os.path.join(model.uri, VERSION_FILE), versions.NONE if version is None else str(version)
    )


def _require_same_classes(pushed: str, names: tuple[str, ...]) -> None:
    found = labels.read(pushed)
    if found != names:
        raise ValueError(
            f"{pushed} holds a model of {len(found)} classes ({', '.join(found)}), this data set "
            f"has {len(names)} ({', '.join(names)}): push to another folder, push.destination=..."
        )


def pushed_version(baseline: artifact.Artifact) -> int | None:
    """The version that an output of Baseline is a copy of; None when nothing was pushed yet.

    Raises:
      ValueError: The artifact is not an output of Baseline.
    """
    file = os.path.join(baseline.uri, VERSION_FILE)
    if not fileio.exists(file):
        raise ValueError(f"{baseline.uri} is not a baseline: it has no file {VERSION_FILE}")
    text = io_utils.read_string_file(file)
    return None if text == versions.NONE else int(text)
