"""gapless: machine learning that says how far each model is from the best possible one.

Public names are loaded on first use, so that `import gapless` is quick: estimators bring
scikit-learn with them, plots bring matplotlib. `gapless.losses`, `gapless.penalties` and the other
parts are modules of their own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bayes import (
        BayesDecision,
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        GaussianNB,
        LinearDiscriminantAnalysis,
        MultinomialNB,
        NaiveBayes,
        QuadraticDiscriminantAnalysis,
    )
    from .certificates import Certificate
    from .certificates import certify_model as certify
    from .choosing import choose
    from .conformal import intervals, prediction_sets
    from .ensembles import (
        AdaBoostClassifier,
        AdaBoostRegressor,
        BaggingClassifier,
        BaggingRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from .evaluation import (
        bias_variance,
        compare,
        double_descent,
        learning_curve,
        validation_curve,
    )
    from .generalization import Generalization, generalize
    from .kernel_machines import (
        GaussianProcessRegressor,
        KernelLogisticRegression,
        KernelRegression,
        KernelRidge,
        Nystroem,
        RBFSampler,
    )
    from .linear import (
        ElasticNet,
        ElasticNetCV,
        Lasso,
        LassoCV,
        LinearRegression,
        LinearSVC,
        LinearSVR,
        LogisticRegression,
        LogisticRegressionCV,
        MultiTaskLasso,
        MultiTaskLassoCV,
        Ridge,
        RidgeClassifier,
        RidgeClassifierCV,
        RidgeCV,
        RiskClassifier,
        RiskRegressor,
        enet_path,
        lasso_path,
    )
    from .model_io import load, save
    from .neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
    from .solvers import solve
    from .svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
    from .text import TextClassifier
    from .trees import (
        C45Classifier,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ID3Classifier,
    )

# Each public name, and where it lives.
_HOMES = {
    "AdaBoostClassifier": "ensembles",
    "AdaBoostRegressor": "ensembles",
    "BaggingClassifier": "ensembles",
    "BaggingRegressor": "ensembles",
    "BayesDecision": "bayes",
    "BernoulliNB": "bayes",
    "C45Classifier": "trees",
    "CategoricalNB": "bayes",
    "Certificate": "certificates",
    "ComplementNB": "bayes",
    "DecisionTreeClassifier": "trees",
    "DecisionTreeRegressor": "trees",
    "ElasticNet": "linear",
    "ElasticNetCV": "linear",
    "ExtraTreesClassifier": "ensembles",
    "ExtraTreesRegressor": "ensembles",
    "GaussianNB": "bayes",
    "GaussianProcessRegressor": "kernel_machines",
    "Generalization": "generalization",
    "GradientBoostingClassifier": "ensembles",
    "GradientBoostingRegressor": "ensembles",
    "HistGradientBoostingClassifier": "ensembles",
    "HistGradientBoostingRegressor": "ensembles",
    "ID3Classifier": "trees",
    "KNeighborsClassifier": "neighbors",
    "KNeighborsRegressor": "neighbors",
    "KernelLogisticRegression": "kernel_machines",
    "KernelRegression": "kernel_machines",
    "KernelRidge": "kernel_machines",
    "Lasso": "linear",
    "LassoCV": "linear",
    "LinearDiscriminantAnalysis": "bayes",
    "LinearRegression": "linear",
    "LinearSVC": "linear",
    "LinearSVR": "linear",
    "LogisticRegression": "linear",
    "LogisticRegressionCV": "linear",
    "MultiTaskLasso": "linear",
    "MultiTaskLassoCV": "linear",
    "MultinomialNB": "bayes",
    "NaiveBayes": "bayes",
    "NearestNeighbors": "neighbors",
    "NuSVC": "svm",
    "NuSVR": "svm",
    "Nystroem": "kernel_machines",
    "OneClassSVM": "svm",
    "QuadraticDiscriminantAnalysis": "bayes",
    "RBFSampler": "kernel_machines",
    "RandomForestClassifier": "ensembles",
    "RandomForestRegressor": "ensembles",
    "Ridge": "linear",
    "RidgeCV": "linear",
    "RidgeClassifier": "linear",
    "RidgeClassifierCV": "linear",
    "RiskClassifier": "linear",
    "RiskRegressor": "linear",
    "SVC": "svm",
    "SVR": "svm",
    "TextClassifier": "text",
    "bias_variance": "evaluation",
    "certify": "certificates:certify_model",
    "choose": "choosing",
    "compare": "evaluation",
    "double_descent": "evaluation",
    "enet_path": "linear",
    "generalize": "generalization",
    "intervals": "conformal",
    "lasso_path": "linear",
    "learning_curve": "evaluation",
    "load": "model_io",
    "prediction_sets": "conformal",
    "save": "model_io",
    "solve": "solvers",
    "validation_curve": "evaluation",
}
_MODULES = (
    "bayes",
    "certificates",
    "choosing",
    "conformal",
    "data",
    "design",
    "ensembles",
    "evaluation",
    "generalization",
    "interrupt",
    "kernel_features",
    "kernel_machines",
    "kernel_matrix",
    "kernels",
    "linear",
    "losses",
    "metrics",
    "model_io",
    "neighbors",
    "penalties",
    "plots",
    "problem",
    "report",
    "search",
    "selection_bias",
    "solvers",
    "svm",
    "text",
    "threads",
    "trees",
)

__all__ = [
    "SVC",
    "SVR",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BayesDecision",
    "BernoulliNB",
    "C45Classifier",
    "CategoricalNB",
    "Certificate",
    "ComplementNB",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ElasticNet",
    "ElasticNetCV",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GaussianNB",
    "GaussianProcessRegressor",
    "Generalization",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "ID3Classifier",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KernelLogisticRegression",
    "KernelRegression",
    "KernelRidge",
    "Lasso",
    "LassoCV",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "MultinomialNB",
    "NaiveBayes",
    "NearestNeighbors",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "QuadraticDiscriminantAnalysis",
    "RBFSampler",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "RiskClassifier",
    "RiskRegressor",
    "TextClassifier",
    "bias_variance",
    "certify",
    "choose",
    "compare",
    "double_descent",
    "enet_path",
    "generalize",
    "intervals",
    "lasso_path",
    "learning_curve",
    "load",
    "prediction_sets",
    "save",
    "solve",
    "validation_curve",
]


def __getattr__(name: str) -> Any:
    """Load a public name or a module of the package when it is first asked for."""
    if name in _HOMES:
        module, _, attribute = _HOMES[name].partition(":")
        value = getattr(importlib.import_module(f".{module}", __name__), attribute or name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    elif name == "__version__":
        from importlib.metadata import version

        value = version("gapless")
    else:
        raise AttributeError(f"module 'gapless' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # What this file itself imports is nobody's to complete.
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *_MODULES, "__version__"})
