"""What `model.summary()` reports: a fitted linear model on one page.

`result` is the plain data, which prints as text; `html` shows the same in a notebook. `inference`
has standard errors where theory knows them, `refits` those of a bootstrap, `findings` the columns
that are collinear or separate the classes, and `entrance` puts it together for `LinearModel`.
"""

from typing import TYPE_CHECKING

from ...._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .entrance import endless_columns, summarise
    from .refits import Refit, refit_to_draws
    from .result import CoefficientEstimate, Summary

__getattr__, __dir__, __all__ = on_first_use(__name__)
