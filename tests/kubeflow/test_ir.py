import copy
import json

import pytest

from kubeflow import ir
from tests.kubeflow import specs


@pytest.fixture
def spec():
    inputs = {
        "artifacts": {"model": specs.artifact("Trainer", "model")},
        "parameters": {"p": specs.constant('{"a": 1}'), "q": specs.parameter("Gate", "decision")},
    }
    tasks = {
        "MnistExampleGen": specs.task(),
        "Gate": specs.task("MnistExampleGen"),
        "Trainer": specs.task("MnistExampleGen"),
        "Pusher": specs.task("Trainer", "Gate", inputs=inputs),
        "my.Report": specs.task("Pusher"),
    }
    return specs.pipeline(tasks, Gate={"outputDefinitions": {"artifacts": {"decision": {}}}})


@pytest.mark.parametrize(
    ("node", "name"),
    [
        ("MnistExampleGen", "mnist-example-gen"),
        ("Trainer", "trainer"),
        ("my.package.Node", "my-package-node"),
        ("BulkInferrer.Two_parts", "bulk-inferrer-two-parts"),
        ("HTMLReport2Go", "html-report2-go"),
        ("latest_blessed_model-resolver", "latest-blessed-model-resolver"),
    ],
)
def test_kebab(node, name):
    assert ir.kebab(node) == name


def test_a_name_without_letters_is_refused():
    with pytest.raises(ir.CompileError, match=r"'\.\.\.'"):
        ir.kebab("...")


def test_rename_reaches_every_reference(spec):
    ir.rename(spec)
    tasks = spec["root"]["dag"]["tasks"]
    assert sorted(tasks) == ["gate", "mnist-example-gen", "my-report", "pusher", "trainer"]
    text = json.dumps(spec)
    for old in ("MnistExampleGen", "Trainer", "Pusher", "my.Report", '"Gate"'):
        assert old not in text
    assert tasks["pusher"]["dependentTasks"] == ["gate", "trainer"]
    assert tasks["pusher"]["inputs"]["artifacts"]["model"] == specs.artifact("trainer", "model")
    for name, task in tasks.items():
        assert task["taskInfo"]["name"] == name
        label = spec["components"][task["componentRef"]["name"]]["executorLabel"]
        assert label == f"exec-{name}"
        assert label in spec["deploymentSpec"]["executors"]


def test_rename_refuses_a_collision():
    spec = specs.pipeline({"ModelCheck": specs.task(), "model_check": specs.task()})
    with pytest.raises(ir.CompileError, match=r"'ModelCheck' and 'model_check'.*'model-check'"):
        ir.rename(spec)


def test_downstream_is_transitive(spec):
    assert ir.downstream(spec, "Trainer") == ["Pusher", "Trainer", "my.Report"]


def test_run_only_if(spec):
    ir.run_only_if(spec, ["Trainer"], gate="Gate", output="decision", value="train")
    gate = spec["components"]["comp-Gate"]["outputDefinitions"]
    assert gate["parameters"] == {"decision": {"parameterType": "STRING"}}
    trainer = spec["root"]["dag"]["tasks"]["Trainer"]
    assert trainer["dependentTasks"] == ["Gate", "MnistExampleGen"]
    assert trainer["triggerPolicy"] == {
        "condition": "inputs.parameter_values['decision'] == 'train'"
    }
    assert trainer["inputs"]["parameters"]["decision"] == specs.parameter("Gate", "decision")
    definition = spec["components"]["comp-Trainer"]["inputDefinitions"]["parameters"]
    assert definition == {"decision": {"parameterType": "STRING"}}


@pytest.mark.parametrize(
    ("memory", "gigabytes"),
    [("500M", 0.5), ("8G", 8.0), ("1T", 1000.0), ("1Gi", 1.073741824), ("512Mi", 0.536870912)],
)
def test_request(spec, memory, gigabytes):
    ir.request(spec, "Trainer", cpu=2.5, memory=memory)
    assert ir.container(spec, "Trainer")["resources"] == {
        "cpuLimit": 2.5,
        "cpuRequest": 2.5,
        "memoryLimit": gigabytes,
        "memoryRequest": gigabytes,
    }


def test_accelerate_keeps_the_other_resources_and_other_nodes(spec):
    before = copy.deepcopy(ir.container(spec, "Pusher"))
    ir.request(spec, "Trainer", cpu=1, memory="1G")
    ir.accelerate(spec, "Trainer", resource="google.com/tpu", count=4)
    resources = ir.container(spec, "Trainer")["resources"]
    assert resources["accelerator"] == {"type": "google.com/tpu", "count": "4"}
    assert resources["cpuLimit"] == 1
    assert ir.container(spec, "Pusher") == before


def test_edit_parameter(spec):
    ir.edit_parameter(spec, "Pusher", "p", lambda value: {**value, "b": 2})
    value = spec["root"]["dag"]["tasks"]["Pusher"]["inputs"]["parameters"]["p"]
    assert json.loads(value["runtimeValue"]["constant"]) == {"a": 1, "b": 2}


def test_a_resolver_is_refused(spec):
    spec["deploymentSpec"]["executors"]["exec-Gate"] = {"resolver": {}}
    with pytest.raises(ir.CompileError, match="Gate is a resolver node"):
        ir.container(spec, "Gate")
