"""The settings of a run: YAML file < environment < flags, validated, then frozen.

No TensorFlow here, so that commands which only need settings answer at once.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from components.trainer.settings import (
    CheckpointSettings,
    OptimizerSettings,
    Section,
    TrainSettings,
)
from kubeflow.settings import KubeflowSettings, RetrainSettings, VertexSettings
from pipeline import urls
from pipeline.data_settings import DataSettings, Folder
from pipeline.engines.settings import BeamSettings

ENVIRONMENT_PREFIX = "MNIST_TFX_"


class _Loader(yaml.SafeLoader):
    """YAML 1.1 takes 1e-3, without a point, for text; everybody means a number."""


class _Dumper(yaml.SafeDumper):
    """Puts text that `_Loader` would take for a number between quotes."""


_NUMBER = "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+[eE][-+]?\d+"), list("-+0123456789")
_Loader.add_implicit_resolver(*_NUMBER)
_Dumper.add_implicit_resolver(*_NUMBER)


class ConfigError(ValueError):
    """A setting is unknown or its value is not allowed; the message says which and what is."""

    def __init__(self, message: str):
        super().__init__(urls.mask(message))


def _no_pattern(path: str) -> str:
    found = [character for character in "*?[]\\" if character in path]
    if found:
        raise ValueError(
            f"TFX finds files in it by patterns, so it must not have {' '.join(found)} in its "
            f"name, got {path!r}"
        )
    return path


class EvaluateSettings(Section):
    """What a model must reach on the test split to be pushed. Accuracies are from 0 to 1."""

    min_accuracy: float = Field(0.97, ge=0, le=1, description="Least accuracy over all classes")
    min_class_accuracy: float = Field(0.93, ge=0, le=1, description="Least accuracy of each class")
    max_accuracy_drop: float = Field(
        0.002, ge=0, le=1, description="Most that accuracy may lie below the pushed model's"
    )
    max_class_accuracy_drop: float = Field(
        0.02, ge=0, le=1, description="Most that the accuracy of a class may lie below it"
    )


class PushSettings(Section):
    """Where a model that earned it goes."""

    destination: Folder = Field(
        "serving/mnist", validate_default=True, description="Folder of versions"
    )
    keep: int = Field(5, gt=0, description="Versions kept at the destination")


class Settings(Section):
    """All settings of a run."""

    name: str = Field("mnist", pattern=r"^[a-z][a-z0-9-]{0,62}$", description="Pipeline name")
    root: Annotated[Folder, AfterValidator(_no_pattern)] = Field(
        "runs", validate_default=True, description="Folder of artifacts, metadata and logs"
    )
    cache: bool = Field(True, description="Reuse outputs of nodes whose inputs did not change")
    data: DataSettings = DataSettings()
    train: TrainSettings = TrainSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    evaluate: EvaluateSettings = EvaluateSettings()
    push: PushSettings = PushSettings()
    beam: BeamSettings = BeamSettings()
    retrain: RetrainSettings = RetrainSettings()
    kubeflow: KubeflowSettings = KubeflowSettings()
    vertex: VertexSettings = VertexSettings()

    @model_validator(mode="after")
    def _no_secrets(self) -> "Settings":
        # They are printed, logged, kept with each run and compiled into files.
        for name, value in _texts(self.model_dump()):
            problem = urls.problem(name, value, may_have_query=name != "data.source")
            if problem:
                raise ValueError(problem)
        return self

    @field_validator("name")
    @classmethod
    def _no_trailing_dash(cls, name: str) -> str:
        if name.endswith("-"):
            raise ValueError(f"must not end with '-' (Kubernetes and Vertex names), got {name!r}")
        return name

    def local_root(self) -> Path:
        """The root, for what reads or writes the runs of this machine.

        Raises:
          ConfigError: It is an address.
        """
        if "://" in self.root:
            raise ConfigError(
                "root: runs on this machine keep their metadata in a local folder, got "
                f"{self.root}; runs on a platform are listed by the platform"
            )
        return Path(self.root)

    def as_yaml(self) -> str:
        """The settings as a YAML file that `load` reads back."""
        return to_yaml(self.model_dump(mode="json"))


def to_yaml(value: Any, **style: Any) -> str:
    """A value as YAML that `load` reads back; `style` is PyYAML's."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **style)


def load(
    config: str | None = None,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Resolves the settings.

    Args:
      config: Path of a YAML file, or the name of one in `pipeline/configs` (`local`, `smoke`, ...).
      overrides: `section.key=value` pairs, the strongest; values are read as YAML.
      environment: `MNIST_TFX_SECTION__KEY=value` overrides the file.

    Raises:
      ConfigError: A file, key or value is wrong.
    """
    values = _read_file(config or "local")
    for name in sorted(environment):
        if name.startswith(ENVIRONMENT_PREFIX):
            path = name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
            _set(values, path, environment[name], origin=name)
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set takes section.key=value, got {override!r}")
        _set(values, key.strip().split("."), text, origin=f"--set {override}")
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(problem) for problem in error.errors())) from None


def bundled() -> list[str]:
    """Names of the configurations that come with the project."""
    folder = resources.files("pipeline") / "configs"
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in folder.iterdir()
        if entry.name.endswith(".yaml")
    )


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text in the settings, keys of dictionaries too, with the name of its setting."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield name, str(key)
            yield from _texts(part, f"{name}.{key}".lstrip("."))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part, name)


def _read_file(config: str) -> dict[str, Any]:
    if config in bundled():
        text = (resources.files("pipeline") / "configs" / f"{config}.yaml").read_text("utf-8")
    else:
        try:
            text = Path(config).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"--config {config}: {error}; give a readable YAML file or one of: "
                f"{', '.join(bundled())}"
            ) from None
    try:
        values = yaml.load(text, _Loader) or {}
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-02-30
        raise ConfigError(f"{config} is not valid YAML: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{config} must hold `section: {{key: value}}` pairs, got {values!r}")
    return values


def _set(values: dict[str, Any], path: Sequence[str], text: str, origin: str) -> None:
    try:
        value = yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{origin}: the value is not valid YAML: {error}") from None
    *sections, key = path
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{origin}: {section} has a value already, it is not a section")
    values[key] = value


def _explain(problem: Mapping[str, Any]) -> str:
    path = [str(part) for part in problem["loc"]]
    name = ".".join(path)
    if problem["type"] == "value_error":  # Ours: it names the value already.
        return ": ".join(filter(None, [name, problem["msg"].removeprefix("Value error, ")]))
    if problem["type"] != "extra_forbidden":
        return f"{name}: {problem['msg']}, got {problem['input']!r}"
    known = _known_keys(path[:-1])
    near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5)
    everywhere = [key for key in _all_keys() if key.split(".")[-1] == path[-1]]
    hint = ".".join([*path[:-1], near[0]]) if near else next(iter(everywhere), None)
    suggestion = f"did you mean {hint}?" if hint else f"known: {', '.join(known)}"
    return f"{name} is not a setting; {suggestion}"


def _known_keys(path: Sequence[str]) -> list[str]:
    section: type[BaseModel] = Settings
    for part in path:
        field = section.model_fields.get(part)  # None: the key of a dictionary of sections.
        section = (field and _section(field.annotation)) or section
    return list(section.model_fields)


def _all_keys(section: type[BaseModel] = Settings, prefix: str = "") -> list[str]:
    keys = []
    for name, field in section.model_fields.items():
        nested = _section(field.annotation)
        keys += _all_keys(nested, f"{prefix}{name}.") if nested else [prefix + name]
    return keys


def _section(annotation: Any) -> type[BaseModel] | None:
    candidates = (annotation, *get_args(annotation))
    return next(
        (c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)),
        None,
    )
