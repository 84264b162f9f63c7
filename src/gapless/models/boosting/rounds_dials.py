"""Boosting with fewer and with more rounds, as changes of its parameters: for verdicts."""

from __future__ import annotations

from ..trees import ChangeDial, Changes

# Rounds change by this factor with each step.
FACTOR = 3
# More than these, or three times as many as there are, take longer than an answer is worth.
MOST_ROUNDS = 300


def fewer_rounds(name: str, rounds: int) -> ChangeDial:
    """A third of the rounds, a ninth, …"""

    def turned(step: int) -> Changes | None:
        left = rounds // FACTOR**step
        return {name: left} if left >= 1 else None

    return turned


def more_rounds(name: str, rounds: int) -> ChangeDial:
    """Three times the rounds, nine times, …, as far as that is no end of work."""
    most = max(MOST_ROUNDS, FACTOR * rounds)

    def turned(step: int) -> Changes | None:
        more = max(rounds, 1) * FACTOR**step
        return {name: more} if more <= most else None

    return turned
