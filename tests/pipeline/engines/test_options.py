"""What each engine is told, and that Beam and TFX understand every word of it."""

import pytest
from apache_beam.io.gcp import gcsio
from apache_beam.options import pipeline_options
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners import create_runner
from tfx.dsl.compiler import placeholder_utils
from tfx.orchestration.portable import data_types

from pipeline import config
from pipeline.config import ConfigError
from pipeline.engines import options

SERVICE = "beam.job_endpoint=jobs:8099"
FLINK = ("beam.engine=flink", "beam.address=http://flink:8081")
SPARK = ("beam.engine=spark", "beam.address=http://spark:6066")
DATAFLOW = (
    "beam.engine=dataflow",
    "beam.dataflow.project=my-project",
    "beam.dataflow.region=europe-west4",
    "root=gs://bucket/r",
)
IMAGE = "registry/mnist-tfx:1"
IN_DOCKER = [
    "--environment_type=DOCKER",
    f"--environment_config={IMAGE}",
    f"--sdk_container_image={IMAGE}",
]


def settings(*overrides):
    return config.load("local", [f"kubeflow.image={IMAGE}", *overrides], environment={})


CASES = {
    "the default": ([], ["--runner=FnApiRunner", "--sdk_container_image=unused"]),
    "further options come last": (
        ["beam.args=[--direct_num_workers=2]"],
        ["--runner=FnApiRunner", "--sdk_container_image=unused", "--direct_num_workers=2"],
    ),
    "a job service": (
        ["beam.engine=portable", SERVICE],
        ["--runner=PortableRunner", "--job_endpoint=jobs:8099", *IN_DOCKER],
    ),
    "a worker pool": (
        ["beam.engine=portable", SERVICE, "beam.environment=localhost:50000"],
        [
            "--runner=PortableRunner",
            "--job_endpoint=jobs:8099",
            "--environment_type=EXTERNAL",
            "--environment_config=localhost:50000",
            f"--sdk_container_image={IMAGE}",
        ],
    ),
    "Flink by REST": (
        [*FLINK, "beam.workers=4", "beam.jar=/jars/flink.jar"],
        [
            "--runner=FlinkRunner",
            "--flink_submit_uber_jar",
            "--flink_master=http://flink:8081",
            "--flink_job_server_jar=/jars/flink.jar",
            "--parallelism=4",
            *IN_DOCKER,
        ],
    ),
    "Flink by its job server": (
        ["beam.engine=flink", SERVICE, "beam.workers=4"],
        ["--runner=PortableRunner", "--job_endpoint=jobs:8099", "--parallelism=4", *IN_DOCKER],
    ),
    "workers in the process that sends the job": (
        [*FLINK, "beam.environment=loopback"],
        [
            "--runner=FlinkRunner",
            "--flink_submit_uber_jar",
            "--flink_master=http://flink:8081",
            "--environment_type=LOOPBACK",
            f"--sdk_container_image={IMAGE}",
        ],
    ),
    "Spark by REST": (
        [*SPARK, "beam.image=other:2"],
        [
            "--runner=SparkRunner",
            "--spark_submit_uber_jar",
            "--spark_rest_url=http://spark:6066",
            "--environment_type=DOCKER",
            "--environment_config=other:2",
            "--sdk_container_image=other:2",
        ],
    ),
    "Dataflow": (
        [*DATAFLOW],
        [
            "--runner=DataflowRunner",
            "--project=my-project",
            "--region=europe-west4",
            "--temp_location=gs://bucket/r/beam-temp",
            f"--sdk_container_image={IMAGE}",
        ],
    ),
    "Dataflow with everything": (
        [
            *DATAFLOW,
            "beam.workers=8",
            "beam.dataflow.temp_location=gs://bucket/t",
            "beam.dataflow.service_account=a@p.iam",
            "beam.dataflow.subnetwork=regions/europe-west4/subnetworks/s",
            "beam.dataflow.machine_type=n2-standard-4",
            "beam.dataflow.public_ips=false",
        ],
        [
            "--runner=DataflowRunner",
            "--project=my-project",
            "--region=europe-west4",
            "--temp_location=gs://bucket/t",
            f"--sdk_container_image={IMAGE}",
            "--service_account_email=a@p.iam",
            "--subnetwork=regions/europe-west4/subnetworks/s",
            "--worker_machine_type=n2-standard-4",
            "--max_num_workers=8",
            "--no_use_public_ips",
        ],
    ),
}


@pytest.mark.parametrize(("overrides", "expected"), CASES.values(), ids=CASES)
def test_settings_become_options(overrides, expected):
    chosen = settings(*overrides)
    options.check(chosen)
    assert options.beam_args(chosen) == expected


class Bucket:
    @staticmethod
    def is_soft_delete_enabled(path):
        return False


@pytest.mark.parametrize(("overrides", "expected"), CASES.values(), ids=CASES)
def test_beam_knows_every_option(overrides, expected, monkeypatch):
    # Beam would ask the bucket for its policy of deletion.
    monkeypatch.setattr(gcsio, "GcsIO", lambda: Bucket)
    parsed = pipeline_options.PipelineOptions(options.beam_args(settings(*overrides)))
    known = parsed.get_all_options(drop_default=True)
    assert len(known) == len(expected)
    with_unknown = parsed.get_all_options(drop_default=True, retain_unknown_options=True)
    assert with_unknown == known
    runner = create_runner(known["runner"])
    assert PipelineOptionsValidator(parsed, runner).validate() == []


@pytest.mark.parametrize(("overrides", "expected"), CASES.values(), ids=CASES)
def test_the_image_that_is_none_is_for_this_process_alone(overrides, expected):
    local = settings(*overrides).beam.engine == "local"
    assert ("--sdk_container_image=unused" in expected) == local


def test_ports_are_looked_up_when_a_node_runs_and_are_no_part_of_the_cache_key(monkeypatch):
    args = options.beam_args(settings("beam.engine=portable", "beam.workers=2"))
    assert args[0] == "--runner=PortableRunner"
    context = placeholder_utils.ResolutionContext(exec_info=data_types.ExecutionInfo())
    encoded = [arg.encode() for arg in args if not isinstance(arg, str)]
    for port in ("1", "2"):
        monkeypatch.setenv(options.JOB_SERVICE, f"localhost:{port}")
        monkeypatch.setenv(options.WORKER_POOL, f"localhost:{port}0")
        assert [
            placeholder_utils.resolve_placeholder_expression(expression, context)
            for expression in encoded
        ] == [f"--job_endpoint=localhost:{port}", f"--environment_config=localhost:{port}0"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["beam.engine=dask"], "beam.engine: Input should be 'local'"),
        (["beam.workers=2"], "engine local does not read beam.workers, got 2; it reads: args"),
        ([SERVICE], "engine local does not read beam.job_endpoint"),
        (
            [*SPARK, "beam.workers=2"],
            "spark does not read beam.workers, got 2; it reads: job_",
        ),
        (
            [*FLINK, "beam.dataflow.project=my-project"],
            "engine flink does not read beam.dataflow",
        ),
        (["beam.engine=portable", "beam.jar=a.jar"], "engine portable does not read beam.jar"),
        (["beam.engine=portable", "beam.image=i"], "environment and image are not read"),
        (["beam.engine=portable", SERVICE, "beam.workers=2"], "whose server decides on it"),
        (["beam.engine=flink"], "needs beam.address.*none is set"),
        ([*FLINK, SERVICE], "needs beam.address.*both are set"),
        (
            ["beam.engine=spark", SERVICE, "beam.jar=a.jar"],
            "jar is not read with",
        ),
        (["beam.engine=flink", "beam.address=flink:8081"], "must be http://HOST:PORT, got 'flink"),
        (["beam.engine=flink", "beam.address=http://flink"], "must be http://HOST:PORT"),
        (["beam.engine=portable", "beam.job_endpoint=jobs"], "must be HOST:PORT.* got 'jobs'"),
        (["beam.engine=portable", "beam.job_endpoint=h:65536"], "must be HOST:PORT"),
        ([*FLINK, "beam.environment=process"], "must be docker, loopback or HOST:PORT"),
        (["beam.args=[--runner=DataflowRunner]"], "--runner=DataflowRunner; set beam.engine"),
        (["beam.args=[--runner, DataflowRunner]"], "must not hold --runner"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        settings(*overrides)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("root=/tmp/runs", "root must be gs://BUCKET/FOLDER, got /tmp/runs"),
        ("beam.dataflow.project=''", "needs beam.dataflow.project"),
        ("beam.dataflow.region=''", "needs beam.dataflow.region"),
        ("beam.dataflow.temp_location=/tmp", "temp_location must be gs://BUCKET/FOLDER, got /tmp"),
    ],
)
def test_dataflow_is_refused_what_it_cannot_work_with(override, message):
    with pytest.raises(ConfigError, match=message):
        options.check(settings(*DATAFLOW, override))
