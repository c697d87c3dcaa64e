"""Small components for tests of the runner; TFX wants them in an importable module."""

import os
import signal
import sys

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.dsl.io import fileio
from tfx.types import standard_artifacts
from tfx.utils import io_utils


@component
def Make(model: OutputArtifact[standard_artifacts.Model], text: Parameter[str]) -> None:
    if text == "fail":
        try:
            raise ValueError("the text is fail [while running 'Some/Step']")
        except ValueError as error:
            raise RuntimeError("wrapped") from error
    io_utils.write_string_file(f"{model.uri}/variables/data", "x" * 1000)
    if text == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    io_utils.write_string_file(f"{model.uri}/text", f"{text} {len(sys.argv)}")


@component
def Use(
    model: InputArtifact[standard_artifacts.Model],
    copy: OutputArtifact[standard_artifacts.Model],
    note: OutputArtifact[standard_artifacts.String],
) -> None:
    print("used")
    fileio.copy(f"{model.uri}/text", f"{copy.uri}/text")
    io_utils.write_string_file(note.uri, "used")


@component
def Push(
    model: InputArtifact[standard_artifacts.Model],
    pushed_model: OutputArtifact[standard_artifacts.PushedModel],
    version: Parameter[str],
) -> None:
    for folder in (pushed_model.uri, version):
        io_utils.copy_file(f"{model.uri}/text", f"{folder}/saved_model.pb", overwrite=True)
    pushed_model.set_string_custom_property("pushed_destination", version)
