"""X as coded columns: a code for every entry, for trees, neighbours and Bayes.

`tables` finds the columns of tables and matrices, numbers or categories; `coded` gives each entry a
code; `bins` and `bundles` reduce codes and columns; `reading` is what estimators call.
"""

from typing import TYPE_CHECKING

from ..first_use import on_first_use

if TYPE_CHECKING:
    from .bins import bins_of, edges_of, halfway
    from .bundles import MOST_CODES, Bundles, pack
    from .coded import Columns, marked
    from .reading import (
        encoded,
        for_prediction,
        read_features,
        read_levels,
        read_new,
        read_training,
    )
    from .tables import NUMBERS, Series, is_table, levels_of, number_of_level, numbers_of, series_of

__getattr__, __dir__, __all__ = on_first_use(__name__)
