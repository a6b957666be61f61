"""Signals: SIGTERM raises, handlers are put back, and an interrupt gets out of what hides it."""

import os
import signal
import sys
import threading

import pytest

from bench.launch.signals import (
    TOGETHER_S,
    Stopped,
    between_steps,
    handled,
    interrupts_get_out,
)
from tests.bench.forks import in_child


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def default_action():
    """SIGTERM ends the process, as at the start of a program."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("default_action")
class TestHandled:
    def test_raises_and_puts_the_default_action_back(self):
        with pytest.raises(Stopped), handled():
            terminate()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

    def test_a_handler_of_somebody_else_stays(self):
        came = []
        signal.signal(signal.SIGTERM, lambda *_: came.append(1))
        with handled():
            terminate()
        terminate()
        assert came == [1, 1]

    def test_a_thread_sets_no_handler(self):
        found = []

        def inside():
            with handled(), interrupts_get_out():
                found.append(signal.getsignal(signal.SIGTERM))

        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        assert found == [signal.SIG_DFL]

    def test_a_forked_child_just_ends(self):
        def ends():
            child = os.fork()
            if child == 0:
                try:
                    terminate()
                finally:
                    os._exit(1)  # not reached: the signal ends the child
            return os.waitpid(child, 0)[1]

        def parent():
            with handled():
                return ends()

        assert os.WTERMSIG(in_child(parent)) == signal.SIGTERM


@pytest.mark.usefixtures("default_action")
def test_work_in_steps_that_is_part_of_other_such_work_lets_that_decide():
    """A rank that stopped in an evaluation inside its training would leave the others waiting."""
    reached = []

    def training():
        with between_steps():
            terminate()
        reached.append("behind the inner work")

    def outer():
        with handled(), between_steps():
            training()

    with pytest.raises(Stopped):
        outer()
    assert reached == ["behind the inner work"]


def exit_instead(interrupt):
    """Do what Lightning's trainer does."""
    try:
        raise interrupt
    except KeyboardInterrupt:
        sys.exit(1)


def fail_after(interrupt):
    try:
        raise interrupt
    finally:
        raise RuntimeError("no group of processes")


class TestInterruptsGetOut:
    @pytest.mark.parametrize("kind", [KeyboardInterrupt, Stopped])
    def test_of_what_turns_them_into_an_exit(self, kind):
        with pytest.raises(kind), interrupts_get_out():
            exit_instead(kind())

    def test_of_a_clean_up_that_fails(self):
        with pytest.raises(Stopped), interrupts_get_out():
            fail_after(Stopped())

    def test_other_exceptions_stay(self):
        with pytest.raises(SystemExit, match="7"), interrupts_get_out():
            sys.exit(7)


def test_signals_that_come_together_are_one(monkeypatch):
    """A scheduler signals every process, and a parent passes its signal on; srun sends SIGUSR2 again seconds later."""
    now = [100.0]
    monkeypatch.setattr("bench.launch.signals.time.monotonic", lambda: now[0])

    def work():
        with between_steps():
            terminate()
            now[0] += TOGETHER_S
            terminate()
            now[0] += 10
            os.kill(os.getpid(), signal.SIGUSR2)
            with pytest.raises(Stopped):
                terminate()

    with handled(), pytest.raises(Stopped):
        work()
