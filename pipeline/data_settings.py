"""The settings of the data: which data set, where its files are, how it is split."""

import os
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from components.data_limits import DataLimits
from components.trainer.settings import Section
from schemas import data_sets
from schemas.data_sets import Facts

_DEFAULT = data_sets.MNIST.name
# Labels are bytes.
_MOST_CLASSES = 256
# What only a data set of one's own needs to be told.
_OWN = ("classes", "label_names", "first_label", "transposed")


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


def _clean_names(names: list[str]) -> list[str]:
    for name in names:
        if not name.strip() or not name.isprintable():
            raise ValueError(f"a name must be printable and not blank, got {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"must name each class differently, got {names}")
    return names


# A local folder, made absolute so that metadata means the same from any working folder, or a URL.
Folder = Annotated[str, AfterValidator(_absolute)]


class DataSettings(Section):
    """Which data set it is, where its IDX files are, and how they are split."""

    set: str = Field(
        _DEFAULT,
        description=f"What the files hold: {', '.join(data_sets.BY_NAME)}; empty: a data set of "
        "one's own. Follows from the source where that is a name",
    )
    source: str = Field(
        _DEFAULT, description="The name of a data set, a folder of IDX files, or a URL of one"
    )
    directory: Folder = Field(
        "data", validate_default=True, description="Folder that holds the files of named data sets"
    )
    sha256: dict[str, str] = Field(
        default_factory=dict, description="SHA-256 of each file, by name; needed for a URL"
    )
    classes: int = Field(
        0, ge=0, le=_MOST_CLASSES, description="Own data set: number of classes; 0: 10, or as named"
    )
    label_names: Annotated[list[str], AfterValidator(_clean_names)] = Field(
        default_factory=list,
        description="Own data set: names of the classes; none: their labels in the files",
    )
    first_label: int = Field(
        0, ge=0, lt=_MOST_CLASSES, description="Own data set: label of the first class in the files"
    )
    transposed: bool = Field(
        False, description="Own data set: the files hold each image column by column, as EMNIST's"
    )
    eval_examples: int = Field(
        5_000, gt=0, description="Examples of the train files that go to the eval split"
    )
    train_limit: int = Field(0, ge=0, description="Use this many train examples; 0: all")
    test_limit: int = Field(0, ge=0, description="Use this many test examples; 0: all")
    limits: DataLimits = Field(
        DataLimits(), description="How much of what spoils results is let through"
    )

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, values: Any) -> Any:
        """A name may be given as the set, as the source, or not at all."""
        if not isinstance(values, dict):
            return values
        source = values.get("source", values.get("set") or _DEFAULT)
        named = source if isinstance(source, str) and source in data_sets.BY_NAME else ""
        given = values.get("set", named)
        return {**values, "source": source, "set": "" if given is None else given}

    @model_validator(mode="after")
    def _check(self) -> "DataSettings":
        if self.set and self.set not in data_sets.BY_NAME:
            names = ", ".join(data_sets.BY_NAME)
            raise ValueError(f"set must be one of {names}, or empty, got {self.set!r}")
        if self.source in data_sets.BY_NAME and self.source != self.set:
            raise ValueError(f"source is {self.source}, but set is {self.set!r}; leave out one")
        own = [name for name in _OWN if getattr(self, name)]
        if self.set and own:
            raise ValueError(f"{own[0]} is for a data set of your own, this is {self.set}")
        self._check_own()
        return self

    @property
    def facts(self) -> Facts:
        """What is known of the data set before its files are opened."""
        if self.set:
            return data_sets.BY_NAME[self.set]
        return data_sets.of_own(
            self._num_classes(), self.label_names, self.first_label, self.transposed
        )

    def _num_classes(self) -> int:
        return self.classes or len(self.label_names) or data_sets.MNIST.num_classes

    def _check_own(self) -> None:
        count = self._num_classes()
        if self.label_names and len(self.label_names) != count:
            raise ValueError(f"classes is {count}, but there are {len(self.label_names)} names")
        if count < 2:
            raise ValueError(f"there must be at least 2 classes, got {count}")
        if self.first_label + count > _MOST_CLASSES:
            raise ValueError(
                f"labels are bytes: first_label {self.first_label} and {count} classes exceed 255"
            )
