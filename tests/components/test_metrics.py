import pytest
from pydantic import ValidationError
from scipy.stats import binomtest

from components import metrics
from components.metrics import Evaluation, Metrics
from tests.support import evaluations


def test_counts_and_accuracies_follow_from_the_confusion():
    found = evaluations.metrics({(4, 9): 10, (4, 7): 1, (0, 6): 2})
    assert found.examples == 1000
    assert found.class_examples == (100,) * 10
    assert found.class_accuracies == (0.98, 1, 1, 1, 0.89, 1, 1, 1, 1, 1)
    assert found.mistakes == [(4, 9, 10), (0, 6, 2), (4, 7, 1)]


def test_a_class_without_examples_has_no_accuracy():
    confusion = [list(row) for row in evaluations.metrics().confusion]
    confusion[3] = [0] * 10
    found = evaluations.metrics(confusion=confusion)
    assert found.class_accuracies[3] is None
    assert found.class_accuracies[2] == 1


def test_the_file_reads_back_and_says_what_follows_too():
    found = evaluations.evaluation(baseline=evaluations.metrics())
    text = found.model_dump_json()
    assert Evaluation.model_validate_json(text) == found
    assert '"class_accuracies":[1.0,1.0,1.0,1.0,0.96,' in text
    assert '"examples":1000' in text


@pytest.mark.parametrize(
    ("field", "value"), [("accuracy", 99.1), ("accuracy", "high"), ("confusion", [[1]])]
)
def test_values_that_make_no_sense_are_refused(field, value):
    with pytest.raises(ValidationError, match=field):
        Metrics.model_validate({**evaluations.metrics().model_dump(), field: value})


@pytest.mark.parametrize(
    ("right", "examples"), [(0, 1), (1, 1), (0, 50), (50, 50), (9930, 10000), (963, 1000), (5, 9)]
)
def test_the_interval_is_wilson_s(right, examples):
    expected = binomtest(right, examples).proportion_ci(0.95, method="wilson")
    assert metrics.wilson(right, examples) == pytest.approx(tuple(expected), abs=1e-7)


def test_the_worst_fall_is_found_among_rises_too():
    before = evaluations.metrics({(4, 9): 10, (2, 7): 1})
    assert metrics.worst_fall(before, evaluations.metrics({(4, 9): 2, (2, 7): 5})) == (
        2,
        pytest.approx(0.04),
    )
    everywhere = evaluations.metrics({(label, (label + 1) % 10): 5 for label in range(10)})
    assert metrics.worst_fall(everywhere, evaluations.metrics({(6, 5): 3})) == (
        6,
        pytest.approx(-0.02),
    )
