"""The last look at a model before it is pushed: does it serve, and is it new?

It takes the place of TFX's InfraValidator, which needs a Docker engine or a cluster and does not
exist on Kubeflow Pipelines. Its output is one of the Pusher's two keys.
"""

import json
import os

import tensorflow as tf
from absl import logging
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.io import fileio
from tfx.types import artifact, artifact_utils, standard_artifacts
from tfx.utils import io_utils, path_utils

from components import baseline as baseline_model
from components import labels, model_identity, serving_check

# As TFX's InfraValidator writes them.
_BLESSED = "INFRA_BLESSED"
_NOT_BLESSED = "INFRA_NOT_BLESSED"


@component
def ModelCheck(
    model: InputArtifact[standard_artifacts.Model],
    examples: InputArtifact[standard_artifacts.Examples],
    baseline: InputArtifact[standard_artifacts.Model],
    blessing: OutputArtifact[standard_artifacts.InfraBlessing],
    label_names: Parameter[str],
    split: Parameter[str] = "test",
    count: Parameter[int] = 256,
    code: Parameter[str] = "",
) -> None:
    """Blesses a model that serves and is not the one already pushed.

    Args:
      model: The model that would be pushed.
      examples: Real examples to call its signatures with.
      baseline: Output of Baseline, the model pushed last, if any.
      blessing: Output. A model that is bit for bit the pushed one is not blessed, which keeps the
        Pusher from pushing it again; see `reason_not_blessed`.
      label_names: Names of the classes that the model must tell apart, as JSON.
      split: The split to take examples from.
      count: How many examples, at most; at least 1.
      code: Fingerprint of the code, for the cache key alone.

    Raises:
      ServingError: The model does not serve as it must.
      ValueError: There are no examples.
    """
    folder = path_utils.serving_model_path(model.uri)
    names = tuple(json.loads(label_names))
    serving_check.check(folder, _read(examples, split, count), len(names))
    if labels.read(folder) != names:
        raise serving_check.ServingError(
            f"{folder} names its classes {labels.read(folder)}, they are {names}"
        )
    version = baseline_model.pushed_version(baseline)
    if version is not None and model_identity.same(
        folder, path_utils.serving_model_path(baseline.uri)
    ):
        _mark(blessing, _NOT_BLESSED, f"identical to pushed version {version}")
    else:
        _mark(blessing, _BLESSED, "")


def reason_not_blessed(blessing_uri: str) -> str | None:
    """Why ModelCheck did not bless a model, in words; None when it did.

    Args:
      blessing_uri: Folder of its InfraBlessing artifact.
    """
    file = os.path.join(blessing_uri, _NOT_BLESSED)
    return io_utils.read_string_file(file) if fileio.exists(file) else None


def _mark(blessing: artifact.Artifact, name: str, reason: str) -> None:
    logging.info("%s %s", name, reason)
    io_utils.write_string_file(os.path.join(blessing.uri, name), reason)
    blessing.set_int_custom_property("blessed", int(name == _BLESSED))


def _read(examples: artifact.Artifact, split: str, count: int) -> tf.Tensor:
    """The first `count` serialized examples of a split; string [count] or fewer."""
    pattern = io_utils.all_files_pattern(artifact_utils.get_split_uri([examples], split))
    files = sorted(fileio.glob(pattern))
    records = tf.data.TFRecordDataset(files, compression_type="GZIP").take(count)
    serialized = list(records)
    if not serialized:
        raise ValueError(f"no examples in {pattern} to check the model with")
    return tf.stack(serialized)
