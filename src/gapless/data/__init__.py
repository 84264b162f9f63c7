"""Tables in: reading, types, what may be wrong with them, and preparation for models.

Bytes become a Table: sources (open, unpack) → encodings → delimited, formats, excel (columns of
texts or values) → forms, numbers, dates (texts to values) → tables; reading is the entry point.
headers finds names, titles and totals. columns gives each column a role, target and leakage,
quality report what may be wrong, preparation makes features, factors those of one space; profile
summarises the training rows, and drift reports how a later table differs. Called by choosing and
cli; may import the estimators' layers above, and polars.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .builtin import BUILTIN, BuiltIn, load_builtin
    from .columns import FEATURES, Column, describe_columns
    from .dates import MICROSECONDS_PER_DAY
    from .drift import (
        LEVEL,
        Tally,
        find_drift,
        is_more,
        judge_tally,
        unreadable_texts,
        unreadable_values,
    )
    from .factors import OTHERS, BoundedNumbers, LevelContrasts, level_shares
    from .findings import CODES, Finding, TableError, counted, found, listed
    from .fingerprints import TrainingRowSearch, row_hashes
    from .forms import Form
    from .headers import totals_row
    from .leakage import Split, find_leaks
    from .preparation import (
        FEWEST_OF_A_LEVEL,
        MOST_WORDS,
        DateParts,
        FrequentWords,
        Kind,
        TableFeatures,
        WordWeights,
        prepare,
    )
    from .profile import ColumnProfile, TableProfile, plain_frame, profile_table, read_as
    from .quality import find_flaws, has_few_combinations, similar_spellings, spelling_findings
    from .reading import batches_like, joined_batches, read_batches, read_table
    from .sources import AS_FOUND, ReadingOptions
    from .tables import Table, frame_of, table_of
    from .target import Target, Task, read_target

__getattr__, __dir__, __all__ = on_first_use(__name__)
