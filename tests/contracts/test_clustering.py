"""KMeans keeps every promise: of scikit-learn, of weights, of both gaps, of files."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import KMeans, MiniBatchKMeans
from gapless._ground.design import Design
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless.models.clustering.kmeans_held_out import KMeansFit
from gapless.models.clustering.lloyd import ClusterRows

FORMS = [
    {},
    {"init": "random", "n_init": 2},
    {"algorithm": "elkan", "tol": 0.0},
    {"batch_size": 20},
]
every_form = pytest.mark.parametrize("form", FORMS, ids=str)


def blobs(k=4, n=200, d=3, seed=0, apart=8.0):
    """k Gaussians of variance 1 whose centres are at least `apart` from each other."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d)) * apart
    while k > 1 and pdist(centers).min() < apart:
        centers = rng.normal(size=(k, d)) * apart
    return centers[np.arange(n) % k] + rng.normal(size=(n, d))


@every_form
def test_scikit_learns_checks_find_nothing(form):
    check_estimator(KMeans(n_clusters=3, **form), on_skip=None)


@every_form
def test_weights_are_repeats_and_the_order_of_rows_does_not_matter(form):
    X = np.random.default_rng(1).normal(size=(60, 2)).round(1)
    weights = np.random.default_rng(2).integers(0, 4, size=60)
    model = KMeans(4, random_state=5, **form)
    one = model.fit(X, sample_weight=weights).cluster_centers_
    inertia, labels = model.inertia_, model.labels_
    repeated = np.repeat(np.arange(60), weights)
    order = np.random.default_rng(3).permutation(len(repeated))
    model.fit(X[repeated[order]])
    np.testing.assert_allclose(model.cluster_centers_, one, rtol=1e-10)
    np.testing.assert_allclose(model.inertia_, inertia, rtol=1e-10)
    np.testing.assert_array_equal(model.labels_, labels[repeated[order]])


def test_the_objective_never_rises_and_predictions_are_the_labels():
    X = blobs(seed=4, apart=2.0)
    model = KMeans(6, random_state=0, init="random", n_init=1, tol=0.0).fit(X)
    for centers, objective in zip(model.trace_.centers[1:], model.trace_.objective):
        # Each step starts from the means of the clusters of the one before.
        nearest = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()
        assert nearest <= objective * (1 + 1e-12)
    assert np.all(np.diff(model.trace_.objective) <= 1e-12 * model.inertia_)
    np.testing.assert_allclose(model.trace_.objective[-1], model.inertia_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(-model.score(X), model.inertia_, rtol=1e-12)
    np.testing.assert_allclose(
        model.transform(X).min(axis=1) ** 2 @ np.ones(len(X)), -model.score(X)
    )
    assert model.trace_.centers.shape == (model.n_iter_, 6, 3)


def test_batches_bring_the_centres_near_the_end():
    X = blobs(6, n=3000, d=4, seed=3, apart=3.0)
    form = {"init": X[:6], "tol": 0.0, "random_state": 1}
    plain, model = KMeans(6, **form).fit(X), KMeans(6, batch_size=200, **form).fit(X)
    assert model.trace_.objective[0] < plain.trace_.objective[0]
    assert model.trace_.objective[0] <= 1.05 * model.inertia_
    assert model.inertia_ <= 1.3 * plain.inertia_
    assert model.certificate_.kind == "bound"  # a local minimum, as without batches


def test_it_says_what_ran_and_how_far_starts_are_apart():
    X = np.random.default_rng(0).uniform(size=(80, 3))
    model = KMeans(5, n_init=8, init="random", random_state=0).fit(X)
    assert len(model.inertias_) == 8 and model.inertia_ == model.inertias_.min()
    assert model.solver_ == "hamerly"
    assert KMeans(5, algorithm="elkan", random_state=0).fit(X).solver_ == "elkan"
    assert "the best of 8 starts" in model.certificate_.verdict


# ---- the first gap -------------------------------------------------------------------------------


def test_a_certificate_bounds_the_best_clustering():
    X = blobs(3, n=90, d=30, apart=6.0)
    model = KMeans(3, random_state=0, n_init=3).fit(X)
    found = model.certificate_
    assert found.kind == "bound" and 0 < found.dual < found.primal <= 1.5 * found.dual
    assert "above the best possible sum of squares" in found.verdict
    again = gapless.certify(model, X)
    assert (again.kind, again.verdict) == (found.kind, found.verdict)
    np.testing.assert_allclose([again.primal, again.dual], [found.primal, found.dual], rtol=1e-9)


def test_no_useful_bound_is_said_to_be_none():
    model = KMeans(8, random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert "no useful bound is known" in model.certificate_.verdict


def test_changed_centres_are_caught():
    X = blobs()
    model = KMeans(4, random_state=0).fit(X)
    model.cluster_centers_[2] += 0.2
    found = gapless.certify(model, X)
    assert found.kind == "stopped" and "not the means of their rows" in found.verdict
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(model, X)


@pytest.mark.parametrize("offset", [1e6, 1e9, 1e12])
def test_an_offset_changes_no_certificate(offset):
    X = np.random.default_rng(0).integers(0, 6000, size=(300, 2)).astype(float)
    near, far = (KMeans(3, init=rows[:3], tol=0).fit(rows) for rows in (X, X + offset))
    assert far.certificate_.verdict == near.certificate_.verdict
    assert far.certificate_.kind == "bound"
    np.testing.assert_allclose(far.inertia_, near.inertia_, rtol=1e-9)


def test_centres_that_still_move_are_no_local_minimum():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.uniform(size=(200, 2)), rng.uniform(size=(200, 2)) + 100])
    early = KMeans(12, random_state=0).fit(X)  # tol is relative to the variance of all rows
    assert early.certificate_.kind == "stopped"
    assert "not the means of their rows" in early.certificate_.verdict
    late = KMeans(12, random_state=0, tol=0).fit(X)
    assert late.inertia_ < 0.99 * early.inertia_
    assert "A local minimum" in late.certificate_.verdict
    nearly = KMeans(5, random_state=0).fit(X[:200])
    moved = X[:200] - nearly.cluster_centers_[nearly.labels_]
    means = [moved[nearly.labels_ == k].mean(axis=0) for k in range(5)]
    assert ("Near a local minimum" in nearly.certificate_.verdict) == (np.abs(means).max() > 1e-6)


@pytest.mark.parametrize(
    "dtype, unit", [("float64", 1e-200), ("float32", 1e30), ("float32", 1e-30)]
)
def test_units_too_large_or_too_small_to_be_squared_are_refused(dtype, unit):
    X = (blobs() * unit).astype(dtype)
    with pytest.raises(ValueError, match="to be squared in float"):
        KMeans(3).fit(X)


def test_too_few_distinct_rows_to_leave_some_out_are_one_cluster():
    for X in (np.ones((30, 2)), np.ones((1, 2)), np.array([[0.0], [1.0]])):
        with pytest.warns(UserWarning, match="takes one cluster"):
            model = KMeans("auto").fit(X)
        assert model.n_clusters_ == 1 and model.search_ is None


def test_one_cluster_and_clusters_of_equal_rows_are_exact():
    X = blobs()
    assert KMeans(1).fit(X).certificate_.kind == "exact"
    equal = np.repeat(X[:3], 4, axis=0)
    assert KMeans(3, random_state=0).fit(equal).certificate_.kind == "exact"


def test_a_fit_of_few_steps_says_that_it_stopped():
    X = np.random.default_rng(0).uniform(size=(300, 2))
    model = KMeans(10, init=X[:10] * 0.01, max_iter=1).fit(X)
    assert model.certificate_.kind == "stopped"
    assert "raise max_iter" in model.certificate_.verdict


# ---- the second gap ------------------------------------------------------------------------------


@pytest.mark.parametrize("k, kind", [(2, "under-fitted"), (4, "balanced"), (12, "over-fitted")])
def test_the_verdict_tells_too_many_clusters_from_too_few(k, kind):
    model = KMeans(k, random_state=0, n_init=3).fit(blobs(seed=7, n=160))
    assert model.generalization_.kind == kind
    assert model.generalization_.metric == "explained variance"


def test_the_density_is_that_of_its_gaussians():
    X = blobs(n=40)
    model = KMeans(4, random_state=0, n_init=3).fit(X)
    fit = model._fitted(*model._training)
    assert isinstance(fit, KMeansFit)
    probes = X[:5] + 0.3
    shares = np.bincount(model.labels_) / 40
    apart = ((probes[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    inside = [X[model.labels_ == j] - model.cluster_centers_[j] for j in range(4)]
    # Lemma 3.4 of Ledoit and Wolf (2004) twice: towards a sphere, and towards what that gives.
    pooled, scale = ledoit_wolf(np.vstack(inside), assume_centered=True)[0], 40 / (40 - 4)
    density = np.zeros(5)
    for share, center, part in zip(shares, model.cluster_centers_, inside, strict=True):
        covariance = part.T @ part / len(part)
        error = np.mean(np.sum((part[:, :, None] * part[:, None] - covariance) ** 2, axis=(1, 2)))
        drawn = min(error / len(part) / np.sum((covariance - pooled) ** 2), 1.0)
        covariance = scale * ((1 - drawn) * covariance + drawn * pooled)
        density += share * multivariate_normal(center, covariance).pdf(probes)
    found = fit.model(Design(probes))
    np.testing.assert_allclose(found[:, 0], apart.min(axis=1))
    np.testing.assert_allclose(found[:, 1], -np.log(density), rtol=1e-6)


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_number_of_clusters_is_found(k, seed):
    X = blobs(k, n=150, d=2, seed=seed, apart=7.0)
    model = KMeans("auto", random_state=seed).fit(X)
    assert model.n_clusters_ == k == len(model.cluster_centers_)
    assert model.search_.best == {"n_clusters": k}


@pytest.mark.parametrize("d", [5, 20])
def test_clusters_of_different_widths_and_directions_are_found(d):
    rng = np.random.default_rng(d)
    centers = 10 * np.eye(3, d)
    which = rng.integers(3, size=150)
    turned = rng.normal(size=(d, d)) / np.sqrt(d)
    X = centers[which] + rng.normal(size=(150, d)) @ turned * np.array([0.5, 1.0, 1.5])[which, None]
    assert KMeans("auto", random_state=0).fit(X).n_clusters_ == 3


@pytest.mark.parametrize("shape", ["long", "flat", "skewed", "with several tails"])
def test_one_cloud_is_one_cluster(shape):
    rng = np.random.default_rng(5)
    clouds = {
        "long": rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)),
        "flat": rng.uniform(size=(200, 4)),
        "skewed": rng.exponential(size=(200, 4)),
        # Two clusters cut off one tail, in another fold another one.
        "with several tails": np.random.default_rng([5, 1, 4]).normal(size=(200, 4)) ** 2,
    }
    assert KMeans("auto", random_state=0).fit(clouds[shape]).n_clusters_ == 1


def test_the_numbers_of_wine_and_iris():
    wine = StandardScaler().fit_transform(load_wine().data)
    assert KMeans("auto", random_state=0).fit(wine).n_clusters_ == 3
    # Two of its species have no gap between them.
    assert KMeans("auto", random_state=0).fit(load_iris().data).n_clusters_ == 2


def test_many_columns_and_sparse_rows_have_a_number_too(rng):
    centers = 12 * np.eye(3, 80)
    X = sp.csr_array(centers[rng.integers(3, size=90)] + rng.normal(size=(90, 80)))
    assert KMeans("auto", random_state=0).fit(X).n_clusters_ == 3


def test_weights_count_in_the_choice_of_a_number(rng):
    X = blobs(3, n=60, d=2, seed=3, apart=7.0)
    weights = rng.integers(0, 3, size=len(X))
    one = KMeans("auto", random_state=0).fit(X, sample_weight=weights)
    other = KMeans("auto", random_state=0).fit(np.repeat(X, weights, axis=0))
    assert one.n_clusters_ == other.n_clusters_
    np.testing.assert_allclose(one.search_.unseen, other.search_.unseen)


def test_a_score_is_corrected_for_the_choice():
    model = KMeans("auto", random_state=0).fit(blobs(3, n=100, d=2))
    assert "corrected for selection among" in model.generalization_.method


# ---- input, files, time --------------------------------------------------------------------------


def test_bad_input_is_named():
    X = blobs()
    with pytest.raises(ValueError, match="should be >= n_clusters=9"):
        KMeans(9).fit(X[:5])
    with pytest.raises(ValueError, match="does not match the number of clusters"):
        KMeans(4, init=X[:3]).fit(X)
    with pytest.raises(ValueError, match="does not match the number of features"):
        KMeans(3, init=X[:3, :2]).fit(X)
    with pytest.raises(ValueError, match="tries several numbers"):
        KMeans("auto", init=X[:3]).fit(X)
    with pytest.raises(ValueError, match="at least one non-zero"):
        KMeans(2).fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="row 3"):
        KMeans(2).fit(np.where(np.arange(len(X))[:, None] == 3, np.nan, X))


def test_fewer_distinct_rows_than_clusters_are_said():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        KMeans(3, random_state=0).fit([[0.0], [0.0], [1.0], [1.0]])


def test_a_time_limit_keeps_a_whole_step(monkeypatch):
    complete = ClusterRows.step

    def step(rows, state, is_first):
        """The fourth step begins when the time is over."""
        with time_limit(0.0 if len(steps) == 3 else None):
            steps.append(complete(rows, state, is_first))
        return steps[-1]

    steps = []
    monkeypatch.setattr(ClusterRows, "step", step)
    X = np.random.default_rng(0).uniform(size=(500, 2))
    with pytest.warns(ConvergenceWarning, match="stopped by its time_limit=60 after 3 steps"):
        model = KMeans(20, init=X[:20], tol=0.0, time_limit=60.0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.certificate_.kind == "stopped"
    assert len(model.trace_.objective) == model.n_iter_ == 3
    assert np.all(np.diff(model.trace_.objective) < 0)


def test_a_limit_too_short_for_one_step_is_an_error():
    for model in (KMeans(3, time_limit=1e-9), MiniBatchKMeans(3, time_limit=1e-9)):
        with pytest.raises(TimeLimit, match="its time_limit=1e-09 before there were any centres"):
            model.fit(blobs())
    with pytest.raises(TimeLimit, match="time_limit=1e-09 before all numbers were tried"):
        KMeans("auto", time_limit=1e-9).fit(blobs())


def test_files_and_copies_predict_alike(tmp_path):
    X = pd.DataFrame(blobs(), columns=list("abc"))
    model = KMeans(4, random_state=0).fit(X)
    gapless.save(model, tmp_path / "model.gapless")
    for other in (gapless.load(tmp_path / "model.gapless"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
        assert str(other.certificate_) == str(model.certificate_)
        np.testing.assert_array_equal(other.trace_.objective, model.trace_.objective)
    assert list(model.get_feature_names_out()) == ["kmeans0", "kmeans1", "kmeans2", "kmeans3"]
    assert model.set_output(transform="pandas").transform(X).columns[0] == "kmeans0"
