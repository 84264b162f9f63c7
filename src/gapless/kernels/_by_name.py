"""The kernel that an estimator was given, by name or otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._ground.named import look_up
from ._base import Kernel
from .callable import Callable


def by_name(kernel: Any, **parameters: Any) -> Kernel:
    """The kernel that was given: a name, an instance of Kernel or a function.

    Of the parameters (``gamma=``, ``degree=``, ``coef0=``, …) a named kernel takes those that it
    has. An instance has its own, and a function is called as function(X, Z).
    """
    if isinstance(kernel, str) and kernel in Kernel.registry:
        cls: Any = Kernel.registry[kernel]
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in parameters.items() if name in known})
    if callable(kernel) and not isinstance(kernel, type):
        return Callable(kernel)
    return look_up(kernel, Kernel, Kernel.registry)
