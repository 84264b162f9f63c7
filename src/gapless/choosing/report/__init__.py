"""The report: what was found about a table and its model, as plain data and as text, JSON or HTML.

summary makes a Report (sections) from a choice: tested, curves, model_uses and table_facts compute
its parts. Its sentences are in words, those on what to do next in advice. to_text, to_json and
to_html are three renderers of it, the last by template.html and figures, which `plots` draws.
Called by cli; may import choosing, plots and all above them.
"""

from .sections import Report
from .summary import summarize
from .to_html import page, to_html
from .to_json import from_json, to_json
from .to_text import to_text

__all__ = ["Report", "from_json", "page", "summarize", "to_html", "to_json", "to_text"]
