"""What stock TFX gets wrong on open-source Kubeflow Pipelines: shown, and cured."""

import copy

import pytest
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2
from tfx.dsl.components.common.resolver import Resolver
from tfx.dsl.input_resolution.strategies.latest_artifact_strategy import LatestArtifactStrategy
from tfx.orchestration.kubeflow.v2 import kubeflow_v2_dag_runner as dag_runner
from tfx.orchestration.kubeflow.v2.container import kubeflow_v2_entrypoint_utils as tfx_entrypoint
from tfx.orchestration.pipeline import Pipeline
from tfx.types import Channel, standard_artifacts

from kubeflow import compile as compiler
from kubeflow import document, entrypoint, launcher, targets
from kubeflow.document import Document, DocumentError
from kubeflow.ir import CompileError
from kubeflow.rules import RULES, Place
from pipeline import config
from tests.pipeline.toy_components import Make, Use

SPECIFICATION = {
    "artifacts": {"model": {"artifactType": {"instanceSchema": "title: tfx.Model\ntype: object\n"}}}
}
HANDED = {
    "inputs": {
        "artifacts": {
            "model": {"artifacts": [{"name": "7", "uri": "/m", "type": {"instanceSchema": ""}}]}
        }
    },
    "outputs": {
        "artifacts": {
            "copy": {
                "artifacts": [{"uri": "/c", "type": {"instanceSchema": "title: tfx.Model\n"}}]
            },
            "executor-logs": {
                "artifacts": [{"uri": "/l", "type": {"schemaTitle": "system.Artifact"}}]
            },
        }
    },
}


def parse(handed):
    """As TFX's executor does at its start."""
    message = json_format.ParseDict(copy.deepcopy(handed), pipeline_spec_pb2.ExecutorInput())
    return (
        lambda: tfx_entrypoint.parse_raw_artifact_dict(message.inputs.artifacts),
        lambda: tfx_entrypoint.parse_raw_artifact_dict(message.outputs.artifacts),
    )


def toy_pipeline(folder, *nodes):
    return Pipeline("toy", pipeline_root=str(folder), components=list(nodes), enable_cache=True)


def stock(pipeline):
    """What TFX alone compiles."""
    runner_config = dag_runner.KubeflowV2DagRunnerConfig(
        default_image="i", use_pipeline_spec_2_1=True
    )
    runner = dag_runner.KubeflowV2DagRunner(runner_config)
    return runner.run(pipeline, write_out=False)["pipelineSpec"]


def ours(pipeline, folder, *overrides):
    settings = config.load("local", [f"root={folder}", *overrides], environment={})
    settings = targets.resolve(settings, "kubeflow")
    return compiler.compile_pipeline(settings, "kubeflow", pipeline)


def write(spec, folder):
    path = folder / "p.yaml"
    path.write_text(compiler.yaml.safe_dump(spec))
    return path


def test_input_artifacts_come_without_type():
    inputs, _ = parse(HANDED)
    with pytest.raises(AttributeError):
        inputs()
    inputs, _ = parse(entrypoint.repair(HANDED, SPECIFICATION))
    [model] = inputs()["model"]
    assert isinstance(model, standard_artifacts.Model)
    assert model.uri == "/m"


def test_there_is_an_output_that_tfx_cannot_import():
    _, outputs = parse(HANDED)
    with pytest.raises(ImportError, match="system"):
        outputs()
    _, outputs = parse(entrypoint.repair(HANDED, SPECIFICATION))
    assert list(outputs()) == ["copy"]


def test_argo_does_not_take_the_names(tmp_path):
    def pipeline():
        make = Make(text="t").with_id("my.package.Make")
        return toy_pipeline(tmp_path, make, Use(model=make.outputs["model"]))

    with pytest.raises(DocumentError, match="Argo"):
        document.load(write(stock(pipeline()), tmp_path), "kubeflow")
    compiled = ours(pipeline(), tmp_path)
    path = tmp_path / "ours.yaml"
    compiler.write(compiled, path)
    loaded = document.load(path, "kubeflow")
    assert list(loaded.spec["root"]["dag"]["tasks"]) == ["my-package-make", "use"]


def test_resolvers_are_not_implemented(tmp_path):
    def pipeline():
        resolver = Resolver(
            strategy_class=LatestArtifactStrategy, model=Channel(type=standard_artifacts.Model)
        ).with_id("latest")
        return toy_pipeline(tmp_path, resolver, Use(model=resolver.outputs["model"]))

    spec = stock(pipeline())
    assert any("resolver" in entry for entry in spec["deploymentSpec"]["executors"].values())
    with pytest.raises(CompileError, match="latest is a resolver node"):
        ours(pipeline(), tmp_path)


def test_a_node_that_looks_outside_is_cached(tmp_path):
    def pipeline():
        return toy_pipeline(tmp_path, Make(text="t").with_id("Baseline"))

    cached = {"enableCache": True}
    assert stock(pipeline())["root"]["dag"]["tasks"]["Baseline"]["cachingOptions"] == cached
    spec = ours(pipeline(), tmp_path).job["pipelineSpec"]
    assert "cachingOptions" not in spec["root"]["dag"]["tasks"]["baseline"]


def test_the_file_does_not_say_where_artifacts_go(tmp_path):
    def pipeline():
        return toy_pipeline(tmp_path, Make(text="t"))

    assert "defaultPipelineRoot" not in stock(pipeline())
    spec = ours(pipeline(), "gs://bucket/root").job["pipelineSpec"]
    assert spec["defaultPipelineRoot"] == "gs://bucket/root/artifacts"


def test_a_run_of_stock_tfx_fails_and_says_where(tmp_path):
    make = Make(text="t")
    spec = ours(toy_pipeline(tmp_path, make), tmp_path).job["pipelineSpec"]
    container = spec["deploymentSpec"]["executors"]["exec-make"]["container"]
    container["command"] = ["python", "-m", entrypoint.EXECUTOR]
    place = Place(str(tmp_path / "root"), "toy", "run", tmp_path / "scratch")

    class Silent:
        def started(self, task):
            pass

        def finished(self, task, state, seconds):
            pass

    with pytest.raises(launcher.TaskFailedError, match=r"'make' failed.*\n(.*\n)*.*system"):
        launcher.launch(Document(spec, place.root), RULES["kubeflow"], place, Silent())
