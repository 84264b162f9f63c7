"""What the classes of models and values are called in files: a closed list, written by hand.

A name is for ever, wherever in gapless its class lives now: files of earlier versions have it. A
name is never taken away or given to another class; a new class gets a new line. Models are the
public estimators of gapless and scikit-learn's in `scikit_learn`. Values are what those keep:
losses, penalties, kernels, certificates, trees. A class is imported when a file names it, and no
other with it: what a model needs is loaded, and nothing else.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any


class Classes(Mapping[str, type]):
    """Classes by what files call them.

    Parameters
    ----------
    homes : dict of str
        Of each name, the module that its class is taken from, of gapless or of another package;
        "module:Other" where the class is not called as the name ends.
    """

    def __init__(self, homes: dict[str, str]):
        self._homes = homes

    def home_of(self, name: str) -> tuple[str, str]:
        """The module of a class, and what it is called there."""
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
        "bayes.BayesDecision": "gapless.bayes",
        "bayes.BernoulliNB": "gapless.bayes",
        "bayes.CategoricalNB": "gapless.bayes",
        "bayes.ComplementNB": "gapless.bayes",
        "bayes.GaussianNB": "gapless.bayes",
        "bayes.LinearDiscriminantAnalysis": "gapless.bayes",
        "bayes.MultinomialNB": "gapless.bayes",
        "bayes.NaiveBayes": "gapless.bayes",
        "bayes.QuadraticDiscriminantAnalysis": "gapless.bayes",
        "choosing.MajorityClassifier": "gapless.choosing",
        "choosing.MeanRegressor": "gapless.choosing",
        "choosing.TableModel": "gapless.choosing",
        "data.DateParts": "gapless.data",
        "data.FrequentWords": "gapless.data",
        "data.TableFeatures": "gapless.data",
        "ensembles.AdaBoostClassifier": "gapless.ensembles",
        "ensembles.AdaBoostRegressor": "gapless.ensembles",
        "ensembles.BaggingClassifier": "gapless.ensembles",
        "ensembles.BaggingRegressor": "gapless.ensembles",
        "ensembles.ExtraTreesClassifier": "gapless.ensembles",
        "ensembles.ExtraTreesRegressor": "gapless.ensembles",
        "ensembles.GradientBoostingClassifier": "gapless.ensembles",
        "ensembles.GradientBoostingRegressor": "gapless.ensembles",
        "ensembles.HistGradientBoostingClassifier": "gapless.ensembles",
        "ensembles.HistGradientBoostingRegressor": "gapless.ensembles",
        "ensembles.RandomForestClassifier": "gapless.ensembles",
        "ensembles.RandomForestRegressor": "gapless.ensembles",
        "kernel_machines.GaussianProcessRegressor": "gapless.kernel_machines",
        "kernel_machines.KernelLogisticRegression": "gapless.kernel_machines",
        "kernel_machines.KernelRegression": "gapless.kernel_machines",
        "kernel_machines.KernelRidge": "gapless.kernel_machines",
        "kernel_machines.Nystroem": "gapless.kernel_machines",
        "kernel_machines.RBFSampler": "gapless.kernel_machines",
        "linear.ElasticNet": "gapless.linear",
        "linear.ElasticNetCV": "gapless.linear",
        "linear.Lasso": "gapless.linear",
        "linear.LassoCV": "gapless.linear",
        "linear.LinearRegression": "gapless.linear",
        "linear.LinearSVC": "gapless.linear",
        "linear.LinearSVR": "gapless.linear",
        "linear.LogisticRegression": "gapless.linear",
        "linear.LogisticRegressionCV": "gapless.linear",
        "linear.MultiTaskLasso": "gapless.linear",
        "linear.MultiTaskLassoCV": "gapless.linear",
        "linear.Ridge": "gapless.linear",
        "linear.RidgeCV": "gapless.linear",
        "linear.RidgeClassifier": "gapless.linear",
        "linear.RidgeClassifierCV": "gapless.linear",
        "linear.RiskClassifier": "gapless.linear",
        "linear.RiskRegressor": "gapless.linear",
        "metrics.RecalibratedClassifier": "gapless.metrics",
        "neighbors.KNeighborsClassifier": "gapless.neighbors",
        "neighbors.KNeighborsRegressor": "gapless.neighbors",
        "neighbors.NearestNeighbors": "gapless.neighbors",
        "svm.NuSVC": "gapless.svm",
        "svm.NuSVR": "gapless.svm",
        "svm.OneClassSVM": "gapless.svm",
        "svm.SVC": "gapless.svm",
        "svm.SVR": "gapless.svm",
        "text.TextClassifier": "gapless.text",
        "trees.C45Classifier": "gapless.trees",
        "trees.DecisionTreeClassifier": "gapless.trees",
        "trees.DecisionTreeRegressor": "gapless.trees",
        "trees.ID3Classifier": "gapless.trees",
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
        "bayes.Categories": "gapless.bayes.count_parts",
        "bayes.Gaussians": "gapless.bayes.number_parts",
        "bayes.Kernels": "gapless.bayes.number_parts",
        "bayes.MixedColumns": "gapless.bayes.mixed_columns",
        "bayes.Moments": "gapless.bayes.moments",
        "bayes.Words": "gapless.bayes.count_parts",
        "certificates.Certificate": "gapless.certificates",
        "data.Column": "gapless.data",
        "data.ColumnProfile": "gapless.data",
        "data.Fingerprint": "gapless.data.fingerprints",
        "data.Form": "gapless.data",
        "data.ReadingOptions": "gapless.data",
        "data.TableProfile": "gapless.data",
        "ensembles.BoostingTrace": "gapless.ensembles.boosting_run",
        "ensembles.MarginTrace": "gapless.ensembles.margins",
        "generalization.Disagreement": "gapless.generalization.result",
        "generalization.Generalization": "gapless.generalization",
        "kernel_features.LandmarkFeatures": "gapless.kernel_features",
        "kernel_features.RandomFeatures": "gapless.kernel_features",
        "kernel_features.Tried": "gapless.kernel_features",
        "kernels.AdditiveChi2": "gapless.kernels",
        "kernels.Chi2": "gapless.kernels",
        "kernels.Constant": "gapless.kernels",
        "kernels.Cosine": "gapless.kernels",
        "kernels.Gaussian": "gapless.kernels",
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
        "linear.Path": "gapless.linear.path",
        "losses.CrammerSinger": "gapless.losses",
        "losses.EpsilonInsensitive": "gapless.losses",
        "losses.Exponential": "gapless.losses",
        "losses.Gamma": "gapless.losses",
        "losses.Hinge": "gapless.losses",
        "losses.Huber": "gapless.losses",
        "losses.Logistic": "gapless.losses",
        "losses.Poisson": "gapless.losses",
        "losses.Quantile": "gapless.losses",
        "losses.Softmax": "gapless.losses",
        "losses.Squared": "gapless.losses",
        "losses.SquaredEpsilonInsensitive": "gapless.losses",
        "losses.SquaredHinge": "gapless.losses",
        "losses.WestonWatkins": "gapless.losses",
        "metrics.Sigmoid": "gapless.metrics.probability_maps",
        "metrics.Steps": "gapless.metrics.probability_maps",
        "neighbors.MixedRows": "gapless.neighbors.mixed",
        "optimality.Conditions": "gapless.optimality",
        "optimality.Violation": "gapless.optimality",
        "penalties.Box": "gapless.penalties",
        "penalties.ElasticNet": "gapless.penalties",
        "penalties.Group": "gapless.penalties",
        "penalties.L1": "gapless.penalties",
        "penalties.L2": "gapless.penalties",
        "penalties.NoPenalty": "gapless.penalties",
        "search.Search": "gapless.search",
        "solvers.Trace": "gapless.solvers",
        "svm.LaterProbabilities": "gapless.svm.svc",
        "svm.Probabilities": "gapless.svm.probability",
        "trees.AskedColumns": "gapless.trees.asked",
        "trees.Bundles": "gapless.trees.bundles",
        "trees.Columns": "gapless.trees.columns",
        "trees.CompactTrees": "gapless.trees.compact",
        "trees.MultiwayTree": "gapless.trees.multiway",
        "trees.PackedTrees": "gapless.trees.packed",
        "trees.PruneTrace": "gapless.trees.pruning",
        "trees.Tree": "gapless.trees.tree",
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
    """What files call a class of models or values; nothing if they do not know it."""
    return _name_of(cls)


@cache
def _name_of(cls: Any) -> str:
    package = cls.__module__.partition(".")[0]
    for classes in (MODELS, VALUES):
        for name in classes:
            module, attribute = classes.home_of(name)
            # Others are not looked at, which would import them.
            is_likely = (module.partition(".")[0], attribute) == (package, cls.__name__)
            if is_likely and classes[name] is cls:
                return name
    return ""
