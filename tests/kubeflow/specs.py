"""Hand-made pipelines in the compiled form, for tests that need no TFX."""

import copy

PROGRAM = "import sys; print('ran')"


def task(*upstream: str, inputs: dict | None = None) -> dict:
    entry = {"dependentTasks": list(upstream)} if upstream else {}
    return {**entry, "inputs": inputs} if inputs else entry


def pipeline(tasks: dict[str, dict], program: str = PROGRAM, **components: dict) -> dict:
    """A PipelineSpec of containers that all run the same Python program.

    Args:
      tasks: Task specs by name, from `task`.
      program: The Python code; it gets the ExecutorInput as its argument.
      **components: Inputs and outputs of a task's component, by the task's name.
    """
    container = {"image": "i", "command": ["python", "-c", program], "args": ["{{$}}"]}
    return {
        "pipelineInfo": {"name": "toy"},
        "schemaVersion": "2.1.0",
        "sdkVersion": "toy",
        "components": {
            f"comp-{name}": {"executorLabel": f"exec-{name}", **components.get(name, {})}
            for name in tasks
        },
        "deploymentSpec": {
            "executors": {f"exec-{name}": {"container": copy.deepcopy(container)} for name in tasks}
        },
        "root": {
            "dag": {
                "tasks": {
                    name: {
                        "taskInfo": {"name": name},
                        "componentRef": {"name": f"comp-{name}"},
                        **entry,
                    }
                    for name, entry in tasks.items()
                }
            }
        },
    }


def artifact(producer: str, key: str) -> dict:
    return {"taskOutputArtifact": {"producerTask": producer, "outputArtifactKey": key}}


def parameter(producer: str, key: str) -> dict:
    return {"taskOutputParameter": {"producerTask": producer, "outputParameterKey": key}}


def constant(value) -> dict:
    return {"runtimeValue": {"constant": value}}
