"""Known vulnerabilities of the locked packages, as pip-audit finds them.

    python -m tools.audit [PIP_AUDIT_OPTION ...]

pip-audit asks an advisory service for each package of requirements.lock; `--osv-url URL` is another
one than its own. It ends alike when a package is vulnerable and when the service does not answer,
and takes a package that was not found for one without vulnerabilities; here these are told apart.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

OK, VULNERABLE, UNKNOWN = 0, 1, 2

PIP_AUDIT = ".tools/audit/bin/pip-audit"
LOCK = "requirements.lock"

# Advisories that do no harm here: identifier, and why.
ACCEPTED: dict[str, str] = {}

# More packages than this are counted, not listed.
_LISTED = 5


class AuditError(RuntimeError):
    """Nothing was checked; the message says why."""


@dataclass(frozen=True)
class Advisory:
    """A known vulnerability of a locked package; `fixed` are the versions without it."""

    package: str
    version: str
    identifier: str
    aliases: tuple[str, ...]
    fixed: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes:
      checked: Number of packages that the service knows.
      unchecked: Names of those it does not.
      advisories: Of the checked ones.
    """

    checked: int
    unchecked: tuple[str, ...]
    advisories: tuple[Advisory, ...]


def main(arguments: Sequence[str], program: str = PIP_AUDIT) -> int:
    """Prints what is known of the locked packages.

    Returns:
      Exit code: 0 nothing, 1 vulnerabilities, 2 some packages, or all, could not be checked.
    """
    console = Console(highlight=False, soft_wrap=True, markup=False)
    try:
        report = parse(ask(program, arguments))
    except AuditError as error:
        console.print(str(error), style="bold red")
        return UNKNOWN
    return conclude(report, console)


def ask(program: str, arguments: Sequence[str] = ()) -> str:
    """What pip-audit prints, as JSON.

    Raises:
      AuditError: It gave no report.
    """
    command = [program, "--vulnerability-service=osv", f"--requirement={LOCK}", "--disable-pip"]
    command += ["--format=json", "--progress-spinner=off", *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AuditError(
            f"{program} cannot be started ({error.strerror}); use `make audit`"
        ) from None
    if not process.stdout.strip():
        last = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise AuditError(
            "Nothing was checked: pip-audit got no answer from the advisory service. Check the "
            f"network and HTTPS_PROXY, or name another service with --osv-url.\n{last}"
        )
    return process.stdout


def parse(text: str) -> Report:
    """Reads pip-audit's report.

    Raises:
      AuditError: It is none.
    """
    try:
        packages = json.loads(text)["dependencies"]
        advisories = [
            Advisory(
                package["name"],
                package["version"],
                found["id"],
                tuple(found["aliases"]),
                tuple(found["fix_versions"]),
                next(iter(found["description"].splitlines()), ""),
            )
            for package in packages
            for found in package.get("vulns", ())
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise AuditError(
            f"Nothing was checked: pip-audit's report is not as it was: {error!r}"
        ) from None
    unchecked = tuple(package["name"] for package in packages if "skip_reason" in package)
    return Report(len(packages) - len(unchecked), unchecked, tuple(advisories))


def conclude(report: Report, console: Console, accepted: Mapping[str, str] = ACCEPTED) -> int:
    """Prints a report.

    Returns:
      Exit code, as `main`.
    """
    open_ones = 0
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("package", "version", "advisory", "fixed in", "what"):
        table.add_column(title, overflow="fold")
    for advisory in report.advisories:
        names = {advisory.identifier, *advisory.aliases}
        reason = next((accepted[name] for name in names if name in accepted), None)
        open_ones += reason is None
        table.add_row(
            advisory.package,
            advisory.version,
            advisory.identifier,
            ", ".join(advisory.fixed) or "none yet",
            f"accepted: {reason}" if reason else advisory.text,
            style="dim" if reason else "bold red",
        )
    if report.advisories:
        console.print(table)
    console.print(f"{report.checked} packages checked, {open_ones} open advisories")
    if report.unchecked:
        listed = ", ".join(report.unchecked[:_LISTED])
        more = ", ..." if len(report.unchecked) > _LISTED else ""
        console.print(
            f"{len(report.unchecked)} packages are not known to the service and were not checked: "
            f"{listed}{more}",
            style="bold red",
        )
    if open_ones:
        return VULNERABLE
    return UNKNOWN if report.unchecked or not report.checked else OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
