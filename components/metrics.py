"""How a model did on the test split, as a file that anything can read.

The Evaluator writes protocol buffers that need TensorFlow Model Analysis to read. Beside them lies
this, for commands that answer at once, and for what is pushed with the model.
"""

import math

from pydantic import BaseModel, ConfigDict, Field, computed_field, model_validator

# In the folder of the Evaluator's ModelEvaluation artifact: an `Evaluation`.
FILE = "evaluation.json"
# In the folder of a pushed model: its `Metrics`. TensorFlow leaves `assets.extra` to others.
PUSHED_FILE = f"assets.extra/{FILE}"

# The names of the metrics in the Evaluator's configuration.
ACCURACY = "accuracy"
CROSS_ENTROPY = "cross_entropy"
CONFUSION_MATRIX = "confusion_matrix"

# The standard normal distribution has 95% of its mass within this many deviations.
_Z95 = 1.959964


class Metrics(BaseModel):
    """How a model did on the test split.

    Attributes:
      accuracy: Share of examples whose most probable class is the label, from 0 to 1.
      cross_entropy: Mean over the examples, in nats.
      class_names: Names of the classes, in the order of their numbers.
      confusion: Examples by label (row) and predicted class (column); [classes][classes].
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    accuracy: float = Field(ge=0, le=1)
    cross_entropy: float
    class_names: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]

    @model_validator(mode="after")
    def _check_shape(self) -> "Metrics":
        lengths = {len(self.confusion), *map(len, self.confusion)}
        if lengths != {len(self.class_names)}:
            raise ValueError(
                f"confusion must have {len(self.class_names)} rows and columns, one for each class"
            )
        return self

    @computed_field
    @property
    def examples(self) -> int:
        """Number of examples."""
        return sum(self.class_examples)

    @property
    def class_examples(self) -> tuple[int, ...]:
        """Number of examples of each class; [classes]."""
        return tuple(sum(row) for row in self.confusion)

    @computed_field
    @property
    def class_accuracies(self) -> tuple[float | None, ...]:
        """Accuracy over the examples of each class; [classes], None where there are none."""
        return tuple(
            row[label] / sum(row) if any(row) else None for label, row in enumerate(self.confusion)
        )

    @property
    def mistakes(self) -> list[tuple[int, int, int]]:
        """What was taken for what: label, predicted class and number of examples, most first."""
        found = [
            (label, predicted, count)
            for label, row in enumerate(self.confusion)
            for predicted, count in enumerate(row)
            if count and predicted != label
        ]
        return sorted(found, key=lambda mistake: (-mistake[2], *mistake[:2]))


class Evaluation(BaseModel):
    """What the Evaluator found.

    Attributes:
      model: How the trained model did.
      baseline: How the model pushed before did; None when there was none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Metrics
    baseline: Metrics | None = None


def wilson(right: int, examples: int) -> tuple[float, float]:
    """The 95% confidence interval of an accuracy, after Wilson (1927).

    The normal approximation gives an interval of no width for an accuracy of 1, and reaches beyond
    1 just below it, which is where MNIST's accuracies are.

    Args:
      right: Examples that were recognized.
      examples: All examples; at least 1.

    Returns:
      Its ends, from 0 to 1.
    """
    share, weight = right / examples, _Z95**2 / examples
    center = (share + weight / 2) / (1 + weight)
    half = math.sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    return max(0.0, center - half), min(1.0, center + half)


def worst_fall(before: Metrics, now: Metrics) -> tuple[int, float]:
    """The class whose accuracy fell most, and by how much; negative when even that one rose.

    Args:
      before: How the other model did.
      now: How this model did, on examples of the same classes.
    """
    pairs = zip(before.class_accuracies, now.class_accuracies, strict=True)
    falls = {
        label: earlier - later
        for label, (earlier, later) in enumerate(pairs)
        if earlier is not None and later is not None
    }
    label = max(falls, key=falls.__getitem__)
    return label, falls[label]
