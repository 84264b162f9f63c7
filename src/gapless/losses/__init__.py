"""Losses ℓ(y, z): what a prediction costs. Each file is one loss, a frozen dataclass of vectorised NumPy.

Called by `problem` and by everything that needs a loss (boosting, metrics). Imports nothing but NumPy.
To add one, see docs/add_a_loss.md; the contract is in `_base.Loss`.
"""

from ._base import DualBox, Loss, by_name
from .squared import Squared

__all__ = ["DualBox", "Loss", "Squared", "by_name"]
