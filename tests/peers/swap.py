"""scikit-learn's own test modules, executed with our classes in place of those of the same name.

The files ship in scikit-learn's wheel and are not changed. A copy of each module is executed while
the public names point to our classes, so that imports and parametrisations alike pick them up.
`Concern` then finds which tests use a swapped class.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec

import numpy as np
import sklearn.cluster
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.ensemble
import sklearn.gaussian_process
import sklearn.kernel_approximation
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.neural_network
import sklearn.svm
import sklearn.tree
from sklearn._loss import HalfGammaLoss, HalfPoissonLoss, HalfTweedieLoss, HalfTweedieLossIdentity
from sklearn.base import BaseEstimator

from public_estimators import public_estimators

MODULES = [
    "sklearn.cluster.tests.test_hierarchical",
    "sklearn.cluster.tests.test_k_means",
    "sklearn.decomposition.tests.test_pca",
    "sklearn.decomposition.tests.test_truncated_svd",
    "sklearn.decomposition.tests.test_kernel_pca",
    "sklearn.ensemble._hist_gradient_boosting.tests.test_gradient_boosting",
    "sklearn.ensemble._hist_gradient_boosting.tests.test_monotonic_constraints",
    "sklearn.ensemble._hist_gradient_boosting.tests.test_warm_start",
    "sklearn.ensemble.tests.test_bagging",
    "sklearn.ensemble.tests.test_forest",
    "sklearn.ensemble.tests.test_gradient_boosting",
    "sklearn.ensemble.tests.test_weight_boosting",
    "sklearn.gaussian_process.tests.test_gpr",
    "sklearn.linear_model._glm.tests.test_glm",
    "sklearn.linear_model.tests.test_base",
    "sklearn.linear_model.tests.test_common",
    "sklearn.linear_model.tests.test_coordinate_descent",
    "sklearn.linear_model.tests.test_huber",
    "sklearn.linear_model.tests.test_logistic",
    "sklearn.linear_model.tests.test_perceptron",
    "sklearn.linear_model.tests.test_quantile",
    "sklearn.linear_model.tests.test_ridge",
    "sklearn.linear_model.tests.test_sag",
    "sklearn.linear_model.tests.test_sgd",
    "sklearn.linear_model.tests.test_sparse_coordinate_descent",
    "sklearn.neighbors.tests.test_neighbors",
    "sklearn.neural_network.tests.test_mlp",
    "sklearn.svm.tests.test_bounds",
    "sklearn.svm.tests.test_sparse",
    "sklearn.svm.tests.test_svm",
    "sklearn.tests.test_discriminant_analysis",
    "sklearn.tests.test_kernel_approximation",
    "sklearn.tests.test_kernel_ridge",
    "sklearn.tests.test_naive_bayes",
    "sklearn.tree.tests.test_monotonic_tree",
    "sklearn.tree.tests.test_tree",
]

SWAPPED = (
    sklearn.cluster,
    sklearn.decomposition,
    sklearn.discriminant_analysis,
    sklearn.ensemble,
    sklearn.gaussian_process,
    sklearn.kernel_approximation,
    sklearn.kernel_ridge,
    sklearn.linear_model,
    sklearn.naive_bayes,
    sklearn.neighbors,
    sklearn.neural_network,
    sklearn.svm,
    sklearn.tree,
)
# The public estimators that scikit-learn has too, by the package where it has them.
CLASSES = {
    package: [cls.__name__ for cls in public_estimators() if hasattr(package, cls.__name__)]
    for package in SWAPPED
}
# The private method by which scikit-learn's tests make targets whose best coefficients are known.
LENT_LOSSES = {
    "GammaRegressor": lambda model: HalfGammaLoss(),
    "PoissonRegressor": lambda model: HalfPoissonLoss(),
    "TweedieRegressor": lambda model: (
        HalfTweedieLoss(model.power) if model.power else HalfTweedieLossIdentity(0)
    ),
}


def _packed_objective(model, theta, X, y, sample_weight, *scratch):
    """Our objective and its gradient, packed as scikit-learn's test of gradients packs them.

    All weights come first and then all biases, where we have those of one layer after another.
    """
    arrays, start = [], 0
    for array in (*model.coefs_, *model.intercepts_):
        arrays.append(theta[start : start + array.size].reshape(array.shape))
        start += array.size
    depth = len(model.coefs_)
    classes = y[:, 0] if y.shape[1] == 1 else y.argmax(axis=1)
    objective = model._differentiable(X, model.classes_[classes], sample_weight)
    ours = [array for pair in zip(arrays[:depth], arrays[depth:]) for array in pair]
    slopes = objective.gradient(ours)
    packed = np.concatenate([array.ravel() for array in (*slopes[0::2], *slopes[1::2])])
    return objective.value(ours), packed


# Private methods of scikit-learn's that its tests call, made of ours.
LENT = {
    **{cls: {"_get_loss": loss} for cls, loss in LENT_LOSSES.items()},
    "MLPClassifier": {"_loss_grad_lbfgs": _packed_objective},
}


def swapped(name: str, ours: dict[str, type]) -> types.ModuleType:
    """A copy of the test module `name` in which the classes are `ours`."""
    for key, methods in LENT.items():
        for method, function in methods.items():
            if not hasattr(ours[key], method):
                setattr(ours[key], method, function)
    spec = find_spec(name)
    # Executed first unchanged: whatever it imports in turn must not catch our classes. By the plain
    # loader, which knows compiled files, since the asserts of this one are not needed.
    SourceFileLoader(name, spec.origin).exec_module(module_from_spec(spec))
    copy = module_from_spec(spec)
    with _public_names(ours):
        spec.loader.exec_module(copy)
    for public, names in CLASSES.items():
        _replace_module(copy, public, {key: ours[key] for key in names})
    return copy


@contextmanager
def _public_names(ours: dict[str, type]) -> Iterator[None]:
    kept = [(module, name, getattr(module, name)) for module in CLASSES for name in CLASSES[module]]
    try:
        for module, name, _ in kept:
            setattr(module, name, ours[name])
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def _replace_module(
    copy: types.ModuleType, public: types.ModuleType, ours: dict[str, type]
) -> None:
    """Where the tests look a class up later, as `svm.LinearSVC`, let them find ours."""
    for key, value in vars(copy).items():
        if value is public:
            stand_in = types.ModuleType(public.__name__)
            vars(stand_in).update(vars(public) | ours)
            setattr(copy, key, stand_in)


def _is_estimator(value) -> bool:
    return isinstance(value, BaseEstimator) or (
        isinstance(value, type) and issubclass(value, BaseEstimator)
    )


class Concern:
    """Which tests use a swapped class: by its name, by a function they call, or by a parameter."""

    def __init__(self, module: types.ModuleType, ours: dict[str, type]):
        self.module, self.classes = module, set(ours.values())
        self.names = set(ours)
        self._known: dict[types.CodeType, bool] = {}

    def holds(self, item) -> bool:
        """Whether the collected test item concerns one of the classes."""
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "array_namespace" in parameters:  # torch, cupy: scikit-learn skips these by default, too
            return False
        estimators = [value for value in parameters.values() if _is_estimator(value)]
        if estimators:
            return self._mentions(estimators)
        fixtures = [getattr(self.module, name, None) for name in item.fixturenames]
        return self._mentions([item.function, *parameters.values(), *fixtures])

    def _mentions(self, value, depth: int = 0) -> bool:
        if depth > 4 or value is None:
            return False
        if isinstance(value, type):
            return value in self.classes
        if type(value) in self.classes:
            return True
        if isinstance(value, dict):
            return any(self._mentions(part, depth + 1) for part in (*value, *value.values()))
        if isinstance(value, (list, tuple, set)):
            return any(self._mentions(part, depth + 1) for part in value)
        if isinstance(value, partial):
            return self._mentions((value.func, value.args, value.keywords), depth)
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, types.FunctionType) and value.__globals__ is vars(self.module):
            return self._code_mentions(value.__code__)
        if isinstance(value, BaseEstimator):  # a pipeline or meta-estimator around one of ours
            return any(self._mentions(part, depth + 1) for part in vars(value).values())
        return False

    def _code_mentions(self, code: types.CodeType) -> bool:
        if code not in self._known:
            self._known[code] = False  # ends the recursion of functions that call each other
            self._known[code] = any(
                self._global_mentions(name, code) for name in code.co_names
            ) or any(
                self._code_mentions(c) for c in code.co_consts if isinstance(c, types.CodeType)
            )
        return self._known[code]

    def _global_mentions(self, name: str, code: types.CodeType) -> bool:
        value = vars(self.module).get(name)
        if isinstance(value, types.ModuleType):
            known_as = {module.__name__ for module in CLASSES}
            return value.__name__ in known_as and not self.names.isdisjoint(code.co_names)
        return self._mentions(value)
