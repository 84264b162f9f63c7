"""What a fit costs, by laws fitted to measured times.

fixed + factor·rowsᵃ·widthᵇ·classesᶜ·max(width/rows, 1)ᵈ: where columns are more than rows, nearly
all models fit their rows without error, and tuning takes longer for each value of the table.
"""

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
    several : float
        How many times as long it takes for more than two classes of what is no text, where rows
        are left out of all classes together.
    wide : float
        Power of the number of columns for each row, where there are more of them than rows.
    """

    fixed: float
    factor: float
    rows: float = 1.0
    width: float = 1.0
    classes: float = 0.0
    words: float = 1.0
    several: float = 1.0
    wide: float = 0.0

    def seconds(self, rows: int, width: int, classes: int, has_text: bool = False) -> float:
        """About how long a fit takes.

        Parameters
        ----------
        rows, width, classes : int
            Rows, numbers in a row, and classes (0 for regression).
        has_text : bool, default=False
            Whether the numbers are mostly weights of words, of which few are not 0.
        """
        entries = max(min(width, ENTRIES_OF_A_TEXT) if has_text else width, 1)
        by_size = (rows / ROWS) ** self.rows * (entries / WIDTH) ** self.width
        by_size *= max(entries / max(rows, 1), 1.0) ** self.wide
        by_kind = (max(classes, 2) / 2) ** self.classes
        by_kind *= self.words if has_text else self.several if classes > 2 else 1.0
        return self.fixed + self.factor * by_size * by_kind
