"""Fewer columns that keep most of the variation: principal components.

`scatter` is the rows around their mean as an operator, `leading` finds its leading directions in a
way that suits their shape, by `eigenpairs` if there are few of many; `subspace_bound` proves how
much any directions could explain, `certifying` compares; `held_out` judges components on unseen
rows and chooses how many. `kernel_subspace` and `pre_images` are the same for features of a kernel.
The estimators are `pca`, `truncated_svd` and `kernel_pca`.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .eigenpairs import EigenPairs, top_eigenpairs
    from .kernel_pca import KernelPCA
    from .kernel_subspace import KernelSubspace
    from .pca import PCA
    from .pre_images import PreImages
    from .truncated_svd import TruncatedSVD

__getattr__, __dir__, __all__ = on_first_use(__name__)
