"""The command line: `gapless fit table.csv --target price`, and what follows from it.

`__main__` runs a command, reports errors and sets the exit code. `args` knows the commands,
`options` those that several of them share, `results` what `fit` and `explore` write, `words` has
the sentences of the tool itself, `printer` prints them, `files` writes results completely or not at
all. Each file in commands/ turns options into calls of the library, or of `checking`, `predicting`
and `showing`, which are loaded when their command runs, so that help is quick.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .__main__ import main

__getattr__, __dir__, __all__ = on_first_use(__name__)
