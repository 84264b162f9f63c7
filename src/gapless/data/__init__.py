"""Tables in: reading, types, what may be wrong with them, and preparation for models.

sources → records, dialects, delimited, formats → forms → tables → reading: bytes become a Table.
columns gives each column a role, leakage says what may be wrong, preparation makes numbers of it.
Called by choosing, report and cli; may import the estimators' layers above, and polars.
"""

from .builtin import BUILTIN, BuiltIn, load_builtin
from .findings import CODES, Finding, TableError
from .forms import Form
from .reading import read_batches, read_table
from .tables import Table, table_of

__all__ = [
    "BUILTIN",
    "CODES",
    "BuiltIn",
    "Finding",
    "Form",
    "Table",
    "TableError",
    "load_builtin",
    "read_batches",
    "read_table",
    "table_of",
]
