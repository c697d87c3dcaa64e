"""Contents of reports, made by hand."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from components.metrics import Metrics
from components.trainer.actions import Epoch
from pipeline.changes import command
from pipeline.outcome import Outcome
from pipeline.report import tables
from pipeline.report.content import Content
from pipeline.report.measures import Calibration, PairedTest, Share
from pipeline.report.predictions import Mistake
from pipeline.report.runs import Result, Run, Use

NAMES = "0123456789"
NAME = "20260131T235959123Z"
PUSHED = Outcome(0.97, None, (), None, 8, "/serving/8")
REFUSED = Outcome(
    0.97, 0.99, ("accuracy 0.97 is below <0.98> & more", "so it is"), None, None, None
)
IDENTICAL = Outcome(0.97, 0.97, (), "identical to pushed version 7", None, None)
PAIRED = PairedTest.of(np.arange(100) >= 3, np.arange(100) >= 1)
MISTAKE = Mistake(
    example=41,
    image="data:image/png;base64,AAAA",
    label="4",
    predicted="9",
    label_probability=0.00001,
    predicted_probability=0.99999,
)


def make(outcome: Outcome = PUSHED, trainer: str = "done", **changes: Any) -> Content:
    """What a first run gave that pushed its model, but for the changes."""
    confusion = np.diag([10] * 9 + [7])
    confusion[9, 4] = 3
    metrics = measured(NAMES, 0.97, 0.12345, confusion)
    uses = {
        "Trainer": Use(state=trainer, seconds=10.04, peak_memory=2**30),
        "Evaluator": Use(state="done", seconds=5, peak_memory=2**29),
    }
    settings = {"name": "toy", "train": {"epochs": 3}}
    differences = {"train.epochs": 3}
    content = Content(
        run=Run(
            folder=Path("/runs/logs", NAME),
            settings_yaml="name: toy\ntrain: {epochs: 3}\n",
            settings=settings,
            nodes={},
            outcome=outcome,
            result=Result(seconds=61.7, nodes=uses),
        ),
        metrics=metrics,
        accuracy=Share.measured(97, 100),
        pushed_accuracy=None,
        pushed_version=None,
        paired=None,
        disagreement=0,
        history=tuple(epoch(number) for number in (1, 2)),
        exported=2,
        classes=tables.classes(metrics, None),
        confusion=tables.confusion(confusion),
        calibration=Calibration.of(np.linspace(0.2, 1, 100), np.arange(100) >= 3),
        mistakes=(MISTAKE,) * 3,
        counts={
            split: dict.fromkeys(NAMES, size)
            for split, size in (("train", 1200), ("eval", 20), ("test", 10))
        },
        anomalies=(),
        warnings=(),
        drift=None,
        nodes=tables.nodes(uses),
        provenance={"Data fingerprint": "abc123", "TensorFlow": "2.16.2"},
        differences=differences,
        command=f"cd /work\n{command(differences)}",
    )
    return dataclasses.replace(content, **changes)


def beside_pushed(outcome: Outcome = REFUSED, **changes: Any) -> Content:
    """What a later run gave, with a pushed model to compare with."""
    before = measured(NAMES, 0.99, 0.05, np.diag([10] * 10))
    return make(
        outcome,
        pushed_accuracy=Share.measured(99, 100),
        pushed_version=7,
        classes=tables.classes(make().metrics, before),
        **{"paired": PAIRED, **changes},
    )


def letters() -> Content:
    """What a run on 26 classes gave."""
    names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    confusion = 100 * np.eye(26, dtype=int) + 1
    metrics = measured(names, 0.8, 0.5, confusion)
    return make(
        metrics=metrics,
        classes=tables.classes(metrics, metrics),
        confusion=tables.confusion(confusion),
        counts={"train": dict.fromkeys(names, 100)},
    )


def measured(names, accuracy: float, cross_entropy: float, confusion: np.ndarray) -> Metrics:
    """How a model did."""
    return Metrics(
        accuracy=accuracy,
        cross_entropy=cross_entropy,
        class_names=tuple(names),
        confusion=confusion.tolist(),
    )


def epoch(number: int) -> Epoch:
    """The record of an epoch."""
    return Epoch(
        number=number,
        of=2,
        step=10 * number,
        train={"loss": 0.5 / number, "accuracy": 0.9},
        eval={"loss": 0.3 / number, "accuracy": 0.95},
        seconds=1.25,
    )
