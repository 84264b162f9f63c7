"""MiniBatchKMeans keeps every promise: of scikit-learn, of weights, of parts, of both gaps."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import KMeans, MiniBatchKMeans
from gapless._ground.interrupt import TimeLimit
from gapless.models.clustering.mini_batches import BatchWalk

FORMS = [
    {},
    {"init": "random", "batch_size": 8},
    {"batch_size": 8, "tol": 1e-3, "max_no_improvement": None, "reassignment_ratio": 0.0},
]
every_form = pytest.mark.parametrize("form", FORMS, ids=str)


def blobs(n=300, d=3, seed=0):
    """Four clusters."""
    rng = np.random.default_rng(seed)
    return 8 * rng.normal(size=(4, d))[np.arange(n) % 4] + rng.normal(size=(n, d))


@every_form
def test_scikit_learns_checks_find_nothing(form):
    check_estimator(MiniBatchKMeans(n_clusters=3, **form), on_skip=None)


@every_form
def test_weights_are_repeats_and_the_order_of_rows_does_not_matter(form):
    X = np.random.default_rng(1).normal(size=(60, 2)).round(1)
    weights = np.random.default_rng(2).integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), weights)
    order = np.random.default_rng(3).permutation(len(repeated))
    for method in ("fit", "partial_fit"):
        one = getattr(MiniBatchKMeans(4, random_state=5, **form), method)
        other = getattr(MiniBatchKMeans(4, random_state=5, **form), method)
        one, other = one(X, sample_weight=weights), other(X[repeated[order]])
        np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-10)
        np.testing.assert_allclose(one.inertia_, other.inertia_, rtol=1e-10)
        np.testing.assert_array_equal(one.labels_[repeated[order]], other.labels_)
        assert one._init_size == other._init_size and one.n_steps_ == other.n_steps_


def test_centres_are_the_means_of_all_rows_they_have_had():
    X, first = blobs(), blobs()[:4]
    parts = np.array_split(X, 7)
    model = MiniBatchKMeans(4, init=first, reassignment_ratio=0.0)
    sums, counts = np.zeros((4, 3)), np.zeros(4)
    centers = first
    for part in parts:
        own = ((part[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        np.add.at(sums, own, part)
        counts += np.bincount(own, minlength=4)
        centers = sums / counts[:, None]
        model.partial_fit(part)
        np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-12)
        assert len(model.labels_) == len(part)
    assert model.n_steps_ == 7


def test_float32_has_the_centres_of_float64_on_the_same_rows(rng):
    X = (rng.normal(size=(90, 3)) + 6 * (np.arange(90) % 3)[:, None]).astype(np.float32)
    one, other = (
        MiniBatchKMeans(3, batch_size=20, random_state=0).fit(X.astype(dtype))
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-4, atol=1e-4)
    assert one.cluster_centers_.dtype == np.float32


def test_a_file_goes_on_as_the_model_does(tmp_path):
    X = blobs()
    model = MiniBatchKMeans(4, random_state=0, batch_size=50).fit(X)
    gapless.save(model, tmp_path / "model.gapless")
    others = [gapless.load(tmp_path / "model.gapless"), pickle.loads(pickle.dumps(model))]
    verdict = str(model.certificate_)
    model.partial_fit(X[:40])
    for other in others:
        assert str(other.certificate_) == verdict
        other.partial_fit(X[:40])
        np.testing.assert_array_equal(other.cluster_centers_, model.cluster_centers_)
        np.testing.assert_array_equal(other._counts, model._counts)


def test_centres_without_rows_are_drawn_again():
    X = blobs()
    far = np.full((1, 3), 1e4)
    init = np.concatenate([X[:3], far])
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\)"):
        stays = MiniBatchKMeans(4, init=init, reassignment_ratio=0.0, random_state=0).fit(X)
    np.testing.assert_array_equal(stays.cluster_centers_[3], far[0])
    moves = MiniBatchKMeans(4, init=init, batch_size=50, random_state=0).fit(X)
    assert np.abs(moves.cluster_centers_).max() <= np.abs(X).max()
    assert len(np.unique(moves.labels_)) == 4
    assert moves.inertia_ < stays.inertia_


@pytest.mark.parametrize("k", [1, 5])
def test_the_centre_with_most_rows_stays_whatever_the_ratio(k):
    X = blobs()
    one, two = (
        MiniBatchKMeans(k, reassignment_ratio=ratio, batch_size=50, random_state=0).fit(X)
        for ratio in (1.0, 2.0)
    )
    np.testing.assert_array_equal(two.cluster_centers_, one.cluster_centers_)
    assert np.isfinite(two.partial_fit(X).inertia_)


def test_the_certificate_says_how_far_the_centres_are_from_the_means():
    X = blobs()
    model = MiniBatchKMeans(4, random_state=0, batch_size=30).fit(X)
    means = np.stack([X[model.labels_ == k].mean(axis=0) for k in range(4)])
    rest = ((X - means[model.labels_]) ** 2).sum()
    np.testing.assert_allclose(model.certificate_.primal, model.inertia_, rtol=1e-10)
    assert model.inertia_ > rest
    assert model.certificate_.kind == "stopped"
    assert "KMeans(init=model.cluster_centers_)" in model.certificate_.verdict
    assert str(gapless.certify(model, X)) == str(model.certificate_)
    further = KMeans(4, init=model.cluster_centers_).fit(X)
    assert further.inertia_ <= rest and further.certificate_.kind == "bound"
    assert model.generalization_.kind == "balanced"


def test_after_a_part_both_gaps_need_the_data():
    X = blobs()
    model = MiniBatchKMeans(4, random_state=0).partial_fit(X)
    with pytest.raises(AttributeError, match=r"gapless\.certify"):
        model.certificate_  # noqa: B018
    assert gapless.certify(model, X).kind in ("bound", "stopped")
    assert gapless.generalize(model, X).metric == "explained variance"


def test_bad_parts_are_named():
    X = blobs()
    with pytest.raises(ValueError, match="needs all rows at once"):
        MiniBatchKMeans("auto").partial_fit(X)
    with pytest.raises(ValueError, match="should be >= n_clusters=8"):
        MiniBatchKMeans().partial_fit(X[:5])
    model = MiniBatchKMeans(3, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :2])


def test_the_number_of_clusters_is_chosen():
    model = MiniBatchKMeans("auto", random_state=0).fit(blobs(n=160))
    assert model.n_clusters_ == 4 == len(model.cluster_centers_)


def test_a_time_limit_keeps_the_last_batch(monkeypatch):
    whole, steps = BatchWalk.step, []

    def step(walk, batch, origin):
        """The time is over in the fourth step."""
        if len(steps) == 3:
            raise TimeLimit
        steps.append(whole(walk, batch, origin))
        return steps[-1]

    monkeypatch.setattr(BatchWalk, "step", step)
    with pytest.warns(ConvergenceWarning, match="stopped by its time_limit=60"):
        model = MiniBatchKMeans(4, batch_size=20, time_limit=60.0, random_state=0).fit(blobs())
    assert model.n_steps_ == 3 and model.certificate_.kind == "stopped"
    np.testing.assert_array_equal(model.predict(blobs()), model.labels_)


def test_the_trace_has_the_objective_as_estimated_from_each_batch():
    """Its first entry is the sum of squares of the first centres, if the batch has all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    start = X[:3].copy()
    model = MiniBatchKMeans(3, init=start, batch_size=2000, max_iter=1, n_init=1, random_state=0)
    model.fit(X)
    trace = model.trace_
    assert len(trace.objective) == len(trace.shifts) == model.n_steps_ == 1
    # 60 rows drawn with replacement: the mean square within five of its standard errors.
    squares = ((X[:, None] - start) ** 2).sum(2).min(1)
    assert abs(trace.objective[0] - squares.sum()) <= 5 * np.sqrt(60) * squares.std()
    assert trace.shifts[0] == pytest.approx(((model.cluster_centers_ - start) ** 2).sum())
    assert "1 batches" not in repr(trace) and "objective about" in repr(trace)
    assert trace.plot().get_xlabel() == "batch"
