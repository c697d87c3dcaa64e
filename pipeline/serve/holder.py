"""Holds the version that is served, and takes over a newly pushed one."""

import logging
import os

import tensorflow as tf

from components import versions
from pipeline.serve.model import ModelError, PushedModel

_log = logging.getLogger(__name__)


class Holder:
    """The served version.

    A request takes `current` once and keeps it to its end; the version that it holds lives as long,
    whatever is pushed or removed meanwhile.

    Attributes:
      name: Of the model, as TF Serving's images have it: the last part of the destination.
      current: The version to ask.
      refused: A higher version that cannot be served, as number and reason, or None.
    """

    def __init__(self, destination: str):
        """Loads the highest version.

        Raises:
          ModelError: There is none, or it cannot be served.
        """
        self._destination = destination
        self.name = os.path.basename(destination.rstrip("/"))
        self.current = PushedModel.load_current(destination)
        self.refused: tuple[int, str] | None = None

    def refresh(self) -> None:
        """Looks at the destination again; what cannot be served leaves the served one in place."""
        try:
            version = versions.current(self._destination)
        except (OSError, tf.errors.OpError) as error:
            _log.warning("%s cannot be read: %s", self._destination, error)
            return
        refused = self.refused[0] if self.refused else None
        if version not in (None, refused, self.current.version):
            self._take_over(version)

    def _take_over(self, version: int) -> None:
        try:
            self.current = PushedModel.load(self._destination, version)
        except ModelError as error:
            self.refused = (version, str(error))
            _log.error("version %d stays: %s", self.current.version, error)
        else:
            self.refused = None
            _log.info("version %d is served now", version)
