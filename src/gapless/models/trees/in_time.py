"""Trees that are as deep as the time allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._ground.interrupt import TimeLimit, check, time_limit


def grown_in_time(grow: Callable[[int], Any], most: int, seconds: float | None) -> tuple[Any, str]:
    """A tree, and what ended its growth too early: "", "time_limit" or "interrupted".

    With a limit trees of twice the depth are grown until it is reached, and the last complete one
    is kept: half of a tree that is grown depth first would be deep on one side only.

    Parameters
    ----------
    grow : callable
        Grows a tree of at most the depth that it is given.
    most : int
        The depth that is asked for.
    seconds : float or None
        The limit; without one the tree is grown at once, and Ctrl-C leaves nothing.
    """
    if seconds is None:
        return grow(most), ""
    tree, depth = grow(0), 1
    with time_limit(seconds):
        try:
            while True:
                check()
                tree = grow(min(depth, most))
                if depth >= most or tree.max_depth < depth:
                    return tree, ""
                depth *= 2
        except TimeLimit:
            return tree, "time_limit"
        except KeyboardInterrupt:
            return tree, "interrupted"
