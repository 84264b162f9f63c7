"""Kernel PCA keeps every promise of an estimator, in every form."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import KernelPCA
from gapless._ground.threads import threads
from gapless.kernels import Gaussian, Linear

FORMS = [
    {"n_components": 2},
    {"n_components": 3, "kernel": "rbf", "gamma": 0.2},
    {"n_components": 3, "kernel": "rbf", "gamma": "scale", "eigen_solver": "arpack"},
    {"n_components": 3, "kernel": "poly", "degree": 2},
    {"kernel": 0.5 * Gaussian("scale") + Linear(), "n_components": 4},
    {"n_components": 2, "kernel": "rbf", "fit_inverse_transform": True, "alpha": 0.1},
    {"n_components": 2, "kernel": "rbf", "gamma": 0.1, "pre_image": "distances"},
    {"n_components": 2, "kernel": "laplacian"},
]
every_form = pytest.mark.parametrize(
    "form", FORMS, ids=lambda form: "-".join(map(str, form.values()))
)
PROBES = np.random.default_rng(1).normal(size=(9, 3))


def make_data(n=40, seed=20261118):
    return np.random.default_rng(seed).normal(size=(n, 3)) * [2.0, 1.0, 0.5] + [0.0, 1.0, -1.0]


def has_pre_images(form):
    return form.get("kernel") != "laplacian"


def assert_same_model(one, other, rtol=1e-7):
    expected = one.transform(PROBES)
    np.testing.assert_allclose(other.transform(PROBES), expected, rtol=0, atol=rtol)
    np.testing.assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=rtol)
    if has_pre_images(one.get_params()):
        np.testing.assert_allclose(other.denoise(PROBES), one.denoise(PROBES), atol=1e-3)


@pytest.mark.parametrize("model", [KernelPCA(), KernelPCA(2, kernel="rbf")], ids=repr)
def test_check_estimator_passes_with_no_expected_failures(model):
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    assert sum(r["status"] == "passed" for r in results) > 40


@every_form
def test_certificate_is_proved_and_certify_agrees(form):
    X = make_data()
    model = KernelPCA(**form).fit(X)
    again = gapless.certify(model, X)
    assert model.certificate_.kind in ("exact", "optimal") and again.kind in ("exact", "optimal")
    assert again.primal == pytest.approx(model.certificate_.primal, abs=1e-9 * again.scale)
    assert 0 <= again.gap <= again.tolerance


@every_form
def test_weights_are_repeated_rows_in_any_order(form):
    X = make_data()
    weights = np.random.default_rng(0).integers(0, 4, size=len(X))
    repeated = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), weights))
    weighted = KernelPCA(**form).fit(X, sample_weight=weights)
    plain = KernelPCA(**form).fit(X[repeated])
    assert_same_model(plain, weighted)
    of_all = KernelPCA(**form).fit_transform(X, sample_weight=weights)
    np.testing.assert_allclose(of_all, weighted.transform(X), atol=1e-7)
    np.testing.assert_allclose(plain.X_fit_, X[repeated])
    norms = np.linalg.norm(plain.eigenvectors_, axis=0)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-7)


def test_weights_count_in_the_generalization_too():
    X = make_data(n=14)
    weights = np.arange(len(X)) % 3
    form = {"n_components": 1, "kernel": "poly", "degree": 2}
    one = KernelPCA(**form).fit(X, sample_weight=weights).generalization_
    other = KernelPCA(**form).fit(np.repeat(X, weights, axis=0)).generalization_
    assert one.unseen == pytest.approx(other.unseen, rel=1e-6)
    assert one.verdict == other.verdict


@every_form
def test_float32_stays_float32(form):
    X = make_data().astype(np.float32)
    model = KernelPCA(**form).fit(X)
    assert model.transform(X).dtype == model.fit_transform(X).dtype == np.float32
    assert model.eigenvectors_.dtype == np.float32
    if has_pre_images(form):
        assert model.denoise(X).dtype == np.float32
    double = KernelPCA(**form).fit(X.astype(float))
    np.testing.assert_allclose(model.transform(X), double.transform(X), atol=1e-3)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_sparse_is_dense(container):
    X = np.where(np.abs(make_data()) < 0.8, 0.0, make_data())
    for kernel in ("linear", "rbf"):
        one = KernelPCA(2, kernel=kernel).fit(X)
        other = KernelPCA(2, kernel=kernel).fit(container(X))
        np.testing.assert_allclose(other.transform(container(X)), one.transform(X), atol=1e-9)
        np.testing.assert_allclose(other.denoise(container(X)), one.denoise(X), atol=1e-6)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_tables_give_names_and_come_out_as_tables(library):
    X = make_data()
    table = library.DataFrame({name: X[:, j] for j, name in enumerate("abc")})
    model = KernelPCA(2, kernel="rbf").set_output(transform=library.__name__).fit(table)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    out = model.transform(table)
    assert list(out.columns) == ["kernelpca0", "kernelpca1"]
    np.testing.assert_allclose(out.to_numpy(), KernelPCA(2, kernel="rbf").fit(X).transform(X))


@every_form
def test_pickle_clone_and_files_keep_the_model(form, tmp_path):
    X = make_data()
    model = KernelPCA(**form).fit(X)
    gapless.save(model, tmp_path / "model.gapless")
    for copied in (pickle.loads(pickle.dumps(model)), gapless.load(tmp_path / "model.gapless")):
        np.testing.assert_array_equal(copied.transform(PROBES), model.transform(PROBES))
        np.testing.assert_array_equal(copied.eigenvectors_, model.eigenvectors_)
        assert str(copied.certificate_) == str(model.certificate_)
        if has_pre_images(form):
            np.testing.assert_array_equal(copied.denoise(PROBES), model.denoise(PROBES))
    assert_same_model(model, clone(model).fit(X), rtol=0)


def test_same_bits_for_any_number_of_threads():
    X = make_data(n=600)
    found = []
    for count in (1, 3):
        with threads(count):
            model = KernelPCA(3, kernel="rbf", random_state=0).fit(X)
            found.append(np.hstack([model.transform(PROBES), model.denoise(PROBES)]))
    np.testing.assert_array_equal(*found)


def test_values_that_do_not_fit_into_memory_are_computed_again(monkeypatch):
    X = make_data(n=400)
    inside = KernelPCA(3, kernel="rbf", gamma=0.3).fit(X)
    monkeypatch.setattr("gapless.problem.kernel_matrix.free_memory", lambda: 4e5)
    monkeypatch.setattr("gapless._ground.memory.BLOCK", 1 << 14)
    outside = KernelPCA(3, kernel="rbf", gamma=0.3).fit(X)
    assert_same_model(inside, outside)
    assert outside.certificate_.kind in ("bound", "optimal")


@pytest.fixture
def of_many_rows(monkeypatch):
    """A fit of as many rows as leave the proof to whoever reads the certificate, and its rows."""
    monkeypatch.setattr("gapless.models.decomposition.kernel_certificate.PROVED_ROWS", 260)
    monkeypatch.setattr("gapless.models.decomposition.kernel_certificate.PROVED_ON_REQUEST", 260)
    X = make_data(300)
    model = KernelPCA(3, kernel="rbf", gamma=0.2, random_state=0).fit(X)
    assert "certificate_" not in vars(model) and "certificate_" in dir(model)
    return model, X


def test_certificates_of_many_rows_are_proved_when_read(of_many_rows, tmp_path):
    model, X = of_many_rows
    gapless.save(model, tmp_path / "model.gapless")
    others = [clone(model).fit(X), pickle.loads(pickle.dumps(model)), copy.copy(model)]
    X *= 2  # The model has rows of its own.
    found = model.certificate_
    assert found is model.certificate_
    assert (found.kind, found.method) == ("optimal", "random probes")
    assert "at most 0.0001 % below the best" in found.verdict
    for other in (*others[1:], gapless.load(tmp_path / "model.gapless")):
        assert str(other.certificate_) == str(found)
    X /= 2
    assert gapless.certify(model, X).method == "random probes"
    seen = others[0].generalization_
    assert 0.4 < seen.unseen < seen.train
    assert "certificate_" not in vars(others[0])


def test_certificates_of_many_rows_notice_wrong_directions(of_many_rows):
    model, _ = of_many_rows
    best = clone(model).set_params(n_components=4).fit(make_data(300)).subspace_
    others = [0, 1, 3]
    model.subspace_ = replace(best, coef=best.coef[:, others], values=best.values[others])
    assert model.certificate_.kind == "stopped"
    lost = float(best.values[2] - best.values[3])
    assert model.certificate_.gap == pytest.approx(lost, rel=1e-3)


def test_loose_certificates_name_certify_only_where_it_proves_more(monkeypatch):
    home = "gapless.models.decomposition.kernel_certificate"
    monkeypatch.setattr(f"{home}.PROVED_ROWS", 260)
    # This kernel may have negative eigenvalues, which probes do not bound.
    X = np.random.default_rng(0).normal(size=(300, 6))
    model = KernelPCA(4, kernel="sigmoid", gamma=0.01).fit(X)
    assert model.certificate_.kind == "bound"
    assert "gapless.certify(model, X) proves more" in model.certificate_.verdict
    monkeypatch.setattr(f"{home}.PROVED_ON_REQUEST", 260)
    model = KernelPCA(4, kernel="sigmoid", gamma=0.01).fit(X)
    assert "no better bound is known" in model.certificate_.verdict
    assert "no better bound is known" in gapless.certify(model, X).verdict


def test_certificates_of_many_rows_obey_the_time_limit(of_many_rows):
    model, _ = of_many_rows
    model.set_params(time_limit=1e-6)
    assert model.certificate_.kind == "stopped"
    assert "raise max_iter or time_limit" in model.certificate_.verdict
    kept = model.explained_variance_ratio_.sum()
    assert model.certificate_.relative_gap == pytest.approx(1 - kept, rel=1e-3)


def test_equal_rows_have_nothing_that_varies():
    for kernel, count in (("rbf", 2), ("linear", 2), ("rbf", None)):
        model = KernelPCA(count, kernel=kernel).fit(np.full((9, 3), 2.5))
        assert model.certificate_.verdict == "exact: the rows are equal, and nothing varies."


def test_few_steps_leave_an_honest_gap_and_a_warning():
    X = make_data(n=400)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = KernelPCA(10, kernel="rbf", gamma=3.0, max_iter=2, random_state=0).fit(X)
    best = KernelPCA(10, kernel="rbf", gamma=3.0, eigen_solver="dense").fit(X)
    assert model.certificate_.kind == "stopped"
    excess = model.certificate_.primal - best.certificate_.primal
    assert 0 < excess <= model.certificate_.gap


def test_error_leaves_the_model_as_it_was():
    X = make_data()
    model = KernelPCA(2, kernel="rbf").fit(X)
    before = model.transform(PROBES)
    X[17, 1] = np.nan
    with pytest.raises(ValueError, match="row 17, column 1"):
        model.fit(X)
    np.testing.assert_array_equal(model.transform(PROBES), before)


@pytest.mark.parametrize(
    "form, X, message",
    [
        ({"kernel": "precomputed"}, np.ones((3, 2)), "must be a square matrix"),
        ({"kernel": "rbff"}, np.ones((3, 2)), "rbff"),
        (
            {"kernel": gapless.kernels.Gaussian(1.0) + gapless.kernels.White(0.1)},
            np.eye(3),
            "leave White out",
        ),
        ({"n_components": 0}, np.eye(3), "n_components"),
        ({"kernel": "poly", "degree": 300}, 1e9 * np.eye(3), "not finite"),
    ],
)
def test_errors_say_what_is_wrong(form, X, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**form).fit(X)


def test_errors_of_pre_images_say_what_to_do():
    X = make_data()
    with pytest.raises(ValueError, match="at least one non-zero"):
        KernelPCA().fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(ValueError, match="fit_inverse_transform=True"):
        KernelPCA(2, kernel="laplacian").fit(X).denoise(X)
    with pytest.raises(ValueError, match="fit_inverse_transform=True"):
        KernelPCA(2, kernel="cosine", pre_image="distances").fit(X).denoise(X)
    with pytest.raises(ValueError, match="needs a learned map"):
        KernelPCA(2, pre_image="ridge").fit(X).denoise(X)
    with pytest.raises(ValueError, match="or pre_image"):
        KernelPCA(2, kernel="rbf").fit(X).inverse_transform(X[:, :2])
    model = KernelPCA(2, kernel="rbf", pre_image="fixed_point").fit(X)
    with pytest.raises(ValueError, match="3 columns, but KernelPCA has 2 components"):
        model.inverse_transform(X)
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.certify(model, X[1:])
    with pytest.raises(ValueError, match="no rows to go back to"):
        KernelPCA(2, kernel="precomputed").fit(X @ X.T).pre_images(np.zeros((1, 2)))


# ---- far from 0 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.1}], ids=str)
@pytest.mark.parametrize("offset", [-1e6, 1e8])
def test_rows_far_from_0_lose_no_digits(form, offset, tmp_path):
    # Multiples of 1/1024 are exact wherever these rows are.
    X = np.round(make_data() * 1024) / 1024
    near = KernelPCA(2, fit_inverse_transform=True, **form).fit(X)
    far = KernelPCA(2, fit_inverse_transform=True, **form).fit(X + offset)
    np.testing.assert_allclose(far.eigenvalues_, near.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(far.transform(X + offset), near.transform(X), atol=1e-9)
    np.testing.assert_array_equal(far.X_fit_, X + offset)
    assert far.certificate_.kind == near.certificate_.kind == "exact"
    assert gapless.certify(far, X + offset).kind == "exact"
    for method in ("fixed_point", "distances"):
        near.pre_image = far.pre_image = method
        # Rows that large have this many digits.
        room = 1e-6 + 64 * np.finfo(float).eps * abs(offset)
        np.testing.assert_allclose(far.denoise(X + offset) - offset, near.denoise(X), atol=room)
    gapless.save(far, tmp_path / "far.gapless")
    stored = gapless.load(tmp_path / "far.gapless")
    np.testing.assert_array_equal(stored.transform(X + offset), far.transform(X + offset))


def test_rows_far_from_0_leave_the_generalization_as_it_is():
    X = np.round(make_data(16) * 1024) / 1024
    near, far = (KernelPCA(1).fit(X + offset).generalization_ for offset in (0.0, 1e8))
    np.testing.assert_allclose(far.unseen, near.unseen, rtol=1e-6)
    assert far.kind == near.kind


@pytest.mark.parametrize("n", [40, 300])
def test_values_without_digits_end_in_time_and_say_what_to_do(n):
    X = make_data(n) + 1e8
    found = KernelPCA(2, kernel="poly", degree=2, eigen_solver="arpack").fit(X).certificate_
    assert found.kind in ("stopped", "bound") and found.is_finite
    assert "subtract the means" in found.verdict
