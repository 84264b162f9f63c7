"""Gradients and steps of dense layers in one call of the core, against the layers in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless._ground.threads import threads
from gapless.losses import Logistic, Softmax, Squared
from gapless.models.networks import dense_batches as module
from gapless.models.networks import training
from gapless.models.networks.composition import Composition
from gapless.models.networks.dense_batches import dense_batches
from gapless.models.networks.engines import BuiltIn
from gapless.models.networks.history import History
from gapless.models.networks.layers import Dense, Dropout, Identity, ReLU, Sigmoid, Tanh
from gapless.models.networks.objective import Rows
from gapless.models.networks.training import Descent, Pace, Plan, Progress
from gapless.solvers import Adam, AveragedMomentum, Momentum, Nesterov, Plain

ROWS, FEATURES, OUTPUTS = 43, 37, 3


def some_rows(loss, zeros=0.0, dtype=np.float64, rows=ROWS, features=FEATURES):
    random = np.random.default_rng(3)
    X = random.normal(size=(rows + 5, features)) * (random.random((rows + 5, features)) >= zeros)
    y = random.normal(size=(rows, OUTPUTS))
    if isinstance(loss, Softmax):
        y = random.integers(OUTPUTS, size=rows)
    elif isinstance(loss, Logistic):
        y = np.sign(y)
    positions = random.permutation(rows + 5)[:rows]
    weights = random.uniform(0.2, 2, rows)
    return Rows(X.astype(dtype), y, weights, (features,), positions)


def descended(rows, loss, rule, dtype, layers, count=1, batch_size=19, **options):
    """The weights after some steps, and the losses of the epochs."""
    composition = Composition(layers, rows.shape)
    start = composition.begin(np.random.RandomState(0), dtype)
    plan = Plan(rule, 0.3, batch_size, 2, **options)
    progress = Progress.begin(start, rule, Pace("constant", 0.01), History())
    with threads(count):
        descent = Descent(BuiltIn(composition), rows, loss, plan)
        descent.through(progress, np.random.RandomState(0))
    return progress.weights.theta, progress.history.loss


def both_ways(monkeypatch, *arguments, **options):
    rows, loss, _, dtype, layers = arguments
    assert dense_batches(BuiltIn(Composition(layers, rows.shape)), rows, loss, dtype) is not None
    ours = descended(*arguments, **options)
    monkeypatch.setattr(training, "dense_batches", lambda *_: None)
    return ours, descended(*arguments, **options)


def check_close(ours, layers, dtype):
    # Six steps of sums over up to 43 rows and 40 inputs, each rounded in its own order.
    few = 500 * np.finfo(dtype).eps
    np.testing.assert_allclose(ours[0], layers[0], rtol=few, atol=few)
    np.testing.assert_allclose(ours[1], layers[1], rtol=few)


@pytest.mark.parametrize("loss", [Softmax(), Squared(), Logistic()], ids=lambda x: x.name)
@pytest.mark.parametrize("bend", [Identity(), ReLU(), Tanh(), Sigmoid()], ids=repr)
@pytest.mark.parametrize("zeros", [0.0, 0.9])
def test_the_steps_are_those_of_the_layers(monkeypatch, loss, bend, zeros):
    for dtype, of_X in (
        (np.float32, np.float32),
        (np.float32, np.float64),
        (np.float64, np.float64),
    ):
        layers = (Dense(21), bend, Dense(5), bend, Dense(OUTPUTS))
        with monkeypatch.context() as patch:
            given = some_rows(loss, zeros, of_X), loss, Momentum(0.5), np.dtype(dtype), layers
            check_close(*both_ways(patch, *given), dtype)


@pytest.mark.parametrize(
    "rule",
    [
        Plain(),
        Momentum(0.9),
        AveragedMomentum(0.2),
        Nesterov(0.9),
        Nesterov(),
        Adam(),
        Adam(decay=0.1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("clip", [None, 0.5])
def test_every_rule_takes_the_same_steps(monkeypatch, rule, clip):
    # In float64: Adam divides by gradients that are next to 0, which rounding changes.
    layers = (Dense(18), Tanh(), Dense(OUTPUTS))
    given = some_rows(Softmax(), 0.8), Softmax(), rule, np.dtype(np.float64), layers
    ours, reference = both_ways(monkeypatch, *given, clip=clip)
    np.testing.assert_allclose(ours[0], reference[0], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("units", [16, 40, 250])
@pytest.mark.parametrize("features", [16, 47, 401])
def test_entries_of_narrow_and_wide_layers_are_those_of_the_rows(monkeypatch, units, features):
    # Few units are added up by rows, many by columns; whole stretches of columns, and a rest.
    rows = some_rows(Squared(), 0.8, features=features)
    given = rows, Squared(), Plain(), np.dtype(np.float64), (Dense(units), Tanh(), Dense(OUTPUTS))
    ours, reference = both_ways(monkeypatch, *given)
    np.testing.assert_allclose(ours[0], reference[0], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_that_are_not_usual_numbers_are_not_lost(dtype):
    # −0 counts as 0; the smallest numbers, and what is not finite, do not.
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 64)) * (random.random((30, 64)) < 0.1)
    X[3, 5], X[4, 20], X[5, 33] = -0.0, np.finfo(np.float32).tiny / 8, np.inf
    rows = Rows(X.astype(dtype), random.normal(size=(30, 1)), np.ones(30), (64,))
    composition = Composition((Dense(16), Dense(1)), rows.shape)
    theta = composition.begin(np.random.RandomState(0), np.float32).theta
    batches = dense_batches(BuiltIn(composition), rows, Squared(), np.dtype(np.float32))
    z = np.zeros((30, 1))
    batches.gradient(theta, np.arange(30), 0.0, z)
    W, b, V, c = composition.arrays(theta)
    with np.errstate(invalid="ignore"):
        expected = (rows.X.astype(np.float32) @ W + b) @ V + c
    finite = np.arange(30) != 5
    np.testing.assert_allclose(z[finite], expected[finite], rtol=1e-4, atol=1e-5)
    assert not np.isfinite(z[5, 0])


def test_columns_side_by_side_are_learned_as_rows_side_by_side(monkeypatch):
    # Data frames have columns side by side.
    rows = some_rows(Softmax(), dtype=np.float32)
    given = Softmax(), Adam(), np.dtype(np.float32), (Dense(8), ReLU(), Dense(OUTPUTS))
    expected = descended(rows, *given)
    taken = []
    monkeypatch.setattr(
        training, "dense_batches", lambda *x: taken.append(dense_batches(*x)) or taken[-1]
    )
    found = descended(replace(rows, X=np.asfortranarray(rows.X)), *given)
    assert taken[-1] is not None
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]


@pytest.mark.parametrize("zeros", [0.0, 0.9])
@pytest.mark.parametrize("units", [40, 250])
def test_the_bits_do_not_depend_on_the_threads(zeros, units):
    # Large enough for several pieces.
    rows = some_rows(Softmax(), zeros, np.float32, rows=600, features=800)
    layers = (Dense(units), ReLU(), Dense(OUTPUTS))
    composition = Composition(layers, rows.shape)
    theta = composition.begin(np.random.RandomState(0), np.float32).theta
    found = []
    for count in (1, 2, 3):
        batches = dense_batches(BuiltIn(composition), rows, Softmax(), np.dtype(np.float32))
        z = np.zeros((600, OUTPUTS))
        with threads(count):
            found.append((*batches.gradient(theta, np.arange(600), 0.1, z), z))
    for value, gradient, z in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])
        np.testing.assert_array_equal(z, found[0][2])


@pytest.mark.parametrize("zeros", [0.0, 0.9])
@pytest.mark.parametrize("rule", [Adam(), Nesterov(0.9)], ids=repr)
def test_the_bits_of_steps_depend_neither_on_threads_nor_on_calls(monkeypatch, zeros, rule):
    rows = some_rows(Softmax(), zeros, np.float32, rows=300, features=800)
    layers = (Dense(120), ReLU(), Dense(OUTPUTS))
    given = rows, Softmax(), rule, np.dtype(np.float32), layers
    checks = []
    monkeypatch.setattr(training, "check", lambda: checks.append(1))
    theta, losses = descended(*given, batch_size=128)
    # Two epochs of three steps, all of an epoch in one call; then at most two in one.
    assert len(checks) == 2
    parameters = theta.size
    for count in (1, 2, 3):
        found, again = descended(*given, count, batch_size=128)
        np.testing.assert_array_equal(found, theta)
        assert again == losses
    monkeypatch.setattr(module, "MOST_WORK", 3 * parameters * 128 * 2)
    checks.clear()
    found, again = descended(*given, batch_size=128)
    assert len(checks) == 4
    np.testing.assert_array_equal(found, theta)
    np.testing.assert_allclose(again, losses, rtol=1e-14)


def test_lbfgs_minimises_the_same_objective(monkeypatch):
    for loss in (Softmax(), Squared(), Logistic()):
        rows = some_rows(loss, 0.5)
        composition = Composition((Dense(18), Tanh(), Dense(OUTPUTS)), rows.shape)
        start = composition.begin(np.random.RandomState(0), np.float64)
        found = []
        for known in (dense_batches, lambda *_: None):
            monkeypatch.setattr(training, "dense_batches", known)
            history = History()
            training.minimise(
                BuiltIn(composition),
                start,
                rows,
                loss,
                0.3,
                tol=1e-6,
                max_iter=5,
                max_fun=100,
                callback=lambda *_: False,
                history=history,
                score=lambda *_: 0.0,
            )
            found.append(history.loss)
        assert len(found[0]) == 5
        np.testing.assert_allclose(*found, rtol=1e-9)


@pytest.mark.parametrize("zeros", [0.0, 0.9])
def test_long_batches_are_cut_where_they_can_be_interrupted(monkeypatch, zeros):
    rows = some_rows(Softmax(), zeros)
    composition = Composition((Dense(18), Tanh(), Dense(OUTPUTS)), rows.shape)
    theta = composition.begin(np.random.RandomState(0), np.float64).theta
    found, checks = [], []
    monkeypatch.setattr(module, "check", lambda: checks.append(1))
    for most_work in (module.MOST_WORK, 1):
        monkeypatch.setattr(module, "MOST_WORK", most_work)
        z = np.zeros((ROWS, OUTPUTS))
        batches = dense_batches(BuiltIn(composition), rows, Softmax(), np.dtype(np.float64))
        found.append((*batches.gradient(theta, np.arange(ROWS), 0.1, z), z))
    # 43 rows in pieces of at most 16.
    assert len(checks) == 3
    few = 10 * ROWS * np.finfo(float).eps
    for whole, cut in zip(*found, strict=True):
        np.testing.assert_allclose(cut, whole, rtol=few, atol=few)


def test_what_is_not_finite_stays_so():
    rows = some_rows(Softmax(), features=20)
    rows.X[rows.positions[4], 2] = np.nan
    composition = Composition((Dense(16), Tanh(), Dense(OUTPUTS)), rows.shape)
    batches = dense_batches(BuiltIn(composition), rows, Softmax(), np.dtype(np.float64))
    z = np.zeros((ROWS, OUTPUTS))
    theta = composition.begin(np.random.RandomState(0), np.float64).theta
    value, gradient = batches.gradient(theta, np.arange(ROWS), 0.0, z)
    assert np.isnan(value) and np.isnan(z[4]).all() and np.isnan(gradient).any()
    assert np.isfinite(np.delete(z, 4, axis=0)).all()


def test_other_networks_go_by_their_layers():
    rows = some_rows(Softmax())
    for layers in ((Dense(4), Dropout(0.5), Dense(OUTPUTS)), (ReLU(), Dense(OUTPUTS))):
        engine = BuiltIn(Composition(layers, rows.shape))
        assert dense_batches(engine, rows, Softmax(), np.dtype(np.float64)) is None
