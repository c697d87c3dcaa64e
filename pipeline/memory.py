"""How much memory this process takes while something runs."""

import threading

import psutil

_SAMPLE_SECONDS = 0.05


class PeakMemory:
    """Samples the resident memory of this process, in a thread, during a block.

    The system's own peak (`ru_maxrss`) only grows: all that follows the hungriest node would seem
    as hungry. It can be reset, but then whoever measures the whole process sees a wrong peak.

    Attributes:
      bytes: The most seen so far.
    """

    def __init__(self):
        self.bytes = 0
        self._process = psutil.Process()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self._thread.join()
        self._look()

    def _sample(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            self._look()

    def _look(self) -> None:
        self.bytes = max(self.bytes, self._process.memory_info().rss)
