"""Small components for tests of the runner; TFX wants them in an importable module."""

import sys

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.io import fileio
from tfx.types import standard_artifacts


@component
def Make(model: OutputArtifact[standard_artifacts.Model], text: Parameter[str]) -> None:
    if text == "fail":
        try:
            raise ValueError("the text is fail [while running 'Some/Step']")
        except ValueError as error:
            raise RuntimeError("wrapped") from error
    with fileio.open(f"{model.uri}/text", "w") as file:
        file.write(f"{text} {len(sys.argv)}")


@component
def Use(
    model: InputArtifact[standard_artifacts.Model],
    copy: OutputArtifact[standard_artifacts.Model],
) -> None:
    print("used")
    fileio.copy(f"{model.uri}/text", f"{copy.uri}/text")
