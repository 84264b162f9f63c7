"""PCA and TruncatedSVD keep every promise: of scikit-learn, of weights, threads and both gaps."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import PCA, TruncatedSVD
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless._ground.threads import threads
from gapless.models.decomposition import certifying
from gapless.models.decomposition.eigenpairs import top_eigenpairs
from gapless.models.decomposition.held_out import choose_count
from gapless.models.decomposition.leading import EXCESS, Rule
from gapless.models.decomposition.scatter import Scatter
from gapless.models.decomposition.subspace_bound import bound_by_probes

FORMS = [
    PCA(),
    PCA(n_components=2, whiten=True),
    PCA(n_components=0.9),
    PCA(n_components="cv"),
    PCA(n_components=1, svd_solver="covariance_eigh"),
    PCA(n_components=1, svd_solver="randomized"),
    TruncatedSVD(n_components=1),
    TruncatedSVD(n_components=1, algorithm="arpack"),
]
SOLVERS = ["full", "covariance_eigh", "arpack", "randomized"]
every_form = pytest.mark.parametrize("model", FORMS, ids=repr)


def rows_near_a_plane(rng, n=60, d=9, k=3, noise=0.3):
    plane = rng.normal(size=(n, k)) * np.arange(k, 0, -1) @ rng.normal(size=(k, d))
    return plane + noise * rng.normal(size=(n, d)) + rng.normal(size=d)


def assert_same_components(one, other, tol=1e-6):
    np.testing.assert_allclose(one.components_, other.components_, atol=tol)
    np.testing.assert_allclose(one.explained_variance_, other.explained_variance_, rtol=tol)
    np.testing.assert_allclose(one.singular_values_, other.singular_values_, rtol=tol)


@pytest.mark.parametrize("model", [FORMS[0], FORMS[1], FORMS[4], FORMS[5], FORMS[6]], ids=repr)
def test_scikit_learns_checks_find_nothing(model):
    check_estimator(model, on_skip=None)


# ---- the answer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(60, 9), (12, 40)])
def test_all_solvers_find_the_components_of_scikit_learn(solver, shape, rng):
    X = rows_near_a_plane(rng, *shape)
    ours = PCA(3, svd_solver=solver).fit(X)
    theirs = sklearn.decomposition.PCA(3, svd_solver="full").fit(X)
    assert_same_components(ours, theirs)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-5)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-6)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-4)


@pytest.mark.parametrize("count", [0.5, 0.9, 0.99, "mle", None])
def test_the_number_of_components_is_that_of_scikit_learn(count, rng):
    X = rows_near_a_plane(rng)
    ours, theirs = PCA(count).fit(X), sklearn.decomposition.PCA(count).fit(X)
    assert ours.n_components_ == theirs.n_components_
    assert_same_components(ours, theirs)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh"])
@pytest.mark.parametrize("count", [None, 7, "mle"])
def test_repeated_rows_leave_the_number_of_components_of_scikit_learn(count, solver, rng):
    X = rng.normal(size=(4, 7))
    repeated = np.repeat(X, 3, axis=0)
    theirs = sklearn.decomposition.PCA(count, svd_solver=solver).fit(repeated)
    data = (X, None, np.full(4, 3.0)), (repeated[::-1],)
    fits = [PCA(count, svd_solver=solver).fit(*rows) for rows in data]
    for ours, rows in zip(fits, data, strict=True):
        assert ours.n_components_ == theirs.n_components_
        np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, atol=1e-12)
        np.testing.assert_allclose(
            ours.components_ @ ours.components_.T, np.eye(ours.n_components_), atol=1e-12
        )
        assert gapless.certify(ours, *rows).kind in ("exact", "optimal")
    np.testing.assert_allclose(fits[0].components_, fits[1].components_, atol=1e-8)
    np.testing.assert_allclose(fits[0].noise_variance_, fits[1].noise_variance_, atol=1e-12)


def test_weights_below_1_leave_a_component_for_each_distinct_row(rng):
    X = rng.normal(size=(30, 7))
    assert PCA().fit(X, sample_weight=np.full(30, 0.1)).n_components_ == 7


@pytest.mark.parametrize("shape", [(700, 40), (40, 700), (600, 650)])
def test_larger_shapes_take_another_way_to_the_same_components(shape, rng):
    X = rows_near_a_plane(rng, *shape)
    model = PCA(3).fit(X)
    assert model.solver_ == {40: "covariance_eigh", 700: "gram_eigh", 650: "lanczos"}[shape[1]]
    V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:3]
    np.testing.assert_allclose(np.abs(model.components_ @ V.T), np.eye(3), atol=1e-5)
    assert model.certificate_.kind == "optimal"


@pytest.mark.parametrize("cls", [PCA, TruncatedSVD])
def test_sparse_rows_have_the_components_of_dense_ones(cls, rng):
    dense = rows_near_a_plane(rng, 50, 30) * (rng.random((50, 30)) < 0.3)
    for X in (sp.csr_array(dense), sp.csc_array(dense)):
        model = cls(3).fit(X)
        assert_same_components(model, cls(3).fit(dense))
        np.testing.assert_allclose(
            model.transform(X), cls(3).fit(dense).transform(dense), atol=1e-6
        )


def test_rows_far_from_0_lose_no_digits(rng):
    X = rows_near_a_plane(rng, 600, 20)
    for far, dtype, tol in ((1e6, np.float64, 1e-6), (1e3, np.float32, 1e-2)):
        moved = PCA(3).fit((X + far).astype(dtype))
        np.testing.assert_allclose(moved.components_, PCA(3).fit(X).components_, atol=tol)


def test_small_eigenvalues_beside_large_ones_are_found_by_iterations(rng):
    X = rows_near_a_plane(rng, 1100, 1000, noise=1e-3)
    X[:, 0] += 1e4 * rng.normal(size=1100)
    model = PCA(6, svd_solver="randomized").fit(X)
    S = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    left = S.sum() - model.explained_variance_.sum()
    assert left <= S[6:].sum() * (1 + 1e-5) + 1e-12 * S.sum()


@pytest.mark.parametrize("power", [0.5, 3.0])
def test_iterations_of_float32_rows_stop_at_the_excess_that_they_promise(power, rng):
    U, V = (np.linalg.qr(rng.normal(size=(n, 200)))[0] for n in (230, 200))
    X = ((U * np.arange(1.0, 201) ** -power) @ V.T).astype(np.float32)
    model = PCA(20, svd_solver="randomized").fit(X)
    exact = X.astype(float)
    best = np.linalg.svd(exact - exact.mean(axis=0), compute_uv=False)[20:] ** 2
    plane = np.linalg.qr(model.components_.T.astype(float))[0].T
    left = unexplained(exact, np.ones(230), exact.mean(axis=0), plane)
    assert left <= best.sum() * (1 + EXCESS) + 1e-14


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_what_an_iteration_could_still_gain_is_known_within_a_factor(power, rng):
    values = np.arange(1.0, 401) ** (-2 * power)
    rule, seen = Rule(20, 16, values.sum(), 0.0), []

    def is_enough(found, residuals, beyond):
        missed = values[:20].sum() - found[:20].sum()
        seen.append((missed, rule.gain(found, residuals, beyond)))
        return missed < 1e-11

    top_eigenpairs(lambda V: values[:, None] * V, 400, 36, is_enough=is_enough)
    late = [pair for pair in seen if 1e-11 < pair[0] < 1e-4]
    assert len(late) > 1
    for missed, gain in late:
        assert missed <= gain <= 5 * missed


def test_probes_in_float32_see_no_more_than_their_rounding(rng):
    Q = np.linalg.qr(rng.normal(size=(200, 20)))[0]
    S, W = Q[:, :15] @ Q[:, :15].T, Q
    inner, rest = W.T @ S @ W, np.zeros((20, 20))
    found = bound_by_probes(
        lambda V: S.astype(V.dtype) @ V, W, inner, rest, 20, 1e-20, 15.0, np.dtype(np.float32)
    )
    assert 15.0 <= found.value <= 15.0 + 1e-4


def test_small_variances_of_many_float32_rows_are_not_taken_for_none(rng):
    X = (rng.normal(size=(4000, 12)) * 10.0 ** -np.linspace(0, 2, 12)).astype(np.float32)
    model = PCA(11).fit(X)
    left = unexplained(X, np.ones(len(X)), X.mean(axis=0, dtype=float), model.components_)
    values = np.linalg.svd(X - X.mean(axis=0, dtype=float), compute_uv=False) ** 2
    assert left == pytest.approx(values[11], rel=1e-2)


def test_coordinates_come_back_as_rows(rng):
    X = rows_near_a_plane(rng)
    for whiten in (False, True):
        model = PCA(9, whiten=whiten).fit(X)
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    Z = PCA(3, whiten=True).fit_transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=1e-9)
    with pytest.raises(ValueError, match="there are 9 components"):
        model.inverse_transform(X[:, :4])


# ---- laws ----------------------------------------------------------------------------------------


@every_form
def test_weight_is_repetition_and_zero_is_absence(model, rng):
    X = rows_near_a_plane(rng)
    weights = rng.integers(0, 4, size=len(X))
    repeated = np.repeat(X, weights, axis=0)
    one = copy.deepcopy(model).fit(X, sample_weight=weights)
    other = copy.deepcopy(model).fit(repeated[rng.permutation(len(repeated))])
    assert_same_components(one, other)
    known = one.generalization_, other.generalization_
    np.testing.assert_allclose(known[0].unseen, known[1].unseen, atol=1e-6)
    assert known[0].kind == known[1].kind


@every_form
def test_same_bits_for_any_number_of_threads(model, rng):
    X = rows_near_a_plane(rng, 900, 40)
    with threads(1):
        one = copy.deepcopy(model).fit(X)
    with threads(4):
        four = copy.deepcopy(model).fit(X)
    np.testing.assert_array_equal(one.components_, four.components_)
    assert one.certificate_ == four.certificate_


@every_form
def test_float32_stays_float32(model, rng):
    X = rows_near_a_plane(rng).astype(np.float32)
    fitted = copy.deepcopy(model).fit(X)
    assert fitted.transform(X).dtype == np.float32
    assert fitted.components_.dtype == np.float32
    assert fitted.certificate_.kind in ("exact", "optimal")


@every_form
def test_tables_in_and_out_and_copies(model, rng):
    X = rows_near_a_plane(rng)
    names = [f"c{j}" for j in range(X.shape[1])]
    for library in (pd, pl):
        table = library.DataFrame(dict(zip(names, X.T)))
        out = copy.deepcopy(model).set_output(transform=library.__name__).fit_transform(table)
        assert isinstance(out, library.DataFrame)
        assert next(iter(out.columns)) == f"{type(model).__name__.lower()}0"
    fitted = copy.deepcopy(model).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))


def test_a_time_limit_keeps_the_best_so_far(rng):
    X = rows_near_a_plane(rng, 400, 300)
    with pytest.warns(ConvergenceWarning, match="Raise time_limit"):
        model = PCA(2, svd_solver="randomized", time_limit=1e-9).fit(X)
    assert model.certificate_.kind == "stopped"
    assert model.certificate_.gap >= PCA(2).fit(X).certificate_.gap
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)


def test_a_time_limit_covers_the_choice_of_a_number(rng):
    X = rows_near_a_plane(rng)
    with pytest.raises(ValueError, match="before it could compare"):
        PCA("cv", time_limit=1e-9).fit(X)
    with time_limit(0.0), pytest.raises(TimeLimit):
        choose_count(X, np.ones(len(X)), True, np.arange(len(X)))


@pytest.mark.parametrize("moment", [0, 3, 8])
def test_ctrl_c_keeps_the_best_directions_so_far(moment, rng, monkeypatch):
    X = rng.normal(size=(150, 120))
    model, calls = PCA(4, svd_solver="randomized"), []

    def times(self, V, plain=Scatter.times):
        calls.append(V)
        if len(calls) == moment + 1:
            raise KeyboardInterrupt
        return plain(self, V)

    monkeypatch.setattr(Scatter, "times", times)
    with pytest.warns(ConvergenceWarning, match="at Ctrl-C"), pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert len(calls) == moment + 1
    V, found = model.components_, model.certificate_
    np.testing.assert_allclose(V @ V.T, np.eye(4), atol=1e-10)
    left = unexplained(X, np.ones(len(X)), X.mean(axis=0), V)
    best = np.sum(np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[4:] ** 2)
    assert found.kind == "stopped" and found.primal == pytest.approx(left)
    assert found.gap >= left - best


def test_a_certificate_that_takes_too_long_is_what_the_fit_knows(rng, monkeypatch):
    def too_long(*args):
        raise TimeLimit

    monkeypatch.setattr(certifying, "_by_products", too_long)
    X = rng.normal(size=(150, 120))
    found = PCA(4, svd_solver="randomized").fit(X).certificate_
    assert found.kind == "stopped" and found.method == "trace"
    assert found.dual <= found.primal


@pytest.mark.parametrize("model", [FORMS[5], FORMS[7]], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_certificate_of_an_iteration_is_computed_when_it_is_read(model, dtype, rng):
    X = rows_near_a_plane(rng, 150, 120).astype(dtype)
    fitted, other = (copy.deepcopy(model).fit(X) for _ in range(2))
    plain = copy.copy(fitted)
    assert "certificate_" not in vars(fitted) and "certificate_" in dir(fitted)
    # A file takes it along.
    expected = pickle.loads(pickle.dumps(other)).certificate_
    assert expected.kind == "optimal" and fitted.certificate_ == expected
    with pytest.raises(AttributeError, match=r"call gapless\.certify"):
        _ = plain.certificate_
    assert gapless.certify(plain, X).kind == "optimal"


@pytest.mark.parametrize("model", [FORMS[5], FORMS[7]], ids=repr)
@pytest.mark.parametrize(
    "change",
    [lambda X: 2 * X, lambda X: X + 1, lambda X: X[:, ::-1].copy()],
    ids=["scaled", "moved", "turned"],
)
def test_rows_that_have_changed_are_not_certified(model, change, rng):
    X = rows_near_a_plane(rng, 150, 120)
    fitted = copy.deepcopy(model).fit(X)
    X[:] = change(X)
    assert fitted.certificate_.kind == "stopped"
    assert "fit again" in fitted.certificate_.verdict


def test_a_model_is_copied_though_its_rows_are_no_longer_finite(rng):
    X = rng.normal(size=(60, 8))
    fitted = PCA(2, svd_solver="arpack").fit(X)
    X[:] = np.nan
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.components_, fitted.components_)
    assert copied.certificate_.kind == "none" and "changed" in copied.certificate_.verdict


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "randomized"])
@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_float32_rows_in_any_unit(unit, solver, rng):
    X = rows_near_a_plane(rng, 600)
    plain = PCA(2, svd_solver=solver).fit(X.astype(np.float32))
    model = PCA(2, svd_solver=solver).fit((unit * X).astype(np.float32))
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-4)
    np.testing.assert_allclose(
        model.explained_variance_ / unit**2, plain.explained_variance_, rtol=1e-4
    )
    assert model.certificate_.kind in ("optimal", "exact") and model.certificate_.gap >= 0


def test_equal_rows_have_a_component_without_variance():
    model = PCA(0.99).fit(np.ones((5, 3)))
    assert model.n_components_ == 1 and model.explained_variance_[0] == 0


@pytest.mark.parametrize("model", [PCA(), TruncatedSVD(3)], ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
def test_equal_rows_have_no_shares_of_variance_by_weight_or_repeated(offset, model, rng):
    weights = np.array([1, 2, 0, 1, 3, 2])
    for row in (np.full(8, offset), offset + rng.normal(size=8)):
        X = np.tile(row, (6, 1))
        data = (X, None, weights), (np.repeat(X, weights, axis=0),)
        for rows in data:
            fitted = copy.deepcopy(model).fit(*rows)
            np.testing.assert_array_equal(fitted.explained_variance_ratio_, 0.0)
            assert fitted.certificate_.kind in ("optimal", "exact")
            assert gapless.certify(fitted, *rows).kind in ("optimal", "exact")


def test_errors_say_what_to_do(rng):
    X = rows_near_a_plane(rng)
    with pytest.raises(ValueError, match="take fewer components"):
        PCA(10).fit(X)
    with pytest.raises(ValueError, match="use 'cv'"):
        PCA("mle").fit(X.T)
    with pytest.raises(ValueError, match="Multiply the weights"):
        PCA(2).fit(X, sample_weight=np.full(len(X), 1e-3))
    with pytest.raises(TypeError, match='use "auto"'):
        PCA(2, svd_solver="full").fit(sp.csr_array(X))
    with pytest.raises(ValueError, match='use svd_solver="auto"'):
        PCA(0.5, svd_solver="arpack").fit(X)
    with pytest.raises(ValueError, match="several different rows"):
        PCA("cv").fit(np.ones((5, 3)))
    with pytest.raises(ValueError, match="must be <= n_features"):
        TruncatedSVD(10).fit(X)


# ---- the first gap -------------------------------------------------------------------------------


def unexplained(X, weights, mean, V):
    Z = X - mean
    return float(weights @ np.sum((Z - Z @ V.T @ V) ** 2, axis=1))


def tampered(model, rng):
    """Models whose components are wrong in all kinds of ways."""
    V = model.components_
    others = [V + 0.1 * rng.normal(size=V.shape), V[[0, 0, 2]], 0.5 * V, -V, 0 * V]
    others += [np.linalg.qr(rng.normal(size=V.T.shape))[0].T]
    for other in others:
        twin = copy.copy(model)
        twin.components_ = other
        yield twin
    if hasattr(model, "mean_"):
        twin = copy.copy(model)
        twin.mean_ = model.mean_ + 0.3
        yield twin


@pytest.mark.parametrize("cls", [PCA, TruncatedSVD])
@pytest.mark.parametrize("shape", [(60, 9), (15, 40), (530, 510), (600, 650)])
def test_the_gap_bounds_the_excess_away_from_the_best(cls, shape, rng):
    X = rows_near_a_plane(rng, *shape)
    weights = rng.integers(0, 3, size=len(X)).astype(float)
    model = cls(3).fit(X, sample_weight=weights)
    mean = np.average(X, axis=0, weights=weights) if cls is PCA else np.zeros(X.shape[1])
    values = np.linalg.svd(np.sqrt(weights)[:, None] * (X - mean), compute_uv=False) ** 2
    best = values[3:].sum()
    for twin in [model, *tampered(model, rng)]:
        found = gapless.certify(twin, X, sample_weight=weights)
        at = getattr(twin, "mean_", mean)
        excess = unexplained(X, weights, at, twin.components_) - best
        assert found.gap >= excess - 1e-9 * values.sum()
        assert found.dual <= best + 1e-9 * values.sum()
        assert found.primal == pytest.approx(unexplained(X, weights, at, twin.components_))
        # It is tight as well: what is not optimal is not called so.
        assert found.gap <= excess + 1e-5 * values.sum()
        assert (found.kind == "stopped") == (excess > 1e-4 * values.sum())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("cls", [PCA, TruncatedSVD])
def test_stored_variances_that_are_not_those_of_the_rows_are_not_certified(cls, dtype, rng):
    X = rows_near_a_plane(rng).astype(dtype)
    model = cls(n_components=2).fit(X)
    assert gapless.certify(model, X).kind in ("exact", "optimal")
    names = ["singular_values_", "explained_variance_", "explained_variance_ratio_"]
    names += ["noise_variance_"] if cls is PCA else []
    for name in names:
        changed = copy.deepcopy(model)
        setattr(changed, name, getattr(model, name) * dtype(1.01))
        certificate = gapless.certify(changed, X)
        assert certificate.kind == "stopped"
        assert "variances" in certificate.verdict


def test_eigen_residuals_are_reported(rng):
    X = rows_near_a_plane(rng)
    model = PCA(2).fit(X)
    assert gapless.certify(model, X).kkt.stationarity.value < 1e-10
    turned = copy.copy(model)
    turned.components_ = np.array([[0.6, 0.8], [-0.8, 0.6]]) @ model.components_
    found = gapless.certify(turned, X)
    assert found.kind == "exact", "the plane is the same"
    S = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    v = turned.components_[0]
    expected = np.linalg.norm(S @ v - v * (v @ S @ v))
    assert found.kkt.stationarity.value == pytest.approx(expected, rel=1e-3)


# ---- the second gap ------------------------------------------------------------------------------


def test_unseen_score_is_that_of_folds_fitted_by_hand(rng):
    X = rows_near_a_plane(rng, 40, 6)
    fit = PCA(2).fit(X)._fitted(*PCA(2).fit(X)._training)
    train, test = np.arange(30), np.arange(30, 40)
    found = fit.fit_to(train)(fit.design.rows(test))
    mean = X[train].mean(axis=0)
    V = np.linalg.svd(X[train] - mean)[2][:2]
    for i, (distortion, surprise) in zip(test, found):
        z = X[i] - mean
        assert distortion == pytest.approx(np.sum((z - V.T @ (V @ z)) ** 2))
        # Each entry predicted by least squares from the others.
        errors = [
            z[j] - V[:, j] @ np.linalg.lstsq(np.delete(V, j, 1).T, np.delete(z, j))[0]
            for j in range(6)
        ]
        assert surprise == pytest.approx(np.sum(np.square(errors)))


@pytest.mark.parametrize("cls", [PCA, TruncatedSVD])
def test_too_few_and_too_many_components_are_told_apart(cls, rng):
    X = rows_near_a_plane(rng, 200, 12, k=4, noise=0.5)
    X -= X.mean(axis=0)
    kinds = [cls(count).fit(X).generalization_.kind for count in (1, 4, 10)]
    assert kinds == ["under-fitted", "balanced", "over-fitted"]


def test_the_number_of_components_is_chosen_by_held_out_entries(rng):
    for k in (1, 3, 5):
        X = rows_near_a_plane(rng, 150, 12, k=k, noise=0.4)
        model = PCA("cv").fit(X)
        assert model.n_components_ == k
        assert np.argmin(model.held_out_errors_) == k
        assert model.held_out_errors_[0] == pytest.approx(np.var(X, axis=0).sum(), rel=0.2)
