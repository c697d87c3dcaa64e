import re
from html.parser import HTMLParser

import pytest

from components import model_card
from components.model_card import Declared, Push
from components.training_record import TrainingDetails, TrainingRecord
from schemas import data_sets
from tests.support import evaluations

DECLARED = Declared(
    name="mnist",
    data_set="mnist",
    source="mnist",
    command="python -m pipeline run \\\n  --set train.epochs=2",
    thresholds={"min_accuracy": 0.97, "max_class_accuracy_drop": 0.02},
)
DETAILS = TrainingDetails(
    source="5" * 64,
    train={"model": "cnn", "model_arguments": {"dropout": 0.5}, "epochs": 2, "batch_size": 128}
    | {"seed": 7},
    optimizer={"name": "adopt", "learning_rate": 0.002},
    examples={"train": 55_000, "eval": 5_000},
    weights=98_442,
    epoch=2,
    eval_accuracy=0.991,
    warm_start=None,
    software={"TensorFlow": "2.16.2", "Keras": "3.12.4"},
)
RECORD = TrainingRecord(data="d" * 64, code="c" * 64, trained_at=1796034901, details=DETAILS)
PUSH = Push(version=1796034909, run="20261130T103425488Z", artifact="/runs/Pusher/pushed_model/10")

# Of arXiv:1810.03993, figure 1.
SECTIONS = [
    "Model details",
    "Intended use",
    "Factors",
    "Metrics",
    "Evaluation data",
    "Training data",
    "Quantitative analyses",
    "Ethical considerations",
    "Caveats and recommendations",
]


def texts(declared=DECLARED, record=RECORD, evaluation=None, push=PUSH):
    """The card in Markdown and in HTML."""
    card = model_card.card(
        declared=declared,
        record=record,
        evaluation=evaluation or evaluations.evaluation(),
        push=push,
    )
    written = model_card.files(card)
    assert list(written) == ["assets.extra/model_card.md", "assets.extra/model_card.html"]
    return tuple(written.values())


class Page(HTMLParser):
    """Collects the headings and the text, and refuses tags that are not closed in order."""

    VOID = frozenset({"meta"})

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """SVG's `<line/>` is whole."""

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def test_it_has_the_sections_of_the_paper_in_both_formats():
    markdown, html = texts()
    assert re.findall(r"^## (.*)$", markdown, re.MULTILINE) == SECTIONS
    assert Page(html).headings == SECTIONS


@pytest.mark.parametrize(
    "expected",
    [
        "1796034909",
        PUSH.run,
        PUSH.artifact,
        DETAILS.source,
        RECORD.data,
        "2026-11-30 10:35 UTC",
        "cnn (dropout=0.5), 98,442 weights",
        "adopt (learning_rate=0.002)",
        "2 of at most 2 epochs, chosen by the eval split (accuracy 99.10%); batches of 128, seed 7",
        "random weights",
        "55,000 to train on, 5,000 to choose the epoch by",
        "TensorFlow 2.16.2, Keras 3.12.4",
        "--set train.epochs=2",
        "99.60% of 1,000 test examples recognized, 98.98 to 99.84% with 95% confidence.",
        "97.00%",
        "No model was pushed before this one.",
    ],
)
def test_it_says_what_the_model_is_and_where_it_comes_from(expected):
    markdown, html = texts()
    assert expected in markdown
    assert expected in Page(html).text


def test_each_digit_has_its_row_and_the_rows_are_as_long_as_the_titles():
    markdown, _ = texts()
    assert "| 4 | 100 | 96.00% | 90.16 to 98.43 | 9 (4) |" in markdown
    assert "| 3 | 100 | 100.00% | 96.30 to 100.00 | – |" in markdown
    assert "| 4 | · | · | · | · | 96 | · | · | · | · | 4 |" in markdown
    tables = re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE)
    assert len(tables) == 6
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_beside_a_model_pushed_before_it_says_what_changed():
    before = evaluations.metrics({(4, 9): 2, (8, 3): 12})
    markdown, _ = texts(evaluation=evaluations.evaluation(baseline=before))
    assert (
        "reached an accuracy of 98.60% on the same examples: a change of +1.00 points" in markdown
    )
    assert "| 4 | 100 | 96.00% | 90.16 to 98.43 | -2.00 | 9 (4) |" in markdown
    assert "| 8 | 100 | 100.00% | 96.30 to 100.00 | +12.00 | – |" in markdown


def test_a_class_that_is_missing_from_the_test_split_has_no_numbers():
    confusion = [list(row) for row in evaluations.metrics().confusion]
    confusion[3] = [0] * 10
    model = evaluations.metrics(confusion=confusion)
    markdown, html = texts(evaluation=evaluations.evaluation(model, evaluations.metrics()))
    assert "| 3 | 0 | – | – | – | – |" in markdown
    assert html.count("<circle") == 9


def test_other_data_gets_other_words():
    other = DECLARED.model_copy(update={"data_set": "", "source": "/data/fashion"})
    markdown, _ = texts(declared=other)
    assert "Census" not in markdown and "digit" not in markdown.lower()
    assert "Accuracy by class" in markdown
    assert "`/data/fashion`" in markdown


def test_a_model_without_a_record_has_a_card_all_the_same():
    for record in (None, RECORD.model_copy(update={"details": None})):
        markdown, _ = texts(record=record, push=PUSH._replace(run=None))
        assert re.findall(r"^## (.*)$", markdown, re.MULTILINE) == SECTIONS
        assert "| Run | see the artifact |" in markdown
    assert "not recorded" in texts(record=None)[0]


def test_what_was_given_cannot_break_out_of_its_place():
    nasty = DECLARED.model_copy(update={"source": "<script>alert(1)</script>|x"})
    markdown, html = texts(declared=nasty)
    assert "<script>alert(1)</script>\\|x" in markdown
    assert "<script" not in html


def test_the_page_needs_nothing_but_itself():
    _, html = texts()
    assert not re.findall(r"(?:src|href|url|@import|https?:)", html)
    assert "prefers-color-scheme: dark" in html
    assert '<meta name="viewport" content="width=device-width' in html


def test_the_chart_shows_the_value_within_its_interval():
    _, html = texts()
    line = re.compile(r'class="whisker" x1="([\d.]+)".* x2="([\d.]+)"')
    spans = [tuple(map(float, match)) for match in line.findall(html)]
    dots = [float(x) for x in re.findall(r'<circle class="value" cx="([\d.]+)"', html)]
    assert len(spans) == len(dots) == 10
    for (low, high), value in zip(spans, dots, strict=True):
        assert 24 <= low <= value <= high <= 324
    assert min(dots) == dots[4] < dots[3] == 324


@pytest.mark.browser
def test_the_names_of_classes_do_not_reach_into_the_chart(tmp_path):
    from tests.support import chromium

    for number, names in enumerate([data_sets.FASHION_MNIST.label_names, ["W" * 12] * 10]):
        path = tmp_path / f"card{number}.html"
        evaluation = evaluations.evaluation(evaluations.metrics(class_names=names))
        path.write_text(texts(evaluation=evaluation)[1])
        with chromium.browser() as driver:
            driver.get(path.as_uri())
            names, axes, numbers = driver.execute_script(
                """return [".name", ".axis", ".number"].map((chosen) =>
                     [...document.querySelectorAll(`svg ${chosen}`)]
                       .map((each) => each.getBBox()).map((box) => [box.x, box.x + box.width]));"""
            )
        assert len(names) == len(numbers) == 10
        assert all(0 <= start < end < axes[0][0] for start, end in names)
        assert all(axes[1][1] < start for start, _ in numbers)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1000, False)])
def test_the_page_is_as_wide_as_its_window(tmp_path, width, dark):
    from tests.support import chromium

    path = tmp_path / "card.html"
    path.write_text(texts(evaluation=evaluations.evaluation(baseline=evaluations.metrics()))[1])
    with chromium.browser(dark=dark) as driver:
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        driver.get(path.as_uri())
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        background = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
        assert driver.get_log("browser") == []
