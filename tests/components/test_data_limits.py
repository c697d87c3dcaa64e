import pytest

from components import data_limits
from components.data_findings import Finding
from components.data_limits import DataLimits
from components.data_quality import measure
from components.mnist_files import find
from tests.support import idx_folders

EVEN = {"train": {str(digit): 100 for digit in range(10)}}
NONE = Finding(0, 1000, ())


def warnings(counts=EVEN, limits=None, **findings):
    return data_limits.warnings(findings, counts, limits or DataLimits())


def test_there_are_words_for_everything_that_is_measured(tmp_path):
    folder = idx_folders.make(tmp_path / "data")
    for kind in measure(find(str(folder))):
        [line] = warnings(**{kind: Finding(900, 1000, ("train 1",))})
        assert "900 of 1,000 (90%): train 1, ...; " in line


def test_nothing_found_is_nothing_said():
    found = {"test_overlap": NONE, "label_noise": NONE}
    assert warnings(**found) == []
    assert data_limits.problems(found, DataLimits(test_overlap=0)) == []


@pytest.mark.parametrize("kind", ["test_overlap", "label_conflicts", "constant_images"])
def test_more_than_the_limit_is_a_problem(kind):
    found = {kind: Finding(3, 1000, ("train 1", "train 2", "train 9"))}
    assert data_limits.problems(found, DataLimits(**{kind: 0.003})) == []
    [line] = data_limits.problems(found, DataLimits(**{kind: 0.0029}))
    assert "3 of 1,000 (0.3%): train 1, train 2, train 9; " in line
    assert line.endswith(f"(data.limits.{kind}=0.0029)")


@pytest.mark.parametrize("kind", ["repeated_images", "label_noise"])
def test_a_guess_and_a_repetition_never_stop_a_run(kind):
    found = {kind: Finding(1000, 1000, ("train 1",))}
    assert data_limits.problems(found, DataLimits()) == []
    assert len(warnings(**found)) == 1


def test_label_noise_is_told_above_its_limit_and_from_enough_images():
    assert warnings(label_noise=Finding(5, 100, ())) == []
    assert len(warnings(label_noise=Finding(6, 100, ("train 3",)))) == 1
    assert warnings(label_noise=Finding(50, 99, ("train 3",))) == []


def test_rare_classes_are_named():
    counts = {"train": EVEN["train"] | {"9": 47, "4": 30}, "test": EVEN["train"]}
    assert warnings(counts, DataLimits(class_share=0.6)) == [
        "rare classes in the train split: 30 of 4, 47 of 9 among 877 examples, less than 0.6 of "
        "an equal share (data.limits.class_share); get more of them, or set train.class_weights"
    ]
