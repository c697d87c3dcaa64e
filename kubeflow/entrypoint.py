"""What the containers start: repairs what the platform hands over, then starts TFX's executor.

Stock TFX fails on every open-source Kubeflow Pipelines backend, because

- input artifacts arrive without their type (tensorflow/tfx#7768),
- backends from 2.5 on add an output `executor-logs` of a type that TFX cannot import,
- the default pipeline root, `minio://...`, is none that TFX can open.

On Vertex AI there is nothing to repair. Standard library only: TFX is imported by the next program.
"""

import argparse
import json
import os
import sys
from typing import Any

from kubeflow.storage import StorageError, require_openable

EXECUTOR = "tfx.orchestration.kubeflow.v2.container.kubeflow_v2_run_executor"
_INVOCATION = "--json_serialized_invocation_args"
_SPECIFICATION = "--json_serialized_inputs_spec_args"
# Added by the platform, and written by it.
_PLATFORM_OUTPUTS = ("executor-logs",)


class EntrypointError(ValueError):
    """The platform handed over something that cannot be repaired."""


def repair(invocation: dict[str, Any], specification: dict[str, Any]) -> dict[str, Any]:
    """An ExecutorInput that TFX can read.

    Args:
      invocation: ExecutorInput in JSON form, as the platform filled it in.
      specification: ComponentInputsSpec in JSON form, as it was compiled.

    Raises:
      EntrypointError: An input is not in the specification.
      StorageError: An artifact is where TFX cannot open it.
    """
    inputs = invocation.get("inputs", {})
    outputs = invocation.get("outputs", {})
    repaired_inputs = {
        **inputs,
        "artifacts": {
            key: _typed(key, artifacts, specification)
            for key, artifacts in inputs.get("artifacts", {}).items()
        },
        # Conditions of the platform come as parameters too; the component knows nothing of them.
        "parameterValues": {
            key: value
            for key, value in inputs.get("parameterValues", {}).items()
            if key in specification.get("parameters", {})
        },
    }
    repaired_outputs = {
        **outputs,
        "artifacts": {
            key: artifacts
            for key, artifacts in outputs.get("artifacts", {}).items()
            if key not in _PLATFORM_OUTPUTS
        },
    }
    for kind, entries in (("input", repaired_inputs), ("output", repaired_outputs)):
        for key, artifacts in entries["artifacts"].items():
            for artifact in artifacts.get("artifacts", []):
                require_openable(artifact.get("uri", ""), f"{kind} {key!r}")
    return {**invocation, "inputs": repaired_inputs, "outputs": repaired_outputs}


def _typed(key: str, artifacts: dict[str, Any], specification: dict[str, Any]) -> dict[str, Any]:
    """The artifacts of one input, with the compiled type where the platform gives none."""
    compiled = specification.get("artifacts", {}).get(key, {}).get("artifactType")
    repaired = []
    for artifact in artifacts.get("artifacts", []):
        if not any(artifact.get("type", {}).values()):
            if compiled is None:
                raise EntrypointError(
                    f"input {key!r} has no type and is not among the compiled inputs "
                    f"({', '.join(sorted(specification.get('artifacts', {}))) or 'none'}): compile "
                    "the pipeline anew with the code of this image"
                )
            artifact = {**artifact, "type": compiled}
        repaired.append(artifact)
    return {**artifacts, "artifacts": repaired}


def command(arguments: list[str]) -> list[str]:
    """The program to run instead: TFX's executor with repaired arguments.

    Args:
      arguments: The command line, without the program.

    Raises:
      EntrypointError: An argument is missing or no JSON.
      StorageError: An artifact is where TFX cannot open it.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(_INVOCATION)
    parser.add_argument(_SPECIFICATION)
    known, others = parser.parse_known_args(arguments)
    invocation, specification = (
        _parse(name, getattr(known, name.removeprefix("--")))
        for name in (_INVOCATION, _SPECIFICATION)
    )
    return [
        sys.executable,
        "-m",
        EXECUTOR,
        *others,
        _INVOCATION,
        json.dumps(repair(invocation, specification)),
        _SPECIFICATION,
        json.dumps(specification),
    ]


def _parse(name: str, text: str | None) -> dict[str, Any]:
    if text is None:
        raise EntrypointError(
            f"{name} is missing: this program is started by pipelines that this project compiles"
        )
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise EntrypointError(f"{name} is no JSON ({error}): {text[:200]}") from None


def main() -> None:
    """Becomes TFX's executor, or says in one line why it cannot."""
    try:
        program = command(sys.argv[1:])
    except (EntrypointError, StorageError) as error:
        sys.exit(f"kubeflow.entrypoint: {error}")
    sys.stdout.flush()
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
