"""From the settings to Beam's pipeline options. No TensorFlow here."""

from pipeline.config import ConfigError, Settings
from pipeline.engines.settings import DOCKER, LOOPBACK, BeamSettings

# Environment variables with the addresses of the servers that a run starts.
JOB_SERVICE, WORKER_POOL = "BEAM_JOB_SERVICE", "BEAM_WORKER_POOL"

_RUNNERS = {"flink": "FlinkRunner", "spark": "SparkRunner"}


def check(settings: Settings) -> None:
    """Refuses what the engine cannot work with; `BeamSettings` has looked at itself already.

    Raises:
      ConfigError: A setting is missing or does not fit.
    """
    if settings.beam.engine != "dataflow":
        return
    dataflow = settings.beam.dataflow
    for name in ("project", "region"):
        if not getattr(dataflow, name):
            raise ConfigError(f"beam.engine=dataflow needs beam.dataflow.{name}")
    if not settings.root.startswith("gs://"):
        raise ConfigError(
            "beam.engine=dataflow: its workers see no folder of this machine, so root must be "
            f"gs://BUCKET/FOLDER, got {settings.root}; compile the pipeline for Kubeflow or Vertex"
        )
    if dataflow.temp_location and not dataflow.temp_location.startswith("gs://"):
        raise ConfigError(
            f"beam.dataflow.temp_location must be gs://BUCKET/FOLDER, got {dataflow.temp_location}"
        )


def beam_args(settings: Settings) -> list:
    """What TFX gives to Beam.

    Args:
      settings: Of the run, as far as `check` admits them.

    Returns:
      Texts, and TFX placeholders for the addresses of servers that the run starts: the options are
      part of TFX's cache key, and the ports are others in each run.
    """
    beam = settings.beam
    image = beam.image or settings.kubeflow.image
    if beam.engine == "local":
        # In-process and single-threaded is the fastest on one machine; without an image name,
        # TFX builds a source distribution of itself for each Beam component.
        args = ["--runner=FnApiRunner", "--sdk_container_image=unused"]
    elif beam.engine == "dataflow":
        args = _dataflow(settings, image)
    elif beam.starts_servers:
        args = _own_servers(image)
    else:
        args = [*_submission(beam), *_environment(beam, image)]
    return [*args, *beam.args]


def _own_servers(image: str) -> list:
    from tfx.dsl.placeholder import placeholder

    return [
        "--runner=PortableRunner",
        "--job_endpoint=" + placeholder.environment_variable(JOB_SERVICE),
        "--environment_type=EXTERNAL",
        "--environment_config=" + placeholder.environment_variable(WORKER_POOL),
        f"--sdk_container_image={image}",
    ]


def _submission(beam: BeamSettings) -> list[str]:
    """How the job gets to a cluster."""
    if beam.job_endpoint:
        args = ["--runner=PortableRunner", f"--job_endpoint={beam.job_endpoint}"]
    else:
        args = [f"--runner={_RUNNERS[beam.engine]}", f"--{beam.engine}_submit_uber_jar"]
        rest = "flink_master" if beam.engine == "flink" else "spark_rest_url"
        args.append(f"--{rest}={beam.address}")
    if beam.jar:
        args.append(f"--{beam.engine}_job_server_jar={beam.jar}")
    if beam.engine == "flink" and beam.workers:
        args.append(f"--parallelism={beam.workers}")
    return args


def _environment(beam: BeamSettings, image: str) -> list[str]:
    """What the cluster runs the project's code in."""
    if beam.environment == DOCKER:
        args = ["--environment_type=DOCKER", f"--environment_config={image}"]
    elif beam.environment == LOOPBACK:
        args = ["--environment_type=LOOPBACK"]
    else:
        args = ["--environment_type=EXTERNAL", f"--environment_config={beam.environment}"]
    # Only Dataflow starts this image; others name it so that TFX does not pack and send itself.
    return [*args, f"--sdk_container_image={image}"]


def _dataflow(settings: Settings, image: str) -> list[str]:
    beam, dataflow = settings.beam, settings.beam.dataflow
    optional = {
        "service_account_email": dataflow.service_account,
        "subnetwork": dataflow.subnetwork,
        "worker_machine_type": dataflow.machine_type,
        "max_num_workers": beam.workers,
    }
    return [
        "--runner=DataflowRunner",
        f"--project={dataflow.project}",
        f"--region={dataflow.region}",
        f"--temp_location={dataflow.temp_location or f'{settings.root}/beam-temp'}",
        f"--sdk_container_image={image}",
        *(f"--{name}={value}" for name, value in optional.items() if value),
        *([] if dataflow.public_ips else ["--no_use_public_ips"]),
    ]
