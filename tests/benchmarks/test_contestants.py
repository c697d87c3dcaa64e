"""Contestants that do not train, but count, wait or die."""

from concurrent.futures.process import BrokenProcessPool
from pkgutil import resolve_name

import pytest

from benchmarks.contestants import Contestant, take_turns


@pytest.mark.timeout(60)
def test_it_is_timed_in_a_process_of_its_own():
    contestant = Contestant(resolve_name, "time:sleep")
    assert contestant.seconds(0.2) >= 0.2
    contestant.end()


@pytest.mark.timeout(60)
def test_the_slowest_of_its_processes_counts():
    at_once = (exec, ("import time; time.sleep = lambda steps: None",))
    contestant = Contestant(resolve_name, "time:sleep", starts=[(None, ()), at_once])
    assert contestant.seconds(0.2) >= 0.2
    contestant.end()


@pytest.mark.timeout(60)
def test_one_that_dies_ends_the_comparison():
    with pytest.raises(BrokenProcessPool):
        Contestant(resolve_name, "os:_exit").seconds(1)


def test_all_are_timed_in_turns_after_a_warm_up():
    calls = []

    class Counting:
        def __init__(self, name):
            self.name = name

        def seconds(self, steps):
            calls.append((self.name, steps))
            return len(calls)

        def end(self):
            calls.append((self.name, "end"))

    taken = take_turns({"a": Counting("a"), "b": Counting("b")}, rounds=3, steps=5, warm_up=2)
    turns = [("b", 5), ("a", 5), ("a", 5), ("b", 5), ("b", 5), ("a", 5)]
    assert calls == [("a", 2), ("b", 2), *turns, ("a", "end"), ("b", "end")]
    assert taken == {"a": [4, 5, 8], "b": [3, 6, 7]}
