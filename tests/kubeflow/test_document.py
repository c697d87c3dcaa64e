import json

import pytest
import yaml

from kubeflow import document
from kubeflow.document import DocumentError
from tests.kubeflow import specs

TOY = specs.pipeline({"first": specs.task(), "second": specs.task("first")})
PLATFORM = {
    "platforms": {
        "kubernetes": {
            "deploymentSpec": {
                "executors": {"exec-first": {"nodeSelector": {"labels": {"a": "b"}}}}
            }
        }
    }
}


def write(folder, *documents, name="p.yaml"):
    path = folder / name
    path.write_text(yaml.safe_dump_all(documents))
    return path


def changed(**fields):
    return {**TOY, **fields}


def test_kubeflow_takes_two_documents(tmp_path):
    loaded = document.load(
        write(tmp_path, changed(defaultPipelineRoot="gs://b/r"), PLATFORM), "kubeflow"
    )
    assert loaded.name == "toy"
    assert loaded.root == "gs://b/r"
    assert list(loaded.kubernetes) == ["exec-first"]


def test_vertex_takes_a_job(tmp_path):
    path = tmp_path / "p.json"
    job = {
        "pipelineSpec": TOY,
        "runtimeConfig": {"gcsOutputDirectory": "gs://b/r", "parameterValues": {"n": 1}},
    }
    path.write_text(json.dumps(job))
    loaded = document.load(path, "vertex")
    assert (loaded.name, loaded.root, loaded.parameters) == ("toy", "gs://b/r", {"n": 1})


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"pipelineSpec": TOY}], "PipelineJob.*--target kubeflow"),
        ([TOY, PLATFORM, PLATFORM], "at most one platform document"),
        ([TOY, {"platform": {}}], "at most one platform document"),
        ([changed(schemaVersion="2.0.0")], r"schema version '2\.0\.0' is not supported"),
        ([changed(pipelineInfo={"name": "Toy"})], "pipeline name 'Toy'"),
        ([changed(root={"dag": {"tasks": {}}})], "no tasks"),
        ([changed(resourceType="x")], "no PipelineSpec"),
        (
            [TOY, {"platforms": {"kubernetes": {"deploymentSpec": {"executors": {"x": {}}}}}}],
            "unknown executors: x",
        ),
    ],
)
def test_kubeflow_refuses(tmp_path, documents, message):
    with pytest.raises(DocumentError, match=message):
        document.load(write(tmp_path, *documents), "kubeflow")


@pytest.mark.parametrize("name", ["Trainer", "my.report", "a_b", "-a", "a-", "x" * 122])
def test_kubeflow_refuses_names_that_argo_does_not_take(tmp_path, name):
    with pytest.raises(DocumentError, match="Argo"):
        document.load(write(tmp_path, specs.pipeline({name: specs.task()})), "kubeflow")


@pytest.mark.parametrize("kind", ["resolver", "customJob"])
def test_kubeflow_refuses_executors_that_it_does_not_implement(tmp_path, kind):
    spec = specs.pipeline({"first": specs.task()})
    spec["deploymentSpec"]["executors"]["exec-first"] = {kind: {}}
    with pytest.raises(DocumentError, match=f"'first': {kind} executors not implemented"):
        document.load(write(tmp_path, spec), "kubeflow")


def test_kubeflow_takes_no_json(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(TOY))
    with pytest.raises(DocumentError, match=r"\.yaml files only"):
        document.load(path, "kubeflow")


def test_vertex_refuses_the_platform_document(tmp_path):
    with pytest.raises(DocumentError, match="holds 2 documents"):
        document.load(write(tmp_path, {"pipelineSpec": TOY}, PLATFORM), "vertex")


def test_vertex_refuses_a_bare_spec(tmp_path):
    with pytest.raises(DocumentError, match="no PipelineJob"):
        document.load(write(tmp_path, TOY), "vertex")


@pytest.mark.parametrize("text", ["a: [", "\x00"])
def test_what_is_no_yaml_is_refused(tmp_path, text):
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(DocumentError, match="not valid YAML"):
        document.load(path, "kubeflow")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DocumentError, match="cannot be read"):
        document.load(tmp_path / "none.yaml", "kubeflow")
