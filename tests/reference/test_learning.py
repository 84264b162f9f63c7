"""Curves over rows and parameters, parts of an error, and models side by side."""

import json
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import gapless
from gapless import evaluation
from gapless._ground.interrupt import TimeLimit
from gapless.evaluation import (
    bias_variance,
    bootstrap,
    compare,
    double_descent,
    k_fold,
    learning_curve,
    validation_curve,
)
from gapless.evaluation.learning import LearningCurve


@pytest.fixture(autouse=True)
def close_pictures():
    yield
    plt.close("all")


def numbers(rng, n=80, d=3, noise=1.0):
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + noise * rng.normal(size=n)


def waves(rng, n=300):
    """Too much for a tree of one question; one of many questions learns the noise."""
    X = np.linspace(0, 12, n)[:, None]
    return X, np.sin(X[:, 0]) + 0.5 * rng.normal(size=n)


# ---- learning curves -----------------------------------------------------------------------------


def test_the_last_point_of_a_learning_curve_is_the_score_of_folds(rng):
    X, y = numbers(rng)
    curve = learning_curve(Ridge(), X, y, sizes=[0.25, 0.5, 1.0])
    whole = k_fold(Ridge(), X, y)
    assert curve.sizes.tolist() == [16, 32, 64]
    assert curve.unseen[-1] == pytest.approx(whole.unseen)
    assert curve.train[-1] == pytest.approx(whole.train)
    assert curve.of_folds[-1] == pytest.approx(whole.of_splits)


class Seen(RegressorMixin, BaseEstimator):
    """Remembers which rows it was given."""

    log: list = []  # noqa: RUF012 - clones must share it

    def fit(self, X, y):
        Seen.log.append(set(X[:, 0]))
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_small_parts_are_contained_in_large_ones_and_units_are_whole(rng):
    X = np.repeat(np.arange(30.0), 2)[:, None]
    Seen.log.clear()
    learning_curve(Seen(), X, rng.normal(size=60), sizes=[11, 24, 48], k=5)
    first, second, third = (Seen.log[i : i + 5] for i in (0, 5, 10))
    assert all(a < b < c for a, b, c in zip(first, second, third))
    assert all(len(part) == 6 for part in first), "11 rows end inside a unit: all of it is taken"


def test_the_law_finds_what_more_rows_would_give():
    sizes = np.array([20, 40, 80, 160, 320])
    law = 0.9 - 2.0 * sizes**-0.7
    errors = np.full(5, 0.01)
    curve = LearningCurve(
        sizes, np.full(5, 0.95), law, errors, np.repeat(law[:, None], 3, 1), 0.1, "accuracy"
    )
    value, error = curve.expected(1280)
    assert value == pytest.approx(0.9 - 2.0 * 1280**-0.7, abs=2e-3)
    assert error == pytest.approx(0.01, rel=0.2)


def test_advice_tells_more_data_from_a_richer_model(rng):
    X = rng.uniform(-3, 3, size=(300, 1))
    curved = X[:, 0] ** 2 + 0.1 * rng.normal(size=300)
    assert learning_curve(gapless.Ridge(), X, curved).advice.startswith("use a richer model")
    assert learning_curve(Ridge(), X, curved).advice.startswith("try a richer model")
    straight = X[:, 0] + 0.1 * rng.normal(size=300)
    assert "richer model" not in learning_curve(gapless.Ridge(), X, straight).advice
    wide = rng.normal(size=(120, 60))
    y = wide @ rng.normal(size=60)
    assert learning_curve(Ridge(), wide, y).advice.startswith("get more data")
    noise = rng.normal(size=200)
    learned = learning_curve(DecisionTreeRegressor(), rng.normal(size=(200, 3)), noise)
    assert learned.advice.startswith("use a simpler model")
    assert str(learned) == f"{learned.advice}."


def test_learning_curves_draw_what_they_hold(rng):
    X, y = numbers(rng)
    curve = learning_curve(Ridge(), X, y)
    lines = curve.plot().get_lines()
    assert lines[1].get_ydata() == pytest.approx(curve.unseen)
    assert lines[2].get_xdata()[-1] == pytest.approx(4 * curve.sizes[-1])
    assert curve.to_dict()["sizes"] == curve.sizes.tolist()


def test_sizes_that_cannot_be_are_refused(rng):
    X, y = numbers(rng)
    with pytest.raises(ValueError, match="training part of a fold has 64"):
        learning_curve(Ridge(), X, y, sizes=[65])
    with pytest.raises(ValueError, match="up to 1"):
        learning_curve(Ridge(), X, y, sizes=[-1])


# ---- validation curves ---------------------------------------------------------------------------


def test_each_value_is_scored_on_the_same_folds(rng):
    X, y = numbers(rng)
    alphas = [0.1, 10.0, 1000.0]
    curve = validation_curve(Ridge(), X, y, "alpha", alphas)
    scores = [k_fold(Ridge(alpha=alpha), X, y).unseen for alpha in alphas]
    assert curve.unseen == pytest.approx(scores)
    assert curve.best == int(np.argmax(scores))


def test_the_simplest_within_one_standard_error_is_chosen(rng):
    X, y = numbers(rng, noise=3.0)
    alphas = [1e-3, 1e-2, 1e-1, 1.0, 1e4]
    curve = validation_curve(Ridge(), X, y, "alpha", alphas)
    floor = curve.unseen[curve.best] - curve.standard_errors[curve.best]
    assert alphas[curve.chosen] == max(a for a, s in zip(alphas, curve.unseen) if s >= floor)
    low = validation_curve(Ridge(), X, y, "alpha", alphas, simpler="low")
    assert alphas[low.chosen] == min(a for a, s in zip(alphas, curve.unseen) if s >= floor)
    named = validation_curve(make_pipeline(Ridge()), X, y, "ridge__alpha", alphas)
    assert named.chosen == curve.chosen


def test_values_that_fit_too_little_or_too_much_are_named(rng):
    X, y = waves(rng)
    curve = validation_curve(DecisionTreeRegressor(), X, y, "max_depth", [1, 4, 30])
    assert curve.kinds == ("under-fitted", "balanced", "over-fitted")
    assert str(curve).endswith("; under-fitted: 1; over-fitted: 30.")
    assert curve.to_dict()["kinds"] == curve.kinds


class Answerless(Ridge):
    """Predicts no numbers where its penalty is strong."""

    def predict(self, X):
        found = super().predict(X)
        return np.full_like(found, np.nan) if self.alpha > 1 else found


def test_values_without_a_score_are_unknown(rng):
    X, y = numbers(rng)

    def scorer(model, X, y):
        return -np.mean(np.abs(y - model.predict(X)))

    curve = validation_curve(Answerless(), X, y, "alpha", [0.1, 10.0], scoring=scorer)
    assert curve.kinds == ("balanced", "unknown")


class Ending(Ridge):
    """Has time for small penalties alone."""

    def fit(self, X, y):
        if self.alpha > 1:
            raise TimeLimit
        return super().fit(X, y)


def test_values_that_there_is_no_time_for_are_named(rng):
    X, y = numbers(rng, 50)
    seen = []
    curve = validation_curve(
        Ending(),
        X,
        y,
        "alpha",
        [0.1, 1.0, 10.0, 0.5],
        time_limit=600,
        on_progress=lambda *step: seen.append(step),
    )
    assert curve.values == (0.1, 1.0) and curve.skipped == (10.0, 0.5)
    assert len(curve.unseen) == len(curve.kinds) == 2
    assert seen == [("alpha=0.1", 0, 4), ("alpha=1.0", 1, 4), ("alpha=10.0", 2, 4)]
    assert "not tried for lack of time: 10.0, 0.5" in str(curve)
    assert json.loads(json.dumps(curve.to_dict()))["skipped"] == [10.0, 0.5]
    with pytest.raises(TimeLimit, match="time limit passed before any value"):
        validation_curve(Ridge(), X, y, "alpha", [1.0], time_limit=0)


def test_the_best_of_many_is_corrected(rng):
    """All values are the same model except for its noise: the best is no better than the others."""
    X, y = numbers(rng, 60, noise=20.0)
    curve = validation_curve(gapless.RandomForestRegressor(5), X, y, "random_state", range(12))
    assert curve.expected < curve.unseen[curve.best]
    assert curve.chosen == curve.best


def test_validation_curves_draw_values_of_any_kind(rng):
    X, y = numbers(rng)
    model = DecisionTreeRegressor(random_state=0)
    curve = validation_curve(model, X, y, "max_depth", [1, 3, None])
    axes = curve.plot()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "3", "None"]
    assert "max_depth=" in str(curve)
    with pytest.raises(ValueError, match="empty"):
        validation_curve(model, X, y, "max_depth", [])
    with pytest.raises(ValueError, match="simpler"):
        validation_curve(model, X, y, "max_depth", [1], simpler="small")


# ---- bias and variance ---------------------------------------------------------------------------


@pytest.mark.parametrize("has_test", [False, True])
@pytest.mark.parametrize("has_truth", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_parts_add_up_to_the_error(rng, kind, has_truth, has_test):
    X, y = numbers(rng, 60)
    truth = X @ np.arange(1.0, 4.0)
    model = DecisionTreeRegressor(random_state=0)
    if kind == "classes":
        y, truth = (np.digitize(of, [-2.0, 2.0]) for of in (y, truth))
        model = gapless.DecisionTreeClassifier()
    options = {"X_test": X[40:], "y_test": y[40:]} if has_test else {}
    if has_truth:
        options["truth"] = truth[40:] if has_test else truth
    data = (X[:40], y[:40]) if has_test else (X, y)
    found = bias_variance(model, *data, refits=15, **options)
    assert found.noise + found.bias + found.variance == pytest.approx(found.error)
    assert found.adds - found.subtracts == pytest.approx(found.variance)
    assert found.has_truth == has_truth and (has_truth or found.noise == 0)
    assert found.rows == (20 if has_test else 60)


def test_targets_that_are_the_truth_have_no_noise(rng):
    X, y = numbers(rng, 40)
    for model, target in ((Ridge(), 1e3 * y), (gapless.DecisionTreeClassifier(), y > 0)):
        found = bias_variance(model, X, target, truth=target, refits=15)
        assert found.noise == 0.0 and "+ noise 0" in str(found)


def test_a_constant_has_bias_alone_and_a_coin_variance_alone(rng):
    X, y = numbers(rng, 50)
    constant = bias_variance(DummyRegressor(strategy="constant", constant=0.0), X, y)
    assert constant.variance == 0 and constant.error == pytest.approx(np.mean(y**2))

    class Coin(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            self.seed_ = int(1e6 * abs(X.sum()))
            return self

        def predict(self, X):
            # Right in three of four rows, whichever they are.
            wrong = np.random.default_rng(self.seed_).random(len(X)) < 1 / 4
            return (X[:, 0] > 0) ^ wrong

    found = bias_variance(Coin(), X, X[:, 0] > 0, refits=200)
    assert found.bias == 0.0
    assert found.variance == pytest.approx(1 / 4, abs=0.03)


class Recorded(ClassifierMixin, BaseEstimator):
    """A tree that keeps what it has answered."""

    answers: ClassVar[list] = []

    def fit(self, X, y):
        self.tree_, self.classes_ = gapless.DecisionTreeClassifier().fit(X, y), np.unique(y)
        return self

    def predict(self, X):
        Recorded.answers.append(self.tree_.predict(X).tolist())
        return np.array(Recorded.answers[-1])


def test_the_parts_are_those_of_a_count_row_by_row(rng, monkeypatch):
    """Domingos (2000): the loss is bias + variance if unbiased, and bias − what is right if not."""
    X, y = numbers(rng, 60)
    y = np.digitize(y, [-2.0, 2.0])
    monkeypatch.setattr(Recorded, "answers", [])
    found = bias_variance(Recorded(), X[:30], y[:30], X_test=X[30:], y_test=y[30:], refits=12)
    bias = adds = subtracts = error = 0.0
    for row, answers in enumerate(zip(*Recorded.answers)):
        target = y[30 + row]
        main = max(sorted(set(answers)), key=answers.count)
        error += sum(answer != target for answer in answers) / 12 / 30
        if main == target:
            adds += sum(answer != main for answer in answers) / 12 / 30
        else:
            bias += 1 / 30
            subtracts += sum(answer == target for answer in answers) / 12 / 30
    expected = (error, bias, adds, subtracts)
    assert (found.error, found.bias, found.adds, found.subtracts) == pytest.approx(expected)
    assert found.error == pytest.approx(found.bias + found.variance)
    assert found.variance == pytest.approx(adds - subtracts)


def test_a_row_where_most_are_wrong_gains_by_variance():
    """Domingos: in a biased row other predictions than the main one may be right."""
    X, y = np.arange(9.0)[:, None], np.zeros(9, dtype=int)

    class Wrong(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            self.right_ = int(X.sum()) % 4 == 0
            return self

        def predict(self, X):
            return np.full(len(X), 0 if self.right_ else 1)

    found = bias_variance(Wrong(), X, y, X_test=X, y_test=y, refits=100)
    assert found.bias == 1.0 and found.adds == 0.0
    assert found.subtracts == pytest.approx(1 - found.error)
    assert found.variance < 0


def test_averaging_takes_away_variance(rng):
    X, y = numbers(rng, 100)
    tree = bias_variance(gapless.DecisionTreeRegressor(), X, y, refits=20)
    bag = bias_variance(gapless.BaggingRegressor(n_estimators=20), X, y, refits=20)
    assert bag.variance < 0.5 * tree.variance
    assert "bias and noise" in str(tree)
    bars = tree.plot().containers
    assert sum(bar.patches[0].get_width() for bar in bars) == pytest.approx(tree.error)


class Forecasts(Recorded):
    """A tree that keeps its probabilities."""

    def fit(self, X, y):
        self.tree_ = gapless.DecisionTreeClassifier(max_depth=2).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict_proba(self, X):
        found = 0.9 * self.tree_.predict_proba(X) + 0.1 / len(self.classes_)
        Recorded.answers.append((found, self.classes_))
        return found


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_losses_of_probabilities_have_parts(rng, monkeypatch, scoring, classes):
    """The error is scikit-learn's, and the parts those of the definition, row by row."""
    X, y = numbers(rng, 60)
    y = np.digitize(y, [0.0] if classes == 2 else [-2.0, 2.0])
    monkeypatch.setattr(Recorded, "answers", [])
    found = bias_variance(
        Forecasts(), X[:30], y[:30], X_test=X[30:], y_test=y[30:], refits=8, scoring=scoring
    )
    each = np.zeros((8, 30, classes))
    for k, (given, known) in enumerate(Recorded.answers):
        each[k][:, known] = given
    of, truth, labels = y[30:], np.eye(classes)[y[30:]], range(classes)
    if scoring == "neg_log_loss":
        error = np.mean([log_loss(of, p, labels=labels) for p in each])
        typical = np.exp(np.mean(np.log(each), axis=0))
        typical /= typical.sum(axis=1, keepdims=True)
        bias = log_loss(of, typical, labels=labels)
        variance = np.mean(np.sum(typical * np.log(typical / each), axis=2))
        best = np.full((30, classes), 1 / classes)
        distance = np.mean(np.sum(best * np.log(best / typical), axis=1))
    else:
        scale = 0.5 if classes == 2 else 1.0
        error = scale * np.mean(np.sum((each - truth) ** 2, axis=2))
        typical = each.mean(axis=0)
        bias = scale * np.mean(np.sum((typical - truth) ** 2, axis=1))
        variance = scale * np.mean(np.sum((each - typical) ** 2, axis=2))
        best = np.full((30, classes), 1 / classes)
        distance = scale * np.mean(np.sum((typical - best) ** 2, axis=1))
    assert (found.error, found.bias, found.variance) == pytest.approx((error, bias, variance))
    assert found.error == pytest.approx(found.bias + found.variance) and found.subtracts == 0
    told = bias_variance(
        *(Forecasts(), X[:30], y[:30]),
        **{"X_test": X[30:], "y_test": y[30:], "truth": best, "refits": 8, "scoring": scoring},
    )
    assert told.bias == pytest.approx(distance)
    assert told.noise + told.bias + told.variance == pytest.approx(told.error)


def test_parts_of_absolute_errors_and_of_r2(rng):
    X, y = numbers(rng, 60)
    tree = gapless.DecisionTreeRegressor(max_depth=3)
    options = {"X_test": X[30:], "y_test": y[30:], "refits": 9}
    squared = bias_variance(tree, X[:30], y[:30], **options)
    share = bias_variance(tree, X[:30], y[:30], scoring="r2", **options)
    spread = np.var(y[30:])
    for part in ("error", "bias", "variance"):
        assert getattr(share, part) == pytest.approx(getattr(squared, part) / spread)
    assert share.loss == "1 − R²"
    # Each model is the same constant or another: the median is one of them.
    low, high = DummyRegressor(strategy="constant", constant=0.0), np.abs(y[30:]).mean()
    one = bias_variance(low, X[:30], y[:30], scoring="neg_mean_absolute_error", **options)
    assert (one.error, one.bias, one.variance) == pytest.approx((high, high, 0.0))
    found = bias_variance(tree, X[:30], y[:30], scoring="neg_mean_absolute_error", **options)
    assert found.error == pytest.approx(found.bias + found.variance)
    assert found.adds - found.subtracts == pytest.approx(found.variance) and found.adds > 0
    outside = bias_variance(tree, X, y, scoring="neg_mean_absolute_error", truth=y, refits=9)
    assert outside.noise == 0.0 and outside.loss == "absolute error"


def test_scores_without_parts_are_refused(rng):
    X, y = numbers(rng, 30)
    with pytest.raises(ValueError, match="no parts that add up; for Ridge choose from neg_mean"):
        bias_variance(Ridge(), X, y, scoring="accuracy")
    with pytest.raises(ValueError, match="choose from accuracy, neg_log_loss"):
        bias_variance(gapless.DecisionTreeClassifier(), X, y > 0, scoring="f1")
    with pytest.raises(ValueError, match="needs probabilities"):
        bias_variance(gapless.RidgeClassifier(), X, y > 0, scoring="neg_log_loss")
    with pytest.raises(ValueError, match="needs targets that differ"):
        bias_variance(Ridge(), X, np.ones(30), scoring="r2")
    with pytest.raises(ValueError, match="truth has shape"):
        tree = gapless.DecisionTreeClassifier()
        bias_variance(tree, X, y > 0, scoring="neg_log_loss", truth=y > 0, refits=2)


def test_parts_are_drawn_on_a_logarithmic_axis_on_request(rng):
    X, y = numbers(rng, 30)
    assert bias_variance(Ridge(), X, y, refits=3).plot(log=True).get_xscale() == "log"


def test_a_validation_curve_draws_losses_and_what_explodes_on_a_logarithmic_axis(rng):
    X, y = numbers(rng, 40, d=1)
    powers = PolynomialFeatures(include_bias=False)
    model = make_pipeline(powers, StandardScaler(), gapless.LinearRegression())
    of = (model, X, y, "polynomialfeatures__degree", [1, 2, 14])
    losses = validation_curve(*of, scoring="neg_mean_squared_error")
    assert losses.is_loss and losses.unseen.min() < 20 * losses.unseen.max()
    axes = losses.plot()
    assert axes.get_yscale() == "log" and axes.get_ylabel() == "mean squared error"
    np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), -losses.unseen)
    assert losses.plot(log=False).get_yscale() == "linear"
    calm = validation_curve(*of[:-1], [1, 2], scoring="neg_mean_squared_error").plot()
    assert calm.get_yscale() == "linear"
    shares = validation_curve(*of)
    assert not shares.is_loss and shares.plot().get_ylabel() == "R²"
    axes = shares.plot(log=True)
    assert axes.get_yscale() == "log" and axes.get_ylabel() == "1 − R²"
    np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), 1 - shares.unseen)
    with pytest.raises(ValueError, match="is above 1"):
        validation_curve(*of, scoring=lambda model, X, y: 7.0).plot(log=True)


class Tiring(Ridge):
    """Has time for three fits."""

    fits = 0

    def fit(self, X, y):
        Tiring.fits += 1
        if Tiring.fits == 4:
            raise TimeLimit
        return super().fit(X, y)


@pytest.mark.parametrize("way, told", [(bias_variance, "error"), (bootstrap, "of_splits")])
def test_as_many_refits_as_there_is_time_for(rng, way, told, monkeypatch):
    X, y = numbers(rng, 50)
    monkeypatch.setattr(Tiring, "fits", 0)
    found, same = way(Tiring(), X, y, refits=9, time_limit=600), way(Ridge(), X, y, refits=3)
    assert getattr(found, told) == getattr(same, told)
    with pytest.raises(TimeLimit, match="time limit passed before two refits"):
        way(Ridge(), X, y, time_limit=0)


def test_what_goes_together_must_be_given_together(rng):
    X, y = numbers(rng)
    with pytest.raises(ValueError, match="go together"):
        bias_variance(Ridge(), X, y, X_test=X)
    with pytest.raises(ValueError, match="truth has shape"):
        bias_variance(Ridge(), X, y, truth=y[:3])


# ---- double descent ------------------------------------------------------------------------------


def test_the_error_peaks_where_features_are_as_many_as_rows(rng):
    X, y = numbers(rng, 340, d=5, noise=5.0)
    counts = [10, 20, 30, 36, 38, 40, 42, 44, 60, 100, 400]
    found = double_descent(X[:40], y[:40], X[40:], y[40:], features=counts, draws=9)
    assert 36 <= found.peak <= 44
    assert found.test.max() > 5 * found.test[0]
    assert found.test[-1] < found.test.max() / 5
    assert np.all(found.train[found.features >= 44] < 1e-8)
    smooth = double_descent(X[:40], y[:40], X[40:], y[40:], features=counts, penalty=1.0)
    assert smooth.test.max() < found.test.max() / 2
    lines = found.plot().get_lines()
    assert lines[0].get_xdata()[0] == 40


def test_few_features_are_least_squares_and_classes_are_numbers(rng):
    X, y = load_iris(return_X_y=True)
    order = rng.permutation(150)
    X, y = X[order], y[order]
    found = double_descent(X[:50], y[:50], X[50:], y[50:], features=[20], draws=1)
    assert 0 < found.train[0] < found.test[0] < 1
    with pytest.raises(ValueError, match="do not match"):
        double_descent(X[:50], y[:49], X, y)
    with pytest.raises(ValueError, match="features"):
        double_descent(X, y, X, y, features=[0])


# ---- models side by side -------------------------------------------------------------------------


def test_the_simplest_of_equally_good_models_is_chosen(rng):
    X, y = numbers(rng, 100)
    models = {"mean": DummyRegressor(), "ridge": Ridge(), "same": Ridge(alpha=0.999)}
    result = compare(models, X, y)
    assert result.chosen == "ridge"
    assert result["mean"].behind > 5 * result["mean"].behind_error > 0
    assert result["ridge"].unseen == pytest.approx(k_fold(Ridge(), X, y).unseen)
    assert result.fitted["ridge"].predict(X) == pytest.approx(Ridge().fit(X, y).predict(X))
    assert str(result).startswith("ridge: R²")


def test_models_that_fit_too_little_or_too_much_are_named(rng):
    X, y = waves(rng)
    depths = {"stump": 1, "tree": 4, "all": None}
    models = {name: DecisionTreeRegressor(max_depth=depth) for name, depth in depths.items()}
    result = compare(models, X, y)
    assert result.best == "tree"
    assert result["stump"].verdict.startswith("under-fitted: R²")
    assert "tree fits its training rows better" in result["stump"].verdict
    assert result["all"].verdict.startswith("over-fitted: R²")


def test_errors_of_differences_are_those_of_pairs(rng):
    X, y = numbers(rng, 100)
    result = compare([Ridge(), Ridge(alpha=5.0)], X, y)
    assert [one.name for one in result.contenders] == ["Ridge", "Ridge 2"]
    worse = min(result.contenders, key=lambda one: one.unseen)
    assert worse.behind_error < 0.5 * worse.standard_error


def test_certificates_of_models_and_of_the_last_step_are_said(rng):
    X, y = load_iris(return_X_y=True)
    models = {
        "plain": gapless.LogisticRegression(),
        "scaled": make_pipeline(StandardScaler(), gapless.LogisticRegression()),
        "theirs": make_pipeline(StandardScaler(), Ridge()),
    }
    result = compare(models, X, y, scoring="neg_mean_squared_error")
    assert result["plain"].optimality.startswith("optimal")
    assert result["scaled"].optimality.startswith("optimal")
    assert result["theirs"].optimality == ""


class Late(Ridge):
    """Finds that there is no time left, as a model of gapless does before it has learned."""

    def fit(self, X, y):
        raise TimeLimit


def test_the_time_limit_names_what_was_not_tried(rng):
    X, y = numbers(rng, 50)
    seen = []
    result = compare(
        {"quick": Ridge(), "late": Late(), "never": Ridge()},
        X,
        y,
        time_limit=600,
        on_progress=lambda *step: seen.append(step),
    )
    assert result.skipped == ("late", "never")
    assert seen == [("quick", 0, 3), ("late", 1, 3)]
    assert "not tried" in str(result)
    with pytest.raises(TimeLimit, match="raise time_limit"):
        compare([Ridge()], X, y, time_limit=0)


def test_comparisons_draw_and_turn_into_plain_data(rng):
    X, y = numbers(rng, 50)
    result = gapless.compare({"a": Ridge(), "b": DummyRegressor()}, X, y)
    axes = result.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    plain = result.to_dict()
    assert plain["chosen"] == "a" and plain["contenders"][0]["name"] == "a"
    with pytest.raises(ValueError, match="empty"):
        compare([], X, y)


def test_a_comparison_says_of_each_model_what_the_model_says_of_itself(rng):
    x = rng.uniform(-1, 1, (200, 1))
    y = x[:, 0] ** 2 + 0.05 * rng.normal(size=200)
    models = {
        "line": gapless.LinearRegression(),
        "scaled ridge": make_pipeline(StandardScaler(), gapless.Ridge()),
        "tree": gapless.DecisionTreeRegressor(random_state=0),
        "not ours": DecisionTreeRegressor(max_depth=1),
    }
    found = {one.name: one for one in compare(models, x, y).contenders}
    kinds = {name: one.verdict.partition(":")[0] for name, one in found.items()}
    assert kinds == {
        "line": "under-fitted",
        "scaled ridge": "under-fitted",
        "tree": "over-fitted",
        "not ours": "under-fitted",
    }
    own = gapless.LinearRegression().fit(x, y).generalization_
    assert found["line"].verdict.partition("; ")[2] == own.verdict.partition("; ")[2]


def test_groups_are_held_out_as_scikit_learn_would(rng):
    X, y = numbers(rng, 60)
    groups = np.repeat(np.arange(6), 10)
    result = compare([Ridge()], X, y, groups=groups, k=6)
    z = np.empty(60)
    for train, test in GroupKFold(6).split(X, y, groups):
        z[test] = Ridge().fit(X[train], y[train]).predict(X[test])
    expected = 1 - np.sum((y - z) ** 2) / np.sum((y - y.mean()) ** 2)
    assert result.contenders[0].unseen == pytest.approx(expected)


def test_weights_are_repeats_for_learning_curves(rng):
    X, weights = rng.normal(size=(40, 2)), rng.integers(1, 4, 40)
    y, again = X[:, 0] + rng.normal(size=40), np.repeat(np.arange(40), weights)
    one = evaluation.learning_curve(gapless.Ridge(), X, y, sample_weight=weights, k=3)
    other = evaluation.learning_curve(gapless.Ridge(), X[again], y[again], k=3)
    np.testing.assert_array_equal(one.sizes, other.sizes)
    np.testing.assert_allclose(one.unseen, other.unseen)


def test_curves_over_numbers_of_numpy_are_plain_data(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    values = np.arange(1, 3)
    curve = evaluation.validation_curve(
        gapless.DecisionTreeClassifier(), X, y, "max_depth", values, k=2
    )
    assert json.loads(json.dumps(curve.to_dict()))["values"] == [1, 2]


def test_the_truth_may_be_a_class_that_no_row_has(rng):
    X, y = rng.normal(size=(40, 2)), np.where(np.arange(40) % 2, "a", "b")
    found = evaluation.bias_variance(
        gapless.GaussianNB(), X, y, refits=5, truth=np.full(40, "never")
    )
    assert found.bias == 1 and found.variance == 0


def test_no_limit_is_the_richest_value(rng):
    X = rng.normal(size=(60, 2))
    curve = evaluation.validation_curve(
        gapless.DecisionTreeClassifier(), X, X[:, 0] > 0, "max_depth", [None, 2, 1], k=3
    )
    assert curve.values[curve.chosen] == 1


def test_huge_errors_of_few_rows_do_not_hide_which_model_does_clearly_better(rng):
    x = rng.uniform(-2, 2, size=300)
    y = x**2 + 0.1 * rng.normal(size=300)
    # Neither model can know of these rows, whose errors are a thousand times the others.
    y[::60] += 300.0
    X = np.column_stack([x, x**2])
    line = make_pipeline(FunctionTransformer(lambda X: X[:, :1]), HuberRegressor())
    result = compare({"line": line, "parabola": HuberRegressor()}, X, y)
    one = result["line"]
    assert one.behind < 2 * one.behind_error
    assert one.verdict.startswith("under-fitted") and "clearly better" in one.verdict


def test_a_lead_that_does_not_matter_is_not_held_against_a_model(rng):
    X = rng.normal(size=(4000, 3))
    y = X[:, 0] + 0.03 * X[:, 1] ** 2 + rng.normal(size=4000)
    models = {"line": Ridge(), "bent": make_pipeline(PolynomialFeatures(2), Ridge())}
    one = compare(models, X, y)["line"]
    assert one.verdict.startswith("balanced")
