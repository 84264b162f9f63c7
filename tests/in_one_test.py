"""A test of each of many things as one test: hundreds of quick ones take longer to collect and to
report than to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def for_each(things: Iterable[Any]) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Make one test of a test of each thing; it ends at the first that fails, which is named."""

    def joined(test: Callable[[Any], None]) -> Callable[[], None]:
        def all_of_them() -> None:
            for thing in things:
                try:
                    test(thing)
                except BaseException as error:
                    error.add_note(f"for {thing}")
                    raise

        all_of_them.__name__, all_of_them.__doc__ = test.__name__, test.__doc__
        return all_of_them

    return joined
