"""What TFX may serve from its cache: outputs that are, byte for byte, what their node wrote.

TFX serves whatever ML Metadata knows, as long as there is something at its path. So each output's
files are recorded in ML Metadata together with it, and looked at before it is served.
"""

import itertools
import json
import os
import shutil
from collections.abc import Iterator

from ml_metadata.proto import metadata_store_pb2
from tfx import types
from tfx.dsl.io import fileio
from tfx.orchestration import data_types_utils, metadata
from tfx.orchestration.portable import cache_utils, inputs_utils, outputs_utils
from tfx.orchestration.portable.beam_executor_operator import BeamExecutorOperator
from tfx.orchestration.portable.mlmd import execution_lib
from tfx.orchestration.portable.python_executor_operator import PythonExecutorOperator
from tfx.proto.orchestration import executable_spec_pb2, execution_result_pb2, pipeline_pb2
from tfx.types import standard_artifacts

from components import versions
from pipeline import manifest

# Custom property of an artifact: its manifest, as JSON.
FILES = "files"


class _RecordsFiles:
    """Has an executor begin with empty output folders, and records what it leaves in them."""

    def run_executor(self, execution_info) -> execution_result_pb2.ExecutorOutput:
        _empty(execution_info.output_dict)
        result = super().run_executor(execution_info)
        for outputs in result.output_artifacts.values():
            for artifact in outputs.artifacts:
                files = json.dumps(manifest.of(artifact.uri))
                artifact.custom_properties[FILES].string_value = files
        return result


class _PythonOperator(_RecordsFiles, PythonExecutorOperator):
    pass


class _BeamOperator(_RecordsFiles, BeamExecutorOperator):
    pass


# For `launcher.Launcher(custom_executor_operators=...)`.
RECORDING_OPERATORS = {
    executable_spec_pb2.PythonClassExecutableSpec: _PythonOperator,
    executable_spec_pb2.BeamExecutableSpec: _BeamOperator,
}


def discard_damaged(
    connection: metadata_store_pb2.ConnectionConfig,
    ir: pipeline_pb2.Pipeline,
    node: pipeline_pb2.PipelineNode,
    executor_spec,
) -> list[str]:
    """Marks as deleted whatever a node would be served from the cache and is no longer whole.

    TFX then serves no execution that it was an output of, and runs the node.

    Args:
      connection: Of the metadata store.
      ir: The compiled pipeline.
      node: Of `ir`; the nodes before it have run.
      executor_spec: The node's, from the deployment configuration.

    Returns:
      For each such output, what is wrong with it.
    """
    if not node.execution_options.caching_options.enable_cache:
        return []
    problems = []
    with metadata.Metadata(connection) as handle:
        for artifact in _cached(handle, ir, node, executor_spec):
            problem = _problem(artifact)
            if problem:
                problems.append(problem)
                artifact.mlmd_artifact.state = metadata_store_pb2.Artifact.DELETED
                handle.store.put_artifacts([artifact.mlmd_artifact])
    return problems


def _cached(handle: metadata.Metadata, ir, node, executor_spec) -> Iterator[types.Artifact]:
    """The outputs that the launcher finds by the cache key, which it computes the same way."""
    parameters = inputs_utils.resolve_parameters_with_schema(node.parameters)
    inputs = inputs_utils.resolve_input_artifacts(pipeline_node=node, metadata_handle=handle)
    outputs = outputs_utils.OutputsResolver(node, ir.pipeline_info, ir.runtime_spec)
    context = cache_utils.get_cache_context(
        handle,
        node,
        ir.pipeline_info,
        executor_spec,
        input_artifacts=inputs[0],
        output_artifacts=outputs.generate_output_artifacts(execution_id=0),
        parameters=data_types_utils.build_parsed_value_dict(parameters),
    )
    for execution in handle.store.get_executions_by_context(context.id):
        # The ones in state CACHED have their outputs from one of these.
        if execution.last_known_state == metadata_store_pb2.Execution.COMPLETE:
            for artifacts in execution_lib.get_output_artifacts(handle, execution.id).values():
                live = metadata_store_pb2.Artifact.LIVE
                yield from (each for each in artifacts if each.mlmd_artifact.state == live)


def _problem(artifact: types.Artifact) -> str | None:
    """Why an artifact must not be served again; None when it may."""
    if not artifact.has_custom_property(FILES):
        return f"{artifact.uri} was made without a record of its files"
    recorded = json.loads(artifact.get_string_custom_property(FILES))
    problem = manifest.difference(artifact.uri, recorded)
    if problem is None and artifact.type_name == standard_artifacts.PushedModel.TYPE_NAME:
        version = artifact.get_string_custom_property("pushed_destination")
        if version and not fileio.exists(os.path.join(version, versions.SAVED_MODEL)):
            return f"{version}, which it pushed, is no longer there"
    return problem


def _empty(output_dict: dict[str, list[types.Artifact]]) -> None:
    """Folders are named after executions, whose numbers begin anew with a new metadata store."""
    for artifact in itertools.chain(*output_dict.values()):
        if os.path.isdir(artifact.uri) and os.listdir(artifact.uri):
            shutil.rmtree(artifact.uri)
            os.mkdir(artifact.uri)
