"""How values are stored: by which fields, and how they are built from them again."""

from __future__ import annotations

import dataclasses
from typing import Any

from scipy.interpolate import BSpline
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from ..kernel_features import Tried
from ..svm.svc import LaterProbabilities
from .names import VALUES

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
