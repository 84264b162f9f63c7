"""The compiled coordinate descent on a quadratic: arrays in, arrays out."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.interrupt import TimeLimit

SHAPES = [(0, 0), (0, 2), (1, 1), (3, 0), (7, 4), (30, 5), (5, 12)]


class Quadratic:
    """slope·w + ½‖Xw + b‖²_H + bias_slope·b in dense double arrays, for `outputs` columns of w."""

    def __init__(self, X, rng, outputs=1, *, with_bias=True, with_factor=False, center=None):
        self.X, self.center = X, center
        n, self.d = X.shape
        self.diagonal = rng.uniform(0.2, 1.5, (n, outputs))
        self.factor = None
        if with_factor:
            # As for softmax: diag(p) − ppᵀ with p a distribution, times a weight.
            p = rng.dirichlet(np.ones(outputs), n).reshape(n, outputs)
            weight = rng.integers(0, 3, (n, 1)).astype(float)
            self.diagonal, self.factor = weight * p, np.sqrt(weight) * p
        gradient = rng.normal(size=(n, outputs))
        if with_factor:
            # Without curvature there must be no slope, or nothing is bounded.
            gradient = weight * (gradient - gradient.mean(axis=1, keepdims=True))
        self.dense = (X.toarray() if sp.issparse(X) else X).astype(float)
        self.dense = self.dense if center is None else self.dense - center
        self.slope = np.ascontiguousarray(self.dense.T @ gradient)
        self.bias_slope = gradient.sum(axis=0) if with_bias else None

    def descend(self, penalty, w=None, tolerance=0.0, sweeps=20_000, deadline=np.inf):
        """The minimiser from w (0 by default), and the step of the bias."""
        outputs = self.diagonal.shape[1]
        w = np.zeros((self.d, outputs)) if w is None else w.copy()
        bias_step, which = np.zeros(outputs), np.arange(self.d)
        core.column_descent(
            Design(self.X).columns_view(), which, self.center, self.diagonal, self.factor,
            self.slope, self.bias_slope, penalty, w, bias_step, tolerance, sweeps, deadline,
        )  # fmt: skip
        return w, bias_step

    def gradient(self, w, b):
        """The gradient of the quadratic in w and in b."""
        z = self.dense @ w + b
        slopes = self.diagonal * z
        if self.factor is not None:
            slopes -= self.factor * np.sum(self.factor * z, axis=1, keepdims=True)
        in_b = None if self.bias_slope is None else self.bias_slope + slopes.sum(axis=0)
        return self.slope + self.dense.T @ slopes, in_b

    def size(self):
        """A bound of the terms of a gradient, for tolerances."""
        return 1 + np.abs(self.slope).sum() + np.sum(self.dense**2) + len(self.dense)


def boxes(d, rng, l1=0.5, l2=0.1, lower=-np.inf, upper=np.inf):
    return tuple(
        np.broadcast_to(v * scale, d).copy()
        for v, scale in zip((l1, l2, lower, upper), (rng.uniform(0.5, 2, d), 1.0, 1.0, 1.0))
    )


def distance_of_boxes(w, g, penalty):
    """How far −g is from the subdifferential."""
    l1, l2, lower, upper = (a[:, None] for a in penalty)
    smallest = np.where(w <= lower, -np.inf, l2 * w + np.where(w > 0, l1, -l1))
    largest = np.where(w >= upper, np.inf, l2 * w + np.where(w >= 0, l1, -l1))
    return np.maximum(np.maximum(smallest + g, -g - largest), 0)


def distance_of_blocks(w, g, penalty):
    start, strength = penalty
    out = []
    for first, last, s in zip(start[:-1], start[1:], strength):
        norm = np.linalg.norm(w[first:last])
        if norm > 0:
            out.append(np.linalg.norm(g[first:last] + s * w[first:last] / norm))
        else:
            out.append(max(np.linalg.norm(g[first:last]) - s, 0.0))
    return np.array(out)


def stored(X, storage):
    if storage == "sparse":
        return sp.csc_matrix(X)
    return np.asarray(X, order="F" if storage == "columns" else "C")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("storage", ["rows", "columns", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
def test_coordinates_end_where_their_slope_puts_them(
    shape, storage, dtype, with_bias, outputs, rng
):
    X = (rng.normal(size=shape) * (rng.random(shape) < 0.7) + 0.3).astype(dtype)
    q = Quadratic(stored(X, storage), rng, outputs, with_bias=with_bias)
    for bounds in ({}, {"lower": 0.0}, {"lower": -0.1, "upper": 0.2}):
        penalty = boxes(shape[1], rng, **bounds)
        w, b = q.descend(penalty)
        g, in_b = q.gradient(w, b)
        rounding = 1e-12 * q.size()
        assert np.all(distance_of_boxes(w, g, penalty) <= rounding)
        if with_bias and shape[0]:
            assert np.all(np.abs(in_b) <= rounding)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_blocks_end_where_their_slope_puts_them(shape, outputs, width, rng):
    X = rng.normal(size=shape) + 0.3
    q = Quadratic(stored(X, "rows"), rng, outputs)
    start = np.append(np.arange(0, shape[1], width), shape[1]).astype(np.int64)
    start = start if shape[1] else np.zeros(1, dtype=np.int64)
    penalty = (start, rng.uniform(0.2, 1.0, len(start) - 1))
    w, b = q.descend(penalty, tolerance=1e-25)
    g, _ = q.gradient(w, b)
    assert np.all(distance_of_blocks(w, g, penalty) <= 1e-9 * q.size())


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("storage", ["rows", "sparse"])
@pytest.mark.parametrize("width", [1, 2])
def test_coupled_outputs_reach_the_optimum(with_bias, storage, width, rng):
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.7) + 0.3
    q = Quadratic(stored(X, storage), rng, 4, with_bias=with_bias, with_factor=True)
    penalty = boxes(6, rng)
    w, b = q.descend(penalty, tolerance=1e-25)
    g, in_b = q.gradient(w, b)
    assert np.all(distance_of_boxes(w, g, penalty) <= 1e-8 * q.size())
    blocks = (np.arange(0, 7, width), rng.uniform(0.5, 1.0, 6 // width))
    w, b = q.descend(blocks, tolerance=1e-25)
    g, in_b = q.gradient(w, b)
    assert np.all(distance_of_blocks(w, g, blocks) <= 1e-8 * q.size())
    if with_bias:
        np.testing.assert_allclose(in_b, 0.0, atol=1e-8 * q.size())


@pytest.mark.parametrize("storage", ["rows", "columns", "sparse"])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_centre_is_subtracted(storage, with_bias, rng):
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.7) + 2.0
    for outputs in (1, 3):
        q = Quadratic(stored(X, storage), rng, outputs, with_bias=with_bias, center=X.mean(axis=0))
        penalty = boxes(4, rng)
        w, b = q.descend(penalty)
        g, in_b = q.gradient(w, b)
        assert np.all(distance_of_boxes(w, g, penalty) <= 1e-12 * q.size())
        if with_bias:
            np.testing.assert_allclose(in_b, 0.0, atol=1e-12 * q.size())


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("kind", ["boxes", "blocks"])
def test_gram_matrix_and_columns_agree(outputs, kind, rng):
    X = rng.normal(size=(30, 7))
    q = Quadratic(X, rng, outputs, with_bias=False)
    q.diagonal[:] = q.diagonal[:, :1]
    penalty = boxes(7, rng)
    if kind == "blocks":
        penalty = (np.array([0, 2, 3, 7]), rng.uniform(0.5, 2.0, 3))
    by_columns, _ = q.descend(penalty, tolerance=1e-28)
    gram = X.T @ (q.diagonal[:, :1] * X)
    by_gram = np.zeros((7, outputs))
    core.gram_descent(gram, q.slope, penalty, by_gram, 1e-28, 20_000, np.inf)
    np.testing.assert_allclose(by_gram, by_columns, atol=1e-9)


def test_constant_columns_and_duplicates_are_no_trouble(rng):
    x = rng.normal(size=30)
    X = np.column_stack([np.full(30, 5.0), x, x, np.zeros(30)])
    q = Quadratic(X, rng)
    penalty = boxes(4, rng, l1=0.1, l2=0.0)
    w, b = q.descend(penalty, w=np.full((4, 1), 0.5), tolerance=1e-28)
    # The descent began at w = 0.5, which is where the slopes were taken.
    g, in_b = q.gradient(w - 0.5, b)
    assert w[0] == 0.0 and w[3] == 0.0
    assert np.all(distance_of_boxes(w, g, penalty)[1:3] <= 1e-10)
    assert abs(in_b[0]) <= 1e-10


def test_without_penalty_it_solves_the_normal_equations(rng):
    X = rng.normal(size=(40, 3)) + 1.0
    q = Quadratic(X, rng)
    w, b = q.descend(boxes(3, rng, l1=0.0, l2=0.0), tolerance=1e-30)
    A = np.column_stack([X, np.ones(40)])
    right = -np.append(q.slope[:, 0], q.bias_slope)
    expected = np.linalg.solve(A.T @ (q.diagonal * A), right)
    np.testing.assert_allclose(np.append(w[:, 0], b), expected, atol=1e-10)


def test_column_times_adds_the_chosen_columns(rng):
    X = rng.normal(size=(9, 5))
    which, step = np.array([3, 0]), rng.normal(size=(2, 2))
    for storage in ("rows", "columns", "sparse"):
        for dtype in (np.float32, np.float64):
            given = stored(X.astype(dtype), storage)
            out = np.ones((9, 2))
            core.column_times(Design(given).columns_view(), which, step, out, np.inf)
            np.testing.assert_allclose(out, 1 + X.astype(dtype)[:, which] @ step, rtol=1e-12)


def test_wrong_shapes_are_refused(rng):
    q = Quadratic(rng.normal(size=(6, 3)), rng)
    with pytest.raises(ValueError, match="one entry per feature"):
        q.descend(boxes(2, rng))
    with pytest.raises(ValueError, match="start must run from 0"):
        q.descend((np.array([0, 2]), np.ones(1)))
    with pytest.raises(ValueError, match="out of range"):
        core.column_times(q.X, np.array([3]), np.ones((1, 1)), np.zeros((6, 1)), np.inf)
    with pytest.raises(TypeError):
        core.column_times(q.X, np.array([0.0]), np.ones((1, 1)), np.zeros((6, 1)), np.inf)


def test_deadline_ends_it(rng):
    X = rng.normal(size=(2000, 300)) + 100.0
    q = Quadratic(X, rng, with_bias=False)
    with pytest.raises(TimeLimit):
        q.descend(boxes(300, rng, l1=1e-6), sweeps=10**9, deadline=time.monotonic() + 0.1)


@pytest.mark.parametrize("bounds", [{}, {"lower": 0.0}, {"lower": -2.0, "upper": 3.0}])
def test_a_gram_matrix_of_which_few_columns_stay_active_ends_there_too(bounds, rng):
    # Columns that are much alike take many sweeps, and most of them stay at 0.
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40)) + 0.1 * rng.normal(size=(60, 40))
    gram, slope = X.T @ X, -X.T @ (X @ rng.normal(size=(40, 1)))
    penalty = boxes(40, rng, l1=np.abs(slope).max() / 50, **bounds)
    w = np.zeros((40, 1))
    sweeps, converged = core.gram_descent(gram, slope, penalty, w, 0.0, 20_000, np.inf)
    assert converged
    assert sweeps > 4
    assert 0 < np.count_nonzero(w) <= 30
    distance = distance_of_boxes(w, slope + gram @ w, penalty)
    assert np.max(distance) <= 1e-12 * (1 + np.abs(slope).sum() + np.trace(gram))
