"""The audit, with a program in place of pip-audit that prints what pip-audit 2.10 printed."""

import json
import sys

import pytest
from rich.console import Console

from tools import audit

PILLOW = {
    "name": "pillow",
    "version": "12.3.0",
    "vulns": [
        {
            "id": "CVE-2099-0001",
            "fix_versions": ["99.0", "98.7"],
            "aliases": ["GHSA-aaaa-bbbb-cccc"],
            "description": "A hole\nand more about it",
        }
    ],
}
GOOD = {"name": "absl-py", "version": "1.4.0", "vulns": []}
SKIPPED = {"name": "six", "skip_reason": "Dependency not found and could not be audited: six"}
# What it prints when it cannot reach the service; it ends with 1, as for a vulnerability.
SILENT = """Traceback (most recent call last):
  File "adapters.py", line 729, in send
requests.exceptions.ConnectionError: HTTPConnectionPool(host='127.0.0.1', port=9): Max retries"""


def report(*packages) -> str:
    return json.dumps({"dependencies": list(packages), "fixes": []})


@pytest.fixture
def pip_audit(tmp_path):
    """Makes a program that prints a report and an error, and keeps its arguments."""

    def make(output: str, error: str = "", code: int = 0) -> str:
        program = tmp_path / "pip-audit"
        program.write_text(
            f"#!{sys.executable}\nimport sys\n"
            f"open({str(tmp_path / 'arguments')!r}, 'w').write('\\n'.join(sys.argv[1:]))\n"
            f"sys.stdout.write({output!r})\nsys.stderr.write({error!r})\nsys.exit({code})\n"
        )
        program.chmod(0o755)
        return str(program)

    return make


def test_nothing_is_known(pip_audit, capsys):
    assert audit.main([], pip_audit(report(GOOD, GOOD))) == audit.OK
    assert "2 packages checked, 0 open advisories" in capsys.readouterr().out


def test_a_vulnerability_is_named_with_its_cure(pip_audit, capsys):
    assert audit.main([], pip_audit(report(GOOD, PILLOW), "Found 1", 1)) == audit.VULNERABLE
    printed = capsys.readouterr().out
    for word in ("pillow", "12.3.0", "CVE-2099-0001", "99.0, 98.7", "A hole"):
        assert word in printed
    assert "2 packages checked, 1 open advisories" in printed


def test_a_service_that_does_not_answer_is_no_clean_bill(pip_audit, capsys):
    assert audit.main([], pip_audit("", SILENT, 1)) == audit.UNKNOWN
    printed = capsys.readouterr().out
    assert "Nothing was checked: pip-audit got no answer from the advisory service" in printed
    assert "port=9" in printed and "Traceback" not in printed


def test_packages_that_the_service_does_not_know_are_no_clean_bill(pip_audit, capsys):
    assert audit.main([], pip_audit(report(GOOD, SKIPPED))) == audit.UNKNOWN
    printed = capsys.readouterr().out
    assert "1 packages checked, 0 open advisories" in printed
    assert "1 packages are not known to the service and were not checked: six" in printed


def test_no_package_at_all_is_no_clean_bill(pip_audit):
    assert audit.main([], pip_audit(report())) == audit.UNKNOWN


@pytest.mark.parametrize("output", ["<html>", "[]", '{"dependencies": [{"vulns": [{}]}]}'])
def test_another_format_is_no_clean_bill(pip_audit, capsys, output):
    assert audit.main([], pip_audit(output)) == audit.UNKNOWN
    assert "pip-audit's report is not as it was" in capsys.readouterr().out


def test_a_missing_program_is_named(tmp_path, capsys):
    assert audit.main([], str(tmp_path / "none")) == audit.UNKNOWN
    assert "cannot be started (No such file or directory); use `make audit`" in (
        capsys.readouterr().out
    )


def test_the_lock_is_what_is_asked_about(pip_audit, tmp_path):
    audit.main(["--osv-url=http://127.0.0.1:9"], pip_audit(report(GOOD)))
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert "--requirement=requirements.lock" in arguments and "--disable-pip" in arguments
    assert arguments[-1] == "--osv-url=http://127.0.0.1:9"


@pytest.mark.parametrize("name", ["CVE-2099-0001", "GHSA-aaaa-bbbb-cccc"])
def test_an_accepted_advisory_is_shown_with_its_reason(name, capsys):
    found = audit.parse(report(PILLOW))
    accepted = {name: "never decodes TIFF"}
    assert audit.conclude(found, Console(width=200), accepted) == audit.OK
    assert "accepted: never decodes TIFF" in capsys.readouterr().out
    assert audit.conclude(found, Console(width=200), {"CVE-1": "other"}) == audit.VULNERABLE
