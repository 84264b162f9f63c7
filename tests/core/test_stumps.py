"""The best stump of coded columns, against all of them tried in turn."""

from itertools import combinations

import numpy as np
import pytest

from gapless._ground import core

FEW, MANY = 7, 1300  # codes: below the size of a histogram, and beyond two blocks of the search


def columns_of(codes, levels, is_category=False):
    columns = core.StumpColumns(len(codes[0]))
    for of_column, count in zip(codes, levels):
        columns.add(of_column, count, is_category)
    return columns


def best(columns, weights, y, classes, by_accuracy=False, threads=1):
    left = np.zeros(classes)
    found = columns.best(weights, y, by_accuracy, left, threads, np.inf)
    return found, left


def quality(weights, y, classes, goes_left, by_accuracy):
    total = 0.0
    for side in (goes_left, ~goes_left):
        of_class = np.bincount(y[side], weights[side], classes)
        if by_accuracy:
            total += of_class.max()
        elif of_class.sum() > 0:
            total -= of_class.sum() - np.sum(of_class**2) / of_class.sum()
    return total


@pytest.mark.parametrize("by_accuracy", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_no_other_stump_is_better(dtype, classes, by_accuracy):
    rng = np.random.default_rng(classes)
    n = 60
    codes = [rng.integers(0, count, n).astype(dtype) for count in (FEW, 2, 200)]
    y = rng.integers(0, classes, n).astype(np.int32)
    weights = rng.random(n) * 10.0 ** rng.integers(-9, 1, n)
    found, left = best(columns_of(codes, [FEW, 2, 200]), weights, y, classes, by_accuracy)
    column, code, above, value = found[:4]
    tried = {
        (j, int(c)): quality(weights, y, classes, of_column <= c, by_accuracy)
        for j, of_column in enumerate(codes)
        for c in np.unique(of_column)[:-1]
    }
    assert value == pytest.approx(max(tried.values()), rel=1e-9, abs=1e-12)
    assert tried[column, code] == pytest.approx(value, rel=1e-9, abs=1e-12)
    present = np.unique(codes[column])
    assert above == present[np.searchsorted(present, code) + 1]
    goes_left = codes[column] <= code
    np.testing.assert_allclose(left, np.bincount(y[goes_left], weights[goes_left], classes))


@pytest.mark.parametrize("by_accuracy", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_columns_in_order_agree_with_sums_of_each_code(classes, by_accuracy):
    rng = np.random.default_rng(5)
    n = 2600
    codes = rng.integers(0, MANY, n).astype(np.uint16)
    y = rng.integers(0, classes, n).astype(np.int32)
    weights = rng.exponential(size=n)
    found, _ = best(columns_of([codes], [MANY]), weights, y, classes, by_accuracy)
    _, code, _, value = found[:4]
    tried = [quality(weights, y, classes, codes <= c, by_accuracy) for c in np.unique(codes)[:-1]]
    assert value == pytest.approx(max(tried), rel=1e-12)
    assert code == np.unique(codes)[np.argmax(tried)]


@pytest.mark.parametrize("place", [0, 511, 512, 1299, 2598])
def test_a_perfect_split_is_found_wherever_it_is(place):
    n = 2600
    order = np.random.default_rng(place).permutation(n)
    codes = np.empty(n, dtype=np.uint32)
    codes[order] = np.arange(n)
    y = (codes > place).astype(np.int32)
    for by_accuracy in (False, True):
        found, _ = best(columns_of([codes], [n]), np.ones(n), y, 2, by_accuracy)
        assert found[1:3] == (place, place + 1)


@pytest.mark.parametrize("by_accuracy", [False, True])
@pytest.mark.parametrize("has_missing", [False, True])
def test_no_other_subset_of_levels_is_better(has_missing, by_accuracy):
    rng = np.random.default_rng(3)
    n, levels = 50, 6
    codes = rng.integers(0, levels + has_missing, n).astype(np.uint8)
    y = rng.integers(0, 2, n).astype(np.int32)
    weights = rng.random(n) * 10.0 ** rng.integers(-9, 1, n)
    found, left = best(columns_of([codes], [levels], True), weights, y, 2, by_accuracy)
    _, _, _, value, missing_left, on_left = found
    present = np.unique(codes)
    tried = [
        quality(weights, y, 2, np.isin(codes, chosen), by_accuracy)
        for size in range(1, len(present))
        for chosen in combinations(present, size)
    ]
    assert value == pytest.approx(max(tried), rel=1e-9, abs=1e-12)
    goes_left = np.isin(codes, on_left) | ((codes == levels) & missing_left)
    assert quality(weights, y, 2, goes_left, by_accuracy) == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(left, np.bincount(y[goes_left], weights[goes_left], 2))


@pytest.mark.parametrize("by_accuracy", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_missing_values_go_to_the_better_side(classes, by_accuracy):
    rng = np.random.default_rng(4)
    n, levels = 60, 9
    codes = rng.integers(0, levels + 1, n).astype(np.uint16)
    y = rng.integers(0, classes, n).astype(np.int32)
    weights = rng.exponential(size=n)
    found, left = best(columns_of([codes], [levels]), weights, y, classes, by_accuracy)
    _, code, above, value, missing_left, on_left = found
    is_missing = codes == levels
    tried = [quality(weights, y, classes, ~is_missing, by_accuracy)] + [
        quality(weights, y, classes, (codes <= c) & ~is_missing | (is_missing & side), by_accuracy)
        for c in np.unique(codes[~is_missing])[:-1]
        for side in (False, True)
    ]
    assert value == pytest.approx(max(tried), rel=1e-9)
    goes_left = np.where(is_missing, missing_left, codes <= code)
    assert quality(weights, y, classes, goes_left, by_accuracy) == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(left, np.bincount(y[goes_left], weights[goes_left], classes))
    assert on_left == [] and above > code


def test_all_values_against_the_missing_ones_is_a_split():
    codes = np.array([0, 1, 2, 2], dtype=np.uint8)
    y = np.array([0, 0, 1, 1], dtype=np.int32)
    found, left = best(columns_of([codes], [2]), np.ones(4), y, 2)
    assert found == (0, 1, -1, 0.0, False, [])
    assert left.tolist() == [2.0, 0.0]


def test_ties_go_to_the_first_column_and_the_lowest_code():
    codes = np.array([0, 1, 2, 3], dtype=np.uint8)
    y = np.array([0, 1, 1, 0], dtype=np.int32)
    found, _ = best(columns_of([codes, codes[::-1].copy()], [4, 4]), np.ones(4), y, 2)
    assert found[:3] == (0, 0, 1)


def test_codes_that_no_row_has_are_no_splits():
    codes = np.array([3, 3, 9, 9], dtype=np.uint8)
    y = np.array([0, 0, 1, 1], dtype=np.int32)
    found, left = best(columns_of([codes], [12]), np.ones(4), y, 2)
    assert found[:3] == (0, 3, 9)
    assert left.tolist() == [2.0, 0.0]


def test_equal_rows_have_no_split():
    codes = np.full(5, 2, dtype=np.uint8)
    found, _ = best(columns_of([codes], [3]), np.ones(5), np.zeros(5, dtype=np.int32), 2)
    assert found[0] == -1


def test_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    n, d = 9000, 8
    codes = [rng.permutation(n).astype(np.uint32) for _ in range(d)]
    y = rng.integers(0, 2, n).astype(np.int32)
    columns = columns_of(codes, [n] * d)
    weights = rng.random(n)
    found = [best(columns, weights, y, 2, threads=count) for count in (1, 3)]
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(
    "weights, y, left",
    [
        (np.ones(3), np.zeros(4, dtype=np.int32), np.zeros(2)),
        (np.ones(4), np.array([0, 1, 2, 0], dtype=np.int32), np.zeros(2)),
        (np.ones(4), np.array([0, -1, 0, 0], dtype=np.int32), np.zeros(2)),
    ],
)
def test_wrong_shapes_and_classes_are_refused(weights, y, left):
    columns = columns_of([np.arange(4, dtype=np.uint8)], [4])
    with pytest.raises(ValueError):
        columns.best(weights, y, False, left, 1, np.inf)
    with pytest.raises(ValueError, match="range"):
        columns.add(np.array([0, 1, 2, 5], dtype=np.uint8), 4, False)
