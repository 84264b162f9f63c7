"""Labels of equal rows: the classes that NumPy finds, in an order that only content decides."""

import numpy as np
import pytest
import scipy.sparse as sp

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.threads import threads

FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csc": sp.csc_array,
}
every_form = pytest.mark.parametrize("form", FORMS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (60, 1), (500, 3), (5000, 2), (40, 300)]


def repeating(rng, n, d, dtype):
    """Rows of which some are equal, zeros of both signs among them."""
    X = rng.choice([-1.5, -0.0, 0.0, 0.1], size=(n, d)).astype(dtype)
    return X[rng.integers(0, max(n // 2, 1), n)] if n else X


@every_form
@every_dtype
@pytest.mark.parametrize("outputs", [(), (1,), (3,)])
def test_labels_are_the_classes_of_equal_rows(rng, form, dtype, outputs):
    for n, d in SHAPES:
        X, y = repeating(rng, n, d, dtype), rng.integers(0, 2, (n, *outputs)).astype(float)
        labels = Design(FORMS[form](X)).equal_rows(y)
        rows = np.hstack([X.astype(float), y if y.ndim == 2 else y[:, None]]) + 0.0  # no −0
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        assert sorted(set(labels)) == list(range(len(distinct)))
        assert len(set(zip(labels, np.ravel(inverse)))) == len(distinct)


@every_dtype
def test_form_and_threads_and_row_order_do_not_matter(rng, dtype):
    X, y = repeating(rng, 3000, 4, dtype), rng.integers(0, 2, 3000)
    labels = Design(X).equal_rows(y)
    for make in FORMS.values():
        for count in (1, 3):
            with threads(count):
                np.testing.assert_array_equal(Design(make(X)).equal_rows(y), labels)
    order = rng.permutation(3000)
    np.testing.assert_array_equal(Design(X[order]).equal_rows(y[order]), labels[order])


def test_a_zero_that_a_sparse_matrix_stores_is_a_zero(rng):
    X = sp.csr_matrix(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 0.0]]))
    X.data[1] = 0.0
    labels = Design(X).equal_rows(np.zeros(3))
    assert labels[0] == labels[2] != labels[1]


def test_rows_that_differ_in_the_last_bit_differ(rng):
    X = rng.normal(size=(50, 20))
    X[25:] = X[:25]
    X[25:, 7] = np.nextafter(X[25:, 7], np.inf)
    assert len(set(Design(X).equal_rows(np.zeros(50)))) == 50


def test_the_same_numbers_in_other_columns_are_another_row():
    X = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [3.0, 2.0, 1.0]])
    assert len(set(Design(X).equal_rows(np.ones(3)))) == 3
    assert len(set(Design(X[:1].repeat(3, 0)).equal_rows(np.arange(3)))) == 3


def test_wrong_shapes_are_refused():
    X, y, labels = np.ones((3, 2)), np.ones((3, 1)), np.empty(3, dtype=np.int64)
    limits = (1, np.inf)
    with pytest.raises(ValueError, match="labels must have one entry per row of y"):
        core.equal_rows(X, 2, y, labels[:2].copy(), *limits)
    with pytest.raises(ValueError, match="X must have a row per row of y and the given features"):
        core.equal_rows(X, 3, y, labels, *limits)
    start, index = np.zeros(3, np.int64), np.zeros(0, np.int32)
    with pytest.raises(ValueError, match="X must have a row per row of y"):
        core.equal_rows((start, index, np.zeros(0)), 2, y, labels, *limits)


def test_labels_of_x_alone(rng):
    X = rng.integers(0, 3, (40, 2)).astype(float)
    labels = Design(X).equal_x
    assert len(set(zip(labels, np.unique(X, axis=0, return_inverse=True)[1].ravel()))) == len(
        set(labels)
    )
    np.testing.assert_array_equal(labels, Design(X).equal_rows(np.zeros(40)))
