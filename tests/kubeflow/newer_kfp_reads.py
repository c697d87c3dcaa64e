"""Reads a compiled file with a newer kfp, strictly, and prints what it understood as JSON.

Runs in an environment of its own: see test_newer_kfp.py.
"""

import json
import sys

import yaml
from google.protobuf import json_format
from kfp.client.client import _extract_pipeline_yaml
from kfp.kubernetes import kubernetes_executor_config_pb2
from kfp.pipeline_spec import pipeline_spec_pb2


def main(path: str) -> None:
    document = _extract_pipeline_yaml(path)
    deployment = pipeline_spec_pb2.PipelineDeploymentConfig()
    json_format.ParseDict(
        json_format.MessageToDict(document.pipeline_spec.deployment_spec), deployment
    )
    with open(path, encoding="utf-8") as file:
        _, platform = yaml.safe_load_all(file)
    placed = {}
    for label, entry in platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"].items():
        message = kubernetes_executor_config_pb2.KubernetesExecutorConfig()
        json_format.ParseDict(entry, message)
        placed[label] = {
            "labels": dict(message.node_selector.labels),
            "tolerations": [(t.key, t.operator, t.value, t.effect) for t in message.tolerations],
        }
    accelerators = {}
    for label, executor in deployment.executors.items():
        accelerator = executor.container.resources.accelerator
        # As the backend's driver does: the newer field, or else the older one.
        kind = accelerator.resource_type or accelerator.type
        if kind:
            accelerators[label] = [kind, accelerator.resource_count or str(accelerator.count)]
    json.dump({"placed": placed, "accelerators": accelerators}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
