"""TFX's Pusher, which pushes atomically and keeps the last versions only."""

from typing import Any

from tfx import types
from tfx.components import Pusher as TfxPusher
from tfx.components.pusher import executor
from tfx.dsl.components.base import executor_spec
from tfx.proto import pusher_pb2
from tfx.types import artifact_utils, standard_component_specs
from tfx.utils import io_utils, json_utils, proto_utils

from components import publishing, versions

_KEEP = "keep"


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
          input_dict: `model`, and optionally `model_blessing` and `infra_blessing`.
          output_dict: `pushed_model`, which gets the properties that TFX's executor sets.
          exec_properties: `push_destination`, a PushDestination as JSON, and `custom_config`, JSON
            with the number of versions to `keep`.

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
        # The artifact holds the model too, so that lineage outlives the destination. It comes
        # first: what can fail should fail before anything is served.
        io_utils.copy_dir(model, pushed.uri)
        version = publishing.publish(model, folder, config[_KEEP])
        self._MarkPushed(pushed, versions.path(folder, version), str(version))


class Pusher(TfxPusher):
    """Pushes a blessed model to a folder of versions; the rest is as in TFX's Pusher."""

    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(Executor)

    def __init__(
        self,
        *,
        model: types.BaseChannel,
        model_blessing: types.BaseChannel,
        infra_blessing: types.BaseChannel,
        push_destination: str,
        keep: int,
    ):
        """Makes the component.

        Args:
          model: Channel of the Model to push.
          model_blessing: Channel of the Evaluator's ModelBlessing.
          infra_blessing: Channel of ModelCheck's InfraBlessing.
          push_destination: Folder of versions, local or `gs://...`.
          keep: Versions that stay at the destination, the new one included; at least 1.
        """
        folder = pusher_pb2.PushDestination.Filesystem(base_directory=push_destination)
        super().__init__(
            model=model,
            model_blessing=model_blessing,
            infra_blessing=infra_blessing,
            push_destination=pusher_pb2.PushDestination(filesystem=folder),
            custom_config={_KEEP: keep},
        )
