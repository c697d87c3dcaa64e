"""The nodes that a platform adds to the pipeline: the retrain gate and the Vertex AI endpoint."""

import json
from typing import Any

from tfx.dsl.components.base.base_node import BaseNode
from tfx.extensions.google_cloud_ai_platform import constants
from tfx.orchestration.pipeline import Pipeline

from components import training_record
from kubeflow.retrain import RetrainGate
from kubeflow.settings import VertexSettings

GATE = "RetrainGate"
ENDPOINT = "EndpointPusher"


def by_id(pipeline: Pipeline) -> dict[str, BaseNode]:
    """The nodes of a pipeline by their ids."""
    return {node.id: node for node in pipeline.components}


def retrain_gate(pipeline: Pipeline, *, max_age_days: float) -> BaseNode:
    """The node that decides whether the Trainer and what follows it run."""
    nodes = by_id(pipeline)
    gate = RetrainGate(
        examples=nodes["MnistExampleGen"].outputs["examples"],
        baseline=nodes["Baseline"].outputs["model"],
        code=training_record.of_config(
            json.loads(nodes["Trainer"].exec_properties["custom_config"])
        ),
        max_age_days=max_age_days,
    )
    # Data that was refused is no reason to decide anything.
    gate.add_upstream_node(nodes["DataGate"])
    return gate.with_id(GATE)


def endpoint_pusher(pipeline: Pipeline, vertex: VertexSettings) -> BaseNode:
    """TFX's own Pusher to a Vertex AI endpoint, after the Pusher to the folder of versions."""
    # Imports the client of Vertex AI, which takes longer than the whole compilation.
    from tfx.extensions.google_cloud_ai_platform.pusher import component

    nodes = by_id(pipeline)
    pusher = component.Pusher(
        model=nodes["Trainer"].outputs["model"],
        model_blessing=nodes["Evaluator"].outputs["blessing"],
        infra_blessing=nodes["ModelCheck"].outputs["blessing"],
        custom_config=endpoint_config(vertex),
    )
    pusher.add_upstream_node(nodes["Pusher"])
    return pusher.with_id(ENDPOINT)


def endpoint_config(vertex: VertexSettings) -> dict[str, Any]:
    """The `custom_config` of TFX's Pusher to an endpoint, which is made when there is none."""
    return {
        constants.ENABLE_VERTEX_KEY: True,
        constants.VERTEX_REGION_KEY: vertex.region,
        constants.VERTEX_CONTAINER_IMAGE_URI_KEY: vertex.endpoint.image,
        constants.SERVING_ARGS_KEY: {
            "project_id": vertex.project,
            "endpoint_name": vertex.endpoint.name,
            "machine_type": vertex.endpoint.machine_type,
            "min_replica_count": vertex.endpoint.min_replicas,
            "max_replica_count": vertex.endpoint.max_replicas,
        },
    }
