"""The gallery: short scripts that draw one picture each, and a page with all of them.

The scripts are in the folder `examples` of the source; an installed package brings them along.
`drawing` finds and runs them, `page` writes the page. Called by the command line and the tests;
the scripts import whatever a user may import.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .drawing import Drawn, Script, draw, scripts
    from .page import index_page

__getattr__, __dir__, __all__ = on_first_use(__name__)
