"""Starts commands as a user whom permissions bind, and whom the system does not know."""

import os
import subprocess

import pytest

UNKNOWN_USER = 12345


def command() -> list[str]:
    """What to put before a command; it owns the files that this process owns, no more.

    The superuser may write anywhere, so that permissions prove nothing in a container's usual
    shell. A user namespace gives that up.
    """
    prefix = ["unshare", f"--map-user={UNKNOWN_USER}"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
        return prefix
    if os.geteuid() == 0:
        pytest.skip("needs another user than root, or a kernel that allows user namespaces")
    return []
