"""A kernel as a part of an estimator, so that `kernel__gamma` can be set and searched."""

from typing import Any

from .._ground.parts import Family
from ._base import Kernel


def _instance(kernel: Any) -> Kernel:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{kernel!r} has no parameters of its own.")
    return kernel


# A kernel that is an instance; for a named kernel the estimator itself has the parameters.
KERNEL_INSTANCE = {"kernel": Family(_instance, Kernel.parameters, Kernel.replace)}
