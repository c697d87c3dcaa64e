"""From the settings of a run to those of a run on a platform. No TensorFlow here."""

from typing import Literal

from kubeflow import pools, storage, tpu
from kubeflow.settings import TargetSettings
from pipeline.config import ConfigError, Settings
from pipeline.engines import options
from pipeline.engines.settings import BeamSettings

Target = Literal["kubeflow", "vertex"]

# Where Dockerfile puts the files of MNIST.
IMAGE_DATA = "/app/data/mnist"


def of(settings: Settings, target: Target) -> TargetSettings:
    """The section of a platform."""
    return settings.kubeflow if target == "kubeflow" else settings.vertex


def resolve(settings: Settings, target: Target) -> Settings:
    """The settings as the nodes on the platform see them.

    Raises:
      ConfigError: A setting makes no sense there; the message says which and what does.
    """
    platform = of(settings, target)
    root = platform.root or settings.root
    _check(settings, target, root)
    train = settings.train
    if platform.tpu:
        train = train.model_copy(update={"strategy": "tpu"})
    elif target == "kubeflow" and settings.kubeflow.gpu and train.strategy == "default":
        count = pools.parse_gpus(settings.kubeflow.gpu).count
        if count > 1:
            train = train.model_copy(update={"strategy": f"mirrored:{count}"})
    beam = _beam(settings, target, platform.image)
    resolved = settings.model_copy(update={"root": root, "train": train, "beam": beam})
    options.check(resolved)
    return resolved


def require_remote(settings: Settings, target: Target) -> None:
    """Refuses what runs under the local launcher but not on the platform.

    Raises:
      StorageError: A place is a folder of this machine.
      ConfigError: The data is.
    """
    platform = of(settings, target)
    storage.require_bucket(platform.root or settings.root, f"{target}.root")
    storage.require_bucket(settings.push.destination, "push.destination")
    if not platform.data and not settings.data.source.startswith("gs://"):
        raise ConfigError(
            f"data.source is {settings.data.source!r}, whose files lie on this machine; set "
            f"{target}.data to their folder in the image ({IMAGE_DATA} has MNIST), or put them in "
            "a bucket: data.source=gs://BUCKET/FOLDER"
        )


def _check(settings: Settings, target: Target, root: str) -> None:
    try:
        storage.require_openable(root, f"{target}.root")
        storage.require_openable(settings.push.destination, "push.destination")
        if target == "vertex" and settings.vertex.tpu:
            tpu.parse_for_vertex(settings.vertex.tpu)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if target == "kubeflow" and settings.kubeflow.tpu and settings.kubeflow.gpu:
        raise ConfigError(
            f"kubeflow.tpu={settings.kubeflow.tpu} and kubeflow.gpu={settings.kubeflow.gpu}: the "
            "Trainer runs on one or the other; empty one of them"
        )
    if target == "vertex" and settings.vertex.tpu and not settings.vertex.project:
        raise ConfigError(
            "vertex.tpu needs vertex.project, the Google Cloud project that the training job of "
            "the Trainer is made in"
        )
    if target == "vertex" and settings.vertex.endpoint.name and not settings.vertex.project:
        raise ConfigError("vertex.endpoint.name needs vertex.project, the project of the endpoint")


def _beam(settings: Settings, target: Target, image: str) -> BeamSettings:
    """Workers start from the platform's image, on Vertex in its project and region."""
    beam = settings.beam
    if beam.starts_servers:
        raise ConfigError(
            f"beam.engine=portable on {target} needs beam.job_endpoint, the HOST:PORT of a Beam "
            "job service that the nodes reach; beam.engine=local works inside each node"
        )
    dataflow = beam.dataflow
    if target == "vertex":
        filled = {
            "project": dataflow.project or settings.vertex.project,
            "region": dataflow.region or settings.vertex.region,
        }
        dataflow = dataflow.model_copy(update=filled)
    return beam.model_copy(update={"image": beam.image or image, "dataflow": dataflow})
