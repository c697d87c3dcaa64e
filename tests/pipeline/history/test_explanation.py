import pytest

from pipeline.history import explanation
from pipeline.history.runs import History
from tests.support import evaluations, histories


@pytest.mark.parametrize(
    ("name", "sentence", "reasons"),
    [
        (
            "pushed",
            "pushed its model as version 7: test accuracy 98.90%, and no model was pushed before",
            ["at least 97.00% was demanded, and 93.00% of each class", "the worst class is 4, "],
        ),
        (
            "better",
            "as version 8: test accuracy 99.40%, 0.50 points above the 98.90% of the model pushed",
            [
                "at least 97.00%",
                "a fall by 0.2 points was allowed, and by 2 of each class",
                "the worst class is 2, with 96.00%",
                "class 4 gained most, 8.00 points",
                "class 2 lost most, 3.00 points",
                "only Trainer, Evaluator, Pusher had to run; the rest was served from the cache",
            ],
        ),
        (
            "same",
            "pushed nothing, because its model is identical to pushed version 8: test accuracy",
            ["every node was served from the cache"],
        ),
        (
            "refused",
            "was refused and nothing was pushed: its test accuracy is 97.00%, and it misses 1 dem",
            ["accuracy 0.97 is below 0.98"],
        ),
        ("failed", "failed in Trainer, so nothing was pushed: loss is nan.", ["the whole log: "]),
        ("unprepared", "could not start, so nothing was pushed: no data.", ["the whole log: "]),
        (
            "interrupted",
            "was interrupted in Trainer, so nothing was pushed.",
            ["run the same command again to go on"],
        ),
        (
            "killed",
            "ended in Evaluator without a word: its process was killed",
            ["run the same command again to go on"],
        ),
    ],
)
def test_each_end_is_one_sentence_with_reasons(history, names, name, sentence, reasons):
    found = explanation.of(history.find(getattr(names, name)))
    assert sentence in found.sentence
    assert len(found.reasons) == len(reasons)
    for reason, expected in zip(found.reasons, reasons, strict=True):
        assert reason.startswith(expected)


def test_a_digit_that_is_never_right_is_the_worst(tmp_path):
    model = evaluations.metrics({(8, 3): 100})
    root = histories.Root(tmp_path / "runs")
    root.run(
        "20251130T080000000Z",
        result=histories.pushed(7, model.accuracy),
        evaluation=evaluations.evaluation(model),
    )
    found = explanation.of(History(str(root.folder)).find("last"))
    assert "the worst class is 8, with 0.00%" in found.reasons
