import json
import subprocess
import sys

import pytest

from kubeflow import entrypoint, storage

SPECIFICATION = {
    "artifacts": {"model": {"artifactType": {"instanceSchema": "title: tfx.Model\n"}}},
    "parameters": {"text": {"parameterType": "STRING"}},
}


def invocation(*, uri="gs://b/model", **kind):
    """What an open-source backend from 2.5 on hands over."""
    untyped = {"name": "7", "uri": uri, "metadata": {}, **kind}
    return {
        "inputs": {
            "parameterValues": {"text": "t", "decision": "train"},
            "artifacts": {"model": {"artifacts": [untyped]}},
        },
        "outputs": {
            "artifacts": {
                "copy": {"artifacts": [{"uri": "gs://b/copy"}]},
                "executor-logs": {
                    "artifacts": [
                        {"type": {"schemaTitle": "system.Artifact"}, "uri": "gs://b/executor-logs"}
                    ]
                },
            },
            "outputFile": "/tmp/kfp_outputs/output_metadata.json",
        },
    }


@pytest.mark.parametrize("kind", [{}, {"type": {}}, {"type": {"instanceSchema": ""}}])
def test_missing_types_come_from_the_compiled_specification(kind):
    repaired = entrypoint.repair(invocation(**kind), SPECIFICATION)
    [artifact] = repaired["inputs"]["artifacts"]["model"]["artifacts"]
    assert artifact == {
        "name": "7",
        "uri": "gs://b/model",
        "metadata": {},
        "type": {"instanceSchema": "title: tfx.Model\n"},
    }


def test_a_type_that_is_there_stays():
    kind = {"type": {"instanceSchema": "title: mine.Model\n"}}
    repaired = entrypoint.repair(invocation(**kind), SPECIFICATION)
    assert repaired["inputs"]["artifacts"]["model"]["artifacts"][0]["type"] == kind["type"]


def test_an_input_without_any_type_is_refused():
    with pytest.raises(entrypoint.EntrypointError, match=r"'model' has no type.*compile"):
        entrypoint.repair(invocation(), {"parameters": {}})


def test_the_outputs_of_the_platform_are_dropped():
    repaired = entrypoint.repair(invocation(), SPECIFICATION)
    assert list(repaired["outputs"]["artifacts"]) == ["copy"]
    assert repaired["outputs"]["outputFile"] == "/tmp/kfp_outputs/output_metadata.json"


def test_parameters_of_conditions_are_dropped():
    repaired = entrypoint.repair(invocation(), SPECIFICATION)
    assert repaired["inputs"]["parameterValues"] == {"text": "t"}


def test_the_argument_is_not_changed():
    handed = invocation()
    entrypoint.repair(handed, SPECIFICATION)
    assert handed == invocation()


@pytest.mark.parametrize("uri", ["minio://mlpipeline/v2/artifacts/x", "s3://bucket/x"])
def test_places_that_tfx_cannot_open_are_refused(uri):
    with pytest.raises(storage.StorageError, match=r"input 'model'.*gs://BUCKET/FOLDER"):
        entrypoint.repair(invocation(uri=uri), SPECIFICATION)


def test_other_arguments_pass():
    program = entrypoint.command(
        [
            "--executor_class_path",
            "a.B",
            "--json_serialized_invocation_args",
            json.dumps(invocation()),
            "--json_serialized_inputs_spec_args",
            json.dumps(SPECIFICATION),
            "--runner=FnApiRunner",
        ]
    )
    assert program[:6] == [
        sys.executable,
        "-m",
        entrypoint.EXECUTOR,
        "--executor_class_path",
        "a.B",
        "--runner=FnApiRunner",
    ]
    place = program.index("--json_serialized_invocation_args") + 1
    assert json.loads(program[place]) == entrypoint.repair(invocation(), SPECIFICATION)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--json_serialized_invocation_args is missing"),
        (["--json_serialized_invocation_args", "{"], "no JSON"),
        (
            [
                "--json_serialized_invocation_args",
                json.dumps(invocation(uri="minio://a/b")),
                "--json_serialized_inputs_spec_args",
                json.dumps(SPECIFICATION),
            ],
            "TFX cannot open minio://",
        ),
    ],
)
def test_as_a_program_it_fails_with_one_line(arguments, message):
    process = subprocess.run(
        [sys.executable, "-m", "kubeflow.entrypoint", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert message in process.stderr
    assert process.stderr.count("\n") == 1
