"""What a fit costs, by laws fitted to measured times: fixed + factor·rowsᵃ·widthᵇ·classesᶜ."""

from __future__ import annotations

from dataclasses import dataclass

# Sizes at which the factor of a law is the seconds beyond the fixed ones.
ROWS, WIDTH = 10_000, 20
# Matrices of words have so few entries in a row, whatever their width.
ENTRIES_OF_A_TEXT = 60


@dataclass(frozen=True, slots=True)
class Cost:
    """A law of the seconds of one fit.

    Attributes
    ----------
    fixed : float
        Seconds of the smallest fit.
    factor : float
        Seconds of 10,000 rows of 20 numbers and two classes.
    rows, width, classes : float
        Powers of the number of rows, of numbers in a row, and of classes.
    words : float
        How many times as long it takes for weights of words, for which a family may be tuned in
        another way.
    """

    fixed: float
    factor: float
    rows: float = 1.0
    width: float = 1.0
    classes: float = 0.0
    words: float = 1.0

    def seconds(self, rows: int, width: int, classes: int, has_text: bool = False) -> float:
        """About how long a fit takes.

        Parameters
        ----------
        rows, width, classes : int
            Rows, numbers in a row, and classes (0 for regression).
        has_text : bool, default=False
            Whether the numbers are mostly weights of words, of which few are not 0.
        """
        wide = min(width, ENTRIES_OF_A_TEXT) if has_text else width
        by_size = (rows / ROWS) ** self.rows * (max(wide, 1) / WIDTH) ** self.width
        by_kind = (max(classes, 2) / 2) ** self.classes * (self.words if has_text else 1.0)
        return self.fixed + self.factor * by_size * by_kind
