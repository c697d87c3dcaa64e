"""The page says what the content holds, whatever is missing from it."""

import dataclasses
import re

import numpy as np
import pytest

from pipeline.report import page, tables
from pipeline.report.data_facts import Drift, Shift
from tests.pipeline.report import contents
from tests.pipeline.report.html import Page

SHIFTS = (Shift("train", "3", 0.10, 0.1234), Shift("test", "7", 0.1, 0.1))
NO_CLASS = tables.classes(contents.measured(contents.NAMES, 0, 0, np.zeros([10, 10], int)), None)
LONG_NAMES = tuple(
    dataclasses.replace(each, name=f"Ankle boot {each.name}") for each in contents.make().classes
)

CONTENTS = {
    "first": contents.make(),
    "refused": contents.beside_pushed(),
    "identical": contents.beside_pushed(contents.IDENTICAL, paired=None),
    "cached": contents.make(trainer="cached"),
    "perfect": contents.make(mistakes=()),
    "one mistake": contents.make(mistakes=(contents.MISTAKE,)),
    "one epoch": contents.make(history=(contents.epoch(1),), exported=1),
    "same data": contents.make(drift=Drift("20260101T000000000Z", True, SHIFTS)),
    "other data": contents.make(drift=Drift("20260101T000000000Z", False, SHIFTS)),
    "anomalies": contents.make(anomalies=("train split: <label>: value 11 in 3",)),
    "warnings": contents.make(warnings=("images of one colour: 3 of 100",)),
    "disagreement": contents.make(disagreement=2),
    "class without examples": contents.make(classes=(NO_CLASS[0], *contents.make().classes[1:])),
    "letters": contents.letters(),
    "long names": contents.make(classes=LONG_NAMES),
    "defaults": contents.make(differences={}, command="cd /work\npython -m pipeline run"),
}
OTHER_FIGURES = {"refused", "one epoch", "class without examples"}


@pytest.fixture(scope="module")
def pages():
    """The source and the parsed page of each content."""
    usual = page.draw(CONTENTS["first"])
    sources = {
        name: page.render(content, page.draw(content) if name in OTHER_FIGURES else usual)
        for name, content in CONTENTS.items()
    }
    return {name: (source, Page(source)) for name, source in sources.items()}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_page_needs_nothing_from_outside(name, pages):
    source, parsed = pages[name]
    assert source.startswith("<!doctype html>")
    references = parsed.values("src") + parsed.values("href") + parsed.values("xlink:href")
    assert all(each.startswith(("data:image/png;base64,", "#")) for each in references)
    assert "@import" not in source and "://" not in source
    assert not re.search(r"url\((?!#)", source)
    assert {tag for tag, _ in parsed.elements}.isdisjoint({"script", "link", "iframe", "object"})
    assert not any(key.startswith("on") for _, values in parsed.elements for key in values)
    policies = [meta["content"] for meta in parsed.of("meta") if "http-equiv" in meta]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


@pytest.mark.parametrize("name", CONTENTS)
def test_a_page_can_be_heard(name, pages):
    _, parsed = pages[name]
    assert parsed.of("html") == [{"lang": "en"}]
    assert all(image["alt"] for image in parsed.of("img"))
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in parsed.of("svg"))
    assert len(parsed.of("svg")) == 4
    assert all("scope" in header for header in parsed.of("th"))
    labels = parsed.values("aria-labelledby")
    assert labels and set(labels) <= set(parsed.values("id"))


def test_a_first_model(pages):
    text = pages["first"][1].text
    assert "Test accuracy 97.00%. Pushed as version 8: /serving/8" in text
    assert "31 January 2026, 23:59 UTC" in text
    assert "91.55% to 98.97% at 95% confidence" in text
    assert "3 of 100 test examples are not recognized" in text
    assert "0.1235 nats" in text
    assert "there is no model to compare this one with" in text
    assert "McNemar" not in text
    assert "No earlier run to compare with" in text
    assert "62 s" in text and "10.0" in text and "1,024 MiB" in text
    assert "python -m pipeline run \\ --set train.epochs=3" in text
    assert "abc123" in text and "2.16.2" in text


def test_a_refused_model_has_its_reasons_as_they_are(pages):
    source, parsed = pages["refused"]
    assert "Refused, nothing was pushed: accuracy 0.97 is below <0.98> & more so it is" in (
        parsed.text
    )
    assert "<0.98>" not in source


def test_beside_a_pushed_model(pages):
    text = pages["refused"][1].text
    assert "version 7; now −2.00 points" in text
    assert "it is this model for 0 and the pushed one for 2. McNemar’s exact test: p = 0.5;" in text
    assert "the difference may well be chance" in text


def test_the_pushed_model_itself(pages):
    text = pages["identical"][1].text
    assert "This model is the pushed version 7 itself" in text
    assert "McNemar" not in text


def test_a_cached_trainer_is_told(pages):
    assert "the Trainer was served from the cache" in pages["cached"][1].text
    assert "the Trainer was served from the cache" not in pages["first"][1].text


def test_mistakes_have_both_probabilities_and_say_which_example(pages):
    parsed = pages["first"][1]
    assert len(parsed.of("img")) == 3
    assert "is 4 <0.01% said 9 >99.99%" in parsed.text
    assert "The 3 mistakes with the highest cross entropy" in parsed.text
    assert "Example 41 of the test split" in parsed.of("img")[0]["alt"]
    assert "The only one, each" in pages["one mistake"][1].text
    assert "every test example is recognized" in pages["perfect"][1].text


def test_the_confusion_matrix_is_a_table(pages):
    source, _ = pages["first"]
    table = source[source.index('<table id="confusion"') :]
    rows = re.findall(r"<tr>(.*?)</tr>", table[: table.index("</table>")], re.DOTALL)
    assert len(rows) == 11
    assert re.findall(r">(\d+)</t[dh]>", rows[10]) == ["9", *"0000300007"]


def test_many_classes_have_the_whole_width(pages):
    wide = [values for values in pages["letters"][1].values("class") if "whole" in values]
    assert len(wide) == 2
    assert not any("whole" in values for values in pages["first"][1].values("class"))


def test_drift(pages):
    assert "The same data as in run 20260101T000000000Z" in pages["same data"][1].text
    text = pages["other data"][1].text
    assert "split class before now train 3 10.00% 12.34% test 7 10.00% 10.00%" in text


def test_anomalies_are_listed(pages):
    assert "train split: <label>: value 11 in 3" in pages["anomalies"][1].text
    assert "None: every split is as the schema says" in pages["first"][1].text


def test_predictions_that_are_not_the_evaluators_are_told(pages):
    assert "counts 2 examples differently than the Evaluator" in pages["disagreement"][1].text
    assert "asked again" not in pages["first"][1].text


def test_a_run_with_the_defaults_names_no_differences(pages):
    text = pages["defaults"][1].text
    assert "not at their defaults" not in text
    assert "Make it again cd /work python -m pipeline run Finished" in text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.00%"),
        (0.00005, "<0.01%"),
        (0.0001, "0.01%"),
        (0.5, "50.00%"),
        (0.9999, "99.99%"),
        (0.99995, ">99.99%"),
        (1.0, "100.00%"),
    ],
)
def test_probabilities_are_not_rounded_to_certainty(share, text):
    assert page.probability(share) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "= 1"), (0.0421, "= 0.042"), (0.0002, "= 0.0002"), (9e-5, "< 0.0001")]
)
def test_p_values(value, text):
    assert page.p_value(value) == text
