"""`python -m pipeline drift`: whether two data sets differ more than the schemas admit."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from components import idx, mnist_files
from pipeline import data
from pipeline.data_settings import DataSettings
from schemas import data_sets
from schemas.data_sets import Facts

if TYPE_CHECKING:
    from pipeline.divergence import Distance

OK, DRIFTED = 0, 3

# Samples of this size from one and the same data set lie well within the thresholds.
_ENOUGH = 500


def drift(reference: str, other: str, settings: DataSettings, as_json: bool) -> int:
    """Prints how far a data set lies from a reference.

    Args:
      reference: What `data.source` takes: a folder, `mnist`, an address.
      other: The same.
      settings: `directory` and, for an address, `sha256`; the classes, where the reference is no
        name of a data set.
      as_json: Print JSON, not a table.

    Returns:
      Exit code: 0 no drift, 3 drift.

    Raises:
      ValueError: A data set cannot be had or is not what it must be, or the two have not as many
        classes.
    """
    if "://" in reference and "://" in other:
        raise ValueError(
            "data.sha256 is for one address: get the other with `python -m pipeline fetch`, "
            "and give its folder"
        )
    facts = data_sets.BY_NAME.get(reference, settings.facts)
    # What has no name is taken for files of the reference's form.
    both = [facts, data_sets.BY_NAME.get(other, facts)]
    folders = [_fetch(source, facts, settings) for source in (reference, other)]
    from pipeline import divergence  # Imports TensorFlow: not before the data is there.

    distances = divergence.compare(*folders, *both)
    drifted = any(distance.drifted for distance in distances)
    if as_json:
        rows = [{**asdict(distance), "drifted": distance.drifted} for distance in distances]
        report = dict(zip(("reference", "other"), folders, strict=True))
        json.dump(report | {"drifted": drifted, "distances": rows}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _print(folders, distances)
    return DRIFTED if drifted else OK


def _fetch(source: str, facts: Facts, settings: DataSettings) -> str:
    if source in data_sets.BY_NAME:
        classes = data_sets.BY_NAME[source].num_classes
        if classes != facts.num_classes:
            raise ValueError(
                f"{source} has {classes} classes and the reference {facts.num_classes}; compare "
                "data sets of the same classes"
            )
        return data.fetch(DataSettings(source=source, directory=settings.directory))
    return data.fetch(
        DataSettings(
            source=source,
            directory=settings.directory,
            sha256=settings.sha256 if "://" in source else {},
            label_names=list(facts.label_names),
            first_label=facts.first_label,
            transposed=facts.transposed,
        )
    )


def _print(folders: Sequence[str], distances: Sequence["Distance"]) -> None:
    console = Console(highlight=False, markup=False)
    sizes = []
    for title, folder in zip(("reference", "other"), folders, strict=True):
        files = mnist_files.find(folder)
        train, test = (
            sum(idx.read_header(pair.labels).shape[0] for pair in pairs)
            for pairs in (files.train, files.test)
        )
        sizes += [train, test]
        console.print(f"{title:<9} {folder}: {train:,} train, {test:,} test", soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("split", "feature", "distance", "threshold", "verdict"):
        table.add_column(title, justify="right" if title in ("distance", "threshold") else "left")
    for distance in distances:
        table.add_row(
            distance.split,
            distance.feature,
            f"{distance.divergence:.4f}",
            f"{distance.threshold:g}",
            Text("drift", "bold red") if distance.drifted else Text("ok", "green"),
        )
    console.print()
    console.print(table)
    console.print("\nDistances are Jensen-Shannon divergences, from 0 to 1.", style="dim")
    if min(sizes) < _ENOUGH:
        console.print(
            f"With fewer than {_ENOUGH} images in a file, chance alone may exceed a threshold."
        )
