"""The names of the classes of models and values in files: a closed list, written by hand.

A name is permanent, wherever in gapless its class lives now: files of earlier versions use it. It
is never removed or given to another class; a new class gets a new line. Models are the public
estimators of gapless and scikit-learn's in `scikit_learn`. Values are what those keep: losses,
penalties, kernels, certificates, trees. A class is imported when a file names it, without any
other: only what a model needs is loaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any


class Classes(Mapping[str, type]):
    """Classes by their names in files.

    Parameters
    ----------
    homes : dict of str
        For each name, the module of its class, in gapless or another package; "module:Other" if the
        class is not called as the name ends.
    """

    def __init__(self, homes: dict[str, str]):
        self._homes = homes

    def home_of(self, name: str) -> tuple[str, str]:
        """The module of a class, and its name there."""
        module, _, attribute = self._homes[name].partition(":")
        return module, attribute or name.rpartition(".")[2]

    def __getitem__(self, name: str) -> type:
        module, attribute = self.home_of(name)
        found = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, type)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes


MODELS = Classes(
    {
        "bayes.BayesDecision": "gapless.models.bayes",
        "bayes.BernoulliNB": "gapless.models.bayes",
        "bayes.CategoricalNB": "gapless.models.bayes",
        "bayes.ComplementNB": "gapless.models.bayes",
        "bayes.GaussianNB": "gapless.models.bayes",
        "bayes.LinearDiscriminantAnalysis": "gapless.models.bayes",
        "bayes.MultinomialNB": "gapless.models.bayes",
        "bayes.NaiveBayes": "gapless.models.bayes",
        "bayes.QuadraticDiscriminantAnalysis": "gapless.models.bayes",
        "choosing.MajorityClassifier": "gapless.choosing",
        "choosing.MeanRegressor": "gapless.choosing",
        "choosing.TableMap": "gapless.choosing.exploring",
        "choosing.TableModel": "gapless.choosing",
        "clustering.AgglomerativeClustering": "gapless.models.clustering",
        "clustering.DivisiveClustering": "gapless.models.clustering",
        "clustering.KMeans": "gapless.models.clustering",
        "clustering.MiniBatchKMeans": "gapless.models.clustering",
        "data.BoundedNumbers": "gapless.data",
        "data.DateParts": "gapless.data",
        "data.FrequentWords": "gapless.data",
        "data.LevelContrasts": "gapless.data",
        "data.TableFeatures": "gapless.data",
        "data.WordWeights": "gapless.data",
        "decomposition.KernelPCA": "gapless.models.decomposition",
        "decomposition.PCA": "gapless.models.decomposition",
        "decomposition.TruncatedSVD": "gapless.models.decomposition",
        "ensembles.AdaBoostClassifier": "gapless.models.adaboost",
        "ensembles.AdaBoostRegressor": "gapless.models.adaboost",
        "ensembles.BaggingClassifier": "gapless.models.bagging",
        "ensembles.BaggingRegressor": "gapless.models.bagging",
        "ensembles.ExtraTreesClassifier": "gapless.models.forests",
        "ensembles.ExtraTreesRegressor": "gapless.models.forests",
        "ensembles.GradientBoostingClassifier": "gapless.models.boosting",
        "ensembles.GradientBoostingRegressor": "gapless.models.boosting",
        "ensembles.HistGradientBoostingClassifier": "gapless.models.boosting",
        "ensembles.HistGradientBoostingRegressor": "gapless.models.boosting",
        "ensembles.RandomForestClassifier": "gapless.models.forests",
        "ensembles.RandomForestRegressor": "gapless.models.forests",
        "kernel_machines.GaussianProcessRegressor": "gapless.models.kernel_machines",
        "kernel_machines.KernelLogisticRegression": "gapless.models.kernel_machines",
        "kernel_machines.KernelRegression": "gapless.models.kernel_machines",
        "kernel_machines.KernelRidge": "gapless.models.kernel_machines",
        "kernel_machines.Nystroem": "gapless.models.kernel_machines",
        "kernel_machines.RBFSampler": "gapless.models.kernel_machines",
        "linear.ElasticNet": "gapless.models.linear",
        "linear.ElasticNetCV": "gapless.models.linear",
        "linear.GammaRegressor": "gapless.models.linear",
        "linear.HuberRegressor": "gapless.models.linear",
        "linear.Lasso": "gapless.models.linear",
        "linear.LassoCV": "gapless.models.linear",
        "linear.LinearRegression": "gapless.models.linear",
        "linear.LinearSVC": "gapless.models.linear",
        "linear.LinearSVR": "gapless.models.linear",
        "linear.LogisticRegression": "gapless.models.linear",
        "linear.LogisticRegressionCV": "gapless.models.linear",
        "linear.MultiTaskLasso": "gapless.models.linear",
        "linear.MultiTaskLassoCV": "gapless.models.linear",
        "linear.PoissonRegressor": "gapless.models.linear",
        "linear.QuantileRegressor": "gapless.models.linear",
        "linear.Ridge": "gapless.models.linear",
        "linear.RidgeCV": "gapless.models.linear",
        "linear.RidgeClassifier": "gapless.models.linear",
        "linear.RidgeClassifierCV": "gapless.models.linear",
        "linear.RiskClassifier": "gapless.models.risk",
        "linear.RiskRegressor": "gapless.models.risk",
        "linear.TweedieRegressor": "gapless.models.linear",
        "metrics.RecalibratedClassifier": "gapless.metrics",
        "neighbors.KNeighborsClassifier": "gapless.models.neighbors",
        "neighbors.KNeighborsRegressor": "gapless.models.neighbors",
        "neighbors.NearestNeighbors": "gapless.models.neighbors",
        "networks.CNNClassifier": "gapless.models.networks",
        "networks.MLPClassifier": "gapless.models.networks",
        "networks.MLPRegressor": "gapless.models.networks",
        "networks.Network": "gapless.models.networks",
        "stochastic.Perceptron": "gapless.models.stochastic",
        "stochastic.SGDClassifier": "gapless.models.stochastic",
        "stochastic.SGDRegressor": "gapless.models.stochastic",
        "svm.NuSVC": "gapless.models.svm",
        "svm.NuSVR": "gapless.models.svm",
        "svm.OneClassSVM": "gapless.models.svm",
        "svm.SVC": "gapless.models.svm",
        "svm.SVR": "gapless.models.svm",
        "text.TextClassifier": "gapless.models.text",
        "trees.C45Classifier": "gapless.models.trees",
        "trees.DecisionTreeClassifier": "gapless.models.trees",
        "trees.DecisionTreeRegressor": "gapless.models.trees",
        "trees.ID3Classifier": "gapless.models.trees",
        "sklearn.ColumnTransformer": "sklearn.compose",
        "sklearn.CountVectorizer": "sklearn.feature_extraction.text",
        "sklearn.FeatureUnion": "sklearn.pipeline",
        "sklearn.FunctionTransformer": "sklearn.preprocessing",
        "sklearn.KBinsDiscretizer": "sklearn.preprocessing",
        "sklearn.LabelBinarizer": "sklearn.preprocessing",
        "sklearn.LabelEncoder": "sklearn.preprocessing",
        "sklearn.MaxAbsScaler": "sklearn.preprocessing",
        "sklearn.MinMaxScaler": "sklearn.preprocessing",
        "sklearn.MissingIndicator": "sklearn.impute",
        "sklearn.Normalizer": "sklearn.preprocessing",
        "sklearn.Nystroem": "sklearn.kernel_approximation",
        "sklearn.OneHotEncoder": "sklearn.preprocessing",
        "sklearn.OrdinalEncoder": "sklearn.preprocessing",
        "sklearn.Pipeline": "sklearn.pipeline",
        "sklearn.PolynomialFeatures": "sklearn.preprocessing",
        "sklearn.PowerTransformer": "sklearn.preprocessing",
        "sklearn.QuantileTransformer": "sklearn.preprocessing",
        "sklearn.RobustScaler": "sklearn.preprocessing",
        "sklearn.SimpleImputer": "sklearn.impute",
        "sklearn.SplineTransformer": "sklearn.preprocessing",
        "sklearn.StandardScaler": "sklearn.preprocessing",
        "sklearn.TargetEncoder": "sklearn.preprocessing",
        "sklearn.TfidfTransformer": "sklearn.feature_extraction.text",
        "sklearn.TfidfVectorizer": "sklearn.feature_extraction.text",
        "sklearn.TransformedTargetRegressor": "sklearn.compose",
    }
)
VALUES = Classes(
    {
        "bayes.Categories": "gapless.models.bayes.parts",
        "bayes.Gaussians": "gapless.models.bayes.parts",
        "bayes.Kernels": "gapless.models.bayes.parts",
        "bayes.MixedColumns": "gapless.models.bayes.mixed_columns",
        "bayes.Moments": "gapless.models.bayes.moments",
        "bayes.Words": "gapless.models.bayes.parts",
        "certificates.Certificate": "gapless.certificates",
        "clustering.BatchTrace": "gapless.models.clustering.batch_runs",
        "clustering.LloydTrace": "gapless.models.clustering.lloyd",
        "data.Column": "gapless.data",
        "data.ColumnProfile": "gapless.data",
        "data.Fingerprint": "gapless.data.fingerprints",
        "data.Form": "gapless.data",
        "data.ReadingOptions": "gapless.data",
        "data.TableProfile": "gapless.data",
        "decomposition.KernelSubspace": "gapless.models.decomposition",
        "ensembles.BoostingTrace": "gapless.models.boosting.run",
        "ensembles.MarginTrace": "gapless.models.adaboost.margins",
        "generalization.Disagreement": "gapless.unseen.result",
        "generalization.Generalization": "gapless.unseen",
        "kernel_features.LandmarkFeatures": "gapless.problem.kernel_features",
        "kernel_features.RandomFeatures": "gapless.problem.kernel_features",
        "kernel_features.Tried": "gapless.problem.kernel_features",
        "kernels.AdditiveChi2": "gapless.kernels",
        "kernels.Chi2": "gapless.kernels",
        "kernels.Constant": "gapless.kernels",
        "kernels.Cosine": "gapless.kernels",
        "kernels.Gaussian": "gapless.kernels",
        "kernels.GaussianSeries": "gapless.kernels",
        "kernels.Laplacian": "gapless.kernels",
        "kernels.Linear": "gapless.kernels",
        "kernels.Matern": "gapless.kernels",
        "kernels.Polynomial": "gapless.kernels",
        "kernels.Precomputed": "gapless.kernels",
        "kernels.Product": "gapless.kernels",
        "kernels.Quadratic": "gapless.kernels",
        "kernels.Scaled": "gapless.kernels",
        "kernels.Sigmoid": "gapless.kernels",
        "kernels.Spectrum": "gapless.kernels",
        "kernels.Sum": "gapless.kernels",
        "kernels.White": "gapless.kernels",
        "linear.Path": "gapless.models.linear.path",
        "losses.Absolute": "gapless.losses",
        "losses.CrammerSinger": "gapless.losses",
        "losses.EpsilonInsensitive": "gapless.losses",
        "losses.Exponential": "gapless.losses",
        "losses.Gamma": "gapless.losses",
        "losses.Hinge": "gapless.losses",
        "losses.Huber": "gapless.losses",
        "losses.Logistic": "gapless.losses",
        "losses.ModifiedHuber": "gapless.losses",
        "losses.Perceptron": "gapless.losses",
        "losses.Poisson": "gapless.losses",
        "losses.Quantile": "gapless.losses",
        "losses.Softmax": "gapless.losses",
        "losses.Squared": "gapless.losses",
        "losses.SquaredEpsilonInsensitive": "gapless.losses",
        "losses.SquaredHinge": "gapless.losses",
        "losses.Tweedie": "gapless.losses",
        "losses.WestonWatkins": "gapless.losses",
        "losses.ZeroOne": "gapless.losses",
        "metrics.Sigmoid": "gapless.metrics.recalibration",
        "metrics.Steps": "gapless.metrics.recalibration",
        "neighbors.MixedRows": "gapless.models.neighbors.distances",
        "networks.Augmentation": "gapless.models.networks",
        "networks.AveragePool2D": "gapless.models.networks.layers",
        "networks.BatchNorm": "gapless.models.networks.layers",
        "networks.Conv2D": "gapless.models.networks.layers",
        "networks.Dense": "gapless.models.networks.layers",
        "networks.Dropout": "gapless.models.networks.layers",
        "networks.Flatten": "gapless.models.networks.layers",
        "networks.History": "gapless.models.networks",
        "networks.Identity": "gapless.models.networks.layers",
        "networks.MaxPool2D": "gapless.models.networks.layers",
        "networks.Pace": "gapless.models.networks.training",
        "networks.Progress": "gapless.models.networks.training",
        "networks.ReLU": "gapless.models.networks.layers",
        "networks.Sigmoid": "gapless.models.networks.layers",
        "networks.Tanh": "gapless.models.networks.layers",
        "networks.Weights": "gapless.models.networks.composition",
        "optimality.Conditions": "gapless.certificates.optimality",
        "optimality.Violation": "gapless.certificates.optimality",
        "penalties.Box": "gapless.penalties",
        "penalties.Bridge": "gapless.penalties",
        "penalties.ElasticNet": "gapless.penalties",
        "penalties.Group": "gapless.penalties",
        "penalties.L0": "gapless.penalties",
        "penalties.L1": "gapless.penalties",
        "penalties.L2": "gapless.penalties",
        "penalties.L2Norm": "gapless.penalties",
        "penalties.MCP": "gapless.penalties",
        "penalties.NoPenalty": "gapless.penalties",
        "penalties.PNorm": "gapless.penalties",
        "penalties.SCAD": "gapless.penalties",
        "search.Search": "gapless.unseen.search",
        "solvers.Adam": "gapless.solvers",
        "solvers.AveragedMomentum": "gapless.solvers",
        "solvers.Backtracking": "gapless.solvers",
        "solvers.Constant": "gapless.solvers",
        "solvers.Cosine": "gapless.solvers",
        "solvers.GradientDescent": "gapless.solvers",
        "solvers.InverseTime": "gapless.solvers",
        "solvers.LBFGS": "gapless.solvers",
        "solvers.Memory": "gapless.solvers",
        "solvers.Momentum": "gapless.solvers",
        "solvers.Named": "gapless.solvers",
        "solvers.Nesterov": "gapless.solvers",
        "solvers.Plain": "gapless.solvers",
        "solvers.StepDecay": "gapless.solvers",
        "solvers.Subgradient": "gapless.solvers",
        "solvers.Trace": "gapless.solvers",
        "stochastic.PerceptronTrace": "gapless.models.stochastic",
        "stochastic.State": "gapless.models.stochastic.descent",
        "svm.LaterProbabilities": "gapless.unseen",
        "svm.Probabilities": "gapless.unseen",
        "trees.AskedColumns": "gapless.models.trees.packed",
        "trees.Bundles": "gapless._ground.columns.bundles",
        "trees.Columns": "gapless._ground.columns.coded",
        "trees.CompactTrees": "gapless.models.trees.compact",
        "trees.MultiwayTree": "gapless.models.trees.multiway",
        "trees.PackedTrees": "gapless.models.trees.packed",
        "trees.PruneTrace": "gapless.models.trees.pruning",
        "trees.Tree": "gapless.models.trees.tree",
        "scipy.BSpline": "scipy.interpolate",
        "sklearn.GroupKFold": "sklearn.model_selection",
        "sklearn.KFold": "sklearn.model_selection",
        "sklearn.LeaveOneGroupOut": "sklearn.model_selection",
        "sklearn.LeaveOneOut": "sklearn.model_selection",
        "sklearn.StratifiedGroupKFold": "sklearn.model_selection",
        "sklearn.StratifiedKFold": "sklearn.model_selection",
    }
)


def name_of(cls: Any) -> str:
    """The name of a class of models or values in files; nothing if they do not know it."""
    return _name_of(cls)


@cache
def _name_of(cls: Any) -> str:
    package = cls.__module__.partition(".")[0]
    for classes in (MODELS, VALUES):
        for name in classes:
            module, attribute = classes.home_of(name)
            # Others are skipped, because a look would import them.
            is_likely = (module.partition(".")[0], attribute) == (package, cls.__name__)
            if is_likely and classes[name] is cls:
                return name
    return ""
