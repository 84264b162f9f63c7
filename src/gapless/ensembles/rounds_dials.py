"""Boosting with fewer and with more rounds, as changes of its parameters: for verdicts."""

from __future__ import annotations

from ..trees.dials import ChangeDial, Changes

# Rounds change by this factor with each step.
FACTOR = 3


def fewer_rounds(name: str, rounds: int) -> ChangeDial:
    """A third of the rounds, a ninth, …"""

    def turned(step: int) -> Changes | None:
        left = rounds // FACTOR**step
        return {name: left} if left >= 1 else None

    return turned


def more_rounds(name: str, rounds: int) -> ChangeDial:
    """Three times the rounds, nine times, …"""
    return lambda step: {name: max(rounds, 1) * FACTOR**step}
