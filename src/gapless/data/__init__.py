"""Tables in: reading, types, what may be wrong with them, and preparation for models.

sources → records, dialects, delimited, formats → forms → tables → reading: bytes become a Table.
columns gives each column a role, leakage says what may be wrong, preparation makes numbers of it;
profile keeps what training rows were like, and drift tells how a later table differs.
Called by choosing and cli; may import the estimators' layers above, and polars.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .builtin import BUILTIN, BuiltIn, load_builtin
    from .columns import FEATURES, Column, describe_columns
    from .drift import LEVEL, find_drift, is_more, judge_tally
    from .features import DateParts, FrequentWords, TableFeatures
    from .findings import CODES, Finding, TableError, counted, found, listed
    from .fingerprints import Search, row_hashes
    from .forms import Form
    from .leakage import Split, find_leaks, has_few_combinations, spelled_alike
    from .options import AS_FOUND, ReadingOptions
    from .preparation import FEWEST_OF_A_LEVEL, MOST_WORDS, Kind, prepare
    from .profile import ColumnProfile, TableProfile, plain_frame, profile_table
    from .reading import read_batches, read_table
    from .rereading import batches_like, joined
    from .spellings import alike
    from .tables import Table, frame_of, table_of
    from .tallies import Tally, lost, unread
    from .target import Target, Task, read_target
    from .totals import totals_row

__getattr__, __dir__, __all__ = on_first_use(__name__)
