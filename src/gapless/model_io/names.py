"""What the classes of models and values are called in files: a closed list, written by hand.

A name is for ever, wherever in gapless its class lives now: files of earlier versions have it. A
name is never taken away or given to another class; a new class gets a new line. Models are the
public estimators of gapless and scikit-learn's in `scikit_learn`. Values are what those keep:
losses, penalties, kernels, certificates, trees.
"""

from __future__ import annotations

from scipy.interpolate import BSpline
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from .. import (
    bayes,
    choosing,
    data,
    ensembles,
    kernel_machines,
    kernels,
    linear,
    losses,
    metrics,
    neighbors,
    penalties,
    svm,
    text,
    trees,
)
from ..bayes.count_parts import Categories, Words
from ..bayes.mixed_columns import MixedColumns
from ..bayes.moments import Moments
from ..bayes.number_parts import Gaussians, Kernels
from ..certificates import Certificate
from ..data import Column, ColumnProfile, Form, ReadingOptions, TableProfile
from ..data.fingerprints import Fingerprint
from ..ensembles.boosting_run import BoostingTrace
from ..ensembles.margins import MarginTrace
from ..generalization import Generalization
from ..generalization.result import Disagreement
from ..kernel_features import LandmarkFeatures, RandomFeatures, Tried
from ..linear.path import Path
from ..metrics.probability_maps import Sigmoid, Steps
from ..neighbors.mixed import MixedRows
from ..optimality import Conditions, Violation
from ..search import Search
from ..solvers import Trace
from ..svm.probability import Probabilities
from ..svm.svc import LaterProbabilities
from ..trees.asked import AskedColumns
from ..trees.bundles import Bundles
from ..trees.columns import Columns
from ..trees.compact import CompactTrees
from ..trees.multiway import MultiwayTree
from ..trees.packed import PackedTrees
from ..trees.pruning import PruneTrace
from ..trees.tree import Tree
from .scikit_learn import ATTRIBUTES

SPLITTERS = (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
)

MODELS: dict[str, type] = {
    "bayes.BayesDecision": bayes.BayesDecision,
    "bayes.BernoulliNB": bayes.BernoulliNB,
    "bayes.CategoricalNB": bayes.CategoricalNB,
    "bayes.ComplementNB": bayes.ComplementNB,
    "bayes.GaussianNB": bayes.GaussianNB,
    "bayes.LinearDiscriminantAnalysis": bayes.LinearDiscriminantAnalysis,
    "bayes.MultinomialNB": bayes.MultinomialNB,
    "bayes.NaiveBayes": bayes.NaiveBayes,
    "bayes.QuadraticDiscriminantAnalysis": bayes.QuadraticDiscriminantAnalysis,
    "choosing.MajorityClassifier": choosing.MajorityClassifier,
    "choosing.MeanRegressor": choosing.MeanRegressor,
    "choosing.TableModel": choosing.TableModel,
    "data.DateParts": data.DateParts,
    "data.FrequentWords": data.FrequentWords,
    "data.TableFeatures": data.TableFeatures,
    "ensembles.AdaBoostClassifier": ensembles.AdaBoostClassifier,
    "ensembles.AdaBoostRegressor": ensembles.AdaBoostRegressor,
    "ensembles.BaggingClassifier": ensembles.BaggingClassifier,
    "ensembles.BaggingRegressor": ensembles.BaggingRegressor,
    "ensembles.ExtraTreesClassifier": ensembles.ExtraTreesClassifier,
    "ensembles.ExtraTreesRegressor": ensembles.ExtraTreesRegressor,
    "ensembles.GradientBoostingClassifier": ensembles.GradientBoostingClassifier,
    "ensembles.GradientBoostingRegressor": ensembles.GradientBoostingRegressor,
    "ensembles.HistGradientBoostingClassifier": ensembles.HistGradientBoostingClassifier,
    "ensembles.HistGradientBoostingRegressor": ensembles.HistGradientBoostingRegressor,
    "ensembles.RandomForestClassifier": ensembles.RandomForestClassifier,
    "ensembles.RandomForestRegressor": ensembles.RandomForestRegressor,
    "kernel_machines.GaussianProcessRegressor": kernel_machines.GaussianProcessRegressor,
    "kernel_machines.KernelLogisticRegression": kernel_machines.KernelLogisticRegression,
    "kernel_machines.KernelRegression": kernel_machines.KernelRegression,
    "kernel_machines.KernelRidge": kernel_machines.KernelRidge,
    "kernel_machines.Nystroem": kernel_machines.Nystroem,
    "kernel_machines.RBFSampler": kernel_machines.RBFSampler,
    "linear.ElasticNet": linear.ElasticNet,
    "linear.ElasticNetCV": linear.ElasticNetCV,
    "linear.Lasso": linear.Lasso,
    "linear.LassoCV": linear.LassoCV,
    "linear.LinearRegression": linear.LinearRegression,
    "linear.LinearSVC": linear.LinearSVC,
    "linear.LinearSVR": linear.LinearSVR,
    "linear.LogisticRegression": linear.LogisticRegression,
    "linear.LogisticRegressionCV": linear.LogisticRegressionCV,
    "linear.MultiTaskLasso": linear.MultiTaskLasso,
    "linear.MultiTaskLassoCV": linear.MultiTaskLassoCV,
    "linear.Ridge": linear.Ridge,
    "linear.RidgeCV": linear.RidgeCV,
    "linear.RidgeClassifier": linear.RidgeClassifier,
    "linear.RidgeClassifierCV": linear.RidgeClassifierCV,
    "linear.RiskClassifier": linear.RiskClassifier,
    "linear.RiskRegressor": linear.RiskRegressor,
    "metrics.RecalibratedClassifier": metrics.RecalibratedClassifier,
    "neighbors.KNeighborsClassifier": neighbors.KNeighborsClassifier,
    "neighbors.KNeighborsRegressor": neighbors.KNeighborsRegressor,
    "neighbors.NearestNeighbors": neighbors.NearestNeighbors,
    "svm.NuSVC": svm.NuSVC,
    "svm.NuSVR": svm.NuSVR,
    "svm.OneClassSVM": svm.OneClassSVM,
    "svm.SVC": svm.SVC,
    "svm.SVR": svm.SVR,
    "text.TextClassifier": text.TextClassifier,
    "trees.C45Classifier": trees.C45Classifier,
    "trees.DecisionTreeClassifier": trees.DecisionTreeClassifier,
    "trees.DecisionTreeRegressor": trees.DecisionTreeRegressor,
    "trees.ID3Classifier": trees.ID3Classifier,
}
VALUES: dict[str, type] = {
    "bayes.Categories": Categories,
    "bayes.Gaussians": Gaussians,
    "bayes.Kernels": Kernels,
    "bayes.MixedColumns": MixedColumns,
    "bayes.Moments": Moments,
    "bayes.Words": Words,
    "certificates.Certificate": Certificate,
    "data.Column": Column,
    "data.ColumnProfile": ColumnProfile,
    "data.Fingerprint": Fingerprint,
    "data.Form": Form,
    "data.ReadingOptions": ReadingOptions,
    "data.TableProfile": TableProfile,
    "ensembles.BoostingTrace": BoostingTrace,
    "ensembles.MarginTrace": MarginTrace,
    "generalization.Disagreement": Disagreement,
    "generalization.Generalization": Generalization,
    "kernel_features.LandmarkFeatures": LandmarkFeatures,
    "kernel_features.RandomFeatures": RandomFeatures,
    "kernel_features.Tried": Tried,
    "kernels.AdditiveChi2": kernels.AdditiveChi2,
    "kernels.Chi2": kernels.Chi2,
    "kernels.Constant": kernels.Constant,
    "kernels.Cosine": kernels.Cosine,
    "kernels.Gaussian": kernels.Gaussian,
    "kernels.Laplacian": kernels.Laplacian,
    "kernels.Linear": kernels.Linear,
    "kernels.Matern": kernels.Matern,
    "kernels.Polynomial": kernels.Polynomial,
    "kernels.Precomputed": kernels.Precomputed,
    "kernels.Product": kernels.Product,
    "kernels.Quadratic": kernels.Quadratic,
    "kernels.Scaled": kernels.Scaled,
    "kernels.Sigmoid": kernels.Sigmoid,
    "kernels.Spectrum": kernels.Spectrum,
    "kernels.Sum": kernels.Sum,
    "kernels.White": kernels.White,
    "linear.Path": Path,
    "losses.CrammerSinger": losses.CrammerSinger,
    "losses.EpsilonInsensitive": losses.EpsilonInsensitive,
    "losses.Exponential": losses.Exponential,
    "losses.Gamma": losses.Gamma,
    "losses.Hinge": losses.Hinge,
    "losses.Huber": losses.Huber,
    "losses.Logistic": losses.Logistic,
    "losses.Poisson": losses.Poisson,
    "losses.Quantile": losses.Quantile,
    "losses.Softmax": losses.Softmax,
    "losses.Squared": losses.Squared,
    "losses.SquaredEpsilonInsensitive": losses.SquaredEpsilonInsensitive,
    "losses.SquaredHinge": losses.SquaredHinge,
    "losses.WestonWatkins": losses.WestonWatkins,
    "metrics.Sigmoid": Sigmoid,
    "metrics.Steps": Steps,
    "neighbors.MixedRows": MixedRows,
    "optimality.Conditions": Conditions,
    "optimality.Violation": Violation,
    "penalties.Box": penalties.Box,
    "penalties.ElasticNet": penalties.ElasticNet,
    "penalties.Group": penalties.Group,
    "penalties.L1": penalties.L1,
    "penalties.L2": penalties.L2,
    "penalties.NoPenalty": penalties.NoPenalty,
    "search.Search": Search,
    "solvers.Trace": Trace,
    "svm.LaterProbabilities": LaterProbabilities,
    "svm.Probabilities": Probabilities,
    "trees.AskedColumns": AskedColumns,
    "trees.Bundles": Bundles,
    "trees.Columns": Columns,
    "trees.CompactTrees": CompactTrees,
    "trees.MultiwayTree": MultiwayTree,
    "trees.PackedTrees": PackedTrees,
    "trees.PruneTrace": PruneTrace,
    "trees.Tree": Tree,
}

# scikit-learn's, by the names that it has itself.
MODELS |= {f"sklearn.{cls.__name__}": cls for cls in ATTRIBUTES}
VALUES |= {f"sklearn.{cls.__name__}": cls for cls in SPLITTERS}
VALUES["scipy.BSpline"] = BSpline

NAMES: dict[type, str] = {cls: name for table in (MODELS, VALUES) for name, cls in table.items()}
