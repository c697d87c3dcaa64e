"""Everything that the report says, gathered from a finished run."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tfx.utils import path_utils

from components import baseline, evaluator, labels
from components.metrics import Metrics
from components.trainer import actions
from components.trainer.actions import Epoch
from pipeline import changes, headlines
from pipeline.report import data_facts, predictions, provenance, runs, tables
from pipeline.report.data_facts import Counts, Drift
from pipeline.report.measures import Calibration, PairedTest, Share
from pipeline.report.predictions import Mistake
from pipeline.report.runs import Run
from pipeline.report.tables import Cell, Class, Node

WORST = 36


@dataclass(frozen=True)
class Content:
    """What the template shows.

    Attributes:
      run: The run itself.
      metrics: The Evaluator's, which decided.
      accuracy: Of the model on the test split.
      pushed_accuracy: Of the model that was pushed before; None when there was none.
      pushed_version: Its version.
      paired: Both on the same examples; None without a pushed model, or when the two are one.
      disagreement: Examples that count differently here and in the Evaluator's confusion matrix.
      history: The epochs of training, in order.
      exported: Number of the epoch whose weights were exported.
      classes: One for each class.
      confusion: One line for each label, with one cell for each class that the model says.
      calibration: Of the model on the test split.
      mistakes: The worst, at most `WORST`.
      counts: Examples of each class in each split.
      anomalies: What is wrong with the data, one line each.
      warnings: What was let through and should be known, one line each.
      drift: Against the run before; None for the first.
      nodes: What each took.
      provenance: What the model was made from, by name.
      differences: Settings that are not at their defaults.
      command: The shell commands that make the run again.
    """

    run: Run
    metrics: Metrics
    accuracy: Share
    pushed_accuracy: Share | None
    pushed_version: int | None
    paired: PairedTest | None
    disagreement: int
    history: tuple[Epoch, ...]
    exported: int
    classes: tuple[Class, ...]
    confusion: tuple[tuple[Cell, ...], ...]
    calibration: Calibration
    mistakes: tuple[Mistake, ...]
    counts: Counts
    anomalies: tuple[str, ...]
    warnings: tuple[str, ...]
    drift: Drift | None
    nodes: tuple[Node, ...]
    provenance: dict[str, str]
    differences: dict[str, Any]
    command: str

    @property
    def largest_share(self) -> float:
        """The largest share that a class has of a split, from 0 to 1."""
        return max(max(split.values()) / sum(split.values()) for split in self.counts.values())


def gather(folder: Path) -> Content:
    """Reads a finished run and asks its model about every test example.

    Args:
      folder: `ROOT/logs/RUN`.

    Raises:
      RunError: The run's record is not whole.
    """
    run = runs.load(folder)
    model = run.output("Trainer", "model")
    names = labels.read(path_utils.serving_model_path(model.uri))
    evaluation = evaluator.read(run.output("Evaluator", "evaluation").uri)
    metrics, pushed_metrics = evaluation.model, evaluation.baseline
    pushed_model = run.output("Baseline", "model")
    examples = predictions.read_examples(run.output("MnistExampleGen", "examples"))
    answers = predictions.predict(model, examples)
    paired = None
    # A model that is not new is the pushed one: there is nothing to compare.
    if pushed_metrics and run.outcome.nothing_new is None:
        paired = PairedTest.of(answers.right, predictions.predict(pushed_model, examples).right)
    history = tuple(actions.read_history(run.output("Trainer", "model_run").uri))
    differences = changes.from_defaults(run.settings)
    return Content(
        run=run,
        metrics=metrics,
        accuracy=_accuracy(metrics),
        pushed_accuracy=_accuracy(pushed_metrics) if pushed_metrics else None,
        pushed_version=baseline.pushed_version(pushed_model),
        paired=paired,
        disagreement=int(np.abs(np.array(metrics.confusion) - answers.confusion).sum()) // 2,
        history=history,
        exported=actions.best(history).number,
        classes=tables.classes(metrics, pushed_metrics),
        confusion=tables.confusion(np.array(metrics.confusion)),
        calibration=Calibration.of(answers.confidence, answers.right),
        mistakes=tuple(predictions.worst_mistakes(answers, examples, names, WORST)),
        counts=data_facts.class_counts(run),
        anomalies=tuple(data_facts.anomalies(run)),
        warnings=tuple(headlines.data_warnings(run.nodes["DataGate"].outputs)),
        drift=data_facts.drift(run),
        nodes=tables.nodes(run.result.nodes),
        provenance=provenance.facts(run),
        differences=differences,
        command=f"cd {shlex.quote(os.getcwd())}\n{changes.command(differences)}",
    )


def _accuracy(metrics: Metrics) -> Share:
    right = sum(row[label] for label, row in enumerate(metrics.confusion))
    return Share.measured(right, metrics.examples)
