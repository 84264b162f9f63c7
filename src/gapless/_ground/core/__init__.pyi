"""The compiled core. Its functions and their arguments are in src/core/bindings*.cpp."""

from typing import Any

level: str

def __getattr__(name: str) -> Any: ...
