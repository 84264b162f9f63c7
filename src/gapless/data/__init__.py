"""Tables in: reading, types, what may be wrong with them, and preparation for models.

sources → records, dialects, delimited, formats → forms → tables → reading: bytes become a Table.
columns gives each column a role, leakage says what may be wrong, preparation makes numbers of it.
Called by choosing, report and cli; may import the estimators' layers above, and polars.
"""

from .builtin import BUILTIN, BuiltIn, load_builtin
from .columns import Column, describe_columns
from .features import DateParts, FrequentWords, TableFeatures
from .findings import CODES, Finding, TableError
from .forms import Form
from .leakage import Split, find_leaks
from .preparation import prepare
from .reading import read_batches, read_table
from .tables import Table, table_of
from .target import Target, read_target

__all__ = [
    "BUILTIN",
    "CODES",
    "BuiltIn",
    "Column",
    "DateParts",
    "Finding",
    "Form",
    "FrequentWords",
    "Split",
    "Table",
    "TableError",
    "TableFeatures",
    "Target",
    "describe_columns",
    "find_leaks",
    "load_builtin",
    "prepare",
    "read_batches",
    "read_table",
    "read_target",
    "table_of",
]
