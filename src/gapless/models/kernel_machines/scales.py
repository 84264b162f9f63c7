"""Where to look for the best scale γ of a kernel: coarse first, then finer around the best."""

from __future__ import annotations

from collections.abc import Callable

# Exponents of 4 to begin with, around the default scale, and how far to go.
FIRST, FARTHEST = (-2.0, -1.0, 0.0, 1.0), 6.0


def explore(look: Callable[[float], float | None], halvings: int) -> None:
    """Look at scales 4^power until the best is none of the outermost, then between them.

    `look` returns the score of a power, or None to end the search; the step of 1 is halved so
    many times.
    """
    seen: dict[float, float] = {}

    def is_over(power: float) -> bool:
        if power in seen:
            return False
        score = look(power)
        if score is not None:
            seen[power] = score
        return score is None

    if any(is_over(power) for power in FIRST):
        return
    while True:
        best = max(seen, key=lambda power: seen[power])
        beyond = best + (1.0 if best == max(seen) else -1.0)
        if min(seen) < best < max(seen) or abs(beyond) > FARTHEST:
            break
        if is_over(beyond):
            return
    for halving in range(1, halvings + 1):
        best, step = max(seen, key=lambda power: seen[power]), 0.5**halving
        if is_over(best - step) or is_over(best + step):
            return
