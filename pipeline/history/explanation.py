"""Why a run's model was pushed or not, in one sentence with its reasons."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from components.metrics import Evaluation, worst_fall
from pipeline.history import words
from pipeline.history.runs import Run

_AGAIN = "run the same command again to go on: finished nodes are not repeated"


@dataclass(frozen=True)
class Explanation:
    """A sentence, and what speaks for it."""

    verdict: str
    sentence: str
    reasons: tuple[str, ...] = ()


def of(run: Run) -> Explanation:
    """Explains how a run ended, or how far it is."""
    return Explanation(run.verdict, *_EXPLAIN[run.verdict](run))


def print_explanation(console: Console, explanation: Explanation) -> None:
    """Prints the sentence, and under it the reasons."""
    console.print(Text(explanation.sentence, words.STYLES[explanation.verdict]))
    reasons = Table.grid(padding=(0, 1, 0, 0))
    for reason in explanation.reasons:
        reasons.add_row("-", Text(reason, overflow="fold"))
    console.print(reasons)


def _pushed(run: Run) -> tuple[str, tuple[str, ...]]:
    result = run.result
    accuracy, before = result["accuracy"], result["baseline_accuracy"]
    sentence = f"Run {run.name} pushed its model as version {result['version']}: "
    sentence += f"test accuracy {accuracy:.2%}, "
    if before is None:
        sentence += "and no model was pushed before it."
    elif accuracy == before:
        sentence += "the same as that of the model pushed before."
    else:
        side = "above" if accuracy > before else "below"
        sentence += (
            f"{100 * abs(accuracy - before):.2f} points {side} the {before:.2%} of the model "
            "pushed before."
        )
    evaluation = run.evaluation
    reasons = [*_demands(run), *(_classes(evaluation) if evaluation else ())]
    return sentence, (*reasons, *_cached(run))


def _refused(run: Run) -> tuple[str, tuple[str, ...]]:
    sentence = (
        f"The model of run {run.name} was refused and nothing was pushed: its test accuracy is "
        f"{run.result['accuracy']:.2%}, and it misses {_count(run.result['refusals'])}."
    )
    return sentence, (*run.result["refusals"], *_cached(run))


def _nothing_new(run: Run) -> tuple[str, tuple[str, ...]]:
    sentence = (
        f"Run {run.name} pushed nothing, because its model is {run.result['nothing_new']}: "
        f"test accuracy {run.result['accuracy']:.2%}."
    )
    return sentence, _cached(run)


def _failed(run: Run) -> tuple[str, tuple[str, ...]]:
    where = f"failed in {run.stopped_in}" if run.stopped_in else "could not start"
    reason = run.result.get("reason", "the reason is in its log")
    sentence = f"Run {run.name} {where}, so nothing was pushed: {reason.rstrip('.')}."
    return sentence, (f"the whole log: {run.folder / 'log.txt'}",)


def _interrupted(run: Run) -> tuple[str, tuple[str, ...]]:
    sentence = f"Run {run.name} was interrupted {_place(run)}, so nothing was pushed."
    return sentence, (_AGAIN,)


def _killed(run: Run) -> tuple[str, tuple[str, ...]]:
    sentence = (
        f"Run {run.name} ended {_place(run)} without a word: its process was killed, or the "
        "machine went down."
    )
    return sentence, (_AGAIN,)


def _running(run: Run) -> tuple[str, tuple[str, ...]]:
    return f"Run {run.name} is still running, {_place(run)} after {words.took(run.seconds)}.", ()


_EXPLAIN = {
    "pushed": _pushed,
    "refused": _refused,
    "nothing_new": _nothing_new,
    "failed": _failed,
    "interrupted": _interrupted,
    "killed": _killed,
    "running": _running,
}


def _place(run: Run) -> str:
    if run.stopped_in:
        return f"in {run.stopped_in}"
    return "between two nodes" if run.executions else "before its first node"


def _demands(run: Run) -> Iterator[str]:
    demanded = run.settings.get("evaluate", {})
    if "min_accuracy" not in demanded:
        return
    yield (
        f"at least {demanded['min_accuracy']:.2%} was demanded, and "
        f"{demanded['min_class_accuracy']:.2%} of each class"
    )
    if run.result["baseline_accuracy"] is not None:
        yield (
            f"a fall by {100 * demanded['max_accuracy_drop']:g} points was allowed, and by "
            f"{100 * demanded['max_class_accuracy_drop']:g} of each class"
        )


def _classes(evaluation: Evaluation) -> Iterator[str]:
    model, before = evaluation.model, evaluation.baseline
    names = model.class_names
    value, worst = min(
        (value, label) for label, value in enumerate(model.class_accuracies) if value is not None
    )
    yield f"the worst class is {names[worst]}, with {value:.2%}"
    if before:
        fell, fall = worst_fall(before, model)
        rose, rise = worst_fall(model, before)
        if rise > 0:
            yield f"class {names[rose]} gained most, {100 * rise:.2f} points"
        if fall > 0:
            yield f"class {names[fell]} lost most, {100 * fall:.2f} points"
        if rise <= 0 and fall <= 0:
            yield "no class gained or lost"


def _cached(run: Run) -> tuple[str, ...]:
    cached = [node for node, execution in run.executions.items() if execution.state == "cached"]
    if not cached:
        return ()
    if len(cached) == len(run.executions):
        return ("every node was served from the cache: nothing that it depends on had changed",)
    computed = [node for node in run.executions if node not in cached]
    return (f"only {', '.join(computed)} had to run; the rest was served from the cache",)


def _count(refusals: list[str]) -> str:
    return "1 demand" if len(refusals) == 1 else f"{len(refusals)} demands"
