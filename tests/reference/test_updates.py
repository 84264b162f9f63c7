"""Update rules and step sizes against numbers computed by hand, and against each other."""

import numpy as np
import pytest

from gapless.solvers import (
    Adam,
    AveragedMomentum,
    Backtracking,
    Constant,
    InverseTime,
    Momentum,
    Nesterov,
    Plain,
    as_step_size,
)

RULES = [
    Plain(),
    Momentum(),
    AveragedMomentum(),
    Nesterov(),
    Nesterov(0.8),
    Adam(),
    Adam(decay=0.1),
]
CURVATURE = np.array([1.0, 10.0])


def bowl(w):
    """The gradient of ½(w₁² + 10w₂²)."""
    return CURVATURE * w


def descend(rule, w, steps, length, gradient=bowl):
    """All iterates."""
    memory, found = rule.begin(w), [w]
    for t in range(steps):
        g = gradient(rule.look_ahead(w, memory))
        w, memory = rule.step(w, g, length(t) if callable(length) else length, memory)
        found.append(w)
    return np.array(found)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # f = w², ∇ = 2w, w₀ = 1, η = 0.1.
        (Plain(), [1.0, 0.8, 0.64]),
        # Δ₁ = 0.2; Δ₂ = 0.16 + 0.5·0.2 = 0.26; Δ₃ = 0.108 + 0.13 = 0.238.
        (Momentum(0.5), [1.0, 0.8, 0.54, 0.302]),
        # Δ₁ = ½·0.2 = 0.1; Δ₂ = ½·0.18 + ½·0.1 = 0.14; Δ₃ = ½·0.152 + ½·0.14 = 0.146.
        (AveragedMomentum(0.5), [1.0, 0.9, 0.76, 0.614]),
        # Δ₁ = 0.2; ahead 0.8 − 0.1 = 0.7, Δ₂ = 0.14 + 0.1 = 0.24.
        (Nesterov(0.5), [1.0, 0.8, 0.56]),
        # (t−1)/(t+2) = 0, 1/4: ahead 0.8 − 0.05 = 0.75, Δ₂ = 0.15 + 0.05 = 0.2.
        (Nesterov(), [1.0, 0.8, 0.6]),
        # The first step of Adam has length η whatever the gradient: m̂ = ∇, v̂ = ∇².
        (Adam(epsilon=1e-300), [1.0, 0.9]),
        # AdamW: w − η(1 + δw).
        (Adam(epsilon=1e-300, decay=0.5), [1.0, 0.85]),
    ],
    ids=str,
)
def test_first_steps_are_those_computed_by_hand(rule, expected):
    found = descend(rule, np.array(1.0), len(expected) - 1, 0.1, lambda w: 2 * w)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_second_step_of_adam_is_that_computed_by_hand():
    """g₁ = 2, g₂ = 1 with β₁ = ½, β₂ = ¾: m̂ = (½·1 + ½·1)/¾ = 4/3, v̂ = (¾·1 + ¼·1)/(7/16)."""
    rule, w = Adam(0.5, 0.75, 1e-300), np.array(0.0)
    memory = rule.begin(w)
    w, memory = rule.step(w, np.array(2.0), 1.0, memory)
    w, memory = rule.step(w, np.array(1.0), 1.0, memory)
    assert float(w) == pytest.approx(-1 - (4 / 3) / np.sqrt(16 / 7), rel=1e-14)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_the_course_form_of_momentum_is_the_usual_one_with_shorter_steps(share, rng):
    """ΔW = λ(ε∇L) + (1−λ)ΔW_old is Δ = (λε)∇L + (1−λ)Δ_old."""
    w = rng.normal(size=2)
    averaged = descend(AveragedMomentum(share), w, 30, 0.1)
    np.testing.assert_allclose(averaged, descend(Momentum(1 - share), w, 30, share * 0.1), 1e-12)
    if share == 1:
        np.testing.assert_allclose(averaged, descend(Plain(), w, 30, 0.1), 1e-12)


def test_nesterov_is_the_scheme_of_two_sequences(rng):
    """v = w + μₜ(w − w_old), w ← v − η∇(v), as the convex method is usually written."""
    w = old = rng.normal(size=2)
    found = descend(Nesterov(), w, 20, 0.05)
    for t in range(1, 21):
        ahead = w + (t - 1) / (t + 2) * (w - old)
        w, old = ahead - 0.05 * bowl(ahead), w
        np.testing.assert_allclose(found[t], w, rtol=1e-12)


def test_momentum_is_faster_on_an_elongated_bowl():
    """Rates at the best steps: (κ−1)/(κ+1) without momentum, (√κ−1)/(√κ+1) with it."""
    kappa = 100.0
    root = np.sqrt(kappa)

    def gradient(w):
        return np.array([1.0, kappa]) * w

    plain = descend(Plain(), np.ones(2), 100, 2 / (1 + kappa), gradient)
    factor = ((root - 1) / (root + 1)) ** 2
    heavy = descend(Momentum(factor), np.ones(2), 100, 4 / (1 + root) ** 2, gradient)
    expected = ((kappa - 1) / (kappa + 1)) ** 100
    np.testing.assert_allclose(np.abs(plain[-1]), expected, rtol=1e-9)
    # Both directions have a double root r of the recursion: w = (1 + (w₁/r − 1)t)·rᵗ.
    r = np.array([1, -1]) * (root - 1) / (root + 1)
    np.testing.assert_allclose(heavy[-1], (1 + (heavy[1] / r - 1) * 100) * r**100, rtol=1e-6)
    assert np.all(np.abs(heavy[-1]) < 1e-5 * np.abs(plain[-1]))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_lists_of_arrays_are_stepped_like_each_array_alone(rule, rng):
    parts = [rng.normal(size=shape) for shape in ((2, 3), (3,), ())]
    gradients = [rng.normal(size=part.shape) for part in parts]
    before = [part.copy() for part in parts]
    together, memory = list(parts), rule.begin(parts)
    alone = [(part, rule.begin(part)) for part in parts]
    for _ in range(3):
        together, memory = rule.step(together, gradients, 0.1, memory)
        alone = [rule.step(p, g, 0.1, m) for (p, m), g in zip(alone, gradients)]
    assert isinstance(together, list)
    for part, (array, _) in zip(together, alone):
        np.testing.assert_array_equal(part, array)
    for part, was in zip(parts, before):
        np.testing.assert_array_equal(part, was)  # nothing that was given is changed


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_float32_stays_float32(rule):
    w = np.ones(3, dtype=np.float32)
    memory = rule.begin(w)
    for _ in range(2):
        w, memory = rule.step(rule.look_ahead(w, memory), w, 0.1, memory)
    assert w.dtype == np.float32
    assert all(kept.dtype == np.float32 for arrays in memory.arrays for kept in arrays)


def test_step_sizes():
    assert [Constant(0.3).length(t) for t in (0, 7)] == [0.3, 0.3]
    assert [InverseTime(6.0, 2.0).length(t) for t in (0, 1, 4)] == [3.0, 2.0, 1.0]
    assert as_step_size(0.2) == Constant(0.2)
    assert as_step_size(InverseTime()) == InverseTime()


def test_backtracking_accepts_the_first_step_that_falls_enough():
    """f = ½Lw² at w = 1 along −∇: accepted iff f(1 − ηL) ≤ ½L − ½ηL², that is η ≤ 1/L."""
    for L in (0.3, 1.0, 5.0):
        length = Backtracking(first=4.0).search(
            lambda eta, L=L: 0.5 * L * (1 - eta * L) ** 2, 0.5 * L, -(L**2), 4.0
        )
        assert length <= 1 / L * (1 + 1e-12) < 2 * length
    # Nothing is accepted along a direction in which the function rises.
    assert Backtracking().search(lambda eta: 1 + np.sqrt(eta), 1.0, -1.0, 1.0) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Momentum(1.0),
        lambda: Momentum(-0.1),
        lambda: Nesterov(1.5),
        lambda: AveragedMomentum(0.0),
        lambda: Adam(beta_2=1.0),
        lambda: Adam(epsilon=0.0),
        lambda: Adam(decay=-1.0),
        lambda: Constant(0.0),
        lambda: Constant(float("nan")),
        lambda: InverseTime(t_0=0.0),
        lambda: Backtracking(shrink=1.0),
        lambda: Backtracking(growth=0.5),
    ],
)
def test_values_out_of_range_are_refused_with_the_range(make):
    with pytest.raises(ValueError, match=r"must be .*got"):
        make()
