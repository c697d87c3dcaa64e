"""docs/data-sets.md says of each named data set what its facts are."""

from pathlib import Path

import pytest

from pipeline import config
from schemas import data_sets

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
