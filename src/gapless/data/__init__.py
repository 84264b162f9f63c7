"""Tables in: reading, types, what may be wrong with them, and preparation for models.

sources → records, dialects, delimited, formats → forms → tables → reading: bytes become a Table.
columns gives each column a role, leakage says what may be wrong, preparation makes numbers of it;
profile keeps what training rows were like, and drift tells how a later table differs.
Called by choosing, report and cli; may import the estimators' layers above, and polars.
"""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
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

# Each name, and the file it lives in.
_HOMES = {
    "BUILTIN": "builtin",
    "BuiltIn": "builtin",
    "CODES": "findings",
    "Column": "columns",
    "ColumnProfile": "profile",
    "DateParts": "features",
    "Finding": "findings",
    "Form": "forms",
    "FrequentWords": "features",
    "ReadingOptions": "options",
    "Split": "leakage",
    "Table": "tables",
    "TableError": "findings",
    "TableFeatures": "features",
    "TableProfile": "profile",
    "Target": "target",
    "describe_columns": "columns",
    "find_drift": "drift",
    "find_leaks": "leakage",
    "load_builtin": "builtin",
    "prepare": "preparation",
    "profile_table": "profile",
    "read_batches": "reading",
    "read_table": "reading",
    "read_target": "target",
    "table_of": "tables",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
