"""What may take long is done by a thread, in order, and never more of it than may wait."""

from __future__ import annotations

import os
import threading

import pytest

from steadhold.telemetry.background import Background


def test_things_are_done_in_order_and_what_fails_stops_nothing():
    background, done = Background("test"), []
    for n in range(3):
        assert background.do(done.append, n)
        assert background.do(lambda: 1 / 0)
    assert background.flush(30)
    assert done == [0, 1, 2]


def test_whoever_hands_over_does_not_wait_and_what_is_too_much_is_dropped():
    background, free, done = Background("test", waiting_max=3), threading.Event(), []
    began = threading.Event()
    background.do(lambda: (began.set(), free.wait(30)))
    assert began.wait(30)
    taken = [background.do(done.append, n) for n in range(5)]
    assert taken == [True, True, True, False, False]
    assert (done, background.dropped) == ([], 2)
    free.set()
    assert background.flush(30)
    assert done == [0, 1, 2]


def test_a_flush_does_not_wait_for_ever():
    background, free = Background("test"), threading.Event()
    background.do(free.wait, 30)
    assert background.flush(0.01) is False
    free.set()
    assert background.flush(30)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_it_goes_on_in_the_child():
    background = Background("test")
    background.do(int)
    assert background.flush(30)
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        background.do(os.write, write, b"done")
        background.flush(30)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        assert told.read() == b"done"
    os.waitpid(pid, 0)
