"""From the settings of a run to those of a run on a platform. No TensorFlow here."""

from typing import Literal

from kubeflow import pools, storage, tpu
from kubeflow.settings import TargetSettings
from pipeline.config import ConfigError, Settings

Target = Literal["kubeflow", "vertex"]

# Where Dockerfile puts the files of MNIST.
IMAGE_DATA = "/app/data/mnist"
# Beam runners that work inside the container of the node.
_IN_CONTAINER = ("FnApiRunner", "BundleBasedDirectRunner", "DirectRunner")


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
    beam = settings.beam.model_copy(update={"args": _beam_args(settings.beam.args, platform.image)})
    return settings.model_copy(update={"root": root, "train": train, "beam": beam})


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


def _beam_args(args: list[str], image: str) -> list[str]:
    """Beam options for a run in containers: other runners start workers from our image."""
    runner = next((a.split("=", 1)[1] for a in args if a.startswith("--runner=")), _IN_CONTAINER[0])
    if runner in _IN_CONTAINER:
        return list(args)
    kept = [arg for arg in args if arg != "--sdk_container_image=unused"]
    if not any(arg.startswith("--sdk_container_image=") for arg in kept):
        kept.append(f"--sdk_container_image={image}")
    return kept
