import os
import signal
import subprocess
import sys
import threading

import pytest

from components.trainer import interruption


class Came(BaseException):
    """What the handler under test raises."""


@pytest.fixture(params=interruption.SIGNALS, ids=lambda number: number.name)
def number(request):
    """A signal with a handler that raises `Came`."""

    def handler(number, _):
        raise Came(number)

    before = signal.signal(request.param, handler)
    yield request.param
    signal.signal(request.param, before)


def send(number):
    os.kill(os.getpid(), number)


def test_a_signal_waits_for_the_end_of_the_block(number):
    seen = []

    def block():
        with interruption.held_back() as interrupted:
            seen.append(interrupted())
            send(number)
            seen.append(interrupted())

    with pytest.raises(Came):
        block()
    assert seen == [False, True]


def test_it_comes_through_whatever_the_block_raises(number):
    def block():
        with interruption.held_back():
            send(number)
            raise RuntimeError("left early")

    with pytest.raises(Came):
        block()


def test_a_second_one_is_not_held_back(number):
    seen = []

    def block():
        with interruption.held_back():
            send(number)
            send(number)
            seen.append("not here")

    with pytest.raises(Came):
        block()
    assert not seen


def test_without_a_signal_all_is_as_before(number):
    before = signal.getsignal(number)
    with interruption.held_back():
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before


def test_an_ignored_signal_stays_ignored(number):
    signal.signal(number, signal.SIG_IGN)
    with interruption.held_back() as interrupted:
        send(number)
        assert not interrupted()


def test_a_handler_that_only_returns_ends_the_block_too(number):
    signal.signal(number, lambda *_: None)
    with pytest.raises(SystemExit) as error, interruption.held_back():
        send(number)
    assert error.value.code == 128 + number


def test_outside_of_the_main_thread_nothing_changes(number):
    before, seen = signal.getsignal(number), []

    def block():
        with interruption.held_back() as interrupted:
            seen.append((signal.getsignal(number), interrupted()))

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert seen == [(before, False)]


def test_sigterm_ends_a_process_as_it_does_elsewhere(pytestconfig):
    program = """
import os, signal
from components.trainer import interruption
with interruption.held_back():
    os.kill(os.getpid(), signal.SIGTERM)
    print("saved", flush=True)
print("not here")
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=pytestconfig.rootpath, capture_output=True, text=True
    )
    assert run.returncode == -signal.SIGTERM and run.stdout == "saved\n", run.stderr
