"""What can be set on the platforms that run the compiled pipeline. No TensorFlow here."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from components.trainer.settings import Section
from kubeflow import pools, tpu

# A resource quantity that Kubernetes and Vertex both know.
Memory = Annotated[str, Field(pattern=r"^[1-9]\d*(M|G|T|Mi|Gi|Ti)$")]


def _slice(text: str) -> str:
    return tpu.parse(text).name if text else text


def _gpus(text: str) -> str:
    return pools.parse_gpus(text).name if text else text


class Resources(Section):
    """What the container of one node gets, as request and as limit."""

    cpu: float = Field(1.0, gt=0, description="Cores")
    memory: Memory = Field("2G", description="Memory, e.g. 4G or 3Gi")


class TargetSettings(Section):
    """What both platforms have in common."""

    image: str = Field(
        "mnist-tfx:latest", min_length=1, description="Container image of this project"
    )
    tpu_image: str = Field(
        "mnist-tfx:tpu", min_length=1, description="Image of the Trainer on a TPU (Dockerfile.tpu)"
    )
    root: str = Field("", description="Where artifacts go, gs://...; empty: the setting `root`")
    data: str = Field(
        "",
        description="Folder of the IDX files as the containers see it; empty: as this machine does",
    )
    service_account: str = Field("", description="Account that runs the pods; empty: the default")
    tpu: Annotated[str, AfterValidator(_slice)] = Field(
        "", description="TPU slice for the Trainer, e.g. v5e:2x2; empty: none"
    )
    resources: dict[str, Resources] = Field(
        default_factory=dict, description="By node, e.g. {Trainer: {cpu: 4, memory: 8G}}"
    )
    retries: int = Field(
        0, ge=0, le=10, description="Times a failed node is tried again (the Trainer on spot: 3)"
    )


class KubeflowSettings(TargetSettings):
    """Kubeflow Pipelines on a Kubernetes cluster."""

    host: str = Field("", description="URL of the Kubeflow Pipelines API")
    namespace: str = Field("", description="User namespace; empty on a single-user installation")
    experiment: str = Field("mnist", min_length=1, description="Experiment that runs belong to")
    gpu: Annotated[str, AfterValidator(_gpus)] = Field(
        "", description="GPUs for the Trainer, e.g. nvidia-l4:1; empty: none"
    )
    spot: bool = Field(False, description="Let the accelerator node be a spot VM, and retry")
    cron: str = Field("", description="Cron of 6 fields, seconds first, for a recurring run")


class ScheduleSettings(Section):
    """A recurring run on Vertex AI."""

    name: str = Field(
        "",
        pattern=r"^[A-Za-z0-9 _.-]{0,128}$",
        description="Display name, unique; empty: the pipeline's name",
    )
    cron: str = Field("0 3 * * 1", description="Cron of 5 fields")
    time_zone: str = Field("Etc/UTC", description="IANA time zone of the cron, e.g. Europe/Paris")
    start: str = Field("", description="ISO 8601 time of the first run; empty: now")
    end: str = Field("", description="ISO 8601 time after which none starts; empty: never")
    max_runs: int = Field(0, ge=0, description="Runs after which it completes; 0: no limit")
    max_concurrent_runs: int = Field(1, gt=0, description="Runs at the same time")
    catch_up: bool = Field(False, description="On resume, make up for the runs that were missed")


class EndpointSettings(Section):
    """A Vertex AI endpoint that pushed models are deployed to."""

    name: str = Field("", description="Display name of the endpoint; empty: no endpoint")
    machine_type: str = Field("n1-standard-2", description="Machine that serves")
    min_replicas: int = Field(1, gt=0, description="Least machines")
    max_replicas: int = Field(1, gt=0, description="Most machines")
    image: str = Field(
        "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest",
        description="Serving container",
    )


class VertexSettings(TargetSettings):
    """Vertex AI Pipelines."""

    project: str = Field("", description="Google Cloud project")
    region: str = Field("us-central1", min_length=1, description="Region of pipelines and jobs")
    network: str = Field("", description="Full name of a peered VPC network; empty: none")
    schedule: ScheduleSettings = ScheduleSettings()
    endpoint: EndpointSettings = EndpointSettings()


class RetrainSettings(Section):
    """Whether a run on a platform trains; other runs stop after the checks of the data."""

    when: Literal["always", "needed"] = Field(
        "always",
        description="needed: only if the data, the code or settings, or the age of the pushed "
        "model give a reason",
    )
    max_age_days: float = Field(
        0.0,
        ge=0,
        description="Age in days from which the pushed model is a reason to train; 0: none. "
        "Training anew on the same data gives the same model, so combine it with a warm start",
    )
