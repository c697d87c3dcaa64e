"""The committed schema as an artifact."""

import hashlib
from importlib import resources

from tfx.dsl.component.experimental.annotations import OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.io import fileio
from tfx.types import standard_artifacts


def schema_text(name: str) -> str:
    """The committed schema `schemas/NAME.pbtxt`.

    Raises:
      FileNotFoundError: There is none of that name; the message lists those there are.
    """
    folder = resources.files("schemas")
    file = folder / f"{name}.pbtxt"
    if not file.is_file():
        names = sorted(
            f.name.removesuffix(".pbtxt") for f in folder.iterdir() if f.name.endswith(".pbtxt")
        )
        raise FileNotFoundError(f"no schema {name!r}; there are: {', '.join(names)}")
    return file.read_text("utf-8")


def schema_digest(name: str) -> str:
    """SHA-256 of the committed schema, in hex."""
    return hashlib.sha256(schema_text(name).encode()).hexdigest()


@component
def ImportSchemaGen(
    schema: OutputArtifact[standard_artifacts.Schema],
    name: Parameter[str],
    digest: Parameter[str],
) -> None:
    """Copies `schemas/NAME.pbtxt` into an artifact.

    TFX's own component of this name takes a path: it is served from the cache when the file's
    content changes, and the path of this machine means nothing in a container. This one takes the
    file from the installed package, and the content's digest is part of the cache key.

    Raises:
      RuntimeError: The schema in this image is not the one the pipeline was compiled with.
    """
    text = schema_text(name)
    found = schema_digest(name)
    if found != digest:
        raise RuntimeError(
            f"schema {name!r} has SHA-256 {found[:12]}..., the pipeline was compiled with "
            f"{digest[:12]}...; build the image and compile from the same checkout"
        )
    with fileio.open(f"{schema.uri}/schema.pbtxt", "w") as file:
        file.write(text)
