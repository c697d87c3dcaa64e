"""The project's own pipeline, compiled. To accept a change of the golden files, after reading it:

UPDATE_GOLDEN=1 python -m pytest tests/kubeflow/test_compile.py
"""

import json
import os
import re
import socket
from pathlib import Path

import pytest
import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from kubeflow import accelerators, document, ir, targets
from kubeflow import compile as compiler
from pipeline import config

GOLDEN = Path(__file__).parents[1] / "golden"
REMOTE = (
    "data.source=gs://bucket/data",
    "push.destination=gs://bucket/serving",
    "root=gs://bucket/root",
)
CASES = {
    "kubeflow.yaml": ("kubeflow", ("kubeflow.image=registry/mnist-tfx:1",)),
    "kubeflow-tpu.yaml": (
        "kubeflow",
        (
            "kubeflow.image=registry/mnist-tfx:1",
            "kubeflow.tpu_image=registry/mnist-tfx:1-tpu",
            "kubeflow.tpu=v5e:2x2",
            "kubeflow.spot=true",
            "kubeflow.resources={Trainer: {cpu: 24, memory: 48G}}",
            "retrain.when=needed",
        ),
    ),
    "vertex.json": (
        "vertex",
        (
            "vertex.image=registry/mnist-tfx:1",
            "vertex.tpu_image=registry/mnist-tfx:1-tpu",
            "vertex.project=project",
            "vertex.region=us-west1",
            "vertex.tpu=v5e:2x4",
            "vertex.service_account=runner@project.iam.gserviceaccount.com",
            "vertex.endpoint.name=digits",
        ),
    ),
}


def settings(*overrides: str):
    return config.load("local", [*REMOTE, *overrides], environment={})


def normalized(text: str) -> str:
    """Without what changes with the code and the versions: digests, and the name of the SDK."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", text)
    return re.sub(r"tfx-\d+\.\d+\.\d+", "tfx-VERSION", text)


@pytest.fixture(scope="module")
def no_network():
    """Has every attempt to reach another machine fail."""

    def refuse(*arguments, **_):
        raise AssertionError(f"asked the network for {arguments}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", refuse)
        yield


@pytest.fixture(scope="module")
def compiled(no_network):
    """Every case, compiled once."""
    return {
        name: compiler.compile_project(settings(*overrides), target)
        for name, (target, overrides) in CASES.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_golden(compiled, name):
    text = normalized(compiled[name].text())
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text(), __doc__


@pytest.mark.parametrize("name", ["kubeflow-tpu.yaml", "vertex.json"])
def test_the_same_again(compiled, name):
    target, overrides = CASES[name]
    again = compiler.compile_project(settings(*overrides), target)
    assert again.text() == compiled[name].text()


@pytest.mark.parametrize("name", CASES)
def test_a_rerun_finds_the_checkpoints_under_the_root(compiled, name):
    """Tries of a step have folders of their own for what they put out."""
    inputs = ir.tasks(compiled[name].job["pipelineSpec"])["trainer"]["inputs"]["parameters"]
    custom = json.loads(inputs["custom_config"]["runtimeValue"]["constant"])
    assert custom["checkpoint_folder"] == "gs://bucket/root/checkpoints"
    assert custom["checkpoints"] == {"minutes": 1, "steps": 0}


@pytest.mark.parametrize("name", CASES)
def test_the_backend_takes_the_file(compiled, name, tmp_path):
    path = tmp_path / name
    compiler.write(compiled[name], path)
    loaded = document.load(path, CASES[name][0])
    assert loaded.root == "gs://bucket/root/artifacts"


@pytest.mark.parametrize("name", CASES)
def test_kfp_parses_it_strictly(compiled, name):
    spec = compiled[name].job["pipelineSpec"]
    message = json_format.ParseDict(spec, pipeline_spec_pb2.PipelineSpec())
    assert message.schema_version == "2.1.0"
    deployment = pipeline_spec_pb2.PipelineDeploymentConfig()
    json_format.ParseDict(spec["deploymentSpec"], deployment)
    assert set(deployment.executors) == {
        component["executorLabel"] for component in spec["components"].values()
    }


def test_kfp_parses_the_platform_document_strictly(compiled):
    _, platform = yaml.safe_load_all(compiled["kubeflow-tpu.yaml"].text())
    message = json_format.ParseDict(platform, pipeline_spec_pb2.PlatformSpec())
    assert set(message.platforms["kubernetes"].deployment_spec.executors) == {"exec-trainer"}


def test_the_accelerator_is_the_trainers_alone(compiled):
    case = compiled["kubeflow-tpu.yaml"]
    spec = case.job["pipelineSpec"]
    with_accelerator = [
        name
        for name in ir.tasks(spec)
        if "accelerator" in ir.container(spec, name).get("resources", {})
    ]
    assert with_accelerator == ["trainer"]
    assert list(case.kubernetes) == [ir.executor_label(spec, "trainer")]
    images = {name: ir.container(spec, name)["image"] for name in ir.tasks(spec)}
    assert images.pop("trainer") == "registry/mnist-tfx:1-tpu"
    assert set(images.values()) == {"registry/mnist-tfx:1"}


def test_spot_retries_the_trainer_alone(compiled):
    tasks = ir.tasks(compiled["kubeflow-tpu.yaml"].job["pipelineSpec"])
    assert [name for name, task in tasks.items() if "retryPolicy" in task] == ["trainer"]
    assert tasks["trainer"]["retryPolicy"]["maxRetryCount"] == 3


def test_nodes_that_look_outside_are_not_cached(compiled):
    def uncached(name):
        tasks = ir.tasks(compiled[name].job["pipelineSpec"])
        return {task for task, entry in tasks.items() if "cachingOptions" not in entry}

    assert uncached("kubeflow.yaml") == {"baseline", "mnist-example-gen"}
    # What the gate wants trained must not come from the cache.
    gated = {"baseline", "mnist-example-gen", "retrain-gate", "trainer"}
    assert uncached("kubeflow-tpu.yaml") == gated


def test_data_that_was_looked_at_here_may_be_cached(tmp_path, monkeypatch):
    local = settings("data.source=mnist", f"data.directory={tmp_path}", "kubeflow.data=/app/data")
    spec = compiler.compile_project(local, "kubeflow").job["pipelineSpec"]
    task = ir.tasks(spec)["mnist-example-gen"]
    assert task["cachingOptions"] == {"enableCache": True}
    parameters = task["inputs"]["parameters"]
    assert parameters["input_base"]["runtimeValue"]["constant"] == "/app/data"
    assert re.fullmatch("[0-9a-f]{64}", parameters["fingerprint"]["runtimeValue"]["constant"])


def test_the_gate_guards_the_trainer_and_all_after_it(compiled):
    tasks = ir.tasks(compiled["kubeflow-tpu.yaml"].job["pipelineSpec"])
    guarded = {name for name, task in tasks.items() if "triggerPolicy" in task}
    assert guarded == {"trainer", "evaluator", "model-check", "pusher"}
    assert "triggerPolicy" not in json.dumps(compiled["kubeflow.yaml"].job)


def test_vertex_trains_in_a_custom_job(compiled):
    from google.cloud import aiplatform_v1
    from tfx.extensions.google_cloud_ai_platform.trainer import executor
    from tfx.utils import name_utils

    assert (
        name_utils.get_full_name(executor.GenericExecutor),
        executor.ENABLE_VERTEX_KEY,
        executor.VERTEX_REGION_KEY,
        executor.TRAINING_ARGS_KEY,
    ) == (
        accelerators.VERTEX_EXECUTOR,
        accelerators.ENABLE_VERTEX_KEY,
        accelerators.VERTEX_REGION_KEY,
        accelerators.TRAINING_ARGS_KEY,
    )
    spec = compiled["vertex.json"].job["pipelineSpec"]
    assert accelerators.VERTEX_EXECUTOR in ir.container(spec, "trainer")["args"]
    inputs = ir.tasks(spec)["trainer"]["inputs"]["parameters"]
    custom = json.loads(inputs["custom_config"]["runtimeValue"]["constant"])
    assert custom["train"]["strategy"] == "tpu"
    job = custom[accelerators.TRAINING_ARGS_KEY]
    parsed = aiplatform_v1.CustomJobSpec(job["job_spec"])
    [pool] = parsed.worker_pool_specs
    assert pool.machine_spec.machine_type == "ct5lp-hightpu-8t"
    assert pool.machine_spec.tpu_topology == "2x4"
    assert pool.replica_count == 1


def test_the_endpoint_comes_after_the_push(compiled):
    spec = compiled["vertex.json"].job["pipelineSpec"]
    task = ir.tasks(spec)["endpoint-pusher"]
    assert "pusher" in task["dependentTasks"]
    custom = json.loads(task["inputs"]["parameters"]["custom_config"]["runtimeValue"]["constant"])
    assert custom["ai_platform_serving_args"]["endpoint_name"] == "digits"
    assert custom["ai_platform_enable_vertex"] is True


@pytest.mark.parametrize(("name", "target"), [("tpu", "kubeflow"), ("vertex", "vertex")])
def test_the_bundled_configurations_can_be_submitted(name, target):
    bundled = config.load(name, environment={})
    targets.require_remote(bundled, target)
    compiled = compiler.compile_project(
        config.load(name, ["data.source=gs://bucket/data"], environment={}), target
    )
    assert "gs://your-bucket/mnist/artifacts" in compiled.text()


def test_gpus_are_placed_the_same_way():
    case = compiler.compile_project(
        settings("kubeflow.gpu=nvidia-l4:2", "kubeflow.retries=1"), "kubeflow"
    )
    spec = case.job["pipelineSpec"]
    resources = ir.container(spec, "trainer")["resources"]
    assert resources["accelerator"] == {"type": "nvidia.com/gpu", "count": "2"}
    labels = case.kubernetes["exec-trainer"]["nodeSelector"]["labels"]
    assert labels == {"cloud.google.com/gke-accelerator": "nvidia-l4"}
    assert all(task["retryPolicy"]["maxRetryCount"] == 1 for task in ir.tasks(spec).values())


def test_resources_of_an_unknown_node_are_refused():
    with pytest.raises(ir.CompileError, match=r"set for Trianer; the nodes are: .*Trainer"):
        compiler.compile_project(settings("kubeflow.resources={Trianer: {cpu: 1}}"), "kubeflow")


def test_write_and_diff(compiled, tmp_path):
    path = tmp_path / "folder" / "p.yaml"
    case = compiled["kubeflow.yaml"]
    assert compiler.diff(case, path).startswith("---")
    assert compiler.write(case, path) is True
    assert compiler.write(case, path) is False
    assert compiler.diff(case, path) == ""
    other = compiled["kubeflow-tpu.yaml"]
    changed = compiler.diff(other, path)
    assert "+              cloud.google.com/gke-tpu-topology: 2x2\n" in changed
    assert [entry.name for entry in path.parent.iterdir()] == ["p.yaml"]
