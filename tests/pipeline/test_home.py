import os
import subprocess
import sys

from pipeline import home

SHOW = """
import os
from pipeline import home
os.path.expanduser = lambda path: os.environ.get("HOME", path)  # A user without an entry.
home.ensure()
print(os.environ["HOME"])
assert os.listdir(os.environ["HOME"]) == []
"""


def test_a_home_stays(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    home.ensure()
    assert os.environ["HOME"] == "/somewhere"


def test_a_user_without_one_gets_one_for_as_long_as_the_process_lives(pytestconfig):
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    process = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=pytestconfig.rootpath,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = process.stdout.strip()
    assert os.path.basename(folder).startswith("mnist-tfx-home-")
    assert not os.path.exists(folder)
