"""The linear kernel: inner products."""

from dataclasses import dataclass

from .._ground import core
from ._base import Constant, Slopes
from ._compiled import _Compiled
from ._rows import as_rows


@dataclass(frozen=True)
class Linear(_Compiled):
    """k(x, z) = ⟨x, z⟩; its features are the entries of x."""

    is_limited = True

    def form(self):
        return core.KernelForm(core.Measure.product, core.Curve.identity)

    def features(self, X):
        return as_rows(X)

    def slopes(self):
        return Slopes(Constant(1.0), None)

    def input_distances(self, squares, own, other):
        return squares
