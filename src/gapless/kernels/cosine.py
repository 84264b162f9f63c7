"""The cosine kernel: inner products of rows scaled to length 1."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._ground import core
from ._compiled import _Compiled
from ._rows import as_rows


@dataclass(frozen=True)
class Cosine(_Compiled):
    """k(x, z) = ⟨x, z⟩/(‖x‖‖z‖), and 0 for a row of zeros; its features are x/‖x‖."""

    is_limited = True

    def form(self):
        return core.KernelForm(core.Measure.product, core.Curve.identity)

    def prepare(self, X):
        norm = sp.linalg.norm(X, axis=1) if sp.issparse(X) else np.linalg.norm(X, axis=1)
        scale = (1 / np.where(norm > 0, norm, 1)).astype(X.dtype)
        return sp.diags(scale).dot(X).tocsr() if sp.issparse(X) else X * scale[:, None]

    def features(self, X):
        return self.prepare(as_rows(X))
