"""docs/data-sets.md says of each named data set what its facts are."""

import re
from pathlib import Path

import numpy as np
import pytest

from components import idx, mnist_names
from pipeline import config
from schemas import data_sets, mnist
from tests.support import idx_folders

PAGE = Path(__file__).parents[2] / "docs" / "data-sets.md"


@pytest.mark.parametrize("facts", data_sets.BY_NAME.values(), ids=lambda facts: facts.name)
def test_the_table_has_the_facts(facts):
    lines = PAGE.read_text("utf-8").splitlines()
    row = next(line for line in lines if line.startswith(f"| `{facts.name}` |"))
    assert "{:,}, {:,} |".format(*facts.examples) in row
    assert ("| columns |" if facts.transposed else "| rows |") in row
    assert facts.label_names[0] in row and facts.label_names[-1] in row


@pytest.mark.parametrize("name", data_sets.BY_NAME.keys() - {"mnist"})
def test_each_has_a_configuration_of_its_name(name):
    settings = config.load(name, environment={})
    assert settings.data.set == settings.name == name
    assert settings.push.destination.endswith(f"serving/{name}")


def test_the_names_of_shards_belong_to_one_data_set():
    names = re.findall(r"^(\S+-ubyte\S*) +(\S+-ubyte\S*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    files = mnist_names.arrange("", [name for line in names for name in line])
    assert (len(files.train), len(files.test)) == (2, 1)


def test_the_snippet_writes_shards(tmp_path, monkeypatch):
    [snippet] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    images = idx_folders.arrays()[mnist.FILES[0]]
    exec(snippet, {"images": images})
    assert len(list(tmp_path.iterdir())) == 8
    parts = [idx.read(str(path)) for path in sorted(tmp_path.iterdir())]
    assert np.array_equal(np.concatenate(parts), images)
