"""The second gap of fits without targets: held-out distortion, and a verdict on their freedom.

The fit here is the plainest one there is, principal components by a full SVD, so that everything
can be computed a second time by loops.
"""

import numpy as np
import pytest

import gapless
from gapless._ground.design import Design
from gapless.unseen import Version, WithoutTargets, dealt, splits
from gapless.unseen.entrance import measure


class Components(WithoutTargets):
    def __init__(self, X, weights, count):
        super().__init__(Design(X), np.asarray(weights, dtype=float))
        self.count = count

    def _plane(self, rows, count):
        X, s = self.design.dense()[rows], self.weights[rows]
        mean = np.average(X, axis=0, weights=s)
        V = np.linalg.svd(np.sqrt(s)[:, None] * (X - mean))[2][:count].T
        return mean, V

    def _description(self, rows, count):
        mean, V = self._plane(rows, count)

        def describe(design):
            errors = (design.dense() - mean) @ (np.eye(len(mean)) - V @ V.T)
            with np.errstate(invalid="ignore"):
                surprise = (errors / (1 - np.sum(V**2, axis=1))) ** 2
            return np.column_stack([np.sum(errors**2, axis=1), np.sum(surprise, axis=1)])

        return describe

    @property
    def model(self):
        return self.fit_to(np.flatnonzero(self.is_counted))

    def fit_to(self, rows):
        return self._description(rows, self.count)

    def constant(self, rows):
        return self._description(rows, 0)

    def _other(self, count):
        if not 0 <= count < self.design.d:
            return None
        fit = Components(self.design.dense(), self.weights, count)
        return Version(fit, f"n_components={count}")

    def simpler(self):
        return [lambda step: self._other(self.count - step)]

    def richer(self):
        return [lambda step: self._other(self.count + step)]


class Silent(Components):
    why_unknown = "nothing is known of its freedom"

    def _description(self, rows, count):
        inner = super()._description(rows, count)
        return lambda design: np.column_stack([inner(design)[:, 0], np.full(design.n, np.nan)])


def rows_near_a_plane(rng, n=120, d=8, k=3, noise=0.5):
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) * 2 + noise * rng.normal(size=(n, d))


@pytest.fixture
def X():
    return rows_near_a_plane(np.random.default_rng(3))


def test_unseen_score_is_that_of_folds_fitted_by_hand(X):
    fit = Components(X, np.ones(len(X)), 3)
    found = measure(object(), fit)
    distortion = plain = 0.0
    for train, test in splits(dealt(fit.units)):
        mean = X[train].mean(axis=0)
        V = np.linalg.svd(X[train] - mean)[2][:3].T
        distortion += np.sum(((X[test] - mean) @ (np.eye(8) - V @ V.T)) ** 2)
        plain += np.sum((X[test] - mean) ** 2)
    assert found.unseen == pytest.approx(1 - distortion / plain, rel=1e-12)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert found.train == pytest.approx(values[:3].sum() / values.sum(), rel=1e-12)
    assert found.gap == found.train - found.unseen > 0
    assert found.method == "5-fold" and found.metric == "explained variance"


@pytest.mark.parametrize("count, kind", [(1, "under-fitted"), (3, "balanced"), (7, "over-fitted")])
@pytest.mark.parametrize("seed", range(3))
def test_verdict_knows_too_few_and_too_many_components(seed, count, kind):
    X = rows_near_a_plane(np.random.default_rng(seed))
    found = measure(object(), Components(X, np.ones(len(X)), count))
    assert found.kind == kind, found.verdict


def test_noise_has_no_components():
    X = np.random.default_rng(0).normal(size=(100, 6))
    found = measure(object(), Components(X, np.ones(100), 4))
    assert found.kind == "over-fitted"
    assert "would describe them better" in found.verdict


def test_weights_are_repeated_rows_in_any_order(X):
    weights = np.arange(len(X)) % 3
    order = np.random.default_rng(1).permutation(weights.sum())
    repeated = np.repeat(X, weights, axis=0)[order]
    one = measure(object(), Components(X, weights, 3))
    other = measure(object(), Components(repeated, np.ones(len(repeated)), 3))
    assert one.unseen == pytest.approx(other.unseen, rel=1e-9)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)
    assert one.kind == other.kind


def test_standard_error_is_the_spread_over_new_rows():
    rng = np.random.default_rng(5)
    basis = rng.normal(size=(3, 8))

    def result():
        X = rng.normal(size=(200, 3)) @ basis + 0.7 * rng.normal(size=(200, 8))
        return measure(object(), Silent(X, np.ones(200), 3))

    errors = [result() for _ in range(40)]
    spread = np.std([each.unseen for each in errors], ddof=1)
    mean = np.mean([each.standard_error for each in errors])
    # The spread of 40 draws is known to within a ninth; three times that.
    assert 2 / 3 < mean / spread < 3 / 2


def test_groups_and_times_are_held_out_whole(X):
    fit = Components(X, np.ones(len(X)), 3)
    groups = measure(object(), fit, groups=np.arange(len(X)) // 12)
    assert groups.method == "refits (each group left out)"
    past = measure(object(), fit, time=np.arange(len(X)))
    assert past.method.startswith("forward")
    assert np.isfinite(past.unseen) and past.unseen != groups.unseen
    with pytest.raises(ValueError, match="choose one"):
        measure(object(), fit, groups=np.arange(len(X)), time=np.arange(len(X)))


def test_no_verdict_without_a_surprise(X):
    found = measure(object(), Silent(X, np.ones(len(X)), 3))
    assert found.kind == "unknown" and "nothing is known of its freedom" in found.verdict
    assert np.isfinite(found.unseen)


def test_equal_rows_cannot_be_held_out():
    found = measure(object(), Components(np.ones((5, 3)), np.ones(5), 1))
    assert found.kind == "unknown" and "all rows are equal" in found.verdict


def test_scorers_of_targets_are_refused(X):
    with pytest.raises(ValueError, match="no targets to score"):
        measure(gapless.Ridge(), Components(X, np.ones(len(X)), 3), scoring="r2")
