"""A home folder for a user who has none, as in many containers."""

import atexit
import os
import shutil
import tempfile


def ensure() -> None:
    """Sets HOME to a temporary folder where there is no home; matplotlib, for one, asks for it.

    Keras imports matplotlib, so that without a home nothing here would start.
    """
    if os.path.expanduser("~") == "~":
        os.environ["HOME"] = folder = tempfile.mkdtemp(prefix="mnist-tfx-home-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
