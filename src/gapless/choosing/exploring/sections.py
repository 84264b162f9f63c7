"""What was found in a table without a target, as plain data for text, JSON and HTML."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..report import Data, Number


@dataclass(frozen=True, slots=True)
class Loading:
    """A column that a component goes with.

    Attributes
    ----------
    column : str
        Its name.
    correlation : float
        Its correlation with the component; for a category the correlation ratio, from 0 to 1.
    low, high : str
        The categories at both ends; "" for numbers and dates.
    """

    column: str
    correlation: float
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Component:
    """A direction in which the rows differ.

    Attributes
    ----------
    share : float
        The part of all variation along it.
    loadings : tuple of Loading
        The columns that it goes with.
    words : str
        The same in words.
    """

    share: float
    loadings: tuple[Loading, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Components:
    """The directions in which the rows differ most.

    Attributes
    ----------
    real : int
        How many of them columns have in common, judged by entries that are predicted from others.
    width : int
        The number of directions there are.
    shares : tuple of float
        The part of the variation along each of the first ones.
    errors : tuple of float
        The error of predicted entries with 0, 1, … components, relative to that with none.
    shown : tuple of Component
        The first ones.
    closest : str
        The two columns that have most in common, in words; "" if none have.
    words : str
        How many are real, and what they carry.
    """

    real: int
    width: int
    shares: tuple[Number, ...]
    errors: tuple[Number, ...]
    shown: tuple[Component, ...]
    closest: str
    words: str


@dataclass(frozen=True, slots=True)
class Difference:
    """How a group differs from all other rows in a column.

    Attributes
    ----------
    column : str
        Its name.
    size : float
        The difference in standard deviations.
    words : str
        The same in words, with typical values.
    """

    column: str
    size: float
    words: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group of rows.

    Attributes
    ----------
    name : str
        A, B, C and so on, the largest first.
    rows : int
        The number of its rows.
    share : float
        Their part of all rows.
    agreement : float or None
        How much of the group comes back if other rows are drawn.
    differences : tuple of Difference
        What distinguishes it, the largest first.
    words : str
        The group in a sentence.
    x, y : float
        Its centre on the map.
    mirrors : str
        The other group, if there are two and this one differs from it in nothing else than it
        does; "" otherwise.
    """

    name: str
    rows: int
    share: float
    agreement: Number
    differences: tuple[Difference, ...]
    words: str
    x: float
    y: float
    mirrors: str = ""


@dataclass(frozen=True, slots=True)
class TriedCount:
    """A number of groups that was tried.

    Attributes
    ----------
    count : int
        The number of groups.
    doubt : float
        The p-value of the least visible gap between two neighbours.
    between : float
        How many rows are midway there for each near a centre.
    agreement : float or None
        How much of the least stable group comes back; None if there was no need to look.
    is_apart : bool
        Whether there is a gap between any two neighbours.
    """

    count: int
    doubt: float
    between: float
    agreement: Number
    is_apart: bool


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of rows.

    Attributes
    ----------
    shown : tuple of Group
        The groups; empty for one cloud.
    is_requested : bool
        Whether their number was given.
    unknown : str
        Why nobody looked for groups; "" if somebody did.
    places : tuple of int
        The components, from 0 on, in which the groups are.
    words : tuple of str
        How the number was found, and how far the groups can be trusted.
    where : str
        In which components they were looked for, or by which rows were divided; "" if none.
    tried : tuple of TriedCount
        The numbers that were tried.
    """

    shown: tuple[Group, ...]
    is_requested: bool
    unknown: str
    places: tuple[int, ...]
    words: tuple[str, ...]
    where: str
    tried: tuple[TriedCount, ...]


@dataclass(frozen=True, slots=True)
class OddRow:
    """A row that fits nowhere.

    Attributes
    ----------
    row : int
        Its number, counted from 1.
    distance : float
        Its distance from the nearest group, relative to that of the row in the middle.
    words : str
        What makes it odd.
    """

    row: int
    distance: float
    words: str


@dataclass(frozen=True, slots=True)
class OddRows:
    """Rows that fit nowhere.

    Attributes
    ----------
    count : int
        How many there are.
    shown : tuple of OddRow
        The oddest ones.
    words : str
        What they are, in words.
    """

    count: int
    shown: tuple[OddRow, ...]
    words: str


@dataclass(frozen=True, slots=True)
class SameRows:
    """Rows that are equal, or nearly; their numbers are counted from 1.

    Attributes
    ----------
    rows : tuple of int
        Their numbers, the first of many.
    count : int
        How many there are.
    words : str
        In what they differ; of equal rows, their first values.
    """

    rows: tuple[int, ...]
    count: int
    words: str


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows that occur more than once.

    Attributes
    ----------
    exact_rows : int
        How many rows equal an earlier one.
    exact : tuple of SameRows
        The largest sets of equal rows.
    near_count : int
        How many pairs are nearly equal.
    near : tuple of SameRows
        The closest of these pairs.
    is_expected : bool
        Whether so many rows repeat that the columns must have few values.
    words : tuple of str
        What was found, in sentences.
    """

    exact_rows: int
    exact: tuple[SameRows, ...]
    near_count: int
    near: tuple[SameRows, ...]
    is_expected: bool
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """Rows on the map, or some of many: coordinates, and the place of the group of each."""

    x: tuple[Number, ...]
    y: tuple[Number, ...]
    group: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gaps:
    """The two gaps of a fit, in words."""

    of: str
    optimality: str
    generalization: str


@dataclass(frozen=True, slots=True)
class MapReport:
    """What was found in a table without a target.

    Attributes
    ----------
    source : str
        The table.
    answer : str
        The result in one sentence.
    rows, seed : int
        The number of rows, and the seed of all draws.
    seconds : float
        How long it took.
    components : Components
        The directions in which rows differ.
    groups : Groups
        The groups of rows.
    odd : OddRows
        Rows that fit nowhere.
    copies : Copies
        Rows that occur more than once.
    points : Points
        The map.
    gaps : tuple of Gaps
        Those of the components, and of the groups.
    data : Data
        The table, its columns and findings.
    advice : tuple of str
        What to do next.
    code : str
        Python code that does the same.
    versions : dict of str
        Of Python and of the packages.
    left_out : dict of str
        Parts that are missing or rest on some of the rows, and why.
    """

    source: str
    answer: str
    rows: int
    seed: int
    seconds: float
    components: Components
    groups: Groups
    odd: OddRows
    copies: Copies
    points: Points
    gaps: tuple[Gaps, ...]
    data: Data
    advice: tuple[str, ...]
    code: str
    versions: dict[str, str]
    left_out: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers, lists and mappings."""
        return asdict(self)
