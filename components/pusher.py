"""TFX's Pusher, which pushes atomically and with a model card, and keeps the last versions only."""

from typing import Any, ClassVar

from tfx import types
from tfx.components.pusher import executor
from tfx.dsl.components.base import base_component, executor_spec
from tfx.proto import pusher_pb2
from tfx.types import artifact_utils, component_spec, standard_artifacts, standard_component_specs
from tfx.utils import io_utils, json_utils, proto_utils

from components import evaluator, metrics, model_card, publishing, training_record, versions

_KEEP = "keep"
_DECLARED = "declared"


class Executor(executor.Executor):
    """Pushes a blessed model to a folder of versions."""

    def Do(
        self,
        input_dict: dict[str, list[types.Artifact]],
        output_dict: dict[str, list[types.Artifact]],
        exec_properties: dict[str, Any],
    ) -> None:
        """Publishes the model as the new highest version, unless a blessing is missing.

        Args:
          input_dict: `model` and `evaluation`, and optionally `model_blessing` and
            `infra_blessing`.
          output_dict: `pushed_model`, which gets the properties that TFX's executor sets.
          exec_properties: `push_destination`, a PushDestination as JSON, and `custom_config`, JSON
            with the number of versions to `keep` and what is `declared` on the model card.

        Raises:
          PublishError: The model cannot be published.
        """
        self._log_startup(input_dict, output_dict, exec_properties)
        pushed = artifact_utils.get_single_instance(
            output_dict[standard_component_specs.PUSHED_MODEL_KEY]
        )
        if not self.CheckBlessing(input_dict):
            self._MarkNotPushed(pushed)
            return
        destination = pusher_pb2.PushDestination()
        proto_utils.json_to_proto(
            exec_properties[standard_component_specs.PUSH_DESTINATION_KEY], destination
        )
        folder = destination.filesystem.base_directory
        config = json_utils.loads(exec_properties[standard_component_specs.CUSTOM_CONFIG_KEY])
        model = self.GetModelPath(input_dict)
        evaluation = artifact_utils.get_single_uri(
            input_dict[standard_component_specs.EVALUATION_KEY]
        )
        # The artifact holds the model too, so that lineage outlives the destination. It comes
        # first: what can fail should fail before anything is served.
        io_utils.copy_dir(model, pushed.uri)

        def documents(version: int) -> dict[str, str]:
            texts = self._documents(model, evaluation, config[_DECLARED], pushed.uri, version)
            publishing.write_texts(pushed.uri, texts)
            return texts

        version = publishing.publish(model, folder, config[_KEEP], documents=documents)
        self._MarkPushed(pushed, versions.path(folder, version), str(version))

    def _documents(
        self, model: str, evaluation: str, declared: dict[str, Any], artifact: str, version: int
    ) -> dict[str, str]:
        """What is pushed beside the model: how well it does, and its card."""
        found = evaluator.read(evaluation)
        # Kubeflow does not tell its nodes which run they are of.
        run = self._context.pipeline_run_id if self._context else None
        card = model_card.card(
            declared=model_card.Declared.model_validate(declared),
            record=training_record.read(model),
            evaluation=found,
            push=model_card.Push(version=version, run=run, artifact=artifact),
        )
        return {metrics.PUSHED_FILE: found.model.model_dump_json(), **model_card.files(card)}


class PusherSpec(standard_component_specs.PusherSpec):
    """TFX's, and the evaluation of the model."""

    INPUTS: ClassVar = {
        **standard_component_specs.PusherSpec.INPUTS,
        standard_component_specs.EVALUATION_KEY: component_spec.ChannelParameter(
            type=standard_artifacts.ModelEvaluation
        ),
    }


class Pusher(base_component.BaseComponent):
    """Pushes a blessed model to a folder of versions; the rest is as in TFX's Pusher."""

    SPEC_CLASS = PusherSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(Executor)

    def __init__(
        self,
        *,
        model: types.BaseChannel,
        model_blessing: types.BaseChannel,
        infra_blessing: types.BaseChannel,
        evaluation: types.BaseChannel,
        push_destination: str,
        keep: int,
        declared: model_card.Declared,
    ):
        """Makes the component.

        Args:
          model: Channel of the Model to push.
          model_blessing: Channel of the Evaluator's ModelBlessing.
          infra_blessing: Channel of ModelCheck's InfraBlessing.
          evaluation: Channel of the Evaluator's ModelEvaluation.
          push_destination: Folder of versions, local or `gs://...`.
          keep: Versions that stay at the destination, the new one included; at least 1.
          declared: What the model card says that is not measured.
        """
        folder = pusher_pb2.PushDestination.Filesystem(base_directory=push_destination)
        config = {_KEEP: keep, _DECLARED: declared.model_dump(mode="json")}
        super().__init__(
            PusherSpec(
                model=model,
                model_blessing=model_blessing,
                infra_blessing=infra_blessing,
                evaluation=evaluation,
                push_destination=pusher_pb2.PushDestination(filesystem=folder),
                custom_config=json_utils.dumps(config),
                pushed_model=types.Channel(type=standard_artifacts.PushedModel),
            )
        )
