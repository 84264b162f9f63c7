"""The sentences about a table without a target."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from ..._ground.percent import percent
from ...data import counted
from ...metrics import decimals, written
from ...unseen import Generalization
from ..report import joined, quoted
from .grouping import LEAST_AGREEMENT, MOST_GROUPS, SURE, Tried
from .sections import Components, Copies, Difference, Group, Groups, Loading, OddRows
from .space import Search, Space

# Names of groups in an answer, and columns that tell them apart.
MOST_NAMED, MOST_COLUMNS = 6, 3
# From this much on, a group that comes back is very stable.
FIRM = 0.85
# Why nobody looked for groups.
TOO_FEW, TOO_LATE = "there are too few distinct rows", "there was too little time"
# Doubt up to which a gap is worth mentioning.
MAYBE = 0.5


# ---- components ----------------------------------------------------------------------------------


def component(loadings: Sequence[Loading]) -> str:
    """What a component means in columns."""
    numbers = [one for one in loadings if not one.high]
    up = [quoted(one.column) for one in numbers if one.correlation > 0]
    down = [quoted(one.column) for one in numbers if one.correlation < 0]
    parts = []
    if up:
        parts.append(f"rises with {joined(up)}")
    if down:
        parts.append(f"falls with {joined(down)}")
    said = " and ".join(parts)
    levels = [one for one in loadings if one.high]
    if levels:
        leads = f"{said}; it is " if said else "is "
        high = joined([f"{quoted(one.column)} is {_level(one.high)}" for one in levels])
        low = joined([_level(one.low) for one in levels])
        they = "it is" if len(levels) == 1 else "they are"
        said = f"{leads}high where {high}, and low where {they} {low}"
    return said or "goes with no column in particular"


def _level(level: str) -> str:
    return "missing" if level == "(missing)" else quoted(level)


def components(space: Space, width: int, described: int, closest: str) -> str:
    """How many components are real, and what they carry."""
    real, carried = space.real, percent(float(space.shares[: space.real].sum()), 0)
    if space.is_given:
        return (
            f"As requested, {counted(real, 'component')} of {width:,} "
            f"{'is used; it carries' if real == 1 else 'are used; they carry'} {carried} of the "
            f"variation.{_of_more(real, described)}"
        )
    if width == 1:
        return "There is one column to compare, so there is nothing for columns to have in common."
    if not real:
        return (
            "No component is clearly real: with none of them, held-out entries of the table are "
            "predicted better from the other columns of their row than by the mean. "
            f"{closest or 'No two columns have more in common than chance gives'}."
        )
    are = "components is" if real == 1 else "components are"
    return (
        f"{real} of {width:,} {are} real: with {'it' if real == 1 else 'them'}, held-out "
        f"entries of the table are predicted best from the other columns of their row. "
        f"{'It carries' if real == 1 else 'They carry'} {carried} of the variation."
        f"{_of_more(real, described)}"
    )


def _of_more(real: int, described: int) -> str:
    return f" The first {described} are described." if described < real else ""


def closest(found: tuple[str, str, float] | None) -> str:
    """The two columns that have most in common; "" if there are none."""
    if found is None:
        return ""
    one, other, size = found
    return (
        f"The two columns with most in common are {quoted(one)} and {quoted(other)}: their "
        f"association is {size:.2f}, on a scale from 0 to 1"
    )


# ---- groups --------------------------------------------------------------------------------------


def group(share: float, differences: Sequence[Difference]) -> str:
    """A group in words: its share, and what distinguishes it from all other rows."""
    said = "; ".join(one.words for one in differences)
    return f"{percent(share, 0)} of the rows: {said or 'no single column stands out'}"


def mirrored(share: float, other: str) -> str:
    """The second of two groups, which differs from the first as the first from it."""
    return f"{percent(share, 0)} of the rows: the reverse of {other}"


def not_looked(is_short: bool) -> str:
    """Why nobody looked for groups."""
    return TOO_FEW if is_short else TOO_LATE


def groups(search: Search, requested: int | None, has_categories: bool) -> tuple[str, ...]:
    """How the number of groups was found, and how far they can be trusted."""
    if requested is not None:
        return _requested(requested, search)
    tried, chosen = search.tried, search.chosen
    if not tried:
        return (f"Groups were not looked for: {not_looked(search.is_short)}.",)
    most = max(one.count for one in tried)
    numbers = "2 groups were tried" if most == 2 else f"2 to {most} groups were tried"
    rule = (
        f"{numbers}. A number counts if rows that were not used to find the groups are clearly "
        "rarer between any two neighbouring groups than inside them, less than half as frequent, "
        f"and if other draws of rows give the same groups ({percent(LEAST_AGREEMENT, 0)} of each "
        "at least); the largest number that does is taken."
    )
    if has_categories:
        rule += (
            " The levels of categories lie apart on the map by their nature, so what separates "
            "them alone is not counted as a gap."
        )
    if chosen is None:
        none = (
            "No number of groups fits the rows: either there is no clear gap between some of them, "
            "or other draws of rows give other groups."
        )
        close = [one for one in tried if (one.agreement or 0.0) >= FIRM and one.doubt < MAYBE]
        if close:
            best = min(close, key=lambda one: one.doubt)
            none += (
                f" {best.count} groups come closest: {_at_least(min(best.agreements))} of each "
                f"comes back if other rows are drawn, but {_weak_gap(best)}."
            )
        return (none, rule)
    firm = min(chosen.agreements)
    word = "very stable" if firm >= FIRM else "stable"
    back = (
        f"The groups are {word}: if other rows are drawn, {_at_least(firm)} of each group comes "
        "back."
    )
    larger = (
        f" {most} is the largest number tried; there may be more."
        if chosen.count == most == MOST_GROUPS
        else ""
    )
    apart = f"{chosen.count} groups with gaps between them{_along(search.places)}."
    return (f"{apart}{larger}", back, rule)


def _weak_gap(one: Tried) -> str:
    if one.doubt >= SURE:
        return f"a gap between two of them may be due to chance (p = {one.doubt:.2f})"
    return (
        "between two of them there are still "
        f"{percent(one.between, 0)} as many rows as around a centre"
    )


def _along(places: Sequence[int]) -> str:
    return f", along component {places[0] + 1}" if len(places) == 1 else ""


def where(wide: Sequence[Sequence[int]], alone: Sequence[Sequence[int]]) -> str:
    """In which components groups were looked for."""
    said = []
    for places in wide:
        count = len(places)
        said.append(
            "along the first component" if count == 1 else f"in the first {count} components"
        )
    more = "; since there were none, also along each larger component alone" if alone else ""
    return f"Groups were looked for {joined(said)}{more}."


def divided(places: Sequence[int]) -> str:
    """By which components rows were divided into a requested number of groups."""
    count = len(places)
    by = f"component {places[0] + 1} alone" if count == 1 else f"the first {count} components"
    return f"The rows were divided by {by}."


def _at_least(share: float) -> str:
    return "all" if share == 1 else f"at least {percent(share, 0)}"


def _requested(count: int, search: Search) -> tuple[str, ...]:
    begin = f"{count} groups, as requested"
    if not search.tried:
        return (f"{begin}; whether there are gaps between them is not known.",)
    one = search.tried[0]
    if one.is_apart and one.comes_back:
        return (
            f"{begin}{_along(search.places)}. There are gaps between them, and they are stable: if "
            f"other rows are drawn, {_at_least(min(one.agreements))} of each comes back.",
        )
    lacks = [] if one.is_apart else ["no clear gap was found between at least two of them"]
    if not one.comes_back:
        lacks.append(
            f"only {percent(min(one.agreements), 0)} of the least stable one comes back if other "
            "rows are drawn"
        )
    return (f"{begin}, but they divide the rows for convenience only: {joined(lacks)}.",)


# ---- the gaps ------------------------------------------------------------------------------------


def unseen(found: Generalization, *, is_of_groups: bool) -> str:
    """How well components or groups describe unseen rows.

    How many there should be is decided elsewhere, by gaps: a cloud is described more closely by
    more centres too.
    """
    if not is_of_groups or not np.isfinite(found.unseen):
        return str(found.verdict)
    digits = decimals(-found.standard_error, found.standard_error, found.unseen)
    train, new, error = (
        written(value, digits) for value in (found.train, found.unseen, found.standard_error)
    )
    kind = str(found.verdict).partition(":")[0]
    more = ""
    if kind == "under-fitted":
        more = "; more centres would come closer to the rows, but without gaps between them"
    elif kind == "over-fitted":
        more = "; fewer centres would describe unseen rows better"
    return f"{found.metric} {new} ± {error} on unseen rows, {train} on training rows{more}."


# ---- the answer ----------------------------------------------------------------------------------


def answer(
    rows: int,
    components: Components,
    groups: Groups,
    odd: OddRows,
    copies: Copies,
    has_categories: bool,
) -> str:
    """The result in one sentence."""
    parts = [
        _of_groups(rows, groups.shown)
        if groups.shown
        else _of_cloud(rows, components, groups, has_categories)
    ]
    if odd.count:
        parts.append(f"{counted(odd.count, 'row')} {'fits' if odd.count == 1 else 'fit'} nowhere")
    if copies.exact_rows and not copies.is_expected:
        verb = "repeats" if copies.exact_rows == 1 else "repeat"
        parts.append(f"{counted(copies.exact_rows, 'row')} {verb} an earlier one")
    return f"{'; '.join(parts)}."


def _of_groups(rows: int, shown: Sequence[Group]) -> str:
    sizes = [f"{one.name} {percent(one.share, 0)}" for one in shown[:MOST_NAMED]]
    if len(shown) > MOST_NAMED:
        sizes.append("…")
    effects: dict[str, float] = {}
    for one in shown:
        for each in one.differences:
            effects[each.column] = effects.get(each.column, 0.0) + one.share * abs(each.size)
    best = sorted(effects, key=lambda name: (-effects[name], name))[:MOST_COLUMNS]
    by = f", told apart best by {joined([quoted(name) for name in best])}" if best else ""
    return f"{len(shown)} groups among {rows:,} rows ({', '.join(sizes)}){by}"


def _of_cloud(rows: int, components: Components, groups: Groups, has_categories: bool) -> str:
    if groups.is_requested:
        begin = f"The {rows:,} rows were not divided, as requested"
    elif groups.unknown:
        begin = f"Whether the {rows:,} rows form groups is not known, since {groups.unknown}"
    else:
        apart = "apart from the levels of categories, " if has_categories else ""
        begin = f"No groups: {apart}the {rows:,} rows form one cloud"
    if not components.real:
        # Of one column there is nothing to say.
        if components.width == 1 or components.closest:
            return begin
        return f"{begin}; columns have little in common"
    known = [share for share in components.shares[: components.real] if share is not None]
    return (
        f"{begin}; {counted(components.real, 'component')} "
        f"{'carries' if components.real == 1 else 'carry'} {percent(float(np.sum(known)), 0)} of "
        "the variation"
    )


def advice(source: str, groups: Groups, odd: OddRows, copies: Copies) -> tuple[str, ...]:
    """What to do next."""
    said = []
    if odd.count:
        said.append(
            "Look at the rows that fit nowhere: wrong units, placeholders such as 999 and typing "
            "errors are found there, as are the most interesting cases."
        )
    if (copies.exact_rows and not copies.is_expected) or copies.near_count:
        said.append(
            "Find out why rows repeat: copies of one observation in training and in test rows make "
            "a score too good."
        )
    table = shlex.quote(source) if source != "frame" else "TABLE"
    if groups.unknown and not groups.shown:
        cure = "more rows" if groups.unknown == TOO_FEW else "more time (--time-limit)"
        said.append(f"Give it {cure} to look for groups: {groups.unknown}.")
    elif groups.shown and not groups.is_requested:
        said.append(
            "Ask whether the groups come from how the table was made, such as two sources or two "
            "formats, before giving them a meaning."
        )
    elif not groups.shown:
        said.append(
            "To divide the rows into parts all the same, into three for instance: gapless explore "
            f"{table} --clusters 3."
        )
    said.append(
        "To predict one of the columns, name it as the target: "
        f"gapless fit {table} --target COLUMN."
    )
    return tuple(said)


def sampled(used: int, rows: int) -> str:
    """That components and groups were learned from some of the rows."""
    return f"components and groups were learned from {used:,} of {rows:,} rows, drawn at random"


def missing(columns: Sequence[tuple[str, float]]) -> str:
    """What was done about missing numbers, in columns with their shares."""
    named = [f"{quoted(name)} ({percent(share, 0)})" for name, share in columns[:MOST_COLUMNS]]
    if len(columns) > MOST_COLUMNS:
        named.append(f"{len(columns) - MOST_COLUMNS:,} more")
    return (
        f"missing numbers and dates, in {joined(named)}, were filled with what the components "
        "suggest from the other columns of the row; a missing category is a level of its own"
    )
