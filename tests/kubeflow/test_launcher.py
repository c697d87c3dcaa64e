import json

import pytest

from kubeflow import launcher
from kubeflow.document import Document, DocumentError
from kubeflow.launcher import TaskFailedError
from kubeflow.rules import RULES, Place
from tests.kubeflow import specs

STRING = {"parameterType": "STRING"}
MODEL = {"artifactType": {"instanceSchema": "title: tfx.Model\n"}}

# Writes what it was handed beside its output file, and an ExecutorOutput.
ECHO = """
import json, os, pathlib, sys
handed = json.loads(sys.argv[1])
file = pathlib.Path(handed["outputs"]["outputFile"])
file.with_name("handed.json").write_text(sys.argv[1])
print("log line", os.environ.get("COLOUR", ""))
artifacts = {}
for key, entry in handed["outputs"]["artifacts"].items():
    if key != "executor-logs":
        pathlib.Path(entry["artifacts"][0]["uri"], "data").write_text(key)
        artifacts[key] = {"artifacts": [{"metadata": {"colour": "blue"}}]}
values = {key: "yes" for key in handed["outputs"]["parameters"]}
file.write_text(json.dumps({"artifacts": artifacts, "parameterValues": values}))
"""


class Recorder:
    def __init__(self):
        self.lines = []

    def started(self, task):
        self.lines.append(f"start {task}")

    def finished(self, task, state, seconds):
        assert seconds >= 0
        self.lines.append(f"{state} {task}")


def launch(tmp_path, spec, rules="kubeflow", parallel=1, **fields):
    place = Place(str(tmp_path / "root"), "toy", "run", tmp_path / "scratch")
    recorder = Recorder()
    results = launcher.launch(
        Document(spec, place.root, **fields), RULES[rules], place, recorder, parallel=parallel
    )
    return results, recorder.lines


def handed(tmp_path, name):
    [file] = tmp_path.rglob(f"*{name}*/**/handed.json")
    return json.loads(file.read_text())


@pytest.fixture
def two_tasks():
    inputs = {
        "artifacts": {"model": specs.artifact("make", "model")},
        "parameters": {
            "decision": specs.parameter("make", "decision"),
            "count": specs.constant(3.0),
            "name": {"componentInputParameter": "name"},
        },
    }
    outputs = {"artifacts": {"model": MODEL}, "parameters": {"decision": STRING}}
    return specs.pipeline(
        {"make": specs.task(), "use": specs.task("make", inputs=inputs)},
        ECHO,
        make={"outputDefinitions": outputs},
    )


@pytest.mark.parametrize("rules", ["kubeflow", "vertex"])
def test_outputs_become_inputs(tmp_path, two_tasks, rules):
    results, lines = launch(tmp_path, two_tasks, rules, parameters={"name": "n"})
    assert lines == ["start make", "done make", "start use", "done use"]
    assert results["make"].parameters == {"decision": "yes"}
    inputs = handed(tmp_path, "use")["inputs"]
    assert inputs["parameterValues"] == {"decision": "yes", "count": 3.0, "name": "n"}
    [model] = inputs["artifacts"]["model"]["artifacts"]
    assert model["metadata"] == {"colour": "blue"}
    assert model["uri"] == results["make"].artifacts["model"]["uri"]


def test_kubeflow_takes_the_types_away_and_adds_an_output(tmp_path, two_tasks):
    launch(tmp_path, two_tasks, "kubeflow", parameters={"name": "n"})
    [model] = handed(tmp_path, "use")["inputs"]["artifacts"]["model"]["artifacts"]
    assert model["type"] == {"instanceSchema": ""}
    [logs] = handed(tmp_path, "use")["outputs"]["artifacts"]["executor-logs"]["artifacts"]
    assert logs["type"] == {"schemaTitle": "system.Artifact"}


def test_vertex_keeps_the_types_and_adds_none(tmp_path, two_tasks):
    launch(tmp_path, two_tasks, "vertex", parameters={"name": "n"})
    [model] = handed(tmp_path, "use")["inputs"]["artifacts"]["model"]["artifacts"]
    assert model["type"] == MODEL["artifactType"]
    assert "executor-logs" not in handed(tmp_path, "use")["outputs"]["artifacts"]


@pytest.mark.parametrize(("rules", "runs"), [("kubeflow", 1), ("vertex", 2)])
def test_only_vertex_runs_hooks(tmp_path, rules, runs):
    spec = specs.pipeline({"make": specs.task()}, "print('once')")
    container = spec["deploymentSpec"]["executors"]["exec-make"]["container"]
    container["lifecycle"] = {"preCacheCheck": {"command": ["python", "-c", "print('once')"]}}
    launch(tmp_path, spec, rules)
    assert (tmp_path / "scratch/make/log.txt").read_text() == "once\n" * runs


def test_environment_variables_reach_the_task(tmp_path):
    spec = specs.pipeline({"make": specs.task()}, "import os; print(os.environ['COLOUR'])")
    container = spec["deploymentSpec"]["executors"]["exec-make"]["container"]
    container["env"] = [{"name": "COLOUR", "value": "green"}]
    launch(tmp_path, spec)
    assert (tmp_path / "scratch/make/log.txt").read_text() == "green\n"


@pytest.mark.parametrize(("value", "state"), [("yes", "done"), ("no", "skipped")])
def test_a_condition_skips_the_task_and_all_after_it(tmp_path, value, state):
    inputs = {"parameters": {"decision": specs.parameter("gate", "decision")}}
    spec = specs.pipeline(
        {
            "gate": specs.task(),
            "train": specs.task("gate", inputs=inputs),
            "push": specs.task("train"),
            "other": specs.task("gate"),
        },
        ECHO,
        gate={"outputDefinitions": {"parameters": {"decision": STRING}}},
    )
    condition = f"inputs.parameter_values['decision'] == '{value}'"
    spec["root"]["dag"]["tasks"]["train"]["triggerPolicy"] = {"condition": condition}
    results, _ = launch(tmp_path, spec)
    states = {name: result.state for name, result in results.items()}
    assert states == {"gate": "done", "train": state, "push": state, "other": "done"}


def test_an_output_parameter_may_be_a_file(tmp_path):
    program = """
import json, pathlib, sys
outputs = json.loads(sys.argv[1])["outputs"]
pathlib.Path(outputs["parameters"]["decision"]["outputFile"]).write_text("from a file")
"""
    spec = specs.pipeline(
        {"gate": specs.task()},
        program,
        gate={"outputDefinitions": {"parameters": {"decision": STRING}}},
    )
    results, _ = launch(tmp_path, spec)
    assert results["gate"].parameters == {"decision": "from a file"}


def test_a_failure_names_task_code_log_and_its_last_lines(tmp_path):
    program = "import sys\nfor i in range(100): print('line', i)\nsys.exit(7)"
    spec = specs.pipeline({"bad": specs.task(), "after": specs.task("bad")}, program)
    with pytest.raises(TaskFailedError) as error:
        launch(tmp_path, spec)
    assert error.value.task == "bad"
    text = str(error.value)
    assert f"task 'bad' failed with exit code 7; the end of {tmp_path}" in text
    assert text.splitlines()[-1].strip() == "line 99"
    assert "line 80" in text
    assert "line 79" not in text
    assert not (tmp_path / "scratch/after").exists()


def test_a_failure_ends_what_runs_beside_it(tmp_path):
    spec = specs.pipeline({"bad": specs.task(), "slow": specs.task()}, "import sys; sys.exit(1)")
    slow = spec["deploymentSpec"]["executors"]["exec-slow"]["container"]
    slow["command"] = ["python", "-c", "import time; time.sleep(600)"]
    with pytest.raises(TaskFailedError, match="'bad'"):
        launch(tmp_path, spec, parallel=2)


def test_independent_tasks_run_at_the_same_time(tmp_path):
    # Each waits for the other to have started.
    program = f"""
import pathlib, json, sys, time
folder = pathlib.Path({str(tmp_path)!r})
name = pathlib.Path(json.loads(sys.argv[1])["outputs"]["outputFile"]).parent.name
(folder / ("started-" + name)).touch()
while len(list(folder.glob("started-*"))) < 2: time.sleep(0.02)
"""
    spec = specs.pipeline({"one": specs.task(), "two": specs.task()}, program)
    _, lines = launch(tmp_path, spec, parallel=2)
    assert lines[:2] == ["start one", "start two"]


def test_a_circle_is_refused(tmp_path):
    spec = specs.pipeline({"a": specs.task("b"), "b": specs.task("a")})
    with pytest.raises(DocumentError, match="wait for each other: a, b"):
        launch(tmp_path, spec)


@pytest.mark.parametrize("root", ["", "gs://bucket/root"])
def test_a_root_that_is_no_folder_is_refused(tmp_path, root):
    place = Place(root, "toy", "run", tmp_path)
    spec = specs.pipeline({"a": specs.task()})
    with pytest.raises(DocumentError, match="--root FOLDER"):
        launcher.launch(Document(spec, root), RULES["kubeflow"], place, Recorder())


def test_other_conditions_are_refused(tmp_path):
    spec = specs.pipeline({"a": specs.task()})
    spec["root"]["dag"]["tasks"]["a"]["triggerPolicy"] = {"condition": "1 < 2"}
    with pytest.raises(DocumentError, match="'1 < 2'"):
        launch(tmp_path, spec)
