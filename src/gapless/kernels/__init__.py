"""Kernels k(x, z): how similar two rows are. Each file is one kernel, a frozen dataclass.

Called by `problem` and by all kernel machines. The compiled core computes the values of built-in
kernels, tile by tile; a custom kernel needs `gram` and `diagonal` in NumPy. `+` and `*` combine
kernels. To add one, see docs/add_a_kernel.md; the contract is in `_base.Kernel`.
"""

from .._ground.named import OF_STRINGS
from ._base import Constant, Kernel, Product, Scaled, Slopes, Sum
from ._by_name import KERNEL_INSTANCE, by_name
from ._rows import Rows, blank
from .callable import Callable
from .chi2 import AdditiveChi2, Chi2
from .cosine import Cosine
from .gaussian import Gaussian
from .gaussian_series import GaussianSeries
from .laplacian import Laplacian
from .linear import Linear
from .matern import Matern
from .mercer import MercerCheck, mercer_check
from .polynomial import Polynomial
from .precomputed import Precomputed
from .quadratic import Quadratic
from .sigmoid import Sigmoid
from .spectrum import Spectrum
from .white import White

__all__ = [
    "KERNEL_INSTANCE",
    "OF_STRINGS",
    "AdditiveChi2",
    "Callable",
    "Chi2",
    "Constant",
    "Cosine",
    "Gaussian",
    "GaussianSeries",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MercerCheck",
    "Polynomial",
    "Precomputed",
    "Product",
    "Quadratic",
    "Rows",
    "Scaled",
    "Sigmoid",
    "Slopes",
    "Spectrum",
    "Sum",
    "White",
    "blank",
    "by_name",
    "mercer_check",
]
