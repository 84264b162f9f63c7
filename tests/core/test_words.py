"""Counting words in the core: arrays in, arrays out, and errors for arrays that do not fit."""

import numpy as np
import pytest

from gapless._ground import core

LETTERS = np.array([[ord("a"), ord("z") + 1]], dtype=np.int32)
NOTHING = (np.empty(0, np.uint8), np.zeros(1, np.int64))


def joined(texts):
    start = np.cumsum([0, *(len(text.encode()) for text in texts)])
    return np.frombuffer("".join(texts).encode(), np.uint8), start


def counted(texts, sizes=(1, 1), stop_words=(), threads=1):
    counts = core.WordCounts(
        *joined(texts), LETTERS, *joined(stop_words), sizes, threads, float("inf")
    )
    start, index = np.empty(len(texts) + 1, np.int64), np.empty(counts.entries, np.int32)
    count, words = np.empty(counts.entries), np.empty(counts.letters, np.uint8)
    counts.write(start, index, count, words, threads, float("inf"))
    return start.tolist(), index.tolist(), count.tolist(), bytes(words).decode().split()


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["a", "b c 1"]])
def test_texts_without_words(texts):
    assert counted(texts) == ([0] * (len(texts) + 1), [], [], [])


@pytest.mark.parametrize("threads", [1, 4])
def test_words_are_in_order_and_rows_rise(threads):
    found = counted(["no yes no", "ab", "yes"], threads=threads)
    assert found == ([0, 2, 3, 4], [1, 2, 0, 2], [2.0, 1.0, 1.0, 1.0], ["ab", "no", "yes"])


def test_stop_words_are_gone_before_neighbours_are_joined():
    assert counted(["so it is so"], (2, 2), ["it"])[2] == [1.0, 1.0]


@pytest.mark.parametrize(
    "change, message",
    [
        ({0: np.zeros(3, np.uint8)}, "start must have one more entry"),
        ({1: np.array([0, 5, 2, 4])}, "start must not fall"),
        ({1: np.empty(0, np.int64)}, "start must have one more entry"),
        ({2: np.array([[0, 0x110001]], np.int32)}, "no such character"),
        ({2: np.zeros((1, 3), np.int32)}, "must be pairs"),
        ({5: (0, 1)}, "1 or more"),
        ({5: (3, 2)}, "1 or more"),
        ({6: 0}, "threads must be at least 1"),
    ],
)
def test_arguments_that_do_not_fit(change, message):
    arguments = [*joined(["ab", "cd"]), LETTERS, *NOTHING, (1, 1), 1, float("inf")]
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(ValueError, match=message):
        core.WordCounts(*arguments)


def test_results_must_have_their_sizes():
    counts = core.WordCounts(*joined(["ab cd"]), LETTERS, *NOTHING, (1, 1), 1, float("inf"))
    out = [np.empty(2, np.int64), np.empty(2, np.int32), np.empty(2), np.empty(6, np.uint8)]
    for k, wrong in enumerate([np.empty(1, np.int64), np.empty(1, np.int32), np.empty(1)]):
        with pytest.raises(ValueError, match="sizes of the counts"):
            counts.write(*out[:k], wrong, *out[k + 1 :], 1, float("inf"))
