"""Parts known by name: "huber" means Huber(), "l1" means L1(). Used by losses and penalties."""

from __future__ import annotations

from typing import Any

# Kernels whose rows are strings.
OF_STRINGS = ("spectrum",)


def register(cls: Any, registry: dict[str, Any]) -> None:
    """Name a class, and register it under that name if it is gapless's own and public.

    A class defined elsewhere is passed as an instance. It may not take the name of a built-in one,
    since solvers may know more about a named part than its methods reveal.
    """
    cls.name = cls.__dict__.get("name", _snake_case(cls.__name__))
    if cls.__module__.startswith("gapless."):
        if not cls.__name__.startswith("_"):
            registry[cls.name] = cls
    elif cls.name in registry:
        raise TypeError(
            f"{cls.__name__} is already in gapless, as {cls.name!r}; "
            f"call your class something else, e.g. My{cls.__name__}."
        )


def look_up(part: Any, family: type, registry: dict[str, Any]) -> Any:
    """The part of that name with its default parameters; an instance is returned as it is."""
    if isinstance(part, family):
        return part
    kind = family.__name__
    if isinstance(part, type) and issubclass(part, family):
        raise TypeError(
            f"{kind.lower()}={part.__name__} is a class; give an instance, {part.__name__}()."
        )
    if part not in registry:
        raise ValueError(
            f"{kind.lower()}={part!r} is not known; "
            f"use one of {', '.join(sorted(registry))}, or an instance of {kind}."
        )
    return registry[part]()


def _snake_case(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
