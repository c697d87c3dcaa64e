"""The card of a pushed model: what it is, what it is for, and how well it does, for people.

It has the sections of "Model Cards for Model Reporting" (Mitchell et al. 2019, arXiv:1810.03993).
The words are here, the two formats in `templates`.
"""

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import jinja2
from pydantic import BaseModel, ConfigDict

from components import calls, card_tables, card_texts
from components.card_tables import Chart, Table
from components.metrics import Evaluation
from components.training_record import TrainingDetails, TrainingRecord

# The folder of a SavedModel that TensorFlow leaves to others.
MARKDOWN = "assets.extra/model_card.md"
HTML = "assets.extra/model_card.html"

_TEMPLATES = {MARKDOWN: "model_card.md.jinja", HTML: "model_card.html.jinja"}
_NOT_KNOWN = "not recorded"


class Declared(BaseModel):
    """What is known before anything ran.

    Attributes:
      name: Of the pipeline.
      data_set: Name of the data set; empty for one that has none.
      source: Where the data comes from.
      command: Trains the model again, on one machine.
      thresholds: What the model had to reach, by name; accuracies from 0 to 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    data_set: str
    source: str
    command: str
    thresholds: dict[str, float]


class Push(NamedTuple):
    """How the model got where it is.

    Attributes:
      version: Its number at the push destination; a rollback gives the model a further one.
      run: Name of the run; None where the platform does not tell.
      artifact: Folder of the PushedModel artifact, which is the run's.
    """

    version: int
    run: str | None
    artifact: str


class Fact(NamedTuple):
    """A name with a value; `literal` where the value is text for machines."""

    name: str
    value: str
    literal: bool = False


class Section(NamedTuple):
    """A part of the card, in the order in which its fields are shown."""

    title: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    command: str | None = None
    chart: Chart | None = None
    tables: tuple[Table, ...] = ()


class Card(NamedTuple):
    """A card, ready to be put into a format."""

    title: str
    summary: str
    sections: tuple[Section, ...]


def card(
    *, declared: Declared, record: TrainingRecord | None, evaluation: Evaluation, push: Push
) -> Card:
    """Writes the card of a model.

    Args:
      declared: What is known before anything ran.
      record: Of the model's training; None for a model without one.
      evaluation: How it and the model pushed before did on the test split.
      push: How it got where it is.
    """
    texts = card_texts.of(declared.data_set)
    model = evaluation.model
    details = record.details if record else None
    return Card(
        title=f"Model card: {declared.name}",
        summary=f"{card_tables.accuracy(model)} of {model.examples:,} test examples recognized, "
        f"{card_tables.interval(model)} with 95% confidence.",
        sections=(
            Section(
                "Model details",
                facts=tuple(_model_facts(declared, record, push)),
                command=declared.command,
            ),
            Section("Intended use", texts.intended_use),
            Section("Factors", texts.factors),
            Section(
                "Metrics", card_texts.METRICS, tables=(card_tables.thresholds(declared.thresholds),)
            ),
            Section(
                "Evaluation data",
                texts.evaluation_data,
                facts=(
                    Fact("Source", declared.source, literal=True),
                    Fact("Examples", f"{model.examples:,} in the test split"),
                ),
            ),
            Section(
                "Training data",
                texts.training_data,
                facts=tuple(_data_facts(declared, record, details)),
            ),
            Section(
                "Quantitative analyses",
                (_comparison(evaluation),),
                chart=card_tables.chart(model),
                tables=(
                    card_tables.by_class(evaluation, texts.class_noun),
                    card_tables.confusion(model),
                ),
            ),
            Section("Ethical considerations", texts.ethics),
            Section("Caveats and recommendations", texts.caveats),
        ),
    )


def files(of: Card) -> dict[str, str]:
    """The card in each format, by path in the folder of the model."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=lambda name: name is not None and name.endswith(".html.jinja"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    return {
        path: environment.get_template(template).render(card=of)
        for path, template in _TEMPLATES.items()
    }


def _cell(text: str) -> str:
    """Text that does not end its cell of a Markdown table."""
    return text.replace("|", "\\|")


def _model_facts(declared: Declared, record: TrainingRecord | None, push: Push) -> Iterator[Fact]:
    details = record.details if record else None
    yield Fact("Pipeline", declared.name)
    yield Fact("First pushed as", f"version {push.version}")
    yield Fact("Run", push.run or "see the artifact", literal=push.run is not None)
    yield Fact("Artifact", push.artifact, literal=True)
    yield Fact("Trained", _time(record.trained_at) if record else _NOT_KNOWN)
    yield from _training_facts(details) if details else ()
    yield Fact("Answers to", card_texts.SIGNATURES)


def _training_facts(details: TrainingDetails) -> Iterator[Fact]:
    train = details.train
    model = calls.call(train["model"], train.get("model_arguments", {}))
    yield Fact("Model", f"{model}, {details.weights:,} weights")
    yield Fact("Optimizer", calls.optimizer(details.optimizer))
    yield Fact(
        "Trained for",
        f"{details.epoch} of at most {train['epochs']} epochs, chosen by the eval split "
        f"(accuracy {details.eval_accuracy:.2%}); batches of {train['batch_size']}, "
        f"seed {train['seed']}",
    )
    yield Fact("Started from", details.warm_start or "random weights")
    yield Fact("Code fingerprint", details.source, literal=True)
    yield Fact("Software", ", ".join(" ".join(entry) for entry in details.software.items()))


def _data_facts(
    declared: Declared, record: TrainingRecord | None, details: TrainingDetails | None
) -> Iterator[Fact]:
    yield Fact("Source", declared.source, literal=True)
    if details:
        train, held_out = details.examples["train"], details.examples["eval"]
        yield Fact("Examples", f"{train:,} to train on, {held_out:,} to choose the epoch by")
    if record:
        yield Fact("Data fingerprint", record.data, literal=True)
    else:
        yield Fact("Data fingerprint", _NOT_KNOWN)


def _comparison(evaluation: Evaluation) -> str:
    model, baseline = evaluation.model, evaluation.baseline
    sentence = f"Mean cross-entropy {model.cross_entropy:.4f} nats per example."
    if baseline is None:
        return f"{sentence} No model was pushed before this one."
    change = model.accuracy - baseline.accuracy
    return (
        f"{sentence} The model pushed before reached an accuracy of {baseline.accuracy:.2%} on the "
        f"same examples: a change of {100 * change:+.2f} points."
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
