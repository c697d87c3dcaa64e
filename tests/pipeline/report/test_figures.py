import functools
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from components.trainer.actions import Epoch
from pipeline.report import figures
from pipeline.report.measures import Calibration, Share

NAMES = [str(digit) for digit in range(10)]
SHARES = [Share.measured(90 + digit, 100) for digit in range(10)]


def epochs(*eval_losses: float) -> list[Epoch]:
    return [
        Epoch(
            number=number,
            of=len(eval_losses),
            step=100 * number,
            train={"loss": 2 * loss, "accuracy": 0.9},
            eval={"loss": loss, "accuracy": 0.95},
            seconds=1.0,
        )
        for number, loss in enumerate(eval_losses, 1)
    ]


def calibration() -> Calibration:
    confidence = np.linspace(0.1, 1, 50)
    return Calibration.of(confidence, confidence > 0.4)


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter("text")]


FIGURES = {
    "loss": lambda: figures.training(epochs(0.3, 0.2, 0.1), "loss", 3),
    "accuracy": lambda: figures.training(epochs(0.3, 0.2, 0.1), "accuracy", 3),
    "one epoch": lambda: figures.training(epochs(0.3), "loss", 1),
    "no loss": lambda: figures.training(epochs(0.3, 0.0), "loss", 2),
    "classes": lambda: figures.classes(NAMES, SHARES, [None] * 10),
    "beside pushed": lambda: figures.classes(NAMES, SHARES, SHARES[::-1]),
    "class without examples": lambda: figures.classes(
        NAMES, [None, *SHARES[1:]], [None, *SHARES[1:]]
    ),
    "perfect": lambda: figures.classes(NAMES, [Share.measured(9, 9)] * 10, [None] * 10),
    "calibration": lambda: figures.calibration(calibration()),
    "one bin": lambda: figures.calibration(Calibration.of(np.ones(3), np.ones(3, bool))),
}


@functools.cache
def drawn(name: str) -> str:
    return FIGURES[name]()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_one_element_that_takes_its_colours_from_the_page(name):
    svg = drawn(name)
    root = ElementTree.fromstring(svg)
    assert root.tag == "svg" and root.get("role") == "img" and root.get("aria-label")
    assert "<style" not in svg and "://" not in svg
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) <= {"#ffffff"}
    assert "var(--accent)" in svg
    assert len(svg) < 60_000


@pytest.mark.parametrize("name", FIGURES)
def test_what_a_figure_refers_to_is_in_it(name):
    svg = drawn(name)
    ids = re.findall(r'\bid="([^"]+)"', svg)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', svg)) <= (
        {(each, "") for each in ids} | {("", each) for each in ids}
    )


def test_figures_share_no_ids():
    names = ("loss", "accuracy", "classes", "calibration")
    ids = [each for name in names for each in re.findall(r'\bid="([^"]+)"', drawn(name))]
    assert len(ids) == len(set(ids))


def test_a_figure_is_the_same_each_time():
    assert drawn("calibration") == FIGURES["calibration"]()


def test_the_training_figure_says_its_last_values():
    svg = drawn("loss")
    label = ElementTree.fromstring(svg).get("aria-label")
    assert label == "loss by epoch; after the last, epoch 3: train 0.2000, eval 0.1000"
    assert {"train", "eval", "epoch", "1", "2", "3"} <= set(texts(svg))


def test_the_class_figure_names_the_classes_and_the_lowest():
    svg = drawn("beside pushed")
    label = ElementTree.fromstring(svg).get("aria-label")
    assert label == "accuracy of each class; the lowest: 0 with 90.00%"
    assert {*NAMES, "this model", "pushed before"} <= set(texts(svg))


def test_names_are_escaped():
    svg = figures.classes(["<b>"] * 10, SHARES, [None] * 10)
    assert "&lt;b&gt;" in ElementTree.tostring(ElementTree.fromstring(svg), "unicode")
