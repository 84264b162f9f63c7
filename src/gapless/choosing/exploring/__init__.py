"""Exploring a table without a target: components, groups, rows that fit nowhere, and copies.

entrance is `gapless.explore`: canonical orders rows by their contents, components and grouping say
how many directions and groups there are, differences and odd_rows put them into words with the
values of columns, copies finds rows that repeat; table_map is the model that places other rows.
sections is what was found as plain data, with sentences in words; to_text, to_json and to_html
render it with the machinery of `report`. Called by cli; may import choosing and its report.
"""

from .entrance import Exploration, explore
from .sections import MapReport
from .table_map import TableMap
from .to_html import page, to_html
from .to_json import from_json
from .to_text import to_text

__all__ = [
    "Exploration",
    "MapReport",
    "TableMap",
    "explore",
    "from_json",
    "page",
    "to_html",
    "to_text",
]
