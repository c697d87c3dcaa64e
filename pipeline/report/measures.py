"""What a number on a finite test split is worth: intervals, tests, calibration."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from components.metrics import wilson

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Share:
    """So many of so many, with a 95% confidence interval.

    Attributes:
      count: Successes.
      of: Trials, at least 1.
      low: Lower end of the Wilson score interval.
      high: Its upper end.
    """

    count: int
    of: int
    low: float
    high: float

    @classmethod
    def measured(cls, count: int, of: int) -> "Share":
        """A share with its interval."""
        return cls(count, of, *wilson(count, of))

    @property
    def value(self) -> float:
        """From 0 to 1."""
        return self.count / self.of


@dataclass(frozen=True)
class PairedTest:
    """Two models on the same examples: McNemar's exact test.

    Attributes:
      gained: Examples that only the new model gets right.
      lost: Examples that only the old one gets right.
      both_right: Examples that both get right.
      both_wrong: Examples that neither gets right.
      p_value: Two-sided; the probability of a split at least as uneven between equal models.
    """

    gained: int
    lost: int
    both_right: int
    both_wrong: int
    p_value: float

    @classmethod
    def of(cls, new: np.ndarray, old: np.ndarray) -> "PairedTest":
        """The test on which examples each model gets right; bool [examples] each.

        McNemar (1947), "Note on the sampling error of the difference between correlated
        proportions", with the binomial distribution in place of chi-squared.
        """
        gained, lost = int(np.sum(new & ~old)), int(np.sum(old & ~new))
        differing = gained + lost
        p_value = stats.binomtest(gained, differing).pvalue if differing else 1.0
        return cls(
            gained=gained,
            lost=lost,
            both_right=int(np.sum(new & old)),
            both_wrong=int(np.sum(~new & ~old)),
            p_value=float(p_value),
        )

    @property
    def is_significant(self) -> bool:
        """Whether chance alone explains the difference badly, at the level 1 - CONFIDENCE."""
        return self.p_value < 1 - CONFIDENCE


@dataclass(frozen=True)
class Bin:
    """Predictions of about equal confidence.

    Attributes:
      confidence: Mean probability of the predicted class.
      accuracy: How many of them are right.
    """

    confidence: float
    accuracy: Share


@dataclass(frozen=True)
class Calibration:
    """Whether predictions of probability p are right in a share p of cases.

    Attributes:
      bins: Those that have predictions, by confidence.
      error: Expected calibration error, from 0 to 1.
    """

    bins: tuple[Bin, ...]
    error: float

    @classmethod
    def of(cls, confidence: np.ndarray, right: np.ndarray, bins: int = 15) -> "Calibration":
        """Calibration in bins of equal width.

        Guo et al. (2017), "On calibration of modern neural networks", arXiv:1706.04599, eq. 3.

        Args:
          confidence: Probability of the predicted class; float [examples], examples at least 1.
          right: Whether the predicted class is the label; bool [examples].
          bins: How many; a bin takes its upper edge, not its lower one.
        """
        number = np.clip(np.ceil(confidence * bins).astype(int), 1, bins)
        found = []
        for members in (number == each for each in range(1, bins + 1)):
            if members.any():
                share = Share.measured(int(right[members].sum()), int(members.sum()))
                found.append(Bin(float(confidence[members].mean()), share))
        gaps = [each.accuracy.of * abs(each.accuracy.value - each.confidence) for each in found]
        return cls(tuple(found), sum(gaps) / len(confidence))
