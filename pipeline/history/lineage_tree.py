"""The lineage of a model as a tree."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from pipeline.history import words
from pipeline.history.lineage import Lineage, Origin

# Names of data files that are shown; more are counted.
_LISTED = 8


def print_lineage(console: Console, root: Path, found: Lineage) -> None:
    """Prints the facts and the tree.

    Args:
      console: Where to.
      root: Paths below it are shortened.
      found: The lineage.
    """
    console.print(Text(f"Version {found.version}, pushed by run {found.run}", "bold"))
    facts = Table.grid(padding=(0, 1, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in found.facts.items():
        facts.add_row(name, Text(value))
    console.print(facts)
    console.print(f"\nArtifacts, below {root}:", style="dim", soft_wrap=True)
    tree = Tree(_label("pushed_model", found.origin, found.run, root), guide_style="dim")
    _grow(tree, found.origin, found.run, root)
    console.print(tree)


def _grow(tree: Tree, origin: Origin, run: str, root: Path) -> None:
    for key, inputs in origin.inputs.items():
        for each in inputs:
            _grow(tree.add(_label(key, each, run, root)), each, run, root)
    if origin.folder:
        files = "\n".join(_listed(origin.files)) or "gone, or changed in name"
        tree.add(Text.assemble((f"{origin.folder}\n", "bold"), files))


def _listed(names: Sequence[str]) -> Sequence[str]:
    """A data set in shards may have hundreds of files."""
    if len(names) <= _LISTED:
        return names
    return [*names[:_LISTED], f"and {len(names) - _LISTED} more"]


def _label(key: str, origin: Origin, run: str, root: Path) -> Text:
    label = Text.assemble((key, "bold"))
    if origin.repeated:
        return label.append(f" of {origin.execution.node}, as above", "dim")
    if origin.execution:
        execution = origin.execution
        label.append(f" of {execution.node}, {words.took(execution.seconds)}")
        if origin.run != run:
            label.append(f", cached from {origin.run}")
    version = origin.artifact.properties.get("pushed_version")
    if version:
        label.append(f", version {version}")
    path = origin.artifact.uri.removeprefix(f"{root}/")
    number = f" (execution {origin.execution.id})" if origin.execution else ""
    return label.append(f"\n{path}{number}", "dim")
