"""Versions of a fit with less or more freedom, with which its verdict compares it.

A fit's `simpler()` and `richer()` return its dials. A dial is a function of a step 1, 2, … that
returns the fit turned that far, ever simpler or ever richer, or None at its end. `verdict` compares
the versions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Version:
    """Another fit to the same rows, and its name, such as "ten times the penalty"."""

    fit: Any
    name: str


Dial = Callable[[int], Version | None]


def scaling(fit: Any, base: float, first: float = 1.0) -> Dial:
    """The fit with its strength times base, base², …, all times `first`.

    A base below 1 makes it weaker.
    """

    def turned(step: int) -> Version | None:
        times = float(f"{first * base**step:.3g}")
        other = fit.scaled(times)
        return None if other is None else Version(other, f"{multiple(times)} {fit.strength}")

    return turned


def at_once(fit: Any) -> Dial:
    """The fit with all its dials turned simpler, each as far; None with fewer than two."""

    def turned(step: int) -> Version | None:
        other, names = fit, list[str]()
        for place in range(len(fit.simpler())):
            dials = other.simpler()
            version = dials[place](step) if place < len(dials) else None
            if version is None:
                return None
            other, names = version.fit, [*names, version.name]
        return Version(other, " and ".join(names)) if len(names) > 1 else None

    return turned


def multiple(times: float) -> str:
    """A factor in words."""
    known = {10.0: "ten times", 0.1: "a tenth of"}
    return known.get(times, f"{times:,.6g} times" if times > 1 else f"1/{1 / times:,.6g} of")


def kernel_dial(kernel: Any, fit_of: Callable[[Any], Any], base: float) -> Dial:
    """Fits with a narrower kernel, for a base above 1, or a wider one; none without a width."""

    def turned(step: int) -> Version | None:
        other = kernel.narrowed(base**step)
        if other is None:
            return None
        width = f"{base ** (step / 2):.3g} times as narrow"
        if base < 1:
            width = f"{base ** (-step / 2):.3g} times as wide"
        return Version(fit_of(other), f"a kernel {width}")

    return turned


# ---- changes of parameters -----------------------------------------------------------------------

Changes = dict[str, Any]
# A function of a step 1, 2, … that returns changes, or None at its end.
ChangeDial = Callable[[int], Changes | None]
# Rounds change by this factor with each step.
FACTOR = 3
# More than these, or three times the present number, take longer than an answer is worth.
MOST_ROUNDS = 300


def named(changes: Changes) -> str:
    """Changes in words."""
    shown = [f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in changes.items()]
    return " and ".join(shown)


def changing(changes: ChangeDial, fit_of: Callable[[Changes], Any]) -> Dial:
    """Fits with other parameters, which are named by what is changed."""

    def turned(step: int) -> Version | None:
        found = changes(step)
        return None if found is None else Version(fit_of(found), named(found))

    return turned


def fewer_rounds(name: str, rounds: int) -> ChangeDial:
    """A third of the rounds, a ninth, …"""

    def turned(step: int) -> Changes | None:
        left = rounds // FACTOR**step
        return {name: left} if left >= 1 else None

    return turned


def more_rounds(name: str, rounds: int) -> ChangeDial:
    """Three times the rounds, nine times, …, within reason."""
    most = max(MOST_ROUNDS, FACTOR * rounds)

    def turned(step: int) -> Changes | None:
        more = max(rounds, 1) * FACTOR**step
        return {name: more} if more <= most else None

    return turned
