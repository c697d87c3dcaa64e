import numpy as np
import pytest

from pipeline.report.measures import Calibration, PairedTest, Share


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        # Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0000),
    ],
)
def test_the_interval_of_a_share_is_wilsons(count, of, low, high):
    share = Share.measured(count, of)
    assert (share.low, share.high) == pytest.approx((low, high), abs=5e-5)
    assert share.value == count / of


def answers(*counts: int) -> tuple[np.ndarray, np.ndarray]:
    """Right or wrong for two models, given how many both, only the first, the second, none get."""
    both = [(True, True), (True, False), (False, True), (False, False)]
    pairs = np.repeat(both, counts, axis=0)
    return pairs[:, 0], pairs[:, 1]


@pytest.mark.parametrize(
    ("gained", "lost", "p_value"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (1, 6, 2 * (1 + 7) / 2**7),
        (6, 1, 2 * (1 + 7) / 2**7),
        (0, 6, 2 / 2**6),
        (2, 10, 2 * (1 + 12 + 66) / 2**12),
    ],
)
def test_the_paired_test_is_mcnemars_exact_one(gained, lost, p_value):
    found = PairedTest.of(*answers(40, gained, lost, 3))
    assert (found.gained, found.lost) == (gained, lost)
    assert (found.both_right, found.both_wrong) == (40, 3)
    assert found.p_value == pytest.approx(p_value)


def test_six_to_none_is_no_chance_and_six_to_one_may_be():
    assert PairedTest.of(*answers(0, 0, 6, 0)).is_significant
    assert not PairedTest.of(*answers(0, 1, 6, 0)).is_significant


def test_calibration_by_hand():
    confidence = np.array([0.9, 0.95, 0.98, 0.6, 0.7])
    right = np.array([True, True, False, False, True])

    found = Calibration.of(confidence, right, bins=2)

    [only] = found.bins  # All are above 0.5.
    assert only.confidence == pytest.approx(0.826)
    assert (only.accuracy.count, only.accuracy.of) == (3, 5)
    assert found.error == pytest.approx(0.226)


def test_the_calibration_error_weighs_each_bin_by_its_predictions():
    confidence = np.array([0.3, 0.3, 0.3, 0.8])
    right = np.array([True, False, False, False])

    found = Calibration.of(confidence, right, bins=2)

    assert [each.accuracy.of for each in found.bins] == [3, 1]
    assert found.error == pytest.approx((3 * abs(1 / 3 - 0.3) + 1 * 0.8) / 4)


def test_a_bin_takes_its_upper_edge_and_the_last_one_certainty():
    found = Calibration.of(np.array([0.2, 0.4, 0.41, 1.0]), np.ones(4, bool), bins=5)
    assert [each.confidence for each in found.bins] == pytest.approx([0.2, 0.4, 0.41, 1.0])


def test_a_model_that_knows_what_it_knows_has_no_calibration_error():
    confidence = np.repeat([0.5, 1.0], [10, 10])
    right = np.repeat([True, False, True], [5, 5, 10])
    assert Calibration.of(confidence, right).error == 0
