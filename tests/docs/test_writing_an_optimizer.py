"""The tutorial's snippets run, and both editions have the same ones."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EDITIONS = ("writing-an-optimizer.md", "writing-an-optimizer.ja.md")


def text(edition: str) -> str:
    """The whole page."""
    return (ROOT / "docs" / edition).read_text(encoding="utf-8")


def snippets(edition: str) -> list[str]:
    """The Python code of the page, in order."""
    return re.findall(r"^```python\n(.*?)^```$", text(edition), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("edition", EDITIONS)
def test_snippets_run_as_one_program(edition, tmp_path):
    program = tmp_path / "tutorial.py"
    program.write_text("\n".join(snippets(edition)), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_editions_have_the_same_code():
    """Comments aside."""
    english, japanese = ([ast.dump(ast.parse(s)) for s in snippets(e)] for e in EDITIONS)
    assert len(english) > 15
    assert english == japanese


@pytest.mark.parametrize("edition", EDITIONS)
def test_links_and_paths_exist(edition):
    links = re.findall(r"\]\(([^):]+)\)", text(edition))
    assert len(links) > 2
    paths = re.findall(r"`((?:components|tests)/[\w./]+)`", text(edition))
    for target in (*(f"docs/{link}" for link in links), *paths):
        assert (ROOT / target).exists(), target
