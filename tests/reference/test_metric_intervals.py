"""Intervals hold the truth as often as they say: counted exactly for shares, else by simulation.

Simulations are seeded. What they may miss is three standard errors of a count, and for few rows of
skewed losses what the best known intervals miss, too (see the guide to metrics).
"""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

from gapless import metrics
from gapless.metrics.intervals import share

LEVEL = 0.95


def coverage(draw, truth, repeats=80):
    """How often the interval of a freshly drawn score contains the truth."""
    found = [draw() for _ in range(repeats)]
    return np.mean([score.low <= truth <= score.high for score in found])


def at_least(level, repeats=80):
    """Three standard errors below a level."""
    return level - 3 * np.sqrt(level * (1 - level) / repeats)


@pytest.mark.parametrize("n", [1, 5, 20, 100])
@pytest.mark.parametrize("method", ["exact", "wilson"])
def test_intervals_of_shares_hold_the_truth(n, method):
    truths = np.linspace(0.005, 0.995, 199)
    low, high = share(np.arange(n + 1), n, LEVEL, method)
    chances = binom.pmf(np.arange(n + 1), n, truths[:, None])
    holds = (low <= truths[:, None]) & (truths[:, None] <= high)
    covered = (chances * holds).sum(axis=1)
    if method == "exact":
        assert covered.min() >= LEVEL
    else:
        assert covered.mean() == pytest.approx(LEVEL, abs=0.015)


def test_exact_intervals_are_the_tails_of_the_binomial():
    low, high = share(7, 20, 0.9)
    assert binom.sf(6, 20, low) == pytest.approx(0.05)
    assert binom.cdf(7, 20, high) == pytest.approx(0.05)


# The shares of true class and prediction, in a problem of three classes, one of them rare.
PRIORS = np.array([0.6, 0.3, 0.1])
JOINT = PRIORS[:, None] * [[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]]
HITS = np.diag(JOINT)
F = 2 * HITS / (JOINT.sum(axis=0) + JOINT.sum(axis=1))
SHARES = {
    "accuracy": (lambda y, z, **o: metrics.accuracy(y, z, **o), HITS.sum()),
    "precision": (
        lambda y, z, **o: metrics.precision(y, z, pos_label=1, **o),
        HITS[1] / JOINT[:, 1].sum(),
    ),
    "f1": (lambda y, z, **o: metrics.f1(y, z, pos_label=1, **o), F[1]),
    "macro f1": (lambda y, z, **o: metrics.f1(y, z, average="macro", **o), F.mean()),
    "macro recall": (
        lambda y, z, **o: metrics.recall(y, z, average="macro", **o),
        (HITS / PRIORS).mean(),
    ),
    "weighted f1": (lambda y, z, **o: metrics.f1(y, z, average="weighted", **o), PRIORS @ F),
}


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("n", [20, 100])
def test_scores_of_classes_hold_the_truth(name, n, rng):
    function, truth = SHARES[name]

    def draw():
        cell = rng.choice(9, size=n, p=JOINT.ravel())
        cell[:3] = 0, 4, 8
        return function(cell // 3, cell % 3)

    assert coverage(draw, truth) >= at_least(LEVEL)


def test_weights_that_are_no_counts_leave_fewer_rows(rng):
    function, truth = SHARES["accuracy"]

    def draw():
        cell = rng.choice(9, size=60, p=JOINT.ravel())
        return function(cell // 3, cell % 3, sample_weight=rng.exponential(size=60))

    assert coverage(draw, truth) >= at_least(LEVEL)


def losses(rng, n):
    p = expit(2 * rng.normal(size=n))
    return (rng.random(n) < p).astype(int), p


NODES = expit(2 * norm.ppf((np.arange(20000) + 0.5) / 20000))
LOSSES = {
    "mse": (lambda rng, n: metrics.mse(np.zeros(n), rng.normal(size=n)), 1.0),
    "mae": (lambda rng, n: metrics.mae(np.zeros(n), rng.normal(size=n)), np.sqrt(2 / np.pi)),
    "log_loss": (
        lambda rng, n: metrics.log_loss(*losses(rng, n), labels=[0, 1]),
        -np.mean(NODES * np.log(NODES) + (1 - NODES) * np.log(1 - NODES)),
    ),
    "brier": (
        lambda rng, n: metrics.brier(*losses(rng, n), labels=[0, 1]),
        np.mean(NODES * (1 - NODES)),
    ),
    "r2": (
        lambda rng, n: (lambda x: metrics.r2(x + 0.7 * rng.normal(size=n), x))(rng.normal(size=n)),
        1 - 0.49 / 1.49,
    ),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("n", "slack"), [(10, 0.04), (80, 0.01)])
def test_scores_of_losses_hold_the_truth(name, n, slack, rng):
    draw, truth = LOSSES[name]
    assert coverage(lambda: draw(rng, n), truth) >= at_least(LEVEL - slack)


def test_losses_of_many_rows_hold_the_truth(rng):
    draw, truth = LOSSES["mse"]
    assert draw(rng, 1500).method == "Student's t"
    assert coverage(lambda: draw(rng, 1500), truth) >= at_least(LEVEL)


@pytest.mark.parametrize("n", [6, 20])
@pytest.mark.parametrize("distance", [0.0, 2.5])
@pytest.mark.parametrize("function", [metrics.roc_auc, metrics.average_precision])
def test_areas_hold_the_truth(n, distance, function, rng):
    y = np.repeat([0, 1], n)
    truth = norm.cdf(distance / np.sqrt(2))
    if function is metrics.average_precision:
        at = distance + norm.ppf((np.arange(20000) + 0.5) / 20000)
        hits, misses = norm.sf(at - distance), norm.sf(at)
        truth = np.mean(hits / (hits + misses))
    held = coverage(lambda: function(y, rng.normal(size=2 * n) + distance * y), truth)
    assert held >= at_least(LEVEL)


def normal(rng, positive, distance):
    return rng.normal(size=len(positive)) + distance * positive


def exponential(rng, positive, distance):
    return rng.exponential(size=len(positive)) * np.exp(distance * positive)


AREAS = {
    normal: lambda distance: norm.cdf(distance / np.sqrt(2)),
    exponential: expit,
}


@pytest.mark.parametrize(
    ("positives", "negatives", "scores", "distance"),
    [
        (1, 60, normal, 1.5),
        (2, 100, normal, 1.5),
        (3, 100, normal, 0.0),
        (5, 50, exponential, 4.0),
        (10, 1000, normal, 3.0),
        (10, 500, exponential, 4.0),
        (50, 300, exponential, 4.0),
    ],
)
def test_areas_of_a_rare_class_hold_the_truth(positives, negatives, scores, distance, rng):
    y, truth = np.repeat([1, 0], [positives, negatives]), AREAS[scores](distance)
    held = coverage(lambda: metrics.roc_auc(y, scores(rng, y, distance)), truth, 150)
    assert held >= at_least(LEVEL - 0.02, 150)


def test_areas_of_many_rows_are_known_as_well_as_placements_tell(rng):
    y = np.repeat([1, 0], 1000)
    found = metrics.roc_auc(y, normal(rng, y, 3.0))
    assert found.high - found.low < 0.012


def test_a_few_rows_found_almost_perfectly_leave_an_interval_that_says_something(rng):
    y = np.repeat([1, 0], [10, 1000])
    found = [metrics.roc_auc(y, normal(rng, y, 3.0)) for _ in range(50)]
    assert np.median([area.high - area.low for area in found]) < 0.17


def test_mean_areas_with_a_rare_class_hold_the_truth(rng):
    y, truth = np.repeat([0, 1, 2], [60, 30, 3]), norm.cdf(1.5 / np.sqrt(2))

    def draw():
        return metrics.roc_auc(y, rng.normal(size=(len(y), 3)) + 1.5 * np.eye(3)[y])

    assert coverage(draw, truth) >= at_least(LEVEL)


def paired_labels(rng, n):
    hit = rng.random(n) < 0.8
    other = np.where(rng.random(n) < 0.2, rng.random(n) < 0.5, hit)
    return metrics.compare(np.ones(n, int), hit.astype(int), other.astype(int)).difference


def paired_numbers(rng, n):
    y = rng.normal(size=n)
    a, b = (y + s * rng.normal(size=n) for s in (1.0, 1.2))
    return metrics.compare(y, a, b, "mse").difference


def paired_scores(rng, n):
    y, shared = np.arange(n) % 2, rng.normal(size=n)
    a, b = (y + shared + 0.5 * rng.normal(size=n) for _ in range(2))
    return metrics.compare(y, a, b, "roc_auc").difference


@pytest.mark.parametrize(
    ("draw", "truth"), [(paired_labels, 0.06), (paired_numbers, -0.44), (paired_scores, 0.0)]
)
@pytest.mark.parametrize(("n", "slack"), [(20, 0.04), (80, 0.01)])
def test_differences_hold_the_truth(draw, truth, n, slack, rng):
    assert coverage(lambda: draw(rng, n), truth) >= at_least(LEVEL - slack)


def test_p_values_are_rarely_small_between_equal_models(rng):
    def p_value(n=40):
        y = rng.normal(size=n)
        return metrics.compare(y, *(y + rng.normal(size=n) for _ in range(2)), "mae").p_value

    small = np.mean([p_value() <= 0.05 for _ in range(200)])
    assert small <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_intervals_of_pairs_are_shorter_than_those_of_their_parts(rng):
    y, shared = np.arange(100) % 2, rng.normal(size=100)
    a, b = (y + shared + 0.1 * rng.normal(size=100) for _ in range(2))
    found = metrics.compare(y, a, b, "roc_auc").difference
    alone = metrics.roc_auc(y, a)
    assert found.high - found.low < 0.5 * (alone.high - alone.low)


@pytest.mark.parametrize("n", [100, 1000])
def test_calibration_errors_hold_the_truth(n, rng):
    def right():
        p = rng.random(n)
        return metrics.reliability_curve(rng.random(n) < p, p).ece

    def shifted():
        q = rng.uniform(0.1, 0.7, n)
        return metrics.reliability_curve(rng.random(n) < q, q + 0.2).ece

    assert coverage(right, 0.0) >= at_least(LEVEL)
    assert coverage(shifted, 0.2) >= at_least(LEVEL)
