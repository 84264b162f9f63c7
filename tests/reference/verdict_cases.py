"""Constructed data whose truth is clear: what anyone who knew it would say about a model.

Each case draws data from a seed and fits a model with far too much freedom, far too little, or
about as much as the truth needs. `python tests/reference/verdict_cases.py` counts how often
`generalization_` agrees, over ten seeds of each; the suite checks one.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

import gapless as g
from gapless import kernels, losses, penalties

Rng = np.random.Generator
Data = tuple[Any, Any]
OVER, UNDER, BALANCED = "over-fitted", "under-fitted", "balanced"
CASES: dict[str, tuple[str, Callable[[Rng], Any]]] = {}


def case(truth: str) -> Callable:
    """Register a function of a random generator that returns a fitted model."""

    def keep(make: Callable[[Rng], Any]) -> Callable[[Rng], Any]:
        CASES[make.__name__] = truth, make
        return make

    return keep


def verdict(name: str, seed: int) -> Any:
    """The generalization of the model of a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name][1](np.random.default_rng([seed, len(name)])).generalization_


# ---- data ----------------------------------------------------------------------------------------


def line(rng: Rng, n=100, d=5, noise=0.5) -> Data:
    X = rng.normal(size=(n, d))
    return X, X @ np.linspace(1, 2, d) + noise * rng.normal(size=n)


def parabola(rng: Rng, n=100, noise=0.3) -> Data:
    x = rng.uniform(-2, 2, n)
    return x[:, None], x**2 + noise * rng.normal(size=n)


def wave(rng: Rng, n=150, noise=0.3, periods=1.0) -> Data:
    x = rng.uniform(0, 2 * np.pi, n)
    return x[:, None], np.sin(periods * x) + noise * rng.normal(size=n)


def sines(rng: Rng, n=300, d=3, noise=0.2) -> Data:
    X = rng.uniform(-3, 3, (n, d))
    return X, np.sin(X).sum(axis=1) + noise * rng.normal(size=n)


def step_function(rng: Rng, n=300, noise=0.3) -> Data:
    X = rng.uniform(-1, 1, (n, 3))
    return X, 2.0 * (X[:, 0] > 0) + (X[:, 1] > 0.3) + noise * rng.normal(size=n)


def sparse_line(rng: Rng, n=60, d=30, noise=1.0) -> Data:
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - X[:, 1] + noise * rng.normal(size=n)


def two_clouds(rng: Rng, n=200, d=2, apart=2.0) -> Data:
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * (y - 0.5)
    return X, y


def circle(rng: Rng, n=300, d=2) -> Data:
    X = rng.normal(size=(n, d))
    return X, (np.sum(X[:, :2] ** 2, axis=1) > 1.4).astype(int)


def exclusive_or(rng: Rng, n=300) -> Data:
    X = rng.uniform(-1, 1, (n, 2))
    return X, ((X[:, 0] > 0) != (X[:, 1] > 0)).astype(int)


def flipped(rng: Rng, data: Data, share=0.2) -> Data:
    X, y = data
    return X, np.where(rng.random(len(y)) < share, 1 - y, y)


def parity_of_bits(rng: Rng, n=600) -> Data:
    """All combinations of six bits, each many times."""
    X = rng.integers(0, 2, (n, 6)).astype(float)
    return X, (X[:, :3].sum(axis=1) % 2).astype(int)


def checkerboard(rng: Rng, n=600) -> Data:
    X = rng.uniform(-2, 2, (n, 2))
    return X, (np.floor(X).sum(axis=1) % 2).astype(int)


def logits(rng: Rng, n=300, d=4, size=1.5) -> Data:
    X = rng.normal(size=(n, d))
    z = size * X @ np.linspace(-1, 1, d)
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


def three_clouds(rng: Rng, n=300, apart=2.5) -> Data:
    y = rng.integers(0, 3, n)
    centres = apart * np.array([[1, 0], [-0.5, 0.87], [-0.5, -0.87]])
    return rng.normal(size=(n, 2)) + centres[y], y


def words(rng: Rng, n=200, d=300, strength=0.3) -> Data:
    y = rng.integers(0, 2, n)
    rates = np.exp(strength * rng.normal(size=(2, d)))
    return rng.poisson(0.1 * rates[y]), y


def powers(X: Any, degree: int) -> Any:
    return PolynomialFeatures(degree, include_bias=False).fit_transform(X)


# ---- linear regression ---------------------------------------------------------------------------


@case(UNDER)
def line_through_parabola(rng):
    return g.LinearRegression().fit(*parabola(rng))


@case(UNDER)
def line_through_parabola_of_20_points(rng):
    return g.LinearRegression().fit(*parabola(rng, n=20))


@case(UNDER)
def ridge_line_through_parabola(rng):
    return g.Ridge(alpha=1.0).fit(*parabola(rng))


@case(UNDER)
def tuned_ridge_line_through_parabola(rng):
    return g.RidgeCV().fit(*parabola(rng))


@case(UNDER)
def lasso_line_through_parabola(rng):
    return g.Lasso(alpha=0.01).fit(*parabola(rng))


@case(UNDER)
def line_through_product(rng):
    X = rng.normal(size=(150, 4))
    return g.LinearRegression().fit(X, X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=150))


@case(UNDER)
def line_through_wave_with_heavy_tails(rng):
    X, _ = wave(rng, 300, 0.0)
    return g.LinearRegression().fit(X, 3 * np.cos(2 * X[:, 0]) + 0.3 * rng.standard_t(1.5, 300))


@case(UNDER)
def cubic_through_fast_wave(rng):
    X, y = wave(rng, 200, 0.2, 3.0)
    return g.LinearRegression().fit(powers(X, 3), y)


@case(OVER)
def order_9_through_12_points(rng):
    X, y = wave(rng, 12, 0.3)
    return g.LinearRegression().fit(powers(X / np.pi - 1, 9), y)


@case(OVER)
def order_15_through_25_points(rng):
    X, y = wave(rng, 25, 0.3)
    return g.LinearRegression().fit(powers(X / np.pi - 1, 15), y)


@case(BALANCED)
def order_15_through_40_points_with_ridge(rng):
    X, y = wave(rng, 40, 0.3)
    return g.Ridge(alpha=0.02).fit(powers(X / np.pi - 1, 15), y)


@case(BALANCED)
def parabola_through_parabola(rng):
    X, y = parabola(rng)
    return g.LinearRegression().fit(powers(X, 2), y)


@case(BALANCED)
def line_through_line(rng):
    return g.LinearRegression().fit(*line(rng))


@case(BALANCED)
def line_through_line_of_15_points(rng):
    return g.LinearRegression().fit(*line(rng, 15, 1))


@case(BALANCED)
def line_through_line_with_heavy_tails(rng):
    X, _ = line(rng, 200, 3)
    return g.LinearRegression().fit(X, 5 * X.sum(axis=1) + rng.standard_t(2.0, 200))


@case(BALANCED)
def mean_of_noise(rng):
    X = rng.normal(size=(100, 1))
    return g.LinearRegression().fit(X, rng.normal(size=100))


@case(BALANCED)
def tuned_ridge_on_line(rng):
    return g.RidgeCV().fit(*line(rng))


@case(OVER)
def least_squares_60_by_30_with_two_that_matter(rng):
    return g.LinearRegression().fit(*sparse_line(rng))


@case(OVER)
def least_squares_on_noise(rng):
    return g.LinearRegression().fit(rng.normal(size=(60, 25)), rng.normal(size=60))


@case(OVER)
def least_squares_almost_saturated_with_outliers(rng):
    X = rng.normal(size=(50, 40))
    return g.LinearRegression().fit(X, X[:, 0] + rng.standard_t(1.5, 50))


@case(OVER)
def ridge_far_too_weak(rng):
    return g.Ridge(alpha=1e-6).fit(*sparse_line(rng, 50, 40))


@case(UNDER)
def ridge_far_too_strong(rng):
    return g.Ridge(alpha=1e4).fit(*line(rng))


@case(UNDER)
def lasso_far_too_strong(rng):
    return g.Lasso(alpha=2.0).fit(*line(rng))


@case(OVER)
def lasso_far_too_weak(rng):
    return g.Lasso(alpha=1e-4).fit(*sparse_line(rng, 60, 40))


@case(BALANCED)
def lasso_of_two_that_matter(rng):
    return g.Lasso(alpha=0.15).fit(*sparse_line(rng, 120, 30))


@case(UNDER)
def elastic_net_far_too_strong(rng):
    return g.ElasticNet(alpha=10.0).fit(*line(rng))


@case(BALANCED)
def quantile_line(rng):
    X, _ = line(rng, 100, 2)
    y = X.sum(axis=1) + rng.exponential(size=100)
    return g.RiskRegressor(losses.Quantile(0.9), penalties.L2(1e-3)).fit(X, y)


@case(UNDER)
def linear_svr_through_parabola(rng):
    return g.LinearSVR().fit(*parabola(rng, 60))


# ---- linear classification -----------------------------------------------------------------------


@case(UNDER)
def logistic_on_circle(rng):
    return g.LogisticRegression().fit(*circle(rng))


@case(UNDER)
def logistic_without_penalty_on_circle(rng):
    return g.LogisticRegression(C=np.inf).fit(*circle(rng, 200))


@case(UNDER)
def logistic_on_exclusive_or(rng):
    return g.LogisticRegression().fit(*exclusive_or(rng))


@case(UNDER)
def logistic_far_too_strong(rng):
    return g.LogisticRegression(C=1e-5).fit(*logits(rng))


@case(OVER)
def logistic_80_by_30_without_penalty(rng):
    X, _ = logits(rng, 80, 30, 0.0)
    z = X[:, 0] - X[:, 1]
    return g.LogisticRegression(C=1e6).fit(X, (rng.random(80) < 1 / (1 + np.exp(-2 * z))) + 0)


@case(OVER)
def logistic_100_by_60_noise(rng):
    return g.LogisticRegression(C=1e4).fit(rng.normal(size=(100, 60)), rng.integers(0, 2, 100))


@case(BALANCED)
def logistic_on_logits(rng):
    return g.LogisticRegression().fit(*logits(rng))


@case(BALANCED)
def logistic_on_two_clouds(rng):
    return g.LogisticRegression().fit(*two_clouds(rng))


@case(BALANCED)
def softmax_on_three_clouds(rng):
    return g.LogisticRegression().fit(*three_clouds(rng))


@case(UNDER)
def softmax_on_rings(rng):
    X = rng.normal(size=(400, 2))
    return g.LogisticRegression().fit(X, np.digitize(np.sum(X**2, axis=1), [0.8, 2.2]))


@case(BALANCED)
def linear_svc_on_two_clouds(rng):
    return g.LinearSVC(C=0.1).fit(*two_clouds(rng))


@case(UNDER)
def linear_svc_on_circle(rng):
    return g.LinearSVC().fit(*circle(rng))


@case(UNDER)
def ridge_classifier_on_circle(rng):
    return g.RidgeClassifier().fit(*circle(rng))


@case(OVER)
def linear_svc_60_by_40_with_noise(rng):
    X = rng.normal(size=(80, 40))
    return g.LinearSVC(C=30.0).fit(*flipped(rng, (X, (X[:, 0] + X[:, 1] > 0) + 0), 0.15))


# ---- kernels -------------------------------------------------------------------------------------


@case(OVER)
def svc_far_too_narrow_with_noise(rng):
    return g.SVC(C=10, gamma=100.0).fit(*flipped(rng, two_clouds(rng, 200, 2, 3.0)))


@case(OVER)
def svc_far_too_narrow(rng):
    return g.SVC(gamma=1000.0).fit(*two_clouds(rng, 200, 2, 4.0))


@case(OVER)
def svc_with_huge_C_and_noise(rng):
    return g.SVC(C=1e5, gamma=2.0).fit(*flipped(rng, two_clouds(rng, 120, 2, 3.0)))


@case(UNDER)
def svc_far_too_wide(rng):
    return g.SVC(gamma=1e-4).fit(*circle(rng))


@case(UNDER)
def svc_with_tiny_C(rng):
    return g.SVC(C=1e-4, gamma=0.5).fit(*circle(rng))


@case(UNDER)
def linear_kernel_svc_on_circle(rng):
    return g.SVC(kernel="linear").fit(*circle(rng, 200))


@case(BALANCED)
def svc_on_circle(rng):
    return g.SVC(C=10, gamma=0.5).fit(*circle(rng))


@case(BALANCED)
def svc_on_noisy_clouds(rng):
    return g.SVC(C=1.0, gamma=0.1).fit(*flipped(rng, two_clouds(rng, 250, 2, 4.0), 0.1))


@case(OVER)
def svr_far_too_narrow(rng):
    return g.SVR(C=10, gamma=1000.0).fit(*wave(rng))


@case(OVER)
def svr_too_narrow_with_huge_C(rng):
    return g.SVR(C=1e4, gamma=30.0).fit(*sines(rng, 200, 3, 0.8))


@case(UNDER)
def svr_far_too_wide(rng):
    return g.SVR(gamma=1e-3, C=0.1).fit(*wave(rng))


@case(BALANCED)
def svr_on_wave(rng):
    return g.SVR(gamma=0.5, C=1.0, epsilon=0.2).fit(*wave(rng))


@case(OVER)
def kernel_ridge_far_too_narrow(rng):
    return g.KernelRidge(alpha=0.1, kernel="rbf", gamma=1000.0).fit(*wave(rng))


@case(OVER)
def kernel_ridge_far_too_weak(rng):
    return g.KernelRidge(alpha=1e-6, kernel="rbf", gamma=5.0).fit(*wave(rng, 80, 0.5))


@case(UNDER)
def kernel_ridge_far_too_strong(rng):
    return g.KernelRidge(alpha=1e3, kernel="rbf", gamma=0.5).fit(*wave(rng))


@case(UNDER)
def linear_kernel_ridge_through_parabola(rng):
    return g.KernelRidge(alpha=0.1, kernel="linear", fit_intercept=True).fit(*parabola(rng))


@case(BALANCED)
def kernel_ridge_on_wave(rng):
    return g.KernelRidge(alpha=0.5, kernel="rbf", gamma=0.3).fit(*wave(rng))


@case(BALANCED)
def gaussian_process_by_likelihood(rng):
    kernel = 1.0 * kernels.Gaussian(0.5) + kernels.White(0.1)
    return g.GaussianProcessRegressor(kernel).fit(*wave(rng, 100))


@case(OVER)
def gaussian_process_without_noise(rng):
    kernel = 1.0 * kernels.Gaussian(50.0)
    return g.GaussianProcessRegressor(kernel, alpha=1e-8, optimizer=None).fit(*wave(rng, 80, 0.5))


@case(OVER)
def gaussian_process_far_too_short(rng):
    kernel = 1.0 * kernels.Gaussian(1e4) + kernels.White(0.01)
    return g.GaussianProcessRegressor(kernel, optimizer=None).fit(*wave(rng, 100))


@case(OVER)
def local_mean_far_too_narrow(rng):
    return g.KernelRegression(bandwidth=0.002).fit(*wave(rng, 150, 0.5))


@case(UNDER)
def local_mean_far_too_wide(rng):
    return g.KernelRegression(bandwidth=5.0).fit(*wave(rng))


@case(BALANCED)
def local_mean_by_leave_one_out(rng):
    return g.KernelRegression().fit(*wave(rng))


@case(UNDER)
def kernel_logistic_far_too_wide(rng):
    return g.KernelLogisticRegression(C=1.0, gamma=1e-4).fit(*circle(rng, 200))


@case(OVER)
def kernel_logistic_far_too_narrow(rng):
    return g.KernelLogisticRegression(C=1e3, gamma=300.0).fit(*flipped(rng, two_clouds(rng, 150)))


@case(BALANCED)
def kernel_logistic_on_circle(rng):
    return g.KernelLogisticRegression(C=10.0, gamma=0.5).fit(*circle(rng, 200))


# ---- neighbours ----------------------------------------------------------------------------------


@case(OVER)
def one_neighbour_with_noise(rng):
    return g.KNeighborsRegressor(1).fit(*wave(rng, 150, 0.5))


@case(UNDER)
def far_too_many_neighbours(rng):
    return g.KNeighborsRegressor(100).fit(*wave(rng))


@case(BALANCED)
def ten_neighbours_on_wave(rng):
    return g.KNeighborsRegressor(10).fit(*wave(rng, 200))


@case(OVER)
def one_neighbour_with_flipped_labels(rng):
    return g.KNeighborsClassifier(1).fit(*flipped(rng, two_clouds(rng, 250, 2, 4.0)))


@case(UNDER)
def far_too_many_neighbours_in_circle(rng):
    return g.KNeighborsClassifier(200).fit(*circle(rng, 250))


@case(BALANCED)
def fifteen_neighbours_on_clouds(rng):
    return g.KNeighborsClassifier(15).fit(*two_clouds(rng, 250))


@case(BALANCED)
def one_neighbour_on_checkerboard(rng):
    return g.KNeighborsClassifier(1).fit(*checkerboard(rng))


# ---- trees ---------------------------------------------------------------------------------------


@case(UNDER)
def stump_on_sum_of_sines(rng):
    return g.DecisionTreeRegressor(max_depth=1).fit(*sines(rng))


@case(OVER)
def full_tree_on_noisy_steps(rng):
    return g.DecisionTreeRegressor().fit(*step_function(rng, 300, 1.0))


@case(OVER)
def full_tree_on_noise(rng):
    return g.DecisionTreeRegressor().fit(rng.normal(size=(200, 4)), rng.normal(size=200))


@case(BALANCED)
def tree_of_three_levels_on_steps(rng):
    return g.DecisionTreeRegressor(max_leaf_nodes=4).fit(*step_function(rng))


@case(BALANCED)
def pruned_tree_on_steps(rng):
    return g.DecisionTreeRegressor(ccp_alpha="cv").fit(*step_function(rng))


@case(UNDER)
def tree_with_huge_leaves(rng):
    return g.DecisionTreeRegressor(min_samples_leaf=140).fit(*sines(rng))


@case(UNDER)
def tree_pruned_to_nothing(rng):
    return g.DecisionTreeRegressor(ccp_alpha=0.8).fit(*step_function(rng))


@case(OVER)
def full_tree_with_flipped_labels(rng):
    return g.DecisionTreeClassifier().fit(*flipped(rng, two_clouds(rng, 250, 3, 4.0)))


@case(UNDER)
def stump_on_circle(rng):
    return g.DecisionTreeClassifier(max_depth=1).fit(*circle(rng))


@case(BALANCED)
def pruned_tree_on_exclusive_or(rng):
    X, y = exclusive_or(rng, 400)
    return g.DecisionTreeClassifier(max_depth=4, min_samples_leaf=10).fit(X, y)


@case(UNDER)
def stump_on_exclusive_or(rng):
    return g.DecisionTreeClassifier(max_depth=1).fit(*exclusive_or(rng, 400))


@case(UNDER)
def two_levels_on_parity_of_bits(rng):
    return g.DecisionTreeClassifier(max_depth=2).fit(*flipped(rng, parity_of_bits(rng), 0.05))


@case(UNDER)
def two_levels_on_noisy_parity_of_bits(rng):
    X, y = parity_of_bits(rng)
    return g.DecisionTreeRegressor(max_depth=2).fit(X, 4 * y + rng.normal(size=len(y)))


@case(BALANCED)
def six_levels_on_parity_of_bits(rng):
    return g.DecisionTreeClassifier(max_depth=6).fit(*flipped(rng, parity_of_bits(rng), 0.05))


# ---- ensembles -----------------------------------------------------------------------------------


@case(UNDER)
def forest_with_huge_leaves(rng):
    return g.RandomForestRegressor(50, min_samples_leaf=120, random_state=0).fit(*sines(rng))


@case(UNDER)
def forest_of_stumps_on_circle(rng):
    X, y = circle(rng)
    return g.RandomForestClassifier(50, max_leaf_nodes=2, random_state=0).fit(X, y)


@case(BALANCED)
def forest_on_sines(rng):
    return g.RandomForestRegressor(100, random_state=0).fit(*sines(rng, 400))


@case(BALANCED)
def forest_on_circle(rng):
    return g.RandomForestClassifier(100, random_state=0).fit(*circle(rng))


@case(OVER)
def forest_of_full_trees_on_noise(rng):
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    return g.RandomForestRegressor(50, random_state=0).fit(X, y)


@case(OVER)
def boosting_far_too_long(rng):
    X, y = step_function(rng, 150, 1.0)
    return g.GradientBoostingRegressor(
        n_estimators=80, learning_rate=0.5, max_depth=4, random_state=0
    ).fit(X, y)


@case(UNDER)
def boosting_far_too_short(rng):
    X, y = sines(rng, 150)
    return g.GradientBoostingRegressor(n_estimators=3, learning_rate=0.05).fit(X, y)


@case(UNDER)
def boosted_stumps_on_exclusive_or(rng):
    X, y = exclusive_or(rng, 250)
    return g.GradientBoostingClassifier(max_depth=1, n_estimators=30).fit(X, y)


@case(BALANCED)
def boosting_on_sines(rng):
    X, y = sines(rng, 250, 3, 0.5)
    return g.GradientBoostingRegressor(n_estimators=100, max_depth=2).fit(X, y)


@case(OVER)
def histogram_boosting_with_flipped_labels(rng):
    X, y = flipped(rng, two_clouds(rng, 200, 3, 4.0))
    return g.HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.5, min_samples_leaf=2, early_stopping=False
    ).fit(X, y)


@case(BALANCED)
def histogram_boosting_on_circle(rng):
    X, y = circle(rng, 400)
    return g.HistGradientBoostingClassifier(max_iter=60, early_stopping=False).fit(X, y)


@case(UNDER)
def one_round_of_adaboost_on_circle(rng):
    return g.AdaBoostClassifier(n_estimators=1).fit(*circle(rng, 200))


@case(BALANCED)
def adaboost_on_two_clouds(rng):
    return g.AdaBoostClassifier(n_estimators=20).fit(*two_clouds(rng, 300, 2, 4.0))


# ---- Bayes ---------------------------------------------------------------------------------------


@case(BALANCED)
def gaussian_naive_bayes_on_clouds(rng):
    return g.GaussianNB().fit(*two_clouds(rng))


@case(UNDER)
def gaussian_naive_bayes_on_exclusive_or(rng):
    return g.GaussianNB().fit(*exclusive_or(rng))


@case(UNDER)
def gaussian_naive_bayes_smoothed_away(rng):
    X, y = two_clouds(rng, 300, 1, 2.0)
    X = np.column_stack([X[:, 0], 30 * rng.normal(size=300)])
    return g.GaussianNB(var_smoothing=10.0).fit(X, np.where(rng.random(300) < 0.2, 0, y))


@case(UNDER)
def multinomial_smoothed_away(rng):
    X, y = words(rng, 300, 100, 0.8)
    keep = (y == 0) | (rng.random(300) < 0.4)
    return g.MultinomialNB(alpha=1e5).fit(X[keep], y[keep])


@case(OVER)
def multinomial_without_smoothing(rng):
    return g.MultinomialNB(alpha=1e-8).fit(*words(rng))


@case(BALANCED)
def multinomial_on_words(rng):
    return g.MultinomialNB().fit(*words(rng, 400, 100, 0.5))


@case(UNDER)
def discriminant_line_on_circle(rng):
    return g.LinearDiscriminantAnalysis().fit(*circle(rng))


@case(BALANCED)
def discriminant_line_on_clouds(rng):
    return g.LinearDiscriminantAnalysis().fit(*two_clouds(rng))


@case(OVER)
def discriminant_line_60_by_45(rng):
    return g.LinearDiscriminantAnalysis().fit(*two_clouds(rng, 60, 45, 3.0))


@case(BALANCED)
def quadratic_discriminant_on_circle(rng):
    return g.QuadraticDiscriminantAnalysis().fit(*circle(rng))


@case(OVER)
def quadratic_discriminant_100_by_30(rng):
    return g.QuadraticDiscriminantAnalysis().fit(*two_clouds(rng, 100, 30, 2.5))


def main(names: list[str], seeds: int = 10) -> None:
    """Print how often each verdict is right, and how often it is the opposite."""
    right = opposite = total = 0
    began = time.process_time()
    for name in names or list(CASES):
        truth, found, start = CASES[name][0], Counter(), time.process_time()
        for seed in range(seeds):
            found[verdict(name, seed).kind] += 1
        other = {OVER: UNDER, UNDER: OVER}.get(truth)
        right, total = right + found[truth], total + seeds
        opposite += found[other] if other else 0
        mark = "" if found[truth] == seeds else "  <--" if found[truth] < seeds - 1 else "  <-"
        took = (time.process_time() - start) / seeds
        print(f"{name:48} {truth:12} {took:6.2f} s  {dict(found)}{mark}", flush=True)
    took = time.process_time() - began
    print(f"right {right} of {total} ({right / total:.1%}), opposite {opposite}, {took:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
