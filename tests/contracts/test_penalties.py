"""Every built-in penalty keeps every promise of `Penalty`: prox, conjugate, subdifferential.

A check takes a penalty, a shape of w and a random generator and asserts; test_mutations.py runs the
same checks on penalties with one formula off by 1 %, each of which must fail.
"""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.penalties import (
    L0,
    L1,
    L2,
    MCP,
    SCAD,
    Box,
    Bridge,
    ElasticNet,
    Folded,
    Group,
    L2Norm,
    NoPenalty,
    Penalty,
    PNorm,
    by_name,
)

BUILT_IN = {"none", "l1", "l2", "elastic_net", "box", "group", "l2_norm", "p_norm"}
NOT_CONVEX = {"l0", "bridge", "mcp", "scad"}
D, K = 5, 3
SOME_ZERO = [0.0, 1.0, 2.0, 0.5, 1.0]
INF = np.inf
# Every registered penalty with its defaults, and the corners of its parameters, for D features.
PENALTIES = [cls() for cls in Penalty.registry.values()]
PENALTIES += [
    L1(0.0),
    L1(0.7, weights=SOME_ZERO),
    L2(0.0),
    L2(0.7, weights=SOME_ZERO),
    ElasticNet(0.0),
    ElasticNet(0.6, l1_ratio=0.0),
    ElasticNet(0.6, l1_ratio=1.0),
    ElasticNet(0.6, l1_ratio=0.3, weights=SOME_ZERO),
    Box(lower=0),
    Box(upper=0, penalty=L1(0.4)),
    Box(lower=-1, upper=0.5),
    Box(lower=[0, -INF, -1, 0.5, -0.2], upper=[INF, 0, 1, 2, -0.2]),
    Box(lower=[0, -INF, -1, 0.5, -2], upper=[INF, 0, 1, 2, -1], penalty=L1(0.3, weights=SOME_ZERO)),
    Box(lower=0.5, upper=2, penalty=L2(1.5)),
    Box(lower=0.5, penalty=ElasticNet(0.6, l1_ratio=0.3)),
    Box(lower=-0.3, upper=0.3, penalty=L2(0.7, weights=SOME_ZERO)),
    Group(0.0),
    Group(0.5, weights=SOME_ZERO),
    Group(0.5, groups=[2, 2, 7, 2, 7]),
    Group(0.5, groups=["b", "a", "b", "c", "a"], weights=[1.5, 0.0, 1.0]),
    L2Norm(0.0),
    PNorm(0.6, p=1),
    PNorm(0.6, p=1.05),
    PNorm(0.6, p=1.3),
    PNorm(0.6, p=2),
    PNorm(0.6, p=3),
    PNorm(0.6, p=6),
    PNorm(0.6, p=20),
    PNorm(0.6, p=INF),
    MCP(0.6, width=0.2),
    MCP(0.6, width=2.0, weights=SOME_ZERO),
    SCAD(0.6, knee=0.2, width=1.5),
    SCAD(0.6, knee=0.5, width=2.0, weights=SOME_ZERO),
    Bridge(0.6, power=0.6),
    Bridge(0.6, power=0.9),
    Bridge(0.6, power=0.1, weights=SOME_ZERO),
    L0(0.0),
    L0(0.6, weights=SOME_ZERO),
    L0(0.2, most=2),
    L0(0.0, most=2, weights=SOME_ZERO),
]
EPS = np.finfo(float).eps
GRID = (np.arange(2000) + 0.5) / 2000

every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
every_shape = pytest.mark.parametrize("shape", [(D,), (D, K)], ids=str)
seeds = st.integers(0, 2**32 - 1)


def points(penalty, shape, rng):
    """Coefficients inside the constraints, some at kinks and bounds, with a subgradient at each."""
    x = 1.5 * rng.normal(size=shape)
    step = rng.uniform(0.3, 3.0)
    w = penalty.prox(x, step)
    return w, (x - w) / step


def without_free(penalty, v):
    """v with zeros for the free features: orthogonality to their columns is Problem's care."""
    v = v.copy()
    v[penalty.free(len(v))] = 0
    return v


def supremum(penalty, v, t):
    """max_w ⟨v, w⟩ − R(w) − ‖w‖²/2t, which prox finds, without its last term: R*(v) as t grows."""
    w = penalty.prox(t * v, t)
    return np.sum(v * w) - penalty.value(w)


def has_conjugate(penalty):
    return type(penalty).conjugate is not Penalty.conjugate


def _with(w, j, x):
    w = w.copy()
    w[j] = x
    return w


# ---- the checks ----------------------------------------------------------------------------------


def check_prox_minimises_its_definition(penalty, shape, rng):
    """½‖v − x‖² + step·R(v) is strongly convex: ½‖v − p‖² or more above its minimum at p.

    If R is not convex, it is at least nowhere below.
    """
    x, step = 1.5 * rng.normal(size=shape), rng.uniform(0.3, 3.0)
    p = penalty.prox(x, step)

    def objective(v):
        return 0.5 * np.sum((v - x) ** 2) + step * penalty.value(v)

    others = [p + size * rng.normal(size=shape) for size in (1e-4, 1e-2, 1.0)]
    others += [np.zeros(shape), x, penalty.prox(x, 2 * step), 0.999 * p, 1.001 * p]
    for j in np.ndindex(shape):
        others += [_with(p, j, p[j] + move) for move in (-1e-3, 1e-3)]
    assert np.isfinite(objective(p))
    rounding = 100 * EPS * (1 + objective(p))
    for v in others:
        above = 0.5 * np.sum((v - p) ** 2) if penalty.is_convex else 0.0
        assert objective(v) >= objective(p) + above - rounding


def check_prox_against_a_grid(penalty, shape, rng):
    """One coefficient at a time, over all values: a local minimum would not do."""
    if len(shape) > 1 or penalty.is_convex:
        return
    x, step = 1.5 * rng.normal(size=shape), rng.uniform(0.3, 3.0)
    p = penalty.prox(x, step)

    def objective(v):
        return 0.5 * np.sum((v - x) ** 2) + step * penalty.value(v)

    for j in range(D):
        grid = [objective(_with(p, j, v)) for v in np.linspace(-4, 4, 41)]
        assert objective(p) <= min(grid) + 100 * EPS * (1 + objective(p))


def check_prox_against_scipy(penalty, shape, rng):
    if len(shape) > 1:
        return
    x = 1.5 * rng.normal(size=shape)
    p = penalty.prox(x, 0.8)

    def objective(v):
        return 0.5 * np.sum((v - x) ** 2) + 0.8 * penalty.value(v)

    start = penalty.prox(np.zeros(shape), 1.0)
    options = {"maxfev": 400, "xatol": 1e-6, "fatol": 1e-9}
    found = scipy.optimize.minimize(objective, start, method="Nelder-Mead", options=options)
    assert objective(p) <= found.fun + 100 * EPS * (1 + found.fun)


def check_convexity(penalty, shape, rng):
    if not penalty.is_convex:
        return
    w, other = points(penalty, shape, rng)[0], points(penalty, shape, rng)[0]
    mean = 0.5 * (penalty.value(w) + penalty.value(other))
    assert penalty.value(0.5 * (w + other)) <= mean + 100 * EPS * (1 + mean)


def check_fenchel_young(penalty, shape, rng):
    """R(w) + R*(v) ≥ ⟨v, w⟩ for all pairs, with equality at v in ∂R(w)."""
    if not has_conjugate(penalty):
        return
    w, v = points(penalty, shape, rng)
    v = (1 - 1e-10) * v  # at the very end of the domain, rounding may leave it
    excess = penalty.value(w) + penalty.conjugate(v) - np.sum(v * w)
    assert abs(excess) <= 1e-8 * (1 + np.sum(np.abs(v * w)))
    for other in (points(penalty, shape, rng)[0], 1e-3 * w, 10 * w):
        excess = penalty.value(other) + penalty.conjugate(v) - np.sum(v * other)
        assert excess >= -100 * EPS * (1 + np.sum(np.abs(v * other)))


def check_conjugate_is_the_supremum(penalty, shape, rng):
    if not has_conjugate(penalty):
        return
    v = without_free(penalty, rng.normal(size=shape) * rng.choice([0.1, 1.0]))
    claimed = penalty.conjugate(v)
    if np.isfinite(claimed):
        assert supremum(penalty, v, t=1e9) == pytest.approx(claimed, rel=1e-6, abs=1e-6)
    else:
        assert supremum(penalty, v, t=1e18) > 1e6


def check_feasible_scales_are_feasible_and_not_too_small(penalty, shape, rng):
    if not has_conjugate(penalty):
        return
    v = without_free(penalty, rng.normal(size=shape) * rng.choice([0.1, 1.0, 10.0]))
    scales = penalty.feasible_scales(v)
    assert scales
    for c in scales:
        assert 0 <= c <= 1
        assert np.isfinite(penalty.conjugate(c * v))
    largest = max(scales)
    assert largest == 1 or np.isinf(penalty.conjugate((1 + 1e-10) * largest * v + 1e-300 * v))
    assert (largest == 1) == np.isfinite(penalty.conjugate(v))
    if len(scales) > 1 and penalty.value(np.zeros(shape)) == 0:
        smallest = min(scales)  # the largest at which R* is 0
        assert penalty.conjugate(smallest * v) == 0 < penalty.conjugate(1.001 * smallest * v)


def check_subdifferential_distance_is_the_rate_of_prox(penalty, shape, rng):
    """(w − prox(w − tg, t))/t tends to the shortest vector of g + ∂R(w) as t falls to 0.

    Also of the limiting subdifferential, since prox finds the minimum near w for small t; but not
    for a limited number of coefficients, which may be exchanged.
    """
    if penalty.subset(D) is not None:
        return
    w, g = points(penalty, shape, rng)[0], rng.normal(size=shape)

    def rate(t):
        return (w - penalty.prox(w - t * g, t)) / t

    # Extrapolated: the error falls like t², also where a small norm bends much.
    shorter, longer = rate(0.5e-7), rate(1e-7)
    shortest, distance = 2 * shorter - longer, penalty.subdifferential_distance(w, g)
    assert distance.shape == shape
    near = np.ones(shape, dtype=bool)
    if isinstance(penalty, PNorm | Bridge):
        # Powers bend without bound next to 0: where w changes by more than a little, t is too long.
        near = 1e-7 * np.abs(longer) <= 1e-4 * np.abs(w)
        near |= (w == 0) & penalty.is_convex
    np.testing.assert_allclose(distance[near], np.abs(shortest[near]), rtol=1e-5, atol=1e-5)


def check_subdifferential_distance_is_zero_at_fixed_points_of_prox(penalty, shape, rng):
    w, v = points(penalty, shape, rng)
    assert np.all(penalty.subdifferential_distance(w, -v) <= 100 * EPS * (1 + np.abs(v)))


def check_value_is_that_of_its_compiled_form(penalty, shape, rng):
    """`coordinates` and `blocks` give the core the same function."""
    w = points(penalty, shape, rng)[0]
    coordinates, blocks, concave = (
        form(D) for form in (penalty.coordinates, penalty.blocks, penalty.concave)
    )
    if concave is not None:
        t, strength = np.abs(w), concave.strength.reshape(-1, *[1] * (w.ndim - 1))
        if isinstance(concave, Folded):
            knee, width = (a.reshape(strength.shape) for a in concave[1:])
            slopes = [np.clip((width - x * t) / (width - knee), 0, 1) for x in GRID]
            each = t * np.mean(slopes, axis=0)  # the integral of the slope
        else:
            each = np.where(t > 0, np.where(t > 0, t, 1.0) ** concave.power, 0.0)
        assert penalty.value(w) == pytest.approx(np.sum(strength * each), rel=1e-4)
    if coordinates is not None:
        l1, l2, lower, upper = coordinates.like(w)
        assert all(a.shape == (D,) and a.dtype == float for a in vars(coordinates).values())
        assert np.all((lower <= w) & (w <= upper))
        expected = np.sum(l1 * np.abs(w) + l2 * w**2 / 2)
        assert penalty.value(w) == pytest.approx(expected, rel=1e-12)
        outside = np.where(np.isfinite(upper), upper + 1, w)
        assert np.isinf(penalty.value(outside)) == np.any(np.isfinite(upper))
        assert np.all(np.isinf(penalty.subdifferential_distance(outside, w)) == (outside > upper))
    if blocks is not None:
        assert sorted(set(blocks.index)) == list(range(len(blocks.strength)))
        norms = [np.sqrt(np.sum(w[blocks.index == g] ** 2)) for g in range(len(blocks.strength))]
        assert penalty.value(w) == pytest.approx(blocks.strength @ np.array(norms), rel=1e-12)


def check_a_count_is_its_price_up_to_the_limit_and_holds_every_zero(penalty, shape, rng):
    if penalty.subset(D) is None:
        return
    w, g = points(penalty, shape, rng)[0], rng.normal(size=shape)
    prices, most = penalty.subset(D)
    price = prices.reshape(-1, *[1] * (len(shape) - 1))
    assert penalty.value(w) == pytest.approx(np.sum(price * (w != 0)), rel=1e-14)
    priced = np.zeros(shape, dtype=bool)
    priced[~penalty.free(D)] = True
    assert most == D or np.count_nonzero(w[priced]) <= most
    expected = np.where((w == 0) & priced, 0.0, np.abs(g))
    np.testing.assert_allclose(penalty.subdifferential_distance(w, g), expected, rtol=1e-12)


def check_free_features_cost_nothing_and_the_others_something(penalty, shape, rng):
    free = penalty.free(D)
    assert free.shape == (D,) and free.dtype == bool
    x = 1.5 * rng.normal(size=shape)
    np.testing.assert_array_equal(penalty.prox(x, 0.7)[free], x[free])
    w = points(penalty, shape, rng)[0]
    moved = w.copy()
    moved[free] = 1e3
    assert penalty.value(moved) == pytest.approx(penalty.value(w), rel=1e-12, abs=1e-12)
    if penalty.subset(D) is not None and penalty.subset(D)[1] < D:
        return  # a limit costs nothing until it is reached
    w[~free] = 0.0 if not penalty.is_convex else w[~free]  # what is concave may be flat elsewhere
    for j in np.flatnonzero(~free):
        far = [penalty.value(_with(w, j, sign * 1e9)) for sign in (-1, 1)]
        assert max(far) > penalty.value(w)


def check_hessian_is_the_curvature_of_what_moves_freely(penalty, shape, rng):
    """R(w + hv) − 2R(w) + R(w − hv) is h²vᵀHv for v among the active coefficients."""
    if not penalty.has_curvature:
        return
    w = points(penalty, shape, rng)[0]
    active, H = penalty.active(w), penalty.hessian(w)
    H = np.diag(H) if H.ndim == 1 else H
    assert active.shape == shape and active.dtype == bool
    assert H.shape == (active.sum(), active.sum())
    # Only what has room moves: next to its kink, a coefficient bends too much for differences.
    moving = active & ((w == 0) | (np.abs(w) >= 0.01))
    room = np.min(np.abs(w), initial=1.0, where=moving & (w != 0))
    if penalty.coordinates(D) is not None:
        _, _, lower, upper = penalty.coordinates(D).like(w)
        room = np.min(np.minimum(w - lower, upper - w), initial=room, where=moving)
    if not moving.any() or room < 0.01:
        return
    v = np.zeros(shape)
    v[moving] = rng.normal(size=moving.sum())
    # The quotient is off by the part (p − 2)(p − 3)/12 of (h/room)² for a power p.
    h = 0.003 * room / np.max(np.abs(v))
    before, at, after = (penalty.value(w + t * v) for t in (-h, 0, h))
    rounding = 100 * EPS * (1 + at) / h**2
    curvature = (after - 2 * at + before) / h**2
    assert curvature == pytest.approx(v[active] @ H @ v[active], rel=1e-3, abs=rounding)
    np.testing.assert_allclose(penalty.hessian_times(w, v)[active], H @ v[active], atol=1e-12)
    slope = np.sum(penalty.gradient(w) * v)
    assert (after - before) / (2 * h) == pytest.approx(
        slope, rel=1e-3, abs=1e-3 * abs(slope) + rounding
    )
    assert not np.any(penalty.gradient(w)[~active])
    assert not np.any(penalty.hessian_times(w, rng.normal(size=shape))[~active])


def check_what_is_not_active_is_at_a_kink_or_a_bound(penalty, shape, rng):
    if not penalty.has_curvature:
        return
    w = points(penalty, shape, rng)[0]
    for j in zip(*np.nonzero(~penalty.active(w))):
        around = [penalty.value(_with(w, j, w[j] + h)) for h in (-1e-6, 0, 1e-6)]
        assert not np.all(np.isfinite(around)) or np.diff(around, 2)[0] > 1e-7


def check_inputs_are_left_alone(penalty, shape, rng):
    w, v = points(penalty, shape, rng)
    before = w.copy(), v.copy()
    penalty.value(w), penalty.prox(w, 0.5), penalty.subdifferential_distance(w, v)
    if has_conjugate(penalty):
        penalty.conjugate(v), penalty.feasible_scales(v)
    if penalty.has_curvature:
        penalty.active(w), penalty.gradient(w), penalty.hessian_times(w, v), penalty.hessian(w)
    for now, then in zip((w, v), before, strict=True):
        np.testing.assert_array_equal(now, then)


CHECKS = [function for name, function in list(globals().items()) if name.startswith("check_")]


# ---- the tests -----------------------------------------------------------------------------------


@every_shape
@every_penalty
@settings(max_examples=5, deadline=None)
@given(seed=seeds)
def test_penalty_keeps_its_promises(penalty, shape, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for check in CHECKS:
            check(penalty, shape, np.random.default_rng(seed))


def test_all_penalties_are_registered_by_their_names():
    assert set(Penalty.registry) >= BUILT_IN | NOT_CONVEX
    assert {name for name, cls in Penalty.registry.items() if not cls.is_convex} == NOT_CONVEX
    for name, cls in Penalty.registry.items():
        assert type(by_name(name)) is cls
        assert cls.name == name
    assert isinstance(by_name("none"), NoPenalty)


@pytest.mark.parametrize(
    ("penalty", "value"),
    [
        (NoPenalty(), 0.0),
        (L1(0.5), 0.5 * 7),
        (L1(0.5, weights=[1, 2, 0]), 0.5 * (2 + 2)),
        (L2(0.5), 0.25 * 21),
        (L2(0.5, weights=[1, 2, 0]), 0.25 * (4 + 2)),
        (ElasticNet(0.5, l1_ratio=0.2), 0.1 * 7 + 0.2 * 21),
        (ElasticNet(0.5, l1_ratio=0.2, weights=[1, 2, 0]), 0.1 * (2 + 2) + 0.2 * (4 + 2)),
        (Box(lower=-1, penalty=L1(0.5)), 0.5 * 7),
        (Box(lower=0), INF),
        (Group(0.5, groups=[1, 0, 1]), 0.5 * (np.sqrt(20) + 1)),
        (Group(0.5, groups=[1, 0, 1], weights=[3, 2]), 0.5 * (2 * np.sqrt(20) + 3)),
        (L2Norm(0.5), 0.5 * np.sqrt(21)),
        (PNorm(0.5, p=3), 0.5 * 73 ** (1 / 3)),
        (PNorm(0.5, p=INF), 0.5 * 4),
        (MCP(0.5, width=3), 0.5 * ((2 - 4 / 6) + (1 - 1 / 6) + 1.5)),
        (SCAD(0.5, knee=1, width=3), 0.5 * ((2 - 1 / 4) + 1 + 2)),
        (Bridge(0.5, power=0.5), 0.5 * (np.sqrt(2) + 1 + 2)),
        (L0(0.5, weights=[1, 2, 0]), 0.5 * 3),
        (L0(0.5, most=2), INF),
    ],
    ids=repr,
)
def test_value_is_the_textbook_formula(penalty, value):
    assert penalty.value(np.array([2.0, -1.0, 4.0])) == pytest.approx(value, rel=1e-14)


@every_penalty
def test_no_features_cost_nothing(penalty):
    if "[" in repr(penalty):  # it has parameters per feature
        penalty = type(penalty)()
    for shape in ((0,), (0, K)):
        w = np.zeros(shape)
        assert penalty.value(w) == 0
        assert penalty.prox(w, 1.0).shape == penalty.subdifferential_distance(w, w).shape == shape
        if has_conjugate(penalty):
            assert penalty.conjugate(w) == 0 and penalty.feasible_scales(w) == (1.0,)
        if penalty.has_curvature:
            assert penalty.active(w).shape == shape and penalty.hessian(w).size == 0


@every_penalty
@every_shape
def test_huge_and_tiny_coefficients_give_no_nan(penalty, shape):
    rng = np.random.default_rng(3)
    for size in (1e-300, 1e-150, 1e150):
        w, v = size * rng.normal(size=(2, *shape))
        v = without_free(penalty, v)
        with np.errstate(all="raise", under="ignore"):
            p = penalty.prox(w, 1.0)
            distance = penalty.subdifferential_distance(p, v)
            assert not np.isnan(penalty.value(w)) and np.isfinite(penalty.value(p))
            assert np.all(np.isfinite(p)) and np.all(np.isfinite(distance))
            scales = penalty.feasible_scales(v) if has_conjugate(penalty) else ()
            assert all(0 <= c <= 1 and not np.isnan(penalty.conjugate(c * v)) for c in scales)


def test_group_without_labels_is_the_lasso_for_one_output_and_row_norms_for_several():
    rng = np.random.default_rng(7)
    w, W = rng.normal(size=D), rng.normal(size=(D, K))
    group, lasso = Group(0.4, weights=SOME_ZERO), L1(0.4, weights=SOME_ZERO)
    assert group.value(w) == pytest.approx(lasso.value(w))
    np.testing.assert_allclose(group.prox(w, 0.9), lasso.prox(w, 0.9), rtol=1e-14)
    rows = 0.4 * np.array(SOME_ZERO) @ np.linalg.norm(W, axis=1)
    assert group.value(W) == pytest.approx(rows)


def test_bounds_alone_make_the_conjugate_the_largest_product():
    box = Box(lower=[-1, 0.5], upper=[2, 3])
    assert box.conjugate(np.array([3.0, -4.0])) == 3 * 2 - 4 * 0.5


@every_penalty
def test_penalty_can_be_copied_and_pickled(penalty):
    w = np.linspace(-1, 1.5, D)
    for twin in (copy.deepcopy(penalty), pickle.loads(pickle.dumps(penalty))):
        np.testing.assert_array_equal(twin.prox(w, 0.5), penalty.prox(w, 0.5))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: L1(-1), "strength must be a finite number ≥ 0, got -1"),
        (lambda: L2(np.inf), "strength must be a finite number ≥ 0, got inf"),
        (lambda: L2("1"), "strength must be a finite number ≥ 0, got '1'"),
        (
            lambda: L2(1, weights=[1.0, -2.0]),
            "weights must be .* ≥ 0, got .* at position 1",
        ),
        (lambda: L1(1, weights=[[1.0]]), "weights must be a vector of numbers"),
        (lambda: ElasticNet(1, l1_ratio=1.5), "l1_ratio must be a number from 0 to 1, got 1.5"),
        (lambda: Box(lower=1, upper=0), "lower ≤ upper everywhere; got 1 and 0"),
        (lambda: Box(lower=np.nan), "lower ≤ upper everywhere; got nan"),
        (lambda: Box(lower=np.inf), "lower must be below ∞"),
        (lambda: Group(1, groups=3), "groups must be a vector of labels"),
        (lambda: L1(1, weights=[1.0]).value(np.ones(3)), "weights has 1 entries, but there are 3"),
        (lambda: Box(lower=[0, 0]).value(np.ones(3)), "lower has 2 entries, but there are 3"),
        (lambda: Group(1, groups=[0, 1]).value(np.ones(3)), "groups has 2 labels, but there are 3"),
        (lambda: Group(1, [0, 0], [1, 2]).value(np.ones(2)), "weights has 2 entries for 1 groups"),
        (lambda: PNorm(p=0.5), "p must be a number ≥ 1, or inf, got 0.5; for p < 1 use Bridge"),
        (lambda: PNorm(p=np.nan), "p must be a number ≥ 1, or inf, got nan"),
        (lambda: L2Norm(-1), "strength must be a finite number ≥ 0, got -1"),
        (lambda: MCP(width=0), "width must be a finite number > 0, got 0"),
        (lambda: MCP(-1), "strength must be a finite number ≥ 0, got -1"),
        (lambda: SCAD(knee=2, width=1), "knee must be below width, got 2 and 1"),
        (lambda: Bridge(power=1), "power must be a number between 0 and 1, got 1; use L1 for 1"),
        (lambda: L0(most=-1), "most must be a whole number ≥ 0 or None, got -1"),
        (lambda: L0(most=1.5), "most must be a whole number ≥ 0 or None, got 1.5"),
        (lambda: L0(1, weights=[1.0]).value(np.ones(3)), "weights has 1 entries, but there are 3"),
        (lambda: by_name("lasso"), "penalty='lasso' is not known; use one of .*l1"),
    ],
)
def test_bad_parameters_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_box_bounds_only_separable_penalties():
    for inner in (Group(), Box(lower=0)):
        with pytest.raises(TypeError, match="cannot be bounded; use None, L1, L2 or ElasticNet"):
            Box(upper=1, penalty=inner)


def test_a_users_penalty_needs_only_value_prox_and_conjugate():
    class Norm(Penalty):
        """0.5·‖w‖₂, all features together."""

        def value(self, w):
            return 0.5 * float(np.sqrt(np.sum(w**2)))

        def prox(self, w, step):
            return w * max(0.0, 1 - 0.5 * step / np.sqrt(np.sum(w**2)))

        def conjugate(self, v):
            return 0.0 if np.sum(v**2) <= 0.25 else np.inf

    rng = np.random.default_rng(2)
    norm, group = Norm(), Group(0.5, groups=np.zeros(D))
    w, g, v = rng.normal(size=(3, D))
    for at in (w, 1e-3 * w, np.zeros(D)):
        expected = group.subdifferential_distance(at, g)
        np.testing.assert_allclose(norm.subdifferential_distance(at, g), expected, atol=1e-4)
    assert norm.feasible_scales(v) == pytest.approx(group.feasible_scales(v), rel=1e-14)
    assert norm.feasible_scales(0.01 * v) == (1.0,)
    assert norm.coordinates(D) is None and norm.blocks(D) is None
    assert not norm.free(D).any() and not norm.has_curvature


def test_a_users_penalty_leaves_the_names_alone():
    class Ridge(Penalty):
        pass

    assert "ridge" not in Penalty.registry
    assert by_name(Ridge()).name == "ridge"
    with pytest.raises(TypeError, match=r"L1 is already in gapless, as 'l1'"):
        type("L1", (Penalty,), {})


@every_penalty
@every_shape
def test_scaled_multiplies_the_penalty_and_not_the_constraints(penalty, shape):
    rng = np.random.default_rng(0)
    w = points(penalty, shape, rng)[0]
    tenfold = penalty.scaled(10.0)
    assert tenfold.value(w) == pytest.approx(10 * penalty.value(w))
    assert tenfold is not penalty or penalty.value(w) == 0


def test_a_penalty_of_another_form_says_that_it_cannot_be_scaled():
    class Norm(Penalty):
        def value(self, w):
            return float(np.sqrt(np.sum(w**2)))

    assert Norm().scaled(2.0) is None
