"""The classes that a model file can name: a closed list, made of what gapless itself imports.

Models are the public estimators of the parts and scikit-learn's in `scikit_learn`. Values are what
those keep: losses, penalties, kernels, certificates, trees. A class has its part and its own name,
`svm.SVC`; where in its part it lives does not matter.
"""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator
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

PARTS = (
    bayes,
    choosing,
    data,
    ensembles,
    kernel_machines,
    linear,
    metrics,
    neighbors,
    svm,
    text,
    trees,
)
SPLITTERS = (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
)
KEPT = (
    AskedColumns,
    BoostingTrace,
    BSpline,
    Bundles,
    Categories,
    Certificate,
    Column,
    ColumnProfile,
    Columns,
    CompactTrees,
    Conditions,
    Disagreement,
    Fingerprint,
    Form,
    Gaussians,
    Generalization,
    Kernels,
    LandmarkFeatures,
    LaterProbabilities,
    MarginTrace,
    MixedColumns,
    MixedRows,
    Moments,
    MultiwayTree,
    PackedTrees,
    Path,
    Probabilities,
    PruneTrace,
    RandomFeatures,
    ReadingOptions,
    Search,
    Sigmoid,
    Steps,
    TableProfile,
    Trace,
    Tree,
    Tried,
    Violation,
    Words,
)


def name_of(cls: type) -> str:
    """What a class is called in files."""
    package, *inside = cls.__module__.split(".")
    return f"{inside[0] if package == 'gapless' else package}.{cls.__name__}"


def _public(part: ModuleType, base: type) -> list[type]:
    found = (getattr(part, name) for name in part.__all__)
    return [each for each in found if isinstance(each, type) and issubclass(each, base)]


def _parts_of_objectives() -> list[type]:
    """Losses, penalties and kernels; a kernel that is a function of the caller's is code."""
    families = ((losses, losses.Loss), (penalties, penalties.Penalty), (kernels, kernels.Kernel))
    found = [cls for part, base in families for cls in _public(part, base)]
    return [cls for cls in found if dataclasses.is_dataclass(cls) and cls is not kernels.Callable]


MODELS: dict[str, type] = {
    name_of(cls): cls
    for cls in (*(each for part in PARTS for each in _public(part, BaseEstimator)), *ATTRIBUTES)
}
VALUES: dict[str, type] = {
    name_of(cls): cls for cls in (*KEPT, *SPLITTERS, *_parts_of_objectives())
}


# What values are stored by, and built from: a dataclass from the fields that its constructor takes.
_SPLITTER = ("n_splits", "shuffle", "random_state")
FIELDS: dict[type, tuple[str, ...]] = {
    BSpline: ("t", "c", "k", "extrapolate"),
    GroupKFold: _SPLITTER,
    KFold: _SPLITTER,
    LaterProbabilities: ("sides", "is_offered", "found"),
    LeaveOneGroupOut: (),
    LeaveOneOut: (),
    StratifiedGroupKFold: _SPLITTER,
    StratifiedKFold: _SPLITTER,
    Tried: Tried._fields,
}
FIELDS |= {
    cls: tuple(field.name for field in dataclasses.fields(cls) if field.init)
    for cls in VALUES.values()
    if cls not in FIELDS
}


def contents(value: Any) -> dict[str, Any]:
    """The fields of a value, by name."""
    if isinstance(value, LaterProbabilities):
        # A file has none of the training data, so what needs them is computed now.
        value.__getstate__()
    return {name: getattr(value, name) for name in FIELDS[type(value)]}


def build(cls: type, fields: dict[str, Any]) -> Any:
    """A value from its fields, which its own constructor checks."""
    if cls is LaterProbabilities:
        value = LaterProbabilities(None, fields["sides"], fields["is_offered"])
        value.found = fields["found"]
        return value
    return cls(**fields)
