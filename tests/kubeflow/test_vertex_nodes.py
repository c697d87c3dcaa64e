"""The two nodes that call Vertex AI while they run, by TFX's own extension, against a fake."""

import json

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform_v1 as v1
from tfx.extensions.google_cloud_ai_platform import training_clients
from tfx.extensions.google_cloud_ai_platform.pusher import executor as endpoint_pusher
from tfx.extensions.google_cloud_ai_platform.trainer import executor as vertex_trainer
from tfx.types import standard_artifacts
from tfx.utils import json_utils, path_utils

from kubeflow import accelerators, nodes, vertex
from kubeflow.settings import VertexSettings
from tests.kubeflow import specs
from tests.kubeflow.fake_vertex import operation, serialized, service, serving

SETTINGS = VertexSettings.model_validate(
    {
        "project": "p",
        "region": "us-west1",
        "tpu": "v5e:2x2",
        "tpu_image": "registry/mnist-tfx:1-tpu",
        "service_account": "runner@p.iam",
        "endpoint": {"name": "digits", "machine_type": "n1-standard-4", "image": "serving:1"},
    }
)


class FakeNodes:
    """Job, model and endpoint services of Vertex AI; keeps what it is sent."""

    def __init__(self, state=v1.JobState.JOB_STATE_SUCCEEDED):
        self.state = state
        self.jobs, self.models, self.endpoints, self.deployed = [], [], [], []

    def create_job(self, request, context):
        job = request.custom_job
        job.name = f"{request.parent}/customJobs/1"
        job.state = self.state
        self.jobs.append(job)
        return job

    def upload(self, request, context):
        request.model.name = f"{request.parent}/models/1"
        dedicated = v1.Model.DeploymentResourcesType.DEDICATED_RESOURCES
        request.model.supported_deployment_resources_types = [dedicated]
        self.models.append(request.model)
        response = v1.UploadModelResponse(model=request.model.name, model_version_id="1")
        return operation(request.model.name, v1.UploadModelResponse.pb(response))

    def create_endpoint(self, request, context):
        request.endpoint.name = f"{request.parent}/endpoints/1"
        self.endpoints.append(request.endpoint)
        return operation(request.endpoint.name, v1.Endpoint.pb(request.endpoint))

    def deploy(self, request, context):
        self.deployed.append(request)
        response = v1.DeployModelResponse(deployed_model=request.deployed_model)
        return operation(request.endpoint, v1.DeployModelResponse.pb(response))

    def handlers(self):
        jobs = {
            "CreateCustomJob": (self.create_job, v1.CreateCustomJobRequest, v1.CustomJob.serialize),
            "GetCustomJob": (
                lambda *_: self.jobs[-1],
                v1.GetCustomJobRequest,
                v1.CustomJob.serialize,
            ),
        }
        models = {
            "UploadModel": (self.upload, v1.UploadModelRequest, serialized),
            "GetModel": (lambda *_: self.models[-1], v1.GetModelRequest, v1.Model.serialize),
        }
        endpoints = {
            "ListEndpoints": (
                lambda *_: v1.ListEndpointsResponse(endpoints=self.endpoints),
                v1.ListEndpointsRequest,
                v1.ListEndpointsResponse.serialize,
            ),
            "CreateEndpoint": (self.create_endpoint, v1.CreateEndpointRequest, serialized),
            "GetEndpoint": (
                lambda *_: self.endpoints[-1],
                v1.GetEndpointRequest,
                v1.Endpoint.serialize,
            ),
            "DeployModel": (self.deploy, v1.DeployModelRequest, serialized),
        }
        return [
            service("JobService", jobs),
            service("ModelService", models),
            service("EndpointService", endpoints),
        ]


def training_config() -> str:
    """The Trainer's custom_config after compilation for a TPU on Vertex AI."""
    inputs = {"parameters": {"custom_config": specs.constant('{"code": "c"}')}}
    spec = specs.pipeline({"Trainer": specs.task(inputs=inputs)})
    container = spec["deploymentSpec"]["executors"]["exec-Trainer"]["container"]
    container["args"] = ["--executor_class_path", "a.B"]
    accelerators.train_in_custom_job(spec, "Trainer", SETTINGS)
    return spec["root"]["dag"]["tasks"]["Trainer"]["inputs"]["parameters"]["custom_config"][
        "runtimeValue"
    ]["constant"]


def train(fake, authority, monkeypatch):
    with serving(fake.handlers(), authority) as endpoint:
        client = v1.JobServiceClient

        def at_the_fake(client_options):
            assert client_options == {"api_endpoint": "us-west1-aiplatform.googleapis.com"}
            return client(
                credentials=AnonymousCredentials(), client_options={"api_endpoint": endpoint}
            )

        monkeypatch.setattr(training_clients.gapic, "JobServiceClient", at_the_fake)
        vertex_trainer.GenericExecutor().Do({}, {}, {"custom_config": training_config()})


def test_the_trainer_runs_as_a_job_on_a_tpu_host(authority, monkeypatch):
    fake = FakeNodes()
    train(fake, authority, monkeypatch)
    [job] = fake.jobs
    assert job.name.startswith("projects/p/locations/us-west1/")
    assert job.display_name == "toy-trainer"
    assert job.job_spec.service_account == "runner@p.iam"
    [pool] = job.job_spec.worker_pool_specs
    assert pool.machine_spec.machine_type == "ct5lp-hightpu-4t"
    assert pool.machine_spec.tpu_topology == "2x2"
    assert pool.container_spec.image_uri == "registry/mnist-tfx:1-tpu"
    assert {entry.name: entry.value for entry in pool.container_spec.env} == {"TPU_NAME": "local"}
    command = list(pool.container_spec.command)
    assert command[:3] == ["python", "-m", "tfx.scripts.run_executor"]
    assert "tfx.components.trainer.executor.GenericExecutor" in command
    handed = json.loads(command[command.index("--exec-properties") + 1])
    assert json.loads(handed["custom_config"])["code"] == "c"


def test_a_job_that_fails_fails_the_trainer(authority, monkeypatch):
    fake = FakeNodes(v1.JobState.JOB_STATE_FAILED)
    with pytest.raises(RuntimeError, match="did not succeed"):
        train(fake, authority, monkeypatch)


@pytest.fixture
def artifacts(tmp_path, monkeypatch):
    """A blessed model, and where in a bucket the pushed one goes."""
    monkeypatch.setattr(endpoint_pusher.io_utils, "copy_dir", lambda src, dst: None)
    model, blessing, infra, pushed = (
        standard_artifacts.Model(),
        standard_artifacts.ModelBlessing(),
        standard_artifacts.InfraBlessing(),
        standard_artifacts.PushedModel(),
    )
    for name, artifact in zip("mbi", (model, blessing, infra), strict=True):
        artifact.uri = str(tmp_path / name)
    pushed.uri = "gs://bucket/pushed"
    blessing.set_int_custom_property("blessed", 1)
    infra.set_int_custom_property("blessed", 1)
    folder = tmp_path / "m" / "Format-Serving"
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"model")
    assert path_utils.serving_model_path(model.uri) == str(folder)
    inputs = {"model": [model], "model_blessing": [blessing], "infra_blessing": [infra]}
    return inputs, {"pushed_model": [pushed]}


def push(artifacts, fake, authority):
    inputs, outputs = artifacts
    config = json_utils.dumps(nodes.endpoint_config(SETTINGS))
    with serving(fake.handlers(), authority) as endpoint:
        vertex.connect(SETTINGS, credentials=AnonymousCredentials(), api_endpoint=endpoint)
        endpoint_pusher.Executor().Do(inputs, outputs, {"custom_config": config})


def test_a_blessed_model_is_deployed_to_the_endpoint(artifacts, authority):
    fake = FakeNodes()
    push(artifacts, fake, authority)
    [pushed] = artifacts[1]["pushed_model"]
    assert [endpoint.display_name for endpoint in fake.endpoints] == ["digits"]
    [model] = fake.models
    assert model.artifact_uri == "gs://bucket/pushed"
    assert model.container_spec.image_uri == "serving:1"
    [request] = fake.deployed
    assert request.endpoint == fake.endpoints[0].name
    resources = request.deployed_model.dedicated_resources
    assert resources.machine_spec.machine_type == "n1-standard-4"
    assert resources.min_replica_count == resources.max_replica_count == 1
    assert dict(request.traffic_split) == {"0": 100}
    assert pushed.get_int_custom_property("pushed") == 1


def test_a_model_that_is_not_blessed_is_not_deployed(artifacts, authority):
    fake = FakeNodes()
    artifacts[0]["model_blessing"][0].set_int_custom_property("blessed", 0)
    push(artifacts, fake, authority)
    assert fake.models == fake.endpoints == fake.deployed == []
