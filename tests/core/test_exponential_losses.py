"""The losses of the core: exact to the last digits, also where their formulas cancel."""

from functools import partial

import numpy as np
import pytest

from gapless._ground import core
from gapless._ground.design import Design
from gapless._ground.threads import threads

EPS = np.finfo(float).eps


def rows(rng, n=500):
    """Targets from tiny to huge, and scores from beside their minimum to far away."""
    y = np.exp(rng.normal(0, 6, n))
    return y, np.log(y) + rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-7, 1.2, n)


def of_core(name, what):
    """A function of the core; a Tweedie loss is named by its power."""
    if isinstance(name, str):
        return getattr(core, f"{name}_{what}")
    return partial(getattr(core, f"tweedie_{what}"), name)


def derivatives(name, y, z):
    parts = np.empty((3, len(y)))
    of_core(name, "derivatives")(y, z, *parts)
    return parts


def conjugate(name, y, u):
    value = np.empty(len(y))
    of_core(name, "conjugate")(y, u, value)
    return value


@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_derivatives_have_all_digits_of_extended_precision(name, rng):
    y, z = rows(rng)
    value, gradient, curvature = derivatives(name, y, z)
    t = z.astype(np.longdouble) - np.log(y.astype(np.longdouble))
    t, unit = (t, y) if name == "poisson" else (-t, np.ones_like(y))
    # The series, because the formula cancels in extended precision too.
    exact = np.where(np.abs(t) < 0.1, t**2 * sum_of_series(t), np.exp(t) - 1 - t) * unit
    slope = unit * np.expm1(t) * (1 if name == "poisson" else -1)
    # Rounding of log y and z moves t by an ulp of the larger one.
    moved = EPS * (np.abs(z) + np.abs(np.log(y)) + 1)
    assert np.all(np.abs(value - exact) <= 4 * EPS * exact + 2 * moved * np.abs(slope))
    assert np.all(np.abs(gradient - slope) <= 4 * (EPS + moved) * unit * (1 + np.exp(t)))
    np.testing.assert_allclose(curvature, unit * np.exp(t), rtol=float(4 * np.max(moved)))


@pytest.mark.parametrize("power", [1.001, 1.5, 1.9, 1.9999])
def test_derivatives_of_amounts_have_all_digits_too(power, rng):
    y, z = rows(rng)
    value, gradient, curvature = derivatives(power, y, z)
    a, b = np.longdouble(2) - power, np.longdouble(power) - 1
    long_y = y.astype(np.longdouble)
    t, unit = z.astype(np.longdouble) - np.log(long_y), long_y**a

    def excess(x):
        return np.where(np.abs(x) < 0.1, x**2 * sum_of_series(x), np.exp(x) - 1 - x)

    exact = unit * (excess(a * t) / a + excess(-b * t) / b)
    rising, falling = unit * np.exp(a * t), unit * np.exp(-b * t)
    slope = unit * (np.expm1(a * t) - np.expm1(-b * t))
    moved = EPS * (np.abs(z) + np.abs(np.log(y)) + 1)
    room = 8 * (EPS + moved) * (rising + falling)
    assert np.all(np.abs(gradient - slope) <= room)
    assert np.all(np.abs(curvature - a * rising - b * falling) <= room)
    # y^a has the rounding of log y, too.
    assert np.all(np.abs(value - exact) <= 8 * moved * (exact + np.abs(slope)))


def sum_of_series(t):
    total, term = np.zeros_like(t), np.full_like(t, 0.5)
    for k in range(3, 20):
        total, term = total + term, term * t / k
    return total


@pytest.mark.parametrize("name", ["poisson", "gamma", 1.001, 1.5, 1.9])
def test_fenchel_holds_with_equality_at_the_gradient(name, rng):
    y, z = rows(rng)
    value, gradient, _ = derivatives(name, y, z)
    found = conjugate(name, y, gradient)
    size = np.abs(value) + np.abs(gradient) * (1 + np.abs(z) + np.abs(np.log(y))) + y + 1
    assert np.all(np.abs(found + value - gradient * z) <= 16 * EPS * size)


def test_limits_of_counts_and_amounts():
    zero, large = np.array([0.0]), np.array([1000.0])
    assert derivatives("poisson", zero, -large).tolist() == [[0.0], [0.0], [0.0]]
    assert derivatives("poisson", zero, large).tolist() == [[np.inf], [np.inf], [np.inf]]
    assert np.isnan(derivatives("poisson", zero, np.array([np.nan]))).all()
    assert conjugate("poisson", zero, zero).tolist() == [0.0]
    assert conjugate("poisson", large, -1.1 * large).tolist() == [np.inf]
    assert conjugate("gamma", large, np.array([1.1])).tolist() == [np.inf]
    for power in (1.1, 1.9):
        assert derivatives(power, zero, -1e5 * large).tolist() == [[0.0], [0.0], [0.0]]
        assert np.isinf(derivatives(power, zero, 1e5 * large)).all()
        assert np.isnan(derivatives(power, large, np.array([np.nan]))).all()
        assert conjugate(power, zero, zero) == pytest.approx(0.0, abs=1e-300)
        assert conjugate(power, zero, -large).tolist() == [np.inf]
    # The smallest number has a logarithm too.
    least = np.array([5e-324])
    assert derivatives("gamma", least, np.log(least))[0] == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("name", ["poisson", "gamma", "logistic", 1.3])
def test_a_row_has_the_same_bits_wherever_it_stands(name, rng):
    y, z = rows(rng, 131)
    y = np.sign(y - 1) if name == "logistic" else y
    once = derivatives(name, y, z)
    for first in (1, 63, 130):
        moved = np.roll(np.arange(131), first)
        np.testing.assert_array_equal(derivatives(name, y[moved], z[moved]), once[:, moved])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["logistic", "poisson", "gamma", 1.3])
@pytest.mark.parametrize("is_centred", [False, True])
def test_one_pass_over_rows_is_the_products_and_the_derivatives(rng, name, dtype, is_centred):
    n, d = 9001, 7
    X = rng.standard_normal((n, d)).astype(dtype)
    center = rng.standard_normal(d) if is_centred else None
    w, b, weights = rng.standard_normal(d), 0.3, np.maximum(rng.standard_normal(n), 0.0)
    y = np.sign(rng.standard_normal(n)) if name == "logistic" else np.exp(rng.normal(0, 1, n))
    loss = (
        getattr(core.SmoothLoss, name) if isinstance(name, str) else core.SmoothLoss.tweedie(name)
    )
    design = Design(X, center)
    scores = design.times(w)
    value, slope, curvature = derivatives(name, y, scores + b)
    for s in (None, weights):
        found, products = [], []
        for count in (1, 3):
            with threads(count):
                of_rows, product = design.loss_pass(loss, w, b, y, s)
            found.append(of_rows), products.append(product)
        assert np.array_equal(*found) and np.array_equal(*products)
        np.testing.assert_allclose(of_rows[0], scores, rtol=0, atol=64 * EPS)
        for part, expected in zip(of_rows[1:], (value, slope, curvature)):
            np.testing.assert_allclose(part, expected, rtol=1e-12, atol=1e-12)
        weighted = slope if s is None else s * slope
        expected = design.transposed_times(weighted)
        size = np.abs(weighted).sum() * (5 + np.abs(w).sum())
        np.testing.assert_allclose(product, expected, rtol=0, atol=n * EPS * size)


def test_a_row_of_weight_0_does_not_overflow_into_the_gradient():
    X, weights = np.ones((2, 1)), np.array([0.0, 1.0])
    of_rows, product = Design(X).loss_pass(
        core.SmoothLoss.gamma, np.zeros(1), -700.0, np.array([1e10, 1e-300]), weights
    )
    assert np.isinf(of_rows[1, 0])
    assert np.all(np.isfinite(product))


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5, np.nan])
def test_powers_of_other_losses_are_refused(power):
    with pytest.raises(ValueError, match="between 1 and 2"):
        core.SmoothLoss.tweedie(power)
    with pytest.raises(ValueError, match="between 1 and 2"):
        derivatives(power, np.ones(2), np.zeros(2))
