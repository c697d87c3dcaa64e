import importlib.metadata
import sysconfig
from email.message import Message
from pathlib import Path

import pytest

from tools import licences
from tools.licences import Package


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "MIT License",
        "MIT-0",
        "Apache-2.0 AND BSD-2-Clause",
        "GPL-2.0-only OR MIT",
        "MPL-2.0 AND (Apache-2.0 OR MIT)",
        "Apache-2.0 WITH LLVM-exception",
        "Mozilla Public License 2.0 (MPL 2.0)",
        "Python Software Foundation License",
        "ISC License (ISCL)",
    ],
)
def test_admitted(licence):
    assert licences.admitted(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "",
        "GPL-3.0",
        "GNU General Public License v3 (GPLv3)",
        "AGPL-3.0-or-later",
        "GNU Affero General Public License v3",
        "LGPL-2.1",
        "MIT AND GPL-3.0-only",
        "GPL-2.0-only OR AGPL-3.0-only",
        "SSPL-1.0",
        "BUSL-1.1",
        "CC-BY-NC-4.0",
        "Other/Proprietary License",
        "Submit a licence",
        "MIT, GPL-3.0",
        "BSD and GNU Lesser General Public License",
    ],
)
def test_not_admitted(licence):
    assert not licences.admitted(licence)


def metadata(**fields) -> Message:
    message = Message()
    for name, values in fields.items():
        for value in [values] if isinstance(values, str) else values:
            message[name.replace("_", "-")] = value
    return message


@pytest.mark.parametrize(
    ("found", "licence"),
    [
        (metadata(License_Expression="MIT", License="GPL", Classifier="License :: X"), "MIT"),
        (
            metadata(
                License="see LICENSE",
                Classifier=[
                    "License :: OSI Approved",
                    "License :: OSI Approved :: BSD License",
                    "License :: OSI Approved :: MIT License",
                    "Topic :: Software",
                ],
            ),
            "BSD License AND MIT License",
        ),
        (metadata(License="Apache 2.0\n\nThe whole text"), "Apache 2.0"),
        (metadata(License="GPL", Classifier="License :: OSI Approved"), "GPL"),
        (metadata(), ""),
    ],
)
def test_what_a_package_states(found, licence):
    assert licences.stated(found) == licence


def test_every_installed_package_is_admitted(capsys):
    assert licences.main() == licences.OK
    printed = capsys.readouterr().out
    assert "tensorflow" in printed and " 0 with a licence not admitted" in printed


def test_all_packages_of_the_environment_are_looked_at_and_no_others(monkeypatch, tmp_path):
    vendored = tmp_path / "vendored-1.dist-info"
    vendored.mkdir()
    (vendored / "METADATA").write_text("Name: vendored\nVersion: 1\nLicense: GPL-3.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.metadata.version("vendored") == "1"
    found = licences.installed()
    assert "vendored" not in {package.name for package in found}
    assert len(found) == len(list(Path(sysconfig.get_path("purelib")).glob("*.dist-info")))


def test_a_package_that_is_not_admitted_is_named(monkeypatch, capsys):
    monkeypatch.setattr(
        licences,
        "installed",
        lambda: [Package("good", "1", "MIT"), Package("bad", "2", "AGPL-3.0")],
    )
    assert licences.main() == licences.REFUSED
    printed = capsys.readouterr().out
    assert "2 packages, 1 with a licence not admitted" in printed
    assert "bad: licence AGPL-3.0; do without it, or say in EXCEPTIONS" in printed


def test_an_exception_needs_a_reason_and_is_told(monkeypatch, capsys):
    assert all(len(reason) > 20 for reason in licences.EXCEPTIONS.values())
    monkeypatch.setattr(licences, "installed", lambda: [Package("namex", "1", "")])
    assert licences.main() == licences.OK
    assert f"exception namex: {licences.EXCEPTIONS['namex']}" in capsys.readouterr().out
