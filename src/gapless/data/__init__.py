"""Tables in: reading, types, what may be wrong with them, and preparation for models.

sources → records, dialects, delimited, formats → forms → tables → reading: bytes become a Table.
columns gives each column a role, leakage says what may be wrong, preparation makes numbers of it;
profile keeps what training rows were like, and drift tells how a later table differs.
Called by choosing, report and cli; may import the estimators' layers above, and polars.
"""

from .builtin import BUILTIN, BuiltIn, load_builtin
from .columns import Column, describe_columns
from .drift import find_drift
from .features import DateParts, FrequentWords, TableFeatures
from .findings import CODES, Finding, TableError
from .forms import Form
from .leakage import Split, find_leaks
from .options import ReadingOptions
from .preparation import prepare
from .profile import ColumnProfile, TableProfile, profile_table
from .reading import read_batches, read_table
from .tables import Table, table_of
from .target import Target, read_target

__all__ = [
    "BUILTIN",
    "CODES",
    "BuiltIn",
    "Column",
    "ColumnProfile",
    "DateParts",
    "Finding",
    "Form",
    "FrequentWords",
    "ReadingOptions",
    "Split",
    "Table",
    "TableError",
    "TableFeatures",
    "TableProfile",
    "Target",
    "describe_columns",
    "find_drift",
    "find_leaks",
    "load_builtin",
    "prepare",
    "profile_table",
    "read_batches",
    "read_table",
    "read_target",
    "table_of",
]
