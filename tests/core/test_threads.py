"""How many threads there are, and that BLAS keeps to one while ours run."""

import os
import subprocess
import sys
import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from gapless._ground.interrupt import deadline, time_limit
from gapless._ground.threads import (
    LEAST_NUMBERS,
    map_in_threads,
    single_blas,
    thread_count,
    threads,
)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def count_with(**environment):
    clean = {k: v for k, v in os.environ.items() if not k.endswith("NUM_THREADS")}
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from gapless._ground.threads import thread_count; print(thread_count())",
        ],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_the_environment_sets_the_number_of_threads():
    assert count_with(GAPLESS_NUM_THREADS="3", OMP_NUM_THREADS="5").stdout == "3\n"
    assert count_with(OMP_NUM_THREADS="5,2").stdout == "5\n"
    assert int(count_with().stdout) >= 1
    wrong = count_with(GAPLESS_NUM_THREADS="many")
    assert "GAPLESS_NUM_THREADS='many' must be a whole number" in wrong.stderr


def test_threads_nest_and_belong_to_the_thread_that_sets_them():
    outside = thread_count()
    seen = []
    with threads(5):
        with threads(2):
            assert thread_count() == 2
        assert thread_count() == 5
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
    assert thread_count() == outside and seen == [outside]
    with pytest.raises(ValueError, match="at least 1"), threads(0):
        pass


@threadpool_limits.wrap(limits=2, user_api="blas")
def test_single_blas_nests_and_restores():
    before = blas_threads()
    with single_blas():
        with single_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), single_blas():
        raise KeyError
    assert blas_threads() == before


@threadpool_limits.wrap(limits=2, user_api="blas")
def test_single_blas_holds_until_the_last_thread_leaves():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def stay_inside():
        with single_blas():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=stay_inside)
    thread.start()
    entered.wait(10)
    with single_blas():
        pass
    assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("items", [0, 1, 2, 7, 100])
def test_results_of_threads_are_in_the_order_of_their_items(count, items):
    with threads(count):
        squares = map_in_threads(lambda k: k * k, range(items), 10 * LEAST_NUMBERS)
    assert squares == [k * k for k in range(items)]


def test_an_error_in_a_thread_is_raised():
    with threads(2), pytest.raises(ZeroDivisionError):
        map_in_threads(lambda k: 1 // (k - 5), range(9), 10 * LEAST_NUMBERS)


def test_little_work_is_done_in_the_thread_that_asks():
    with threads(4):
        assert set(map_in_threads(lambda _: threading.get_ident(), range(9), 100)) == {
            threading.get_ident()
        }


def test_threads_know_the_deadline_and_share_the_cores_of_their_caller():
    with threads(4), time_limit(3600):
        found = map_in_threads(lambda _: (deadline(), thread_count()), range(2), 10 * LEAST_NUMBERS)
        assert found == [(deadline(), 2)] * 2
