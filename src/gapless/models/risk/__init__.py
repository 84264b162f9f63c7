"""Any loss with any penalty and any kernel: RiskRegressor and RiskClassifier, in `risk`.

They are linear models, or with a kernel linear models on its features: `with_kernel` puts these in
place of X, for kernel machines too, `kernel_certificates` says which objective their gaps concern,
and `expansions` has the objective as a function of the coefficients of the rows.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .expansions import Expansion, ExpansionObjective
    from .kernel_certificates import concerning, exact_certificate, features_of, of_kernel
    from .risk import RiskClassifier, RiskRegressor
    from .with_kernel import AUTO, KERNEL_CONSTRAINTS, ON_KERNEL, WithKernel, chosen_kind

__getattr__, __dir__, __all__ = on_first_use(__name__)
