"""Linear models of tables in parts: the fit in memory, its proof, and scores on unseen parts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tables import NAMES, ROWS, D, N, features_of, make_table

from gapless import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    RiskClassifier,
    RiskRegressor,
    TweedieRegressor,
    certify,
    generalize,
    in_parts,
    load,
    save,
)
from gapless._ground.interrupt import TimeLimit
from gapless._ground.threads import threads

TABLE = make_table()
X = features_of(TABLE)
MODELS = [
    (LinearRegression(), "number"),
    (LinearRegression(fit_intercept=False), "number"),
    (Ridge(3.0), "number"),
    (Lasso(0.05), "number"),
    (Lasso(0.05, positive=True), "number"),
    (ElasticNet(0.05), "number"),
    (RiskRegressor("huber"), "number"),
    (RiskRegressor("squared_epsilon_insensitive"), "number"),
    (PoissonRegressor(), "count"),
    (GammaRegressor(), "amount"),
    (TweedieRegressor(power=1.5), "count"),
    (LogisticRegression(), "answer"),
    (LogisticRegression(C=np.inf, fit_intercept=False), "answer"),
    (LogisticRegression(l1_ratio=1, C=0.05), "answer"),
    (LogisticRegression(class_weight="balanced"), "answer"),
    (LogisticRegression(), "class"),
    (LinearSVC(), "answer"),
    (LinearSVC(class_weight={0: 2.0}), "class"),
    (RidgeClassifier(), "class"),
    (RiskClassifier("squared_hinge", "elastic_net"), "answer"),
]


def parts_of(*columns, rows=ROWS):
    return in_parts(TABLE.select(NAMES + list(columns)).lazy(), rows=rows)


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    """Draw few rows at the first look, so that steps are needed."""
    monkeypatch.setattr("gapless.streaming.first_look.SAMPLE_ROWS", 200)


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize(("model", "target"), MODELS, ids=str)
def test_the_fit_in_parts_is_the_fit_in_memory(model, target, weighted):
    weights = "weight" if weighted else None
    whole = clone(model).fit(X, TABLE[target], TABLE[weights] if weighted else None)
    parts = parts_of(target, *([weights] if weighted else []))
    piece = clone(model).fit(parts, target, weights)
    size = np.abs(whole.coef_).max()
    np.testing.assert_allclose(piece.coef_, whole.coef_, rtol=0, atol=1e-8 * size)
    assert piece.certificate_.kind in ("optimal", "exact")
    assert piece.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-9)
    assert piece.certificate_.scale == pytest.approx(whole.certificate_.scale, rel=2e-2)
    assert piece.feature_names_in_.tolist() == NAMES
    reach = 1e-7 * max(1.0, np.abs(whole.intercept_).max())
    np.testing.assert_allclose(piece.intercept_, whole.intercept_, rtol=0, atol=reach)


@pytest.mark.parametrize(("model", "target"), MODELS[3::4], ids=str)
def test_the_proof_holds_away_from_the_optimum(model, target):
    """The bound says no more than is true, and a model that was changed is found out."""
    parts = parts_of(target)
    fitted = clone(model).fit(parts, target)
    best = fitted.certificate_.primal
    fitted.coef_ = fitted.coef_ * 1.05
    found = certify(fitted, parts, target)
    assert found.primal > best and found.dual <= best * (1 + 1e-12)
    assert found.gap >= found.primal - best - 1e-9 * best
    in_memory = certify(fitted, TABLE.select(NAMES), TABLE[target])
    assert found.primal == pytest.approx(in_memory.primal, rel=1e-9)


def test_threads_and_sources_do_not_change_a_bit(tmp_path):
    file = tmp_path / "rows.parquet"
    TABLE.select([*NAMES, "answer"]).write_parquet(file, row_group_size=300)
    found = []
    for source, count in ((TABLE.lazy(), 1), (file, 2), ([file], 1)):
        with threads(count):
            parts = in_parts(source, columns=[*NAMES, "answer"], rows=ROWS)
            model = LogisticRegression().fit(parts, "answer")
        found.append((model.coef_, model.intercept_, model.certificate_.dual))
    with threads(2):
        model = LogisticRegression().fit(in_parts(X, rows=ROWS), TABLE["answer"])
    found.append((model.coef_, model.intercept_, model.certificate_.dual))
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])
        assert other[2] == found[0][2]


def test_weights_are_repeated_rows():
    kept = np.repeat(np.arange(N), TABLE["weight"].to_numpy().astype(int))
    repeated = LogisticRegression().fit(in_parts(X[kept], rows=ROWS), TABLE["answer"][kept])
    weighted = LogisticRegression().fit(parts_of("answer", "weight"), "answer", "weight")
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)


@pytest.mark.parametrize(
    ("model", "target"),
    [(Ridge(10.0), "number"), (LogisticRegression(C=0.1), "answer"), (LinearSVC(), "class")],
    ids=str,
)
def test_held_out_parts_are_those_of_real_refits(model, target):
    """One Newton step from the fit to all parts is the refit, up to what the score shows."""
    fitted = clone(model).fit(parts_of(target), target)
    y = TABLE[target].to_numpy()
    fold = np.arange(N) // ROWS % 5
    right = np.zeros(N)
    for k in range(5):
        refit = clone(model).fit(X[fold != k], y[fold != k])
        answers = refit.predict(X[fold == k])
        right[fold == k] = (
            (answers - y[fold == k]) ** 2 if target == "number" else answers == y[fold == k]
        )
    expected = 1 - right.mean() / np.var(y) if target == "number" else right.mean()
    found = fitted.generalization_
    assert found.unseen == pytest.approx(expected, abs=1e-9 if target == "number" else 2 / N)
    assert 0 < found.standard_error < 0.03
    assert found.kind == "balanced" and "folds of parts" in found.method


@pytest.mark.parametrize("weights", [None, "weight"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_strength_of_a_ridge_is_chosen_by_exact_leave_one_out(weights, fit_intercept):
    model = Ridge(alpha="loo", fit_intercept=fit_intercept)
    s = None if weights is None else TABLE[weights]
    whole = clone(model).fit(X, TABLE["number"], s)
    piece = clone(model).fit(parts_of("number", *([weights] if weights else [])), "number", weights)
    assert piece.alpha_ == pytest.approx(whole.alpha_, rel=1e-9)
    # Of standard errors only the first order counts: in memory equal rows are one unit.
    np.testing.assert_allclose(piece.path_.standard_errors, whole.path_.standard_errors, rtol=0.02)
    for name in ("strengths", "coefficients", "intercepts", "unseen"):
        expected = getattr(whole.path_, name)
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(piece.path_, name), expected, rtol=0, atol=1e-7 * size)
    np.testing.assert_allclose(piece.coef_, whole.coef_, rtol=1e-8)
    assert piece.certificate_.kind == "exact"
    again = certify(piece, parts_of("number", *([weights] if weights else [])), "number", weights)
    assert again.primal == pytest.approx(piece.certificate_.primal) and again.kind == "exact"
    assert "not corrected for the selection of alpha" in piece.generalization_.method


def test_a_penalty_far_too_strong_is_called_under_fitted():
    found = Ridge(1e5).fit(parts_of("number"), "number").generalization_
    assert found.kind == "under-fitted" and "tenth as strong" in found.verdict


def test_a_fit_to_noise_is_called_over_fitted():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(300, 100))
    model = LinearRegression().fit(in_parts(noise, rows=32), rng.normal(size=300))
    assert model.generalization_.kind == "over-fitted"


def test_one_part_alone_leaves_nothing_to_hold_out():
    model = Ridge().fit(in_parts(X, rows=N), TABLE["number"])
    assert model.generalization_.kind == "unknown"


def test_predictions_come_part_by_part():
    parts = parts_of("answer")
    model = LogisticRegression().fit(parts, "answer")
    whole = model.predict_proba(TABLE.select(NAMES))
    np.testing.assert_allclose(model.predict_proba(parts), whole, rtol=1e-12)
    assert model.predict(parts).tolist() == model.predict(TABLE.select(NAMES)).tolist()


def test_a_model_fitted_in_parts_is_saved_and_loaded(tmp_path):
    model = LogisticRegression().fit(parts_of("answer"), "answer")
    save(model, tmp_path / "model.gapless")
    again = load(tmp_path / "model.gapless")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert str(again.certificate_) == str(model.certificate_)


def test_separable_classes_without_a_penalty_have_no_minimiser():
    rows = np.linspace(-1, 1, 400)[:, None]
    for target in (rows[:, 0] > 0, np.digitize(rows[:, 0], [-0.3, 0.5])):
        with pytest.warns(ConvergenceWarning, match="no minimiser exists"):
            model = LogisticRegression(C=np.inf).fit(in_parts(rows, rows=64), target)
        assert model.certificate_.no_minimiser == "separated"


def test_equal_columns_share_their_coefficient():
    twice = np.column_stack([X, X[:, 0]])
    whole = LinearRegression().fit(twice, TABLE["number"])
    piece = LinearRegression().fit(in_parts(twice, rows=ROWS), TABLE["number"])
    np.testing.assert_allclose(piece.coef_, whole.coef_, rtol=1e-7)


@pytest.mark.parametrize(
    ("model", "target", "words"),
    [
        (Ridge(alpha="cv"), "number", "cannot choose alpha in parts"),
        (RidgeCV(), "number", "cannot choose alpha in parts"),
        (LogisticRegression(C="loo"), "answer", "cannot choose C in parts"),
        (LinearSVC(loss="hinge"), "answer", "loss with curvature"),
        (RiskRegressor(penalty="mcp"), "number", "use L1, L2"),
        (LogisticRegression(solver="dual"), "answer", 'solver="auto"'),
        (Ridge(), "nothing", "no column 'nothing'"),
        (Ridge(), None, "y is None"),
        (Ridge(), "answer", "needs numbers"),
        (PoissonRegressor(), "number", "at least 0"),
        (LogisticRegression(), np.zeros(N), "only one class"),
        (Ridge(), np.zeros(3), "3 entries"),
        (RiskRegressor(kernel="gaussian"), "number", "compares all pairs"),
    ],
    ids=str,
)
def test_what_cannot_be_fitted_in_parts_says_what_to_do(model, target, words):
    known = [target] if isinstance(target, str) and target != "nothing" else []
    with pytest.raises(ValueError, match=words):
        model.fit(parts_of(*known), target)


def test_a_column_of_text_is_named():
    with pytest.raises(ValueError, match=r"column 'answer' holds String.*columns="):
        Ridge().fit(parts_of("number", "answer"), "number")


def test_missing_values_are_named_by_row_and_column():
    holes = X.copy()
    holes[700, 2] = np.nan
    with pytest.raises(ValueError, match="missing value in row 700, column 2"):
        Ridge().fit(in_parts(holes, rows=ROWS), TABLE["number"])
    labels, weights = TABLE["answer"].to_list(), np.ones(N)
    labels[3], weights[9] = None, -1
    with pytest.raises(ValueError, match="no label in row 3"):
        LogisticRegression().fit(in_parts(X, rows=ROWS), np.array(labels, dtype=object))
    with pytest.raises(ValueError, match=r"at least 0, got -1 in row 9"):
        Ridge().fit(in_parts(X, rows=ROWS), TABLE["number"], weights)


def test_a_time_limit_before_all_rows_were_seen_is_an_error():
    with pytest.raises(ValueError, match="passed before all rows were seen once"):
        Ridge(time_limit=1e-9).fit(parts_of("number"), "number")


def test_a_time_limit_keeps_the_best_point_and_says_so(monkeypatch):
    """Time is up after a few parts of the second pass."""
    passed = []

    def check():
        passed.append(1)
        if len(passed) > 40:
            raise TimeLimit

    monkeypatch.setattr("gapless.streaming.passes.check", check)
    with pytest.warns(ConvergenceWarning, match="stopped"):
        model = LogisticRegression(l1_ratio=1, C=0.01).fit(parts_of("answer"), "answer")
    assert model.certificate_.kind == "stopped"
    assert model.coef_.shape == (1, D)


def test_a_model_that_is_a_constant_is_not_worse_than_one():
    """Constants have not seen the rows either on which models are compared with them."""
    rng = np.random.default_rng(0)
    noise, order = rng.normal(size=(300, 3)), np.sort(rng.normal(size=300))
    for model, y in (
        (Lasso(1.0), order),
        (PoissonRegressor(alpha=1e4), np.exp(order)),
        (LogisticRegression(l1_ratio=1, C=1e-4), np.digitize(order, [-1, 1])),
    ):
        found = clone(model).fit(in_parts(noise, rows=32), y).generalization_
        assert found.kind == "balanced", (model, found)


def test_columns_of_very_different_size_keep_their_digits():
    scale = np.array([1e-8, 1, 1e8, 1, 1])
    columns = (X - X.mean(axis=0)) * scale
    whole = Lasso(0.01).fit(columns, TABLE["number"])
    piece = Lasso(0.01).fit(in_parts(columns, rows=ROWS), TABLE["number"])
    assert piece.certificate_.kind == "optimal"
    np.testing.assert_allclose(piece.coef_ * scale, whole.coef_ * scale, rtol=0, atol=1e-8)
    twice = np.column_stack([columns, columns[:, 0]])
    piece = LinearRegression().fit(in_parts(twice, rows=ROWS), TABLE["number"])
    np.testing.assert_allclose(piece.coef_[0], piece.coef_[-1], rtol=1e-6)
    plain = LinearRegression().fit(X - X.mean(axis=0), TABLE["number"])
    np.testing.assert_allclose(2 * piece.coef_[0] * scale[0], plain.coef_[0], rtol=1e-6)


def test_a_stopped_fit_says_what_helps():
    """Nearly equal columns of large means leave no digits; more time would not help."""
    far = X[:, :2] + [1e9, -1e7]
    with pytest.warns(ConvergenceWarning, match="near 0"):
        LinearRegression(fit_intercept=False).fit(in_parts(far, rows=ROWS), TABLE["number"])


def test_equal_targets_leave_nothing_to_explain():
    for model in (LinearRegression(), Ridge(alpha="loo")):
        piece = model.fit(in_parts(X, rows=ROWS), np.full(N, 3.1))
        assert piece.certificate_.kind == "exact"


def test_columns_are_found_by_name_to_certify_and_to_score():
    parts = parts_of("number")
    fitted = Ridge().fit(parts, "number")
    turned = in_parts(TABLE.select([*NAMES[::-1], "number", "count"]).lazy(), rows=ROWS)
    assert certify(fitted, turned, "number").kind == "exact"
    assert fitted.score(turned, "number") == fitted.score(parts, TABLE["number"])
    classifier = LogisticRegression().fit(parts_of("answer"), "answer")
    known = classifier.score(TABLE.select(NAMES), TABLE["answer"])
    assert classifier.score(parts_of("answer"), "answer") == known
    counted = PoissonRegressor().fit(parts_of("count"), "count")
    expected = counted.score(TABLE.select(NAMES), TABLE["count"], TABLE["weight"])
    found = counted.score(parts_of("count", "weight"), "count", "weight")
    assert found == pytest.approx(expected)
    with pytest.raises(ValueError, match="no column 'x0'"):
        certify(fitted, TABLE.select("x1", "number").lazy(), "number")
    with pytest.raises(ValueError, match="fitted to 5"):
        certify(fitted, in_parts(X[:, :2]), TABLE["number"])


def test_a_copy_without_its_table_is_judged_again():
    for model, target in ((Ridge(3.0), "number"), (LogisticRegression(), "answer")):
        fitted = model.fit(parts_of(target), target)
        again = generalize(pickle.loads(pickle.dumps(fitted)), parts_of(target), target)
        assert again.unseen == pytest.approx(fitted.generalization_.unseen, abs=1e-9)
        assert again.kind == fitted.generalization_.kind
    with pytest.raises(ValueError, match="groups cannot be used"):
        generalize(fitted, parts_of("answer"), "answer", groups=np.zeros(N))
