"""One line on what each node gave, for the console."""

import json
from collections.abc import Callable

from components import baseline, evaluator
from components.model_check import reason_not_blessed
from components.trainer import actions

Outputs = dict  # key -> list of artifacts


def of(node: str, outputs: Outputs) -> str:
    """The headline of a node; empty for one that has nothing to say."""
    describe = _HEADLINES.get(node)
    return describe(outputs) if describe else ""


def data_warnings(outputs: Outputs) -> list[str]:
    """What DataGate warns of, one line each."""
    return json.loads(outputs["report"][0].read())["warnings"]


def _examples(outputs: Outputs) -> str:
    [artifact] = outputs["examples"]
    counts = json.loads(artifact.get_string_custom_property("counts"))
    return ", ".join(f"{count:,} {split}" for split, count in counts.items())


def _anomalies(outputs: Outputs) -> str:
    warnings = len(data_warnings(outputs))
    if not warnings:
        return "no anomalies"
    return f"no anomalies, {warnings} {'warning' if warnings == 1 else 'warnings'}"


def _baseline(outputs: Outputs) -> str:
    version = baseline.pushed_version(outputs["model"][0])
    return "nothing pushed yet" if version is None else f"pushed version {version}"


def _trainer(outputs: Outputs) -> str:
    epoch = actions.best(actions.read_history(outputs["model_run"][0].uri))
    return f"eval accuracy {epoch.eval['accuracy']:.2%} in epoch {epoch.number}"


def _evaluator(outputs: Outputs) -> str:
    evaluation = evaluator.read(outputs["evaluation"][0].uri)
    return f"test accuracy {evaluation.model.accuracy:.2%}"


def _check(outputs: Outputs) -> str:
    reason = reason_not_blessed(outputs["blessing"][0].uri)
    return reason or "every signature gives the same answers"


def _pusher(outputs: Outputs) -> str:
    [artifact] = outputs["pushed_model"]
    if not artifact.get_int_custom_property("pushed"):
        return "not pushed"
    return f"version {artifact.get_string_custom_property('pushed_version')}"


_HEADLINES: dict[str, Callable[[Outputs], str]] = {
    "MnistExampleGen": _examples,
    "DataGate": _anomalies,
    "Baseline": _baseline,
    "Trainer": _trainer,
    "Evaluator": _evaluator,
    "ModelCheck": _check,
    "Pusher": _pusher,
}
