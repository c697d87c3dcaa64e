"""What Beam's own clients send to Flink, Spark and Dataflow for a node of this pipeline."""

import base64
import bz2
import json
import zipfile
from pathlib import Path

import google.auth
import pytest
from apache_beam.portability.api import beam_runner_api_pb2
from google.auth.credentials import AnonymousCredentials
from google.protobuf import json_format

from pipeline import config
from pipeline.engines import options
from tests.pipeline.engines import fake_clusters
from tests.support import idx_folders
from tests.support.ingest import generate

IMAGE = "registry/mnist-tfx:1"
DOCKER = "beam:env:docker:v1"


def ingest(folder: Path, *overrides: str) -> None:
    """Runs the ExampleGen, which sends one job."""
    settings = config.load("local", [f"kubeflow.image={IMAGE}", *overrides], environment={})
    options.check(settings)
    generate(idx_folders.make(folder / "idx"), folder / "out", options.beam_args(settings))


@pytest.fixture
def jar(tmp_path):
    """A job server as far as it is looked into here: an archive."""
    path = tmp_path / "job-server.jar"
    zipfile.ZipFile(path, "w").close()
    return path


def read(jar: Path) -> tuple[beam_runner_api_pb2.Pipeline, dict]:
    """The pipeline in a jar that Beam made, and its options."""
    with zipfile.ZipFile(jar) as archive:
        assert archive.testzip() is None
        text = archive.read("BEAM-PIPELINE/pipeline/pipeline.json")
        options_text = archive.read("BEAM-PIPELINE/pipeline/pipeline-options.json")
    return json_format.Parse(text, beam_runner_api_pb2.Pipeline()), json.loads(options_text)


def check_pipeline(pipeline: beam_runner_api_pb2.Pipeline) -> None:
    """The workers are our image, bring nothing along, and import the code by its name."""
    assert {env.urn for env in pipeline.components.environments.values()} == {DOCKER}
    for environment in pipeline.components.environments.values():
        payload = beam_runner_api_pb2.DockerPayload.FromString(environment.payload)
        assert payload.container_image == IMAGE
        staged = b" ".join(each.role_payload for each in environment.dependencies)
        assert b"tfx" not in staged
    functions = [
        beam_runner_api_pb2.ParDoPayload.FromString(transform.spec.payload).do_fn.payload
        for transform in pipeline.components.transforms.values()
        if transform.spec.urn == "beam:transform:pardo:v1"
    ]
    assert any(b"components.example_gen" in bz2.decompress(base64.b64decode(f)) for f in functions)


def test_flink_gets_the_job_in_a_jar(jar, tmp_path):
    with fake_clusters.serve(fake_clusters.FLINK) as flink:
        ingest(
            tmp_path,
            "beam.engine=flink",
            f"beam.address={flink.address}",
            f"beam.jar={jar}",
            "beam.workers=3",
        )
    upload = flink.received["POST /v1/jars/upload"]
    sent = tmp_path / "sent.jar"
    sent.write_bytes(upload[upload.index(b"PK\x03\x04") :])
    pipeline, given = read(sent)
    check_pipeline(pipeline)
    assert given["beam:option:parallelism:v1"] == "3"
    assert b"FlinkPipelineRunner" in flink.received["POST /v1/jars/1_beam.jar/run"]
    assert "DELETE /v1/jars/1_beam.jar" in flink.received


def test_spark_gets_the_job_in_a_jar(jar, tmp_path):
    with fake_clusters.serve(fake_clusters.SPARK) as spark:
        ingest(tmp_path, "beam.engine=spark", f"beam.address={spark.address}", f"beam.jar={jar}")
    request = json.loads(spark.received["POST /v1/submissions/create"])
    assert request["mainClass"] == "org.apache.beam.runners.spark.SparkPipelineRunner"
    sent = Path(request["appResource"].removeprefix("file:"))
    check_pipeline(read(sent)[0])
    sent.unlink()


def test_dataflow_gets_the_job_and_the_pipeline_in_the_bucket(tmp_path, monkeypatch):
    monkeypatch.setattr(google.auth, "default", lambda **_: (AnonymousCredentials(), "my-project"))
    with fake_clusters.serve(fake_clusters.DATAFLOW) as dataflow:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", dataflow.address)
        ingest(
            tmp_path,
            "beam.engine=dataflow",
            "root=gs://bucket/runs",
            "beam.workers=4",
            "beam.dataflow.project=my-project",
            "beam.dataflow.region=europe-west4",
            "beam.dataflow.machine_type=n2-standard-4",
            "beam.dataflow.service_account=worker@my-project.iam",
            f"beam.args=[--no_auth, --dataflow_endpoint={dataflow.address}]",
        )
    path = "POST /v1b3/projects/my-project/locations/europe-west4/jobs"
    job = json.loads(dataflow.received[path])
    [pool] = job["environment"]["workerPools"]
    assert pool["machineType"] == "n2-standard-4"
    assert pool["autoscalingSettings"]["maxNumWorkers"] == 4
    assert [each["containerImage"] for each in pool["sdkHarnessContainerImages"]] == [IMAGE]
    assert job["environment"]["serviceAccountEmail"] == "worker@my-project.iam"
    assert "bucket/runs/beam-temp/" in job["environment"]["tempStoragePrefix"]
    sent = dataflow.received["PUT /upload/storage/v1/b/bucket/o"]
    check_pipeline(beam_runner_api_pb2.Pipeline.FromString(sent))
