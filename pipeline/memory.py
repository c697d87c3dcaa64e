"""How much memory this process takes while something runs."""

import resource
import threading

import psutil

_SAMPLE_SECONDS = 0.05


class PeakMemory:
    """The peak of the resident memory of this process during a block.

    The system's own peak only grows: all that follows the hungriest node would seem as hungry. It
    can be reset, but then whoever measures the whole process sees a wrong one. So a thread samples,
    and the system's peak is taken where the block raised it.

    Attributes:
      bytes: The most seen so far.
    """

    def __init__(self):
        self.bytes = 0
        self._before = 0
        self._process = psutil.Process()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._before = _system_peak()
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self._thread.join()
        self._look()
        if _system_peak() > self._before:
            self.bytes = max(self.bytes, _system_peak())

    def _sample(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            self._look()

    def _look(self) -> None:
        self.bytes = max(self.bytes, self._process.memory_info().rss)


def _system_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
