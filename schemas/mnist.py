"""The facts of the data set: names, shapes, classes, splits, files. Nothing else knows them."""

IMAGE = "image"  # 784 bytes, row by row, 0 is background
LABEL = "label"  # int64 from 0 to 9

HEIGHT = WIDTH = 28
CLASSES = 10
CLASS_NAMES = tuple(str(digit) for digit in range(CLASSES))

TRAIN_EXAMPLES = 60_000
TEST_EXAMPLES = 10_000

# `eval` is taken from the train files and steers training; `test` is the official test set.
SPLITS = ("train", "eval", "test")

# SHA-256 of the uncompressed files.
FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
