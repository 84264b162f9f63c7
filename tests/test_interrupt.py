"""Ctrl-C and time limits, around Python code and inside compiled calls."""

import math
import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from gapless._ground.design import Design
from gapless._ground.interrupt import TimeLimit, check, deadline, in_worker, time_limit
from gapless._ground.lapack import eigh, potrf, pstrf
from gapless._ground.threads import threads
from gapless.solvers.closed_form import _gesdd

PROMPT_SECONDS = 0.1


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """A shell starts what it runs in the background with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def dense_gram():
    design = Design(np.ones((3000, 4000), dtype=np.float32))
    return lambda: design.gram(np.ones(3000))


def wide_sparse_gram():
    design = Design(sp.csr_matrix(np.ones((1500, 1300))))
    design.columns_view(), design.rows_view()
    return design.gram


def narrow_sparse_gram():
    design = Design(sp.csr_matrix(np.ones((4000, 700))))
    design.columns_view(), design.rows_view()
    return design.gram


def worker():
    return lambda: in_worker(time.sleep, 10)


long_calls = pytest.mark.parametrize(
    "prepare", [dense_gram, wide_sparse_gram, narrow_sparse_gram, worker]
)


class Moment:
    """A moment in the future, at which `action` is called, and how late something comes after it.

    On a machine that is busy with other work only the time counts that this process was given.
    """

    def __init__(self, seconds, action=lambda: None):
        self.action = action
        self.timer = threading.Timer(seconds, self.arrive)

    def arrive(self):
        self.clock, self.work = time.monotonic(), time.process_time()
        self.action()

    def seconds_since(self, threads):
        clock, work = time.monotonic(), time.process_time()
        self.timer.join()
        return min(clock - self.clock, (work - self.work) / threads)


@long_calls
@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_returns_within_100_ms(prepare, count):
    call = prepare()
    for after in (0.02, 0.05):
        moment = Moment(after, lambda: os.kill(os.getpid(), signal.SIGINT))
        with threads(count), pytest.raises(KeyboardInterrupt):
            moment.timer.start()
            while True:  # on a fast machine the moment may come after a call
                call()
        assert moment.seconds_since(count) < PROMPT_SECONDS


@long_calls
@pytest.mark.parametrize("count", [1, 2])
def test_the_deadline_is_kept(prepare, count):
    call = prepare()
    for limit in (0.0, 0.04):
        moment = Moment(limit)
        with threads(count), time_limit(limit), pytest.raises(TimeLimit):
            moment.timer.start()
            while True:
                call()
        assert moment.seconds_since(count) < PROMPT_SECONDS


def test_a_call_works_again_after_it_was_stopped():
    design = Design(np.ones((3000, 4000), dtype=np.float32))
    with pytest.raises(TimeLimit), time_limit(0.01):
        design.gram()
    assert np.all(design.gram(columns=np.arange(5)) == 3000)
    assert np.all(design.times(np.ones(4000)) == 4000)


def test_limits_nest_and_the_earlier_deadline_holds():
    assert deadline() == math.inf
    with time_limit(None):
        assert deadline() == math.inf
        with time_limit(50):
            outer = deadline()
            assert 40 < outer - time.monotonic() <= 50
            with time_limit(100):
                assert deadline() == outer
            with time_limit(1):
                assert deadline() < outer
            assert deadline() == outer
    assert deadline() == math.inf


def test_check_raises_only_when_the_time_is_over():
    check()
    with time_limit(50):
        check()
        with time_limit(0), pytest.raises(TimeLimit, match="time limit"):
            check()
        check()


@pytest.mark.parametrize("seconds", [-1, math.nan])
def test_a_senseless_limit_is_refused(seconds):
    with pytest.raises(ValueError, match="at least 0 seconds"), time_limit(seconds):
        pass


def test_a_limit_is_not_seen_by_other_threads():
    seen = []
    with time_limit(5):
        other = threading.Thread(target=lambda: seen.append(deadline()))
        other.start()
        other.join()
    assert seen == [math.inf]


def test_a_worker_returns_raises_and_sees_the_limit():
    assert in_worker(divmod, 17, 5) == (3, 2)
    with pytest.raises(ZeroDivisionError):
        in_worker(divmod, 17, 0)
    with time_limit(50):
        assert in_worker(deadline) == deadline()


def test_a_worker_is_left_behind_at_the_deadline():
    enough, finished = threading.Event(), threading.Event()

    def slow():
        enough.wait(600)
        finished.set()

    with pytest.raises(TimeLimit), time_limit(0.05):
        in_worker(slow)
    assert not finished.is_set()
    enough.set()
    assert finished.wait(600)


def test_a_worker_is_not_started_when_the_time_is_over():
    with pytest.raises(TimeLimit), time_limit(0):
        in_worker(pytest.fail)


@pytest.mark.parametrize("function", [eigh, potrf, pstrf, _gesdd])
def test_lapack_lets_other_threads_work(function):
    """They see its thread at work; if the lock were held, only before and after its call."""
    H = np.random.default_rng(0).normal(size=(900, 900))
    H = H @ H.T
    seen, found = [], []
    done, leave = threading.Event(), threading.Event()

    def work():
        for _ in range(200):
            matrix = np.asfortranarray(H)
            began = time.thread_time()
            function(matrix)
            took = time.thread_time() - began
            found.extend(one for one in seen if 0.1 * took < one - began < 0.9 * took)
            if found:
                break
        done.set()
        leave.wait()

    busy = threading.Thread(target=work)
    busy.start()
    clock = time.pthread_getcpuclockid(busy.ident)
    while not done.is_set():
        seen.append(time.clock_gettime(clock))
        time.sleep(1e-4)
    leave.set()
    busy.join()
    assert found
