"""Bayes classifiers against scikit-learn, brute force, and what their docstrings promise."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import scipy.stats
import sklearn.discriminant_analysis
import sklearn.naive_bayes
from scipy.stats import gaussian_kde, multivariate_normal, norm
from sklearn.datasets import load_digits, load_iris, load_wine

import gapless
from gapless import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from gapless.models.bayes import held_out

OPTIONS = {
    "GaussianNB": [{}, {"var_smoothing": 0.1}, {"priors": [0.2, 0.3, 0.5]}],
    "MultinomialNB": [{}, {"alpha": 0.01}, {"fit_prior": False}],
    "ComplementNB": [{}, {"norm": True}],
    "BernoulliNB": [{"binarize": 3.0}, {"binarize": 3.0, "alpha": 0.1}],
    "CategoricalNB": [{}, {"min_categories": 200, "alpha": 0.5}],
    "LinearDiscriminantAnalysis": [
        {},
        {"solver": "eigen", "shrinkage": "auto"},
        {"solver": "lsqr", "shrinkage": 0.3, "priors": [0.2, 0.3, 0.5]},
    ],
    "QuadraticDiscriminantAnalysis": [
        {},
        {"reg_param": 0.2},
        {"solver": "eigen", "shrinkage": "auto"},
    ],
}
CASES = [(name, form) for name, forms in OPTIONS.items() for form in forms]


def theirs(name):
    module = sklearn.discriminant_analysis if "Discriminant" in name else sklearn.naive_bayes
    return getattr(module, name)


@pytest.mark.parametrize("name, form", CASES, ids=lambda value: str(value))
def test_same_probabilities_as_scikit_learn(name, form):
    X, y = load_iris(return_X_y=True)
    X = np.round(10 * X) if name == "CategoricalNB" else X
    ours = getattr(gapless, name)(**form).fit(X, y)
    peer = theirs(name)(**form).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", OPTIONS)
def test_parameters_and_defaults_are_those_of_scikit_learn(name):
    ours, peer = getattr(gapless, name)().get_params(), theirs(name)().get_params()
    assert peer.items() <= ours.items()


def test_gaussian_distances_lose_no_digits_far_from_zero():
    """Sums of (x − μ)² themselves, where products of x² and x with 1/σ² would cancel."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.integers(0, 2, size=300)
    X[y == 1] += 0.5
    near = gapless.GaussianNB(var_smoothing=0.0).fit(X, y)
    far = gapless.GaussianNB(var_smoothing=0.0).fit(X + 2.0**20, y)
    np.testing.assert_allclose(
        far.predict_proba(X + 2.0**20), near.predict_proba(X), rtol=1e-6, atol=1e-9
    )


def test_digits_by_a_direct_sum():
    X, y = load_digits(return_X_y=True)
    model = gapless.GaussianNB().fit(X, y)
    direct = [
        norm.logpdf(X[:50], mean, np.sqrt(variance)).sum(axis=1)
        for mean, variance in zip(model.theta_, model.var_)
    ]
    joint = np.transpose(direct) + np.log(model.class_prior_)
    np.testing.assert_allclose(model.predict_joint_log_proba(X[:50]), joint, rtol=1e-10)


def test_smoothing_of_parts_is_that_of_all_rows():
    """scikit-learn's epsilon_ after partial_fit is that of the last part alone."""
    X, y = load_wine(return_X_y=True)
    model = gapless.GaussianNB(var_smoothing=0.01)
    for part in np.array_split(np.arange(len(y)), 4):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    whole = gapless.GaussianNB(var_smoothing=0.01).fit(X, y)
    assert model.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-12)
    np.testing.assert_allclose(model.var_, whole.var_, rtol=1e-10)


def test_quadratic_discriminants_are_densities():
    X, y = load_iris(return_X_y=True)
    model = gapless.QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    direct = [
        multivariate_normal(mean, cov).logpdf(X)
        for mean, cov in zip(model.means_, model.covariance_)
    ]
    p = np.exp(np.transpose(direct)) * model.priors_
    np.testing.assert_allclose(
        model.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=1e-8, atol=1e-12
    )


def test_covariance_without_an_inverse_is_shrunk_and_named():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(UserWarning, match=r"covariance of 3 classes \(0, 1, 2\) has no inverse"):
        model = gapless.QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_array_equal(model.singular_, [0, 1, 2])
    assert model.score(X, y) > 0.95
    assert model.certificate_.kind == "exact"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "fold" in model.generalization_.method


# ---- tables --------------------------------------------------------------------------------------


def make_table(n=80, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n)
    words = ["sun", "beach", "swim", "snow", "skis", "cold"]
    columns = {
        "age": [None if rng.random() < 0.2 else float(rng.normal() + c) for c in y],
        "city": [None if rng.random() < 0.2 else str(rng.choice(["Oslo", "Rome"])) for _ in y],
        "note": [
            " ".join(rng.choice(words[3 * c : 3 * c + 4 - c], 4)) + f" no{k}"
            for k, c in enumerate(y)
        ],
    }
    return columns, np.array(["summer", "winter"])[y]


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_kinds_of_columns_are_told_by_their_types(library):
    columns, y = make_table()
    model = gapless.NaiveBayes().fit(library.DataFrame(columns), y)
    assert model.columns_.kinds == ("number", "category", "text")
    assert list(model.columns_.known[1]) == ["Oslo", "Rome"]
    assert {"sun", "skis", "no7"} <= model.columns_.known[2].keys()
    assert model.generalization_.unseen > 0.9


def test_pandas_and_polars_are_alike():
    columns, y = make_table()
    one, other = pd.DataFrame(columns), pl.DataFrame(columns)
    np.testing.assert_array_equal(
        gapless.NaiveBayes().fit(one, y).predict_proba(one),
        gapless.NaiveBayes().fit(other, y).predict_proba(other),
    )


def test_a_table_is_the_product_of_its_columns():
    columns, y = make_table()
    table = pd.DataFrame(columns)
    joint = gapless.NaiveBayes().fit(table, y).predict_joint_log_proba(table)
    single = sum(
        gapless.NaiveBayes().fit(table[[name]], y).predict_joint_log_proba(table[[name]])
        for name in columns
    )
    prior = np.log(gapless.NaiveBayes().fit(table, y).class_prior_)
    np.testing.assert_allclose(joint, single - 2 * prior, rtol=1e-10)


def test_leave_one_out_of_a_table_is_what_refits_say():
    """Missing values, words and levels of one row alone, and rows of the same x included."""
    columns, y = make_table(40)
    table = pd.DataFrame(columns)
    table.loc[3, "city"] = "Lima"
    table.loc[5, "note"] = None
    table.loc[7] = table.loc[6]
    for numbers in ("gaussian", "kernel"):
        model = gapless.NaiveBayes(numbers=numbers).fit(table, y)
        fitted = model._fitted_to(table, y)
        held = fitted.held_out(None)
        p = np.exp(held - held.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        for i in (0, 3, 5, 6, 7, 20):
            rest = fitted.units != fitted.units[i]
            refit = gapless.NaiveBayes(numbers=numbers).fit(table[rest], y[rest])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                told = refit.predict_proba(table.iloc[[i]])[0]
            np.testing.assert_allclose(p[i], told, atol=1e-10)


def test_unseen_categories_are_counted_and_left_out():
    columns, y = make_table()
    table = pd.DataFrame(columns)
    model = gapless.NaiveBayes().fit(table, y)
    new = table.iloc[:5].copy()
    new["city"] = ["Paris", "Rome", None, "Lima", "Paris"]
    missing = new.copy()
    missing["city"] = [None, "Rome", None, None, None]
    with pytest.warns(UserWarning, match=r"3 of 5 rows in column 'city', such as 'Paris'"):
        p = model.predict_proba(new)
    np.testing.assert_array_equal(p, model.predict_proba(missing))
    counted = gapless.CategoricalNB().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])
    with pytest.warns(UserWarning, match=r"2 values in 1 of 2 rows .* such as 4 in column 0"):
        p = counted.predict_proba([[4, 7], [0, 1]])
    np.testing.assert_allclose(p[0], [1 / 3, 2 / 3])


def test_a_row_of_missing_values_has_the_priors():
    columns, y = make_table()
    model = gapless.NaiveBayes(numbers="kernel").fit(pd.DataFrame(columns), y)
    empty = pd.DataFrame({"age": [np.nan], "city": [None], "note": [None]})
    np.testing.assert_allclose(model.predict_proba(empty)[0], model.class_prior_)


def test_kernel_densities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(90, 1)), np.repeat([0, 1], 45)
    x[y == 1] = np.abs(x[y == 1]) ** 2
    model = gapless.NaiveBayes(numbers="kernel", var_smoothing=0.0).fit(x, y)
    grid = np.linspace(-2, 3, 7)[:, None]
    for k in (0, 1):
        own = x[y == k, 0]
        width = (4 / (3 * len(own))) ** 0.2 * own.std() / own.std(ddof=1)
        expected = gaussian_kde(own, bw_method=width).logpdf(grid[:, 0]) + np.log(0.5)
        np.testing.assert_allclose(model.predict_joint_log_proba(grid)[:, k], expected, rtol=1e-9)


def test_kernel_densities_follow_two_humps():
    """Classes that take turns along a line have nearly the same mean and variance."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=400)
    x = rng.choice([-3.0, 1.0], 400) + 2.0 * y + 0.5 * rng.normal(size=400)
    gaussian, kernel = (
        gapless.NaiveBayes(numbers=kind).fit(x[:, None], y).generalization_.unseen
        for kind in ("gaussian", "kernel")
    )
    assert kernel > 0.9 > gaussian + 0.1


def test_words_that_name_no_column_are_refused():
    columns, y = make_table()
    with pytest.raises(ValueError, match="text_features has an item value 'letter'"):
        gapless.NaiveBayes(text_features=["letter"]).fit(pd.DataFrame(columns), y)
    table = pd.DataFrame(columns).assign(day=pd.Timestamp("2024-01-01"))
    with pytest.raises(ValueError, match="'day' of X holds dates"):
        gapless.NaiveBayes().fit(table, y)


def test_smoothed_priors_exclude_given_ones():
    X, y = load_iris(return_X_y=True)
    for model in (
        gapless.GaussianNB(smooth_prior=True, priors=[0.2, 0.3, 0.5]),
        gapless.MultinomialNB(smooth_prior=True, class_prior=[0.2, 0.3, 0.5]),
        gapless.BernoulliNB(smooth_prior=True, fit_prior=False),
        gapless.NaiveBayes(smooth_prior=True, priors=[0.2, 0.3, 0.5]),
    ):
        with pytest.raises(ValueError, match="smooth_prior=True needs priors counted"):
            model.fit(X, y)


@pytest.mark.parametrize("form", [{}, {"reg_param": 0.2}], ids=str)
def test_quadratic_discriminants_of_more_columns_than_rows_are_densities(form):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 30)), np.arange(40) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gapless.QuadraticDiscriminantAnalysis(**form, store_covariance=True).fit(X, y)
    direct = np.empty((len(X), 3))
    for k in range(3):
        S = np.cov(X[y == k].T, bias=True)
        part, size = (0.2, 1.0) if form else (model.tol, np.trace(S) / 30)
        S = (1 - part) * S + part * size * np.eye(30)
        np.testing.assert_allclose(model.covariance_[k], S, atol=1e-12)
        direct[:, k] = multivariate_normal(X[y == k].mean(axis=0), S).logpdf(X)
    z = model.decision_function(X) - np.log(model.priors_) - 15 * np.log(2 * np.pi)
    np.testing.assert_allclose(z, direct, rtol=1e-9)
    assert model.certificate_.kind == gapless.certify(model, X, y).kind == "exact"


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_discriminants_need_no_square_of_many_columns(name):
    """3,000 columns by themselves would take 72 MB for each class, and their axes minutes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3000)), np.arange(24) % 2
    X[y == 1] += 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(gapless, name)().fit(X, y)
        assert model.certificate_.kind == "exact"
        assert 0 <= model.generalization_.unseen <= 1
    assert all(
        part.size <= X.size for part in (*model.scalings_, *getattr(model, "rotations_", []))
    )


def test_a_sample_stands_for_rows_that_are_many(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 3)), rng.integers(0, 2, size=3000)
    X[y == 1] += 0.5
    model = gapless.GaussianNB().fit(X, y)
    every = model._fitted_to(X, y).held_out(None)
    monkeypatch.setattr(held_out, "MUCH_WORK", 0)
    some = model._fitted_to(X, y).held_out(None)
    asked = np.isfinite(some[:, 0])
    assert asked.sum() == 2000
    np.testing.assert_array_equal(some[asked], every[asked])
    found = model.generalization_
    score = np.mean(np.argmax(every, axis=1) == y)
    assert abs(found.unseen - score) < 3 * found.standard_error


@pytest.mark.parametrize("cls", [gapless.GaussianNB, gapless.NaiveBayes])
def test_variances_below_what_float64_holds_are_zero(cls):
    rng = np.random.default_rng(0)
    X, y = 1e-160 * rng.normal(size=(40, 4)), np.arange(40) % 2
    model = cls().fit(X, y)
    assert model.certificate_.kind == "exact"
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.isfinite(model.generalization_.unseen)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("numbers", ["gaussian", "kernel"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)], ids=str)
def test_parts_of_a_table_are_the_table(library, numbers, order):
    """Levels and words that come later find their places."""
    columns, y = make_table()
    columns["city"] = [f"town{k // 9}" if k % 4 else None for k in range(len(y))]
    table = library.DataFrame(columns)
    whole = gapless.NaiveBayes(numbers=numbers).fit(table, y)
    model = gapless.NaiveBayes(numbers=numbers)
    parts = [(0, 20), (20, 50), (50, 80)]
    for first, last in (parts[k] for k in order):
        model.partial_fit(table[first:last], y[first:last], classes=["summer", "winter"])
    assert model.columns_.is_same(whole.columns_)
    np.testing.assert_allclose(model.predict_proba(table), whole.predict_proba(table), rtol=1e-9)
    assert gapless.certify(model, table, y).kind == model.certificate_.kind == "exact"
    assert gapless.generalize(model, table, y).unseen == whole.generalization_.unseen


def test_parts_keep_the_density_of_the_first():
    columns, y = make_table()
    model = gapless.NaiveBayes().partial_fit(pd.DataFrame(columns), y, classes=np.unique(y))
    with pytest.raises(ValueError, match="numbers was changed"):
        model.set_params(numbers="kernel").partial_fit(pd.DataFrame(columns), y)


@pytest.mark.parametrize("cls", [gapless.GaussianNB, gapless.NaiveBayes])
def test_given_priors_must_sum_to_one(cls):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"sum of the priors should be 1, got 1\.1; divide"):
        cls(priors=[0.5, 0.3, 0.3]).fit(X, y)


# ---- naive Bayes as a linear classifier ----------------------------------------------------------


@pytest.mark.parametrize("cls", [MultinomialNB, BernoulliNB, ComplementNB])
@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_give_the_scores(rng, cls, classes):
    X = rng.integers(0, 2 if cls is BernoulliNB else 5, size=(40, 6))
    y = rng.integers(0, classes, size=40)
    model = cls().fit(X, y)
    z = X @ model.coef_.T + model.intercept_
    scores = model.predict_joint_log_proba(X)
    if classes == 2:
        assert model.coef_.shape == (1, 6) and model.intercept_.shape == (1,)
        np.testing.assert_allclose(z[:, 0], scores[:, 1] - scores[:, 0], rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(z, scores, rtol=1e-9, atol=1e-9)


def test_gaussians_are_linear_only_with_shared_variances(rng):
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    model = GaussianNB().fit(X, y)
    with pytest.raises(AttributeError, match="quadratic"):
        _ = model.coef_
    model.var_ = np.tile(model.var_.mean(axis=0), (2, 1))
    scores = model.predict_joint_log_proba(X)
    z = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(z[:, 0], scores[:, 1] - scores[:, 0], rtol=1e-9)


def test_mixed_columns_and_categories_have_no_coefficients(rng):
    X, y = rng.integers(0, 3, size=(20, 2)), np.arange(20) % 2
    assert not hasattr(CategoricalNB().fit(X, y), "coef_")
    assert not hasattr(CategoricalNB(), "coef_")


def test_probability_mass_is_that_of_scipy(rng):
    X = rng.integers(0, 4, size=(10, 5))
    model = MultinomialNB().fit(X, np.arange(10) % 2)
    expected = [
        scipy.stats.multinomial.logpmf(X, X.sum(axis=1), np.exp(log_p))
        for log_p in model.feature_log_prob_
    ]
    np.testing.assert_allclose(model.log_probability_mass(X).T, expected, rtol=1e-10)
    np.testing.assert_allclose(
        model.log_probability_mass(sp.csr_matrix(X)), model.log_probability_mass(X)
    )
    with pytest.raises(ValueError, match="Negative values"):
        model.log_probability_mass(-X)


def test_given_probabilities_are_a_model(tmp_path):
    p = [[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]
    model = MultinomialNB.from_probabilities(p, classes=["b", "a"], class_prior=[0.9, 0.1])
    assert model.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), p[::-1])
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.1, 0.9])
    joint = np.exp(model.predict_joint_log_proba([[1, 0, 1]]))
    np.testing.assert_allclose(joint, [[0.1 * 0.1 * 0.8, 0.9 * 0.5 * 0.25]])
    assert model.certificate_.kind == "none"
    gapless.save(model, tmp_path / "model")
    again = gapless.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.predict_proba([[1, 2, 3]]), model.predict_proba([[1, 2, 3]])
    )


@pytest.mark.parametrize(
    "given, options, message",
    [
        ([0.5, 0.5], {}, "a row for each class"),
        ([[0.5, 0.6]], {}, "sums to 1.1"),
        ([[0.5, -0.1]], {}, "row 0, column 1 has -0.1"),
        ([[0.5, np.nan]], {}, "row 0, column 1 has nan"),
        ([[0.5], [0.5]], {"classes": ["a", "a"]}, "differ"),
        ([[0.5], [0.5]], {"classes": ["a"]}, "inconsistent"),
        ([[0.5], [0.5]], {"class_prior": [0.5]}, "Number of priors"),
        ([[0.5], [0.5]], {"class_prior": [0.5, 0.6]}, "sum of the priors"),
    ],
)
def test_bad_probabilities_are_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        MultinomialNB.from_probabilities(given, **options)
