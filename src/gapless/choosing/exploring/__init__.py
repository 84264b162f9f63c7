"""Exploring a table without a target: components, groups, rows that fit nowhere, and copies.

entrance is `gapless.explore`: canonical orders rows by their contents, components and grouping say
how many directions and groups there are, differences and odd_rows put them into words with the
values of columns, copies finds rows that repeat; table_map is the model that places other rows.
sections is what was found as plain data, with sentences in words; as_text, to_json and as_html
render it with the machinery of `report`. Called by cli; may import choosing and its report.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .as_html import page, to_html
    from .as_text import to_text
    from .entrance import Exploration, explore
    from .sections import MapReport
    from .table_map import TableMap
    from .to_json import from_json

__getattr__, __dir__, __all__ = on_first_use(__name__)
