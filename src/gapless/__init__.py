"""gapless: machine learning that says how far each model is from the best possible one.

Public names are loaded on first use, so that `import gapless` is quick: estimators bring
scikit-learn with them, plots bring matplotlib. `gapless.losses`, `gapless.penalties` and the other
parts are packages. They are in this order, and each knows only those before it:

_ground       the compiled core, threads, LAPACK, interrupts, validation, progress
streaming     tables that are read in parts, here or on a cluster
losses, penalties, kernels    what is minimised, one file each
problem       X as an operator, loss + penalty + weights, the dual; kernels as features or matrices
solvers       how it is minimised, one file each
certificates  the first gap: how far a fit is at most from the best one
unseen        the second gap: leave-one-out, folds, tuning, verdicts, intervals and sets
models        the estimators, a folder for each family; networks are public by their own name, too
metrics, evaluation    judging any estimator
data, choosing         tables, families compared on them, the report of it
model_io, plots, cli   files, pictures, commands
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._ground.first_use import on_first_use

if TYPE_CHECKING:
    from . import (
        certificates,
        choosing,
        data,
        evaluation,
        kernels,
        losses,
        metrics,
        model_io,
        models,
        networks,
        penalties,
        plots,
        problem,
        solvers,
        streaming,
        unseen,
    )
    from ._ground.version import __version__
    from .certificates import Certificate
    from .certificates import certify_model as certify
    from .choosing import choose
    from .choosing.exploring import explore
    from .evaluation import (
        bias_variance,
        compare,
        crossover,
        double_descent,
        duality,
        explain,
        landscape,
        learning_curve,
        validation_curve,
    )
    from .model_io import load, save, to_onnx
    from .models.adaboost import AdaBoostClassifier, AdaBoostRegressor
    from .models.bagging import BaggingClassifier, BaggingRegressor
    from .models.bayes import (
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
    from .models.boosting import (
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from .models.clustering import (
        AgglomerativeClustering,
        DivisiveClustering,
        KMeans,
        MiniBatchKMeans,
    )
    from .models.decomposition import PCA, KernelPCA, TruncatedSVD
    from .models.forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from .models.kernel_machines import (
        GaussianProcessRegressor,
        KernelLogisticRegression,
        KernelRegression,
        KernelRidge,
        Nystroem,
        RBFSampler,
    )
    from .models.linear import (
        ElasticNet,
        ElasticNetCV,
        GammaRegressor,
        HuberRegressor,
        Lasso,
        LassoCV,
        LinearRegression,
        LinearSVC,
        LinearSVR,
        LogisticRegression,
        LogisticRegressionCV,
        MultiTaskLasso,
        MultiTaskLassoCV,
        PoissonRegressor,
        QuantileRegressor,
        Ridge,
        RidgeClassifier,
        RidgeClassifierCV,
        RidgeCV,
        TweedieRegressor,
        enet_path,
        lasso_path,
        mcp_path,
        scad_path,
    )
    from .models.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
    from .models.networks import CNNClassifier, MLPClassifier, MLPRegressor
    from .models.risk import RiskClassifier, RiskRegressor
    from .models.stochastic import Perceptron, SGDClassifier, SGDRegressor
    from .models.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
    from .models.text import TextClassifier
    from .models.trees import (
        C45Classifier,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ID3Classifier,
    )
    from .solvers import solve
    from .streaming import Parts, in_parts
    from .unseen import Generalization, generalize, intervals, prediction_sets

__getattr__, __dir__, __all__ = on_first_use(__name__)
