"""Ways to train, each in processes of its own, timed in turns."""

import functools
import multiprocessing
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Protocol, TypeVar

from rich.console import Console

Train = Callable[[int], object]  # Takes so many training steps.
Key = TypeVar("Key", bound=Hashable)
console = Console(stderr=True)


class Timed(Protocol):
    """What can be timed."""

    def seconds(self, steps: int) -> float:
        """Trains for so many steps, and says how long that took."""

    def end(self) -> None:
        """Ends what trains."""


class Contestant:
    """A way to train, in processes that wait while another is timed.

    Args:
      make: Function of a module, which each process calls once, before its first steps.
      *arguments: Of it; they can be hashed and pickled.
      starts: For each process what it calls first of all, if anything, and with which arguments.
    """

    def __init__(
        self,
        make: Callable[..., Train],
        *arguments: Hashable,
        starts: Sequence[tuple[Callable | None, tuple]] = ((None, ()),),
    ):
        self._training = make, arguments
        self._pools = [
            ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn"), initializer=start, initargs=given
            )
            for start, given in starts
        ]

    def seconds(self, steps: int) -> float:
        """As `Timed.seconds`; all processes at once, and the slowest counts.

        Raises:
          concurrent.futures.process.BrokenProcessPool: A process has died.
        """
        futures = [pool.submit(_seconds, *self._training, steps) for pool in self._pools]
        return max(future.result() for future in futures)

    def end(self) -> None:
        """Ends the processes."""
        for pool in self._pools:
            pool.shutdown()


def take_turns(
    contestants: Mapping[Key, Timed], *, rounds: int, steps: int, warm_up: int
) -> dict[Key, list[float]]:
    """Times each once in a round, in alternating order, after a warm-up that is not timed.

    Args:
      contestants: They are ended.
      rounds: Number of rounds.
      steps: Training steps that are timed.
      warm_up: Training steps before.

    Returns:
      Seconds of each, [rounds].
    """
    taken: dict[Key, list[float]] = {key: [] for key in contestants}
    with console.status("warming up"):
        for contestant in contestants.values():
            contestant.seconds(warm_up)
    for number in range(rounds):
        with console.status(f"round {number + 1} of {rounds}"):
            for key in list(contestants)[:: 1 if number % 2 else -1]:
                taken[key].append(contestants[key].seconds(steps))
    for contestant in contestants.values():
        contestant.end()
    return taken


def _seconds(make: Callable[..., Train], arguments: Sequence[Hashable], steps: int) -> float:
    train = _made(make, *arguments)
    start = time.perf_counter()
    train(steps)
    return time.perf_counter() - start


@functools.cache
def _made(make: Callable[..., Train], *arguments: Hashable) -> Train:
    return make(*arguments)
