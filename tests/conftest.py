"""What every test shares."""

import os

# Before TensorFlow is imported anywhere: its start-up lines are no part of a test's output.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
