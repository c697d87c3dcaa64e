"""Puts the Trainer on its accelerator: a node of the cluster, or a training job on Vertex AI."""

from typing import Any

from kubeflow import ir, pools, tpu
from kubeflow.settings import KubeflowSettings, VertexSettings

# A spot VM may go at any moment; a step that is not tried again then ends the run.
_SPOT_RETRIES = 3
# Names of `tfx.extensions.google_cloud_ai_platform.trainer.executor`; importing it takes longer
# than the whole compilation.
VERTEX_EXECUTOR = "tfx.extensions.google_cloud_ai_platform.trainer.executor.GenericExecutor"
ENABLE_VERTEX_KEY = "ai_platform_enable_vertex"
VERTEX_REGION_KEY = "ai_platform_vertex_region"
TRAINING_ARGS_KEY = "ai_platform_training_args"
# The chips are those of the container's own host.
_TPU_ENVIRONMENT = {"TPU_NAME": "local"}


def place_trainer(spec: ir.Spec, trainer: str, settings: KubeflowSettings) -> dict[str, Any]:
    """Asks for the accelerator and gives where the pod may run, for the platform document.

    Args:
      spec: The pipeline, edited in place.
      trainer: The one task that gets the accelerator.
      settings: With `tpu`, `gpu` or neither.

    Returns:
      KFP's KubernetesExecutorConfig in JSON form by task; empty without accelerator.
    """
    if settings.tpu:
        placement = pools.for_tpu(tpu.parse(settings.tpu), spot=settings.spot)
        ir.set_image(spec, trainer, settings.tpu_image)
        ir.set_environment(spec, trainer, _TPU_ENVIRONMENT)
    elif settings.gpu:
        placement = pools.for_gpus(pools.parse_gpus(settings.gpu), spot=settings.spot)
    else:
        return {}
    ir.accelerate(spec, trainer, resource=placement.resource, count=placement.count)
    if settings.spot and not settings.retries:
        ir.retry(spec, trainer, _SPOT_RETRIES)
    return {
        trainer: {
            "nodeSelector": {"labels": placement.node_labels},
            "tolerations": placement.tolerations,
        }
    }


def train_in_custom_job(spec: ir.Spec, trainer: str, settings: VertexSettings) -> None:
    """Has the Trainer start a Vertex AI CustomJob on a TPU host and wait for it.

    Vertex AI Pipelines does not give TPUs to its own containers; TFX's extension runs the same
    executor, with the same inputs and outputs, as a training job.
    """
    entry = tpu.parse_for_vertex(settings.tpu)
    container = {
        "image_uri": settings.tpu_image,
        "env": [{"name": name, "value": value} for name, value in _TPU_ENVIRONMENT.items()],
    }
    machine = {"machine_type": entry.machine, "tpu_topology": entry.topology}
    job: dict[str, Any] = {
        "worker_pool_specs": [
            {"machine_spec": machine, "replica_count": 1, "container_spec": container}
        ]
    }
    if settings.service_account:
        job["service_account"] = settings.service_account
    if settings.network:
        job["network"] = settings.network
    added = {
        ENABLE_VERTEX_KEY: True,
        VERTEX_REGION_KEY: settings.region,
        TRAINING_ARGS_KEY: {
            "project": settings.project,
            "display_name": f"{spec['pipelineInfo']['name']}-trainer",
            "job_spec": job,
        },
    }
    ir.set_executor(spec, trainer, VERTEX_EXECUTOR)
    ir.edit_parameter(spec, trainer, "custom_config", lambda config: {**config, **added})
