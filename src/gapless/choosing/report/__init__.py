"""The report: what was found about a table and its model, as plain data and as text, JSON or HTML.

summary makes a Report (sections) from a choice: tested, curves, model_uses and table_facts compute
its parts. Its sentences are in words, those on what to do next in advice. to_text, to_json and
to_html are three renderers of it, the last by template.html and figures, which `plots` draws. What
other reports need, such as that of `exploring`, is offered too: base.html and its filters, the
section of the data, phrases. Called by cli; may import choosing, plots and all above them.
"""

from .figures import bars, draw_picture, floats
from .phrases import amount, joined, quoted, shortened, squeezed
from .sections import Data, Number, Report
from .summary import summarize, versions
from .table_facts import columns_and_findings
from .to_html import environment, page, to_html
from .to_json import from_json, read_json, to_json
from .to_text import columns, listed, to_text, wrapped

__all__ = [
    "Data",
    "Number",
    "Report",
    "amount",
    "bars",
    "columns",
    "columns_and_findings",
    "draw_picture",
    "environment",
    "floats",
    "from_json",
    "joined",
    "listed",
    "page",
    "quoted",
    "read_json",
    "shortened",
    "squeezed",
    "summarize",
    "to_html",
    "to_json",
    "to_text",
    "versions",
    "wrapped",
]
