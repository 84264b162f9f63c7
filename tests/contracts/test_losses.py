"""Every built-in loss keeps every promise of `Loss`: derivatives, conjugate, domain, extremes.

A check takes a loss and a random generator and asserts; test_mutations.py runs the same checks on
losses with one formula off by 1 %, each of which must fail.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mean_tweedie_deviance

from gapless.evaluation import gradient_check
from gapless.losses import (
    Absolute,
    CrammerSinger,
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Perceptron,
    Poisson,
    Quantile,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tweedie,
    WestonWatkins,
    ZeroOne,
    by_name,
)

BUILT_IN = {
    "squared",
    "logistic",
    "softmax",
    "hinge",
    "squared_hinge",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "huber",
    "crammer_singer",
    "weston_watkins",
    "quantile",
    "poisson",
    "gamma",
    "exponential",
    "absolute",
    "perceptron",
    "tweedie",
    "zero_one",
}
# Every registered loss that can be minimised with its defaults, and some with other parameters.
LOSSES = [cls() for cls in Loss.registry.values() if cls.refusal is None]
LOSSES += [
    Logistic(base2=True),
    Huber(delta=0.3),
    CrammerSinger(margin=0.5),
    WestonWatkins(margin=2.0),
    Quantile(level=0.9),
    EpsilonInsensitive(epsilon=0.0),
    EpsilonInsensitive(epsilon=0.7),
    SquaredEpsilonInsensitive(epsilon=0.0),
    SquaredEpsilonInsensitive(epsilon=0.7),
    Tweedie(power=1.0),
    Tweedie(power=1.1),
    Tweedie(power=1.9),
    Tweedie(power=2.0),
]
EPS = np.finfo(float).eps
N, K = 30, 4

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
seeds = st.integers(0, 2**32 - 1)


def sample(loss, rng, n=N, spread=2.0):
    """Targets, and predictions on all sides of them."""
    z = spread * rng.normal(size=n)
    if loss.task == "regression":
        y = rng.normal(size=n)
        if loss.targets == "real":
            return y, y + z
        # A loss of positive numbers predicts their logarithm.
        is_zero = (loss.targets == "nonnegative") & (np.arange(n) % 7 == 3)
        return np.where(is_zero, 0.0, np.exp(y)), y + z
    if loss.task == "binary":
        return rng.choice([-1.0, 1.0], size=n), z
    return rng.integers(K, size=n), spread * rng.normal(size=(n, K))


def dot(u, z):
    """u·z of each target."""
    return u * z if u.ndim == 1 else np.einsum("nk,nk->n", u, z)


def dual_sample(loss, rng):
    """Targets and points of the domain of ℓ*: slopes, means of slopes, and ends of the domain."""
    y, z = sample(loss, rng)
    t = rng.random(N) if loss.task != "multiclass" else rng.random((N, 1))
    slopes = loss.gradient(y, z), loss.gradient(y, sample(loss, rng)[1] + z)
    u = t * slopes[0] + (1 - t) * slopes[1]
    if loss.task == "multiclass":
        u[:3] = 0
        u[0, y[0]], u[0, y[0] - 1] = -1.0, 1.0  # another class for certain
        return y, u
    lower, upper = (np.broadcast_to(end, y.shape) for end in loss.dual_domain(y))
    u[:5] = np.where(np.isfinite(lower), lower, u)[:5]
    u[5:10] = np.where(np.isfinite(upper), upper, u)[5:10]
    u[10] = 0.0
    return y, u


def supremum(loss, y, u, reach=1e3):
    """sup_z u·z − ℓ(y, z) over |z| ≤ reach, by thirds of a concave function; softmax by SciPy."""
    if loss.task == "multiclass":
        rows = zip(y[:, None], u)
        return np.array([_supremum_of_row(loss, label, row) for label, row in rows])
    low, high = np.full(y.shape, -reach), np.full(y.shape, reach)
    for _ in range(90):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        left = u * a - loss.value(y, a) < u * b - loss.value(y, b)
        low, high = np.where(left, a, low), np.where(left, high, b)
    z = 0.5 * (low + high)
    return u * z - loss.value(y, z)


def _supremum_of_row(loss, label, u):
    if not loss.has_curvature:
        # Reached at a corner, where scores differ by multiples of the margin.
        corners = loss.margin * np.indices([3] * len(u)).reshape(len(u), -1).T
        return np.max(corners @ u - loss.value(np.repeat(label, len(corners)), corners))

    def objective(z):
        return loss.value(label, z[None])[0] - u @ z

    return -scipy.optimize.minimize(objective, np.zeros(len(u)), options={"gtol": 1e-7}).fun


# ---- the checks ----------------------------------------------------------------------------------


def check_derivatives_agree_with_differences(loss, rng):
    y, z = sample(loss, rng)
    found = gradient_check(loss, at=z, y=y)
    assert found.is_right, found.verdict


def check_derivatives_equal_the_three(loss, rng):
    if not loss.has_curvature:
        return
    y, z = sample(loss, rng, spread=10.0)
    parts = loss.value(y, z), loss.gradient(y, z), loss.curvature(y, z)
    for joint, part in zip(loss.derivatives(y, z), parts, strict=True):
        np.testing.assert_allclose(joint, part, rtol=100 * EPS, atol=100 * EPS)


def check_hessian_is_positive_semidefinite(loss, rng):
    if not loss.has_curvature:
        return
    y, z = sample(loss, rng)
    v = rng.normal(size=z.shape)
    assert np.all(loss.curvature(y, z) >= 0)
    assert np.all(dot(v, loss.hessian_times(y, z, v)) >= -10 * EPS)


def check_hessian_factors_give_its_products(loss, rng):
    if not loss.has_curvature:
        return
    y, z = sample(loss, rng)
    v = rng.normal(size=z.shape)
    diagonal, f = loss.hessian_factors(y, z)
    product = diagonal * v if f is None else diagonal * v - (dot(f, v) * f.T).T
    np.testing.assert_allclose(product, loss.hessian_times(y, z, v), atol=100 * EPS)
    known = loss.hessian_factors(y, z, loss.gradient(y, z))
    np.testing.assert_allclose(known[0], diagonal, atol=10 * EPS)
    assert (known[1] is None) == (f is None)
    if f is not None:
        np.testing.assert_allclose(known[1], f, atol=10 * EPS)


def check_convexity(loss, rng):
    y, z = sample(loss, rng)
    other = sample(loss, rng)[1]
    middle, mean = loss.value(y, 0.5 * (z + other)), 0.5 * (loss.value(y, z) + loss.value(y, other))
    assert np.all(middle <= mean + 10 * EPS * (1 + np.abs(mean)))


def check_fenchel_young(loss, rng):
    """ℓ(z) + ℓ*(u) ≥ uz for all pairs, with equality at u = ℓ′(z)."""
    if not loss.has_conjugate:
        return
    y, z = sample(loss, rng)
    u = loss.gradient(y, z)
    scale = 1 + np.abs(loss.value(y, z)) + np.abs(dot(u, z))
    excess = loss.value(y, z) + loss.conjugate(y, u) - dot(u, z)
    np.testing.assert_array_less(np.abs(excess), 100 * EPS * scale)
    other = sample(loss, rng)[1] + z
    excess = loss.value(y, other) + loss.conjugate(y, u) - dot(u, other)
    scale = scale + np.abs(loss.value(y, other)) + np.abs(dot(u, other))
    assert np.all(excess >= -100 * EPS * scale)


def check_conjugate_is_the_supremum(loss, rng):
    if not loss.has_conjugate:
        return
    y, u = dual_sample(loss, rng)
    if loss.task == "multiclass":
        y, u = y[:5], u[:5]
    claimed, found = loss.conjugate(y, u), supremum(loss, y, u)
    assert np.all(np.isfinite(claimed))
    np.testing.assert_allclose(claimed, found, rtol=1e-7, atol=1e-7)


def check_conjugate_is_infinite_outside(loss, rng):
    if not loss.has_conjugate:
        return
    y, u = dual_sample(loss, rng)
    if loss.task == "multiclass":
        assert np.all(np.isinf(loss.conjugate(y, u + 1e-6)))  # does not sum to 1
        assert np.all(np.isinf(loss.conjugate(y, 3 * rng.normal(size=u.shape))))
        return
    for end, sign in zip(loss.dual_domain(y), (-1, 1), strict=True):
        outside = np.broadcast_to(end, y.shape) + sign * 1e-6
        finite = np.isfinite(outside)
        assert np.all(np.isinf(loss.conjugate(y[finite], outside[finite])))


def check_domain_is_the_range_of_slopes(loss, rng):
    if not loss.has_conjugate:
        return
    y, z = sample(loss, rng, spread=10.0)
    lower, upper = loss.dual_domain(y)
    u = loss.gradient(y, z)
    assert np.all(lower <= u)
    assert np.all(u <= upper)
    if loss.task == "multiclass":
        far = 1e8 * np.eye(K)[rng.integers(K, size=N)]
        reached = loss.gradient(y, far)
        # What grows with the number of classes is not known without it.
        assert reached.min() == pytest.approx(lower) or np.isneginf(lower)
        assert reached.max() == pytest.approx(upper)
        return
    for end, far in ((lower, -1e8), (upper, 1e8)):
        reached = loss.gradient(y, np.full(N, far))
        np.testing.assert_allclose(reached, np.clip(end, -np.abs(reached), np.abs(reached)))
        assert np.all(np.isfinite(end) | (np.abs(reached) > 1e6))


def check_smallest(loss, rng):
    y, z = sample(loss, rng)
    smallest = loss.smallest(y)
    assert np.shape(smallest) == y.shape
    assert np.all(loss.value(y, z) >= smallest - 10 * EPS)
    found = -supremum(loss, y[:5], np.zeros(z[:5].shape))
    np.testing.assert_allclose(smallest[:5], found, atol=1e-6)
    if loss.has_conjugate:
        np.testing.assert_array_equal(smallest, -loss.conjugate(y, np.zeros(z.shape)))


def check_inverse_link_minimises_the_expected_loss(loss, rng):
    """When y is distributed as the score predicts, no other score has a smaller expected loss."""
    if loss.task == "regression":
        far = 900.0 if loss.targets == "real" else 30.0
        z = np.array([-far, -30.0, 0.0, 2.0, far])
        y, step = loss.inverse_link(z), 1e-3 * (1 + np.abs(z))
        assert np.all(loss.gradient(y, z - step) <= 0)
        assert np.all(loss.gradient(y, z + step) >= 0)
    elif loss.has_probabilities:
        z = 3 * rng.normal(size=(N, K) if loss.task == "multiclass" else N)
        p = loss.inverse_link(z)
        labels = range(K) if loss.task == "multiclass" else (-1.0, 1.0)
        chances = p.T if loss.task == "multiclass" else (1 - p, p)
        expected = sum(
            (chance * loss.gradient(np.full(N, label), z).T).T
            for chance, label in zip(chances, labels, strict=True)
        )
        size = max(np.abs(loss.gradient(np.full(N, label), z)).max() for label in labels)
        assert np.all((p >= 0) & (p <= 1))
        np.testing.assert_allclose(expected, 0, atol=100 * EPS * max(size, 1.0))


def check_equal_scores_leave_no_slope(loss, rng):
    """The slopes of all classes, by their weights, add up to 0 at the best equal scores."""
    totals = rng.uniform(0.1, 10.0, size=2 if loss.task == "binary" else 4)
    scores = None if loss.task == "regression" else loss.equal_scores(totals)
    if scores is None:
        return
    classes = np.array([-1.0, 1.0]) if loss.task == "binary" else np.arange(4)
    slopes = loss.gradient(classes, np.zeros((len(classes), *np.shape(scores))) + scores)
    np.testing.assert_allclose(totals @ slopes, 0.0, atol=100 * EPS * totals.sum())


def check_an_offset_is_another_target_and_weight(loss, rng):
    """ℓ(y, z + offset) = c·ℓ(t, z): for every row and every z."""
    if not loss.takes_offset:
        return
    y, z = sample(loss, rng)
    offset = rng.normal(size=N)
    target, factor = loss.without_offset(y, offset)
    value = loss.value(y, z + offset)
    room = 100 * EPS * (1 + np.abs(value) + np.abs(factor * target * z))
    assert np.all(np.abs(factor * loss.value(target, z) - value) <= room)
    assert np.all((factor > 0) & np.isfinite(target))


def check_shapes_and_dtypes(loss, rng):
    """float32 in, float32 out, and as precise as that allows."""
    y, z = sample(loss, rng)
    y32 = y if loss.task == "multiclass" else y.astype(np.float32)
    y64, z32 = y32.astype(float), z.astype(np.float32)
    y64 = y if loss.task == "multiclass" else y64
    methods = [("value", y.shape), ("gradient", z.shape)]
    methods += [("curvature", z.shape)] if loss.has_curvature else []
    for name, shape in methods:
        single = getattr(loss, name)(y32, z32)
        double = getattr(loss, name)(y64, z32.astype(float))
        assert (single.shape, single.dtype) == (shape, np.float32)
        assert (double.shape, double.dtype) == (shape, np.float64)
        # Beside a kink, rounding may decide for the other side.
        near = np.isclose(single, double, rtol=1e-5, atol=1e-5)
        assert near.mean() > 0.9
    assert loss.inverse_link(z32).dtype == np.float32


def check_extremes(loss, rng):
    """Huge predictions overflow to ∞ where they must, and never become NaN."""
    for size in (1e-300, 1e30, 1e150, 1e300):
        y, z = sample(loss, rng)
        z = size * np.sign(z)
        ends = np.concatenate([np.ravel(end) for end in loss.dual_domain(y)])
        is_lipschitz = loss.has_conjugate and np.all(np.isfinite(ends))
        is_exponential = np.any(np.isinf(loss.value(y, 1e4 * np.sign(z))))
        is_small = size <= (1 if is_exponential else 1e150)
        over = "raise" if is_lipschitz or is_small else "ignore"
        with np.errstate(all="raise", under="ignore", over=over):
            value, gradient = loss.value(y, z), loss.gradient(y, z)
            parts = loss.derivatives(y, z) if loss.has_curvature else ()
            loss.inverse_link(z)
        for part in (value, gradient, *parts):
            assert not np.any(np.isnan(part))
        assert np.all(np.isfinite(value)) or over == "ignore"


def check_inputs_are_left_alone(loss, rng):
    y, z = sample(loss, rng)
    before = y.copy(), z.copy()
    u = loss.gradient(y, z)
    slopes = u.copy()
    if loss.has_curvature:
        loss.derivatives(y, z)
        loss.hessian_times(y, z, u)
    if loss.has_conjugate:
        loss.conjugate(y, u)
        loss.dual_domain(y)
    loss.value(y, z)
    loss.inverse_link(z)
    for now, then in zip((y, z, u), (*before, slopes), strict=True):
        np.testing.assert_array_equal(now, then)


def check_the_box_is_the_conjugate(loss, rng):
    """A loss may write ℓ* and its domain more shortly than by its box; they must be the same."""
    if not loss.has_dual_box:
        return
    y, z = sample(loss, rng)
    u = loss.gradient(y, z)
    np.testing.assert_allclose(
        loss.conjugate(y, u), Loss.conjugate(loss, y, u), rtol=1e-12, atol=1e-12
    )
    for short, of_box in zip(loss.dual_domain(y), Loss.dual_domain(loss, y)):
        np.testing.assert_array_equal(*np.broadcast_arrays(short, of_box, y)[:2])


CHECKS = [function for name, function in list(globals().items()) if name.startswith("check_")]


# ---- the tests -----------------------------------------------------------------------------------


@every_loss
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_loss_keeps_its_promises(loss, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for check in CHECKS:
            check(loss, np.random.default_rng(seed))


def test_all_losses_are_registered_by_their_names():
    assert set(Loss.registry) >= BUILT_IN
    for name, cls in Loss.registry.items():
        assert by_name(name) == cls()
        assert cls.__module__ == f"gapless.losses.{name}"


@pytest.mark.parametrize(
    ("loss", "y", "z", "value"),
    [
        (Squared(), 1.0, 4.0, 4.5),
        (Huber(delta=2.0), 1.0, 2.0, 0.5),
        (Huber(delta=2.0), 1.0, -4.0, 2 * (5 - 1)),
        (EpsilonInsensitive(epsilon=0.5), 1.0, 1.4, 0.0),
        (EpsilonInsensitive(epsilon=0.5), 1.0, 3.0, 1.5),
        (SquaredEpsilonInsensitive(epsilon=0.5), 1.0, 3.0, 2.25),
        (Hinge(), 1.0, -2.0, 3.0),
        (Hinge(), -1.0, -2.0, 0.0),
        (SquaredHinge(), -1.0, 0.5, 2.25),
        (Logistic(), -1.0, 0.0, np.log(2)),
        (Logistic(), -1.0, 2.0, np.log(1 + np.exp(2))),
        (Logistic(base2=True), 1.0, 2.0, np.log2(1 + np.exp(-2))),
        (CrammerSinger(), 2, [0.5, 2.0, 2.2], 0.8),
        (CrammerSinger(margin=0.1), 2, [0.5, 2.0, 2.2], 0.0),
        (WestonWatkins(), 0, [0.5, 2.0, 0.2], 2.5 + 0.7),
        (WestonWatkins(margin=2.0), 2, [0.5, 2.0, 2.2], 0.3 + 1.8),
        (Softmax(), 2, [0.0, 1.0, 3.0], np.log(1 + np.e + np.e**3) - 3),
        (Absolute(), 1.0, -2.5, 3.5),
        (Perceptron(), -1.0, 2.0, 2.0),
        (Perceptron(), 1.0, 2.0, 0.0),
        (ZeroOne(), 1.0, 2.0, 0.0),
        (ZeroOne(), -1.0, 2.0, 1.0),
        (ZeroOne(), 1.0, 0.0, 1.0),
    ],
    ids=repr,
)
def test_value_is_the_textbook_formula(loss, y, z, value):
    assert loss.value(np.array([y]), np.array([z]))[0] == pytest.approx(value, rel=1e-14)


def test_multi_output_regression_works_entry_by_entry():
    rng = np.random.default_rng(5)
    y, z = rng.normal(size=(2, 6, 3))
    for loss in (loss for loss in LOSSES if loss.task == "regression"):
        u = loss.gradient(y, z)
        for k in range(3):
            np.testing.assert_array_equal(loss.value(y, z)[:, k], loss.value(y[:, k], z[:, k]))
            np.testing.assert_array_equal(u[:, k], loss.gradient(y[:, k], z[:, k]))
            conjugate = loss.conjugate(y[:, k], u[:, k])
            np.testing.assert_array_equal(loss.conjugate(y, u)[:, k], conjugate)
        assert np.shape(loss.smallest(y)) == y.shape


def test_conjugate_survives_the_rounding_of_weights():
    """θ = s·u and back moves u by an ulp; the end of the domain must not become infeasible."""
    rng = np.random.default_rng(11)
    s = rng.gamma(1.0, size=2000)
    for loss in LOSSES:
        if loss.task == "multiclass":
            y = rng.integers(K, size=2000)
            u = loss.gradient(y, 50 * rng.normal(size=(2000, K)))
            assert np.all(np.isfinite(loss.conjugate(y, (s[:, None] * u) / s[:, None])))
            continue
        y = rng.choice([-1.0, 1.0], size=2000)
        y = y if loss.targets == "real" else np.exp(y)
        for end in loss.dual_domain(y):
            u = np.where(np.isfinite(end), end, 0.0)
            assert np.all(np.isfinite(loss.conjugate(y, (s * u) / s)))


@every_loss
def test_loss_is_a_value(loss):
    assert copy.deepcopy(loss) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert hash(loss) == hash(copy.copy(loss))
    with pytest.raises(AttributeError):
        loss.task_of_mine = 1


def test_scaled_logistic_is_one_at_zero_and_bounds_the_zero_one_loss():
    z = np.linspace(-5, 5, 101)
    loss = Logistic(base2=True)
    assert loss.value(np.ones(1), np.zeros(1))[0] == 1.0
    assert np.all(loss.value(np.ones(101), z) >= (z <= 0))


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 1.25, 1.5, 1.99, 2.0, 2.5, 3.0])
def test_tweedie_is_half_the_deviance_of_scikit_learn(power, rng):
    y, mean = np.exp(rng.normal(size=(2, 50)))
    y[:5] = 0.0 if power < 2 else y[:5]
    halves = Tweedie(power).value(y, np.log(mean))
    deviance = [mean_tweedie_deviance(y[[i]], mean[[i]], power=power) for i in range(50)]
    np.testing.assert_allclose(2 * halves, deviance, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("power", "same"), [(1.0, Poisson()), (2.0, Gamma())])
def test_tweedie_meets_poisson_and_gamma(power, same, rng):
    y, z = sample(same, rng)
    for found, wanted in zip(Tweedie(power).derivatives(y, z), same.derivatives(y, z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=100 * EPS, atol=100 * EPS)
    near = Tweedie(power + (1e-6 if power == 1 else -1e-6))
    np.testing.assert_allclose(near.value(y, z), same.value(y, z), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("power", [-1.0, 0.0, 3.0])
def test_outside_powers_one_to_two_tweedie_has_the_conjugate_of_its_convex_hull(power, rng):
    loss = Tweedie(power)
    y, z = sample(Gamma(), rng)
    assert not loss.is_convex
    assert gradient_check(loss, at=z, y=y).is_right
    # The supremum is on the convex side of the target, where slopes have one sign.
    side = -1 if power > 2 else 1
    u = loss.gradient(y, np.log(y) + side * np.abs(z))
    assert np.all(side * u >= 0)
    grid = np.log(y)[:, None] + np.linspace(-30, 30, 60001)
    best = np.max(u[:, None] * grid - loss.value(y[:, None], grid), axis=1)
    np.testing.assert_allclose(loss.conjugate(y, u), best, rtol=1e-4, atol=1e-5)
    assert np.all(np.isinf(loss.conjugate(y, np.full(N, -side * 1e-3))))


def test_the_zero_one_loss_says_what_to_use():
    assert "hinge" in ZeroOne.refusal and not ZeroOne().is_convex
    assert not ZeroOne.has_curvature and not ZeroOne.has_conjugate


def test_the_perceptron_loss_bounds_nothing_but_zero():
    y, z = np.array([1.0, -1.0]), np.zeros(2)
    np.testing.assert_array_equal(Perceptron().value(y, z), 0.0)
    assert "w = 0" in Perceptron.caution


def test_conjugate_of_logistic_is_exact_at_its_ends():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    u = np.array([0.0, -1.0, 0.0, 1.0])
    np.testing.assert_array_equal(Logistic().conjugate(y, u), 0.0)


def test_logistic_keeps_relative_precision_in_its_tail():
    """At margin 50 the loss is e⁻⁵⁰, not the rounding of 1."""
    value, gradient, curvature = Logistic().derivatives(np.ones(1), np.array([50.0]))
    tail = np.exp(-50.0)
    np.testing.assert_allclose([value[0], -gradient[0], curvature[0]], tail, rtol=1e-13)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > EPS / 100, reason="no type has more digits")
def test_derivatives_of_logistic_have_all_but_two_bits():
    z = np.concatenate([np.linspace(-40, 40, 4001), np.geomspace(1e-300, 700, 999)])
    y = np.where(np.arange(len(z)) % 3, 1.0, -1.0)
    e, m = np.exp(-np.abs(z.astype(np.longdouble))), y * z
    exact = (
        np.log1p(e) - np.minimum(m, 0),
        -y * np.where(m <= 0, 1, e) / (1 + e),
        e / (1 + e) ** 2,
    )
    for found, wanted in zip(Logistic().derivatives(y, z), exact, strict=True):
        np.testing.assert_allclose(found, wanted.astype(float), rtol=4 * EPS, atol=0)


@pytest.mark.parametrize("n", [2, 63, 64, 65, 200])
def test_rows_that_are_alike_have_the_same_derivatives_wherever_they_stand(n, rng):
    for y, z in zip([1.0, -1.0, 1.0], 5 * rng.normal(size=(3, 1))):
        alone = Logistic().derivatives(np.full(1, y), z)
        among = Logistic().derivatives(np.full(n, y), np.repeat(z, n))
        np.testing.assert_array_equal(among, np.repeat(alone, n, axis=1))


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"loss='log_loss' is not known; use one of .*logistic"):
        by_name("log_loss")
    with pytest.raises(TypeError, match=r"loss=Huber is a class; give an instance, Huber\(\)"):
        by_name(Huber)


def test_a_loss_must_say_its_task():
    for members in ({}, {"task": "classification"}):
        with pytest.raises(TypeError, match=r"Mine\.task must be one of regression, binary, mult"):
            type("Mine", (Loss,), members)


def test_a_users_loss_leaves_the_names_alone():
    class Cauchy(Loss):
        task = "regression"

    assert "cauchy" not in Loss.registry
    assert by_name(Cauchy()).name == "cauchy"
    assert not Cauchy.has_conjugate and not Cauchy.has_curvature
    with pytest.raises(TypeError, match=r"'huber'; call your class something else, e.g. MyHuber"):
        type("Huber", (Loss,), {"task": "regression"})
    assert by_name("huber") == Huber()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Huber(delta=0), "delta must be a finite number > 0, got 0"),
        (lambda: Huber(delta=np.nan), "delta must be a finite number > 0, got nan"),
        (lambda: EpsilonInsensitive(epsilon=-0.1), "epsilon must be a finite number ≥ 0, got -0.1"),
        (lambda: Tweedie(0.5), "power must be at least 1 or at most 0, got 0.5"),
        (lambda: SquaredEpsilonInsensitive("1"), "epsilon must be a finite number ≥ 0, got '1'"),
    ],
)
def test_bad_parameters_are_refused_when_built(build, message):
    with pytest.raises(ValueError, match=message):
        build()
