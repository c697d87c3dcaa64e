"""The settings of the engine that runs the Beam components. No TensorFlow here."""

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from components.trainer.settings import Section

Engine = Literal["local", "portable", "flink", "spark", "dataflow"]

DOCKER, LOOPBACK = "docker", "loopback"

_HOST_AND_PORT = re.compile(r"([^\s/:@]+):(\d{1,5})")
# What each engine reads, beside `engine` and `args`.
_READ = {
    "local": (),
    "portable": ("workers", "job_endpoint", "environment", "image"),
    "flink": ("workers", "job_endpoint", "address", "jar", "environment", "image"),
    "spark": ("job_endpoint", "address", "jar", "environment", "image"),
    "dataflow": ("workers", "image", "dataflow"),
}


class DataflowSettings(Section):
    """Google Cloud Dataflow."""

    project: str = Field("", description="Google Cloud project; empty, on Vertex: vertex.project")
    region: str = Field("", description="Region of the jobs; empty, on Vertex: vertex.region")
    temp_location: str = Field("", description="gs://BUCKET/FOLDER; empty: beam-temp in the root")
    service_account: str = Field("", description="Account of the workers; empty: the default")
    subnetwork: str = Field(
        "", description="Of the workers, regions/REGION/subnetworks/NAME; empty: the default"
    )
    machine_type: str = Field("", description="Of the workers; empty: Dataflow chooses")
    public_ips: bool = Field(True, description="Whether the workers have public addresses")


class BeamSettings(Section):
    """How the Beam components run; docs/engines.md tells more."""

    engine: Engine = Field("local", description="What runs them")
    workers: int = Field(
        0, ge=0, description="Workers at the same time, Dataflow: at most; 0: as the engine does"
    )
    job_endpoint: str = Field(
        "", description="HOST:PORT of a Beam job service; empty, portable: the run starts one"
    )
    address: str = Field("", description="URL of the REST service of Flink or of Spark's master")
    jar: str = Field(
        "", description="Beam's job server for Flink or Spark; empty: Beam downloads it"
    )
    environment: str = Field(
        DOCKER,
        description="Workers are: docker, containers of the image; HOST:PORT, of a worker pool; "
        "loopback, threads of the process that sends the job",
    )
    image: str = Field("", description="Image of the workers; empty: the platform's `image`")
    dataflow: DataflowSettings = DataflowSettings()
    args: list[str] = Field(
        default_factory=list, description="Further options of Beam, stronger than the others"
    )

    @property
    def starts_servers(self) -> bool:
        """Whether the run starts a job service and workers of its own."""
        return self.engine == "portable" and not self.job_endpoint

    @field_validator("job_endpoint")
    @classmethod
    def _endpoint(cls, value: str) -> str:
        if value and not _is_endpoint(value):
            raise ValueError(f"must be HOST:PORT, e.g. localhost:8099, got {value!r}")
        return value

    @field_validator("address")
    @classmethod
    def _address(cls, value: str) -> str:
        scheme, _, endpoint = value.rstrip("/").partition("://")
        if value and not (scheme in ("http", "https") and _is_endpoint(endpoint)):
            raise ValueError(f"must be http://HOST:PORT, got {value!r}")
        return value.rstrip("/")

    @field_validator("environment")
    @classmethod
    def _environment(cls, value: str) -> str:
        if value not in (DOCKER, LOOPBACK) and not _is_endpoint(value):
            raise ValueError(f"must be {DOCKER}, {LOOPBACK} or HOST:PORT, got {value!r}")
        return value

    @field_validator("args")
    @classmethod
    def _no_runner(cls, args: list[str]) -> list[str]:
        found = [arg for arg in args if arg.partition("=")[0] == "--runner"]
        if found:
            raise ValueError(f"must not hold {found[0]}; set beam.engine instead")
        return args

    @model_validator(mode="after")
    def _fit_together(self) -> "BeamSettings":
        read = {*_READ[self.engine], "engine", "args"}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name not in read and value != field.default:
                raise ValueError(
                    f"engine {self.engine} does not read beam.{name}, got {value!r}; "
                    f"it reads: {', '.join([*_READ[self.engine], 'args'])}"
                )
        if self.engine in ("flink", "spark") and bool(self.address) == bool(self.job_endpoint):
            raise ValueError(
                f"engine {self.engine} needs beam.address, the URL of its REST service, or "
                "beam.job_endpoint, HOST:PORT of a Beam job server; "
                + ("both are set" if self.address else "none is set")
            )
        if self.jar and self.job_endpoint:
            raise ValueError("jar is not read with beam.job_endpoint, whose server has its own")
        if self.engine == "portable" and self.job_endpoint and self.workers:
            raise ValueError(
                "workers is not read with beam.job_endpoint, whose server decides on it"
            )
        if self.starts_servers and (self.environment != DOCKER or self.image):
            raise ValueError(
                "environment and image are not read where the run starts its own "
                "workers; set beam.job_endpoint as well"
            )
        return self


def _is_endpoint(text: str) -> bool:
    match = _HOST_AND_PORT.fullmatch(text)
    return match is not None and 0 < int(match[2]) < 1 << 16
