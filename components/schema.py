"""What a data set must look like: the committed schema, and the same as an artifact."""

from importlib import resources

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx.dsl.component.experimental.annotations import OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.io import fileio
from tfx.types import standard_artifacts

from schemas import mnist
from schemas.data_sets import MNIST, Facts


def schema_text(facts: Facts) -> str:
    """The schema of a data set, as text.

    Args:
      facts: Of a data set that has a committed schema, `schemas/NAME.pbtxt`, or of one's own: that
        one has MNIST's, but for the number of classes.
    """
    committed = committed_text(facts.name or MNIST.name)
    if facts.name:
        return committed
    schema = text_format.Parse(committed, schema_pb2.Schema())
    for feature in schema.feature:
        if feature.name == mnist.LABEL:
            feature.int_domain.max = facts.num_classes - 1
    return text_format.MessageToString(schema)


def committed_text(name: str) -> str:
    """The text of `schemas/NAME.pbtxt`."""
    return (resources.files("schemas") / f"{name}.pbtxt").read_text("utf-8")


@component
def ImportSchemaGen(
    schema: OutputArtifact[standard_artifacts.Schema],
    text: Parameter[str],
) -> None:
    """Writes a schema into an artifact.

    TFX's own component of this name takes a path: it is served from the cache when the file's
    content changes, and the path of this machine means nothing in a container. This one takes the
    content itself.

    Args:
      schema: Output.
      text: The schema, a tensorflow.metadata.v0.Schema as text.
    """
    with fileio.open(f"{schema.uri}/schema.pbtxt", "w") as file:
        file.write(text)
