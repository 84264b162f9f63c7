"""The compiled loops of gapless: arrays in, arrays out.

They are compiled once for each level of the instruction set: v1, v3 and v4 of x86-64, `base` on
other processors. This package exposes the module of the best level that the processor has, or of
the lower one named in the environment variable GAPLESS_ISA; no other is ever loaded.
"""

import importlib
import os

from . import processor

# The second level would gain nothing over the first.
_CODE_OF = {"base": "base", "v1": "v1", "v2": "v1", "v3": "v3", "v4": "v4"}


def _chosen_level() -> str:
    """The level to use: the processor's, or the lower one in GAPLESS_ISA."""
    wanted = os.environ.get("GAPLESS_ISA") or processor.level
    possible = [level for level in _CODE_OF if (level == "base") == (processor.level == "base")]
    possible = possible[: possible.index(processor.level) + 1]
    if wanted not in possible:
        raise ImportError(
            f"GAPLESS_ISA={wanted} cannot be used: this processor has {', '.join(possible)}; "
            "choose one of these, or unset the variable to use the best."
        )
    return wanted


level = _chosen_level()
globals().update(
    (name, value)
    for name, value in vars(importlib.import_module(f".{_CODE_OF[level]}", __name__)).items()
    if not name.startswith("_")
)
