import numpy as np
import pytest

from pipeline.report import tables
from pipeline.report.runs import Use
from tests.pipeline.report import contents

NAMES = "0123456789"


def metrics(confusion):
    return contents.measured(NAMES, 0.5, 1.0, confusion)


def test_a_class_without_examples_has_no_share():
    confusion = np.diag([0, *range(11, 20)])
    confusion[9, 4] = 1
    rows = tables.classes(metrics(confusion), None)
    assert rows[0].share is None
    assert (rows[9].share.count, rows[9].share.of) == (19, 20)
    assert {row.pushed for row in rows} == {None}


def test_classes_stand_beside_the_pushed_models():
    once, twice = (metrics(count * np.eye(10, dtype=int)) for count in (1, 2))
    rows = tables.classes(once, twice)
    assert (rows[3].name, rows[3].share.of, rows[3].pushed.of) == ("3", 1, 2)


def test_mistakes_are_shaded_by_how_frequent_they_are():
    rows = tables.confusion(np.array([[5, 1, 0], [4, 7, 0], [0, 0, 0]]))
    assert [[cell.kind for cell in row] for row in rows] == [
        ["right", "wrong", "none"],
        ["wrong", "right", "none"],
        ["none", "none", "none"],
    ]
    assert (rows[1][0].shade, rows[0][1].shade, rows[0][0].shade) == (1, 0.5, 0)


def test_a_perfect_model_has_no_shades():
    rows = tables.confusion(np.diag([5, 7]))
    assert {cell.shade for row in rows for cell in row} == {0}


def test_bars_are_parts_of_the_most():
    uses = {
        "a": Use(state="done", seconds=4, peak_memory=200),
        "b": Use(state="cached", seconds=1, peak_memory=50),
    }
    first, second = tables.nodes(uses)
    assert (first.name, first.seconds_part, first.memory_part) == ("a", 1, 1)
    assert (second.use.state, second.seconds_part, second.memory_part) == ("cached", 0.25, 0.25)


def test_a_run_of_no_time_has_bars_of_no_length():
    [node] = tables.nodes({"a": Use(state="cached", seconds=0, peak_memory=1)})
    assert node.seconds_part == pytest.approx(0)
