"""The words of a model card that do not depend on what was measured."""

from typing import NamedTuple

SIGNATURES = (
    "serving_default (serialized tf.Examples), image (pixels, uint8 [batch, 28, 28]), "
    "png (PNG files); each gives the probabilities and the class"
)

METRICS = (
    "Accuracy is the share of examples whose most probable class is the label; each example counts "
    "once. Its interval is Wilson's, with 95% confidence: it says how far chance in the choice of "
    "the test examples reaches, and nothing of other data. Cross-entropy is the mean over the "
    "examples, in nats.",
)


class Texts(NamedTuple):
    """Paragraphs by section.

    Attributes:
      class_noun: What a class is called.
    """

    class_noun: str
    intended_use: tuple[str, ...]
    factors: tuple[str, ...]
    evaluation_data: tuple[str, ...]
    training_data: tuple[str, ...]
    ethics: tuple[str, ...]
    caveats: tuple[str, ...]


def of(data_set: str) -> Texts:
    """The words for a model of these data: those on MNIST, or those on files of one's own.

    Args:
      data_set: Name of the data set; `mnist` is MNIST itself.
    """
    return _MNIST if data_set == "mnist" else _OTHER


_CAVEATS = (
    "The model always answers with one of its classes, also to a picture that is none of them, "
    "and its probabilities were not calibrated.",
    "Every model is compared with the thresholds on the same test examples. The more models were "
    "tried, the more the pushed one owes to chance; before a decision that matters, measure it on "
    "examples that it never met.",
    "Look at the mistakes in the tables above, and at the lower end of the intervals rather than "
    "at the accuracies.",
)

_MNIST = Texts(
    class_noun="digit",
    intended_use=(
        "To recognize single handwritten digits in pictures like MNIST's: 28 by 28 grey pixels, "
        "light on dark, scaled to fit 20 by 20 and centered by mass. For teaching, for trying out "
        "training methods, and as the reference of this pipeline.",
        "Not for several digits at once, letters, print or photographs as they come, nor where an "
        "error harms somebody, such as reading cheques, postal codes or medical forms.",
    ),
    factors=(
        "What decides how hard a digit is to read: which digit it is, who wrote it, with what, "
        "and how it was scanned and scaled. The data tells the digit alone, so that is what the "
        "numbers are broken down by.",
    ),
    evaluation_data=(
        "MNIST's own test images, by writers who are not among those of the training images. "
        "Nothing but the evaluation reads them.",
    ),
    training_data=(
        "MNIST's own training images: digits by employees of the United States Census Bureau and "
        "by high school students, from around 1990. A sample of them is held out to choose the "
        "epoch by.",
    ),
    ethics=(
        "The images hold no names and nothing that tells who wrote them. They are from one "
        "country: what is usual elsewhere, such as a 1 with a long upstroke or a 7 with a bar, is "
        "less common in them and may be read worse.",
    ),
    caveats=_CAVEATS,
)

_OTHER = Texts(
    class_noun="class",
    intended_use=(
        "To tell its classes apart in pictures like those it was trained on: 28 by 28 grey pixels "
        "in MNIST's format. What the classes mean, and what it may be used for, is for those to "
        "say who made the data.",
        "Not for pictures of another kind, nor where an error harms somebody.",
    ),
    factors=("The data tells the class alone, so that is what the numbers are broken down by.",),
    evaluation_data=("The test files at the source. Nothing but the evaluation reads them.",),
    training_data=(
        "The train files at the source; a sample of them is held out to choose the epoch by.",
    ),
    ethics=(
        "This pipeline knows nothing of where the pictures come from and of whom they show: see "
        "the documentation of the data.",
    ),
    caveats=_CAVEATS,
)
