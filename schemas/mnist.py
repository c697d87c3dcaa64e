"""The facts that all data sets in MNIST's format share: names, shapes, splits, files."""

IMAGE = "image"  # 784 bytes, row by row, 0 is background
LABEL = "label"  # int64 from 0 to the number of classes less 1

HEIGHT = WIDTH = 28

# `eval` is taken from the train files and steers training; `test` is the official test set.
SPLITS = ("train", "eval", "test")

# The usual names of the four files.
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
