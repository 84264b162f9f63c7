"""Fewer columns that keep most of the variation: principal components.

`eigenpairs` finds the largest eigenvalues of any operator; the estimators centre, choose the number
of components and certify how much variation any other choice of as many directions could keep.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .eigenpairs import EigenPairs, top_eigenpairs
    from .kernel_pca import KernelPCA
    from .kernel_subspace import KernelSubspace
    from .pre_images import PreImages

__getattr__, __dir__, __all__ = on_first_use(__name__)
