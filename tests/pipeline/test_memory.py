import resource
import time

import numpy as np
import psutil

from pipeline.memory import PeakMemory

MIB = 2**20


def take(size: int, seconds: float = 0.0) -> None:
    array = np.ones(size, np.uint8)
    time.sleep(seconds)
    del array  # So large an array goes back to the system at once.


def test_what_is_given_back_before_the_end_counts():
    with PeakMemory() as nothing:
        pass
    with PeakMemory() as much:
        take(300 * MIB, seconds=0.5)
    assert much.bytes - nothing.bytes > 290 * MIB


def test_what_an_earlier_block_gave_back_does_not_count():
    with PeakMemory() as before:
        take(300 * MIB, seconds=0.5)
    with PeakMemory() as after:
        pass
    assert before.bytes - after.bytes > 290 * MIB


def test_a_moment_too_short_to_sample_counts_when_it_is_the_highest():
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with PeakMemory() as much:
        take(highest - psutil.Process().memory_info().rss + 100 * MIB)
    assert much.bytes - highest > 90 * MIB
