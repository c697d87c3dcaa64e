"""Compiles the pipeline for Kubeflow Pipelines and for Vertex AI.

TFX's compiler does the work; what it gets wrong or cannot say is edited in afterwards.
"""

import difflib
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tfx.orchestration.kubeflow.v2 import kubeflow_v2_dag_runner as dag_runner
from tfx.orchestration.pipeline import Pipeline

from components import mnist_files
from components.files import write_whole
from kubeflow import accelerators, ir, nodes, retrain, targets
from kubeflow.settings import TargetSettings
from kubeflow.targets import Target
from pipeline import data
from pipeline.config import Settings
from pipeline.pipeline import Observed, create_pipeline

ENTRYPOINT = ("python", "-m", "kubeflow.entrypoint")
TRAINER = "Trainer"
# These look at something that changes without any of their parameters changing.
_UNCACHED = ("Baseline", nodes.GATE)


@dataclass(frozen=True)
class Compiled:
    """A pipeline as a platform takes it.

    Attributes:
      target: The platform.
      job: PipelineJob in JSON form; the PipelineSpec is its `pipelineSpec`.
      kubernetes: Node selectors and tolerations by executor label.
    """

    target: Target
    job: dict[str, Any]
    kubernetes: dict[str, Any] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """The ending of the file name, by which the clients tell the formats apart."""
        return ".yaml" if self.target == "kubeflow" else ".json"

    def text(self) -> str:
        """The content of the file: always the same for the same pipeline and settings."""
        if self.target == "vertex":
            return json.dumps(self.job, indent=2, sort_keys=True) + "\n"
        platform = {"platforms": {"kubernetes": {"deploymentSpec": {"executors": self.kubernetes}}}}
        return yaml.safe_dump_all(
            [self.job["pipelineSpec"], platform], sort_keys=True, allow_unicode=True, width=100
        )


def compile_project(settings: Settings, target: Target) -> Compiled:
    """Compiles this project's pipeline. Needs no network, also with a root in a bucket.

    Raises:
      ConfigError: A setting makes no sense on the platform.
      CompileError: The pipeline cannot run on the platform.
    """
    settings = targets.resolve(settings, target)
    observed = _observe(settings, target)
    with tempfile.TemporaryDirectory() as scratch:  # For a metadata store that no platform uses.
        pipeline = create_pipeline(settings, observed, metadata_folder=scratch)
        return compile_pipeline(settings, target, pipeline)


def compile_pipeline(settings: Settings, target: Target, pipeline: Pipeline) -> Compiled:
    """Compiles a pipeline made with the settings that `targets.resolve` gives.

    Args:
      settings: The settings of the platform are in its section.
      target: The platform.
      pipeline: Its nodes are named as in `pipeline.pipeline`.

    Raises:
      CompileError: The pipeline cannot run on the platform.
    """
    platform = targets.of(settings, target)
    pipeline = _with_platform_nodes(settings, target, pipeline)
    job = _compile(pipeline, platform)
    job["runtimeConfig"]["gcsOutputDirectory"] = f"{settings.root}/artifacts"
    spec = job["pipelineSpec"]
    present = ir.tasks(spec)
    ir.do_not_cache(spec, [node for node in _uncached(pipeline) if node in present])
    _apply_resources(spec, platform)
    kubernetes = {}
    if target == "kubeflow":
        kubernetes = accelerators.place_trainer(spec, TRAINER, settings.kubeflow)
        spec["defaultPipelineRoot"] = job["runtimeConfig"]["gcsOutputDirectory"]
    elif settings.vertex.tpu:
        accelerators.train_in_custom_job(spec, TRAINER, settings.vertex)
    if nodes.GATE in present:
        # When the gate says train, an old model from the cache will not do.
        ir.do_not_cache(spec, [TRAINER])
        ir.run_only_if(
            spec,
            ir.downstream(spec, TRAINER),
            gate=nodes.GATE,
            output="decision",
            value=retrain.TRAIN,
        )
    ir.compact(spec)
    ir.rename(spec)
    labels = {f"exec-{ir.kebab(node)}": place for node, place in kubernetes.items()}
    return Compiled(target, job, labels)


def write(compiled: Compiled, path: Path) -> bool:
    """Writes the file, whole or not at all; gives whether its content is new."""
    text = compiled.text()
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    return True


def diff(compiled: Compiled, path: Path) -> str:
    """What `write` would change in the file, as a unified diff; empty when nothing."""
    old = path.read_text("utf-8") if path.exists() else ""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        compiled.text().splitlines(keepends=True),
        f"{path} (last)",
        f"{path} (now)",
    )
    return "".join(lines)


def _observe(settings: Settings, target: Target) -> Observed:
    """The data as the containers will see it; what is in a bucket is looked at by each run."""
    source = settings.data.source
    if source.startswith("gs://"):
        return Observed(data_folder=source)
    files = data.fetch(settings.data)
    digest = mnist_files.check(files, settings.data.facts.labels).fingerprint
    return Observed(data_folder=targets.of(settings, target).data or str(files), data_digest=digest)


def _with_platform_nodes(settings: Settings, target: Target, pipeline: Pipeline) -> Pipeline:
    added = []
    if settings.retrain.when == "needed":
        added.append(nodes.retrain_gate(pipeline, max_age_days=settings.retrain.max_age_days))
    if target == "vertex" and settings.vertex.endpoint.name:
        added.append(nodes.endpoint_pusher(pipeline, settings.vertex))
    if added:
        # The nodes were made outside the block that the pipeline's own nodes were registered in.
        registry = pipeline.dsl_context_registry
        with registry.temporary_mutable():
            for node in added:
                registry.put_node(node)
        pipeline.components = [*pipeline.components, *added]
    return pipeline


def _compile(pipeline: Pipeline, platform: TargetSettings) -> dict[str, Any]:
    config = dag_runner.KubeflowV2DagRunnerConfig(
        default_image=platform.image,
        default_commands=list(ENTRYPOINT),
        use_pipeline_spec_2_1=True,
    )
    job = dag_runner.KubeflowV2DagRunner(config).run(pipeline, write_out=False)
    # TFX's labels name the Python that compiled, which is no property of the pipeline.
    job["labels"] = {"pipeline": pipeline.pipeline_info.pipeline_name}
    return job


def _uncached(pipeline: Pipeline) -> list[str]:
    found = list(_UNCACHED)
    for node in pipeline.components:
        if node.exec_properties.get("fingerprint") == "":
            found.append(node.id)
    return found


def _apply_resources(spec: ir.Spec, platform: TargetSettings) -> None:
    unknown = sorted(set(platform.resources) - set(ir.tasks(spec)))
    if unknown:
        raise ir.CompileError(
            f"resources are set for {', '.join(unknown)}; the nodes are: "
            f"{', '.join(sorted(ir.tasks(spec)))}"
        )
    for node in sorted(ir.tasks(spec)):
        ir.container(spec, node)
        if node in platform.resources:
            wanted = platform.resources[node]
            ir.request(spec, node, cpu=wanted.cpu, memory=wanted.memory)
        if platform.retries:
            ir.retry(spec, node, platform.retries)
