"""The kernel given to an estimator, by name or otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any

from .._ground.named import look_up
from .._ground.parts import PartKind
from ._base import Kernel
from .callable import Callable


def by_name(kernel: Any, **parameters: Any) -> Kernel:
    """The kernel for a name, an instance of Kernel or a function.

    A named kernel takes those of the parameters (``gamma=``, ``degree=``, ``coef0=``, …) that it
    has. An instance has its own, and a function is called as function(X, Z).
    """
    if isinstance(kernel, str) and kernel in Kernel.registry:
        cls: Any = Kernel.registry[kernel]
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in parameters.items() if name in known})
    if callable(kernel) and not isinstance(kernel, type):
        return Callable(kernel)
    return look_up(kernel, Kernel, Kernel.registry)


def _instance(kernel: Any) -> Kernel:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{kernel!r} has no parameters of its own.")
    return kernel


# A kernel that is an instance; for a named kernel the estimator itself has the parameters.
KERNEL_INSTANCE = {"kernel": PartKind(_instance, Kernel.parameters, Kernel.replace)}
