"""The sentences about a table without a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._ground.percent import percent
from ...data import counted
from ...metrics import decimals, written
from ...unseen import Generalization
from ..report import joined, quoted
from .grouping import LEAST_AGREEMENT, MOST_GROUPS, Looked, Tried
from .sections import Components, Copies, Difference, Group, Loading, OddRows

# Names of groups in an answer, and columns that tell them apart.
MOST_NAMED, MOST_COLUMNS = 6, 3
# From this much on, a group that comes back is very stable.
FIRM = 0.85
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
    ends = [
        f"from {_level(one.low)} to {_level(one.high)} in {quoted(one.column)}"
        for one in loadings
        if one.high
    ]
    if ends:
        leads = f"{said}; it goes " if said else "goes "
        said = f"{leads}{joined(ends)}"
    return said or "goes with no column in particular"


def _level(level: str) -> str:
    return "missing" if level == "(missing)" else quoted(level)


def components(real: int, width: int, shares: Sequence[float], is_given: bool) -> str:
    """How many components are real, and what they carry."""
    if is_given:
        return (
            f"As requested, {counted(real, 'component')} of {width:,} are used; they carry "
            f"{percent(sum(shares[:real]), 0)} of the variation."
        )
    if not real:
        return (
            "No component is clearly real: held-out entries of the table are predicted no better "
            "from the other columns of their row than by the mean, so columns have little in "
            "common."
        )
    are = "component is" if width == 1 else "components is" if real == 1 else "components are"
    return (
        f"{real} of {width:,} {are} real: with {'it' if real == 1 else 'them'}, held-out "
        f"entries of the table are predicted best from the other columns of their row. "
        f"{'It carries' if real == 1 else 'They carry'} {percent(sum(shares[:real]), 0)} of the "
        "variation."
    )


# ---- groups --------------------------------------------------------------------------------------


def group(share: float, differences: Sequence[Difference]) -> str:
    """A group in words: its share, and what distinguishes it from all other rows."""
    said = "; ".join(one.words for one in differences)
    return f"{percent(share, 0)} of the rows: {said or 'no single column stands out'}"


def not_looked(is_short: bool) -> str:
    """Why nobody looked for groups."""
    return "there are too few distinct rows" if is_short else "there was too little time"


def groups(
    looked: Looked, chosen: Tried | None, requested: int | None, is_short: bool
) -> tuple[str, ...]:
    """How the number of groups was found, and how far they can be trusted."""
    tried = looked.tried
    if requested is not None:
        return _requested(requested, looked)
    if not tried:
        return (f"Groups were not looked for: {not_looked(is_short)}.",)
    most = max(one.count for one in tried)
    numbers = "2 groups" if most == 2 else f"2 to {most} groups"
    rule = (
        f"{numbers} were tried{_where(looked)}. A number counts if rows that were not used to find "
        "the groups are clearly rarer between any two neighbouring groups than inside them, and if "
        f"other draws of rows give the same groups ({percent(LEAST_AGREEMENT, 0)} of each at "
        "least); the largest number that does is taken."
    )
    if chosen is None:
        none = (
            "No number of groups passes: neither on all components, nor on the real ones, nor "
            "along a single one are there clear gaps."
        )
        close = [one for one in tried if one.agreement >= FIRM and one.doubt < MAYBE]
        if close:
            best = min(close, key=lambda one: one.doubt)
            none += (
                f" {best.count} groups come closest: at least {percent(best.agreement, 0)} of each "
                "comes back if other rows are drawn, but a gap between two of them may be due to "
                f"chance (p = {best.doubt:.2f})."
            )
        return (none, rule)
    trust = {one.count: one for one in tried}[chosen.count]
    firm = min(trust.agreements)
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
    return (f"{chosen.count} groups with gaps between them.{larger}", back, rule)


def _at_least(share: float) -> str:
    return "all" if share == 1 else f"at least {percent(share, 0)}"


def _where(looked: Looked) -> str:
    """The components that groups were found on, unless on all."""
    if looked.used is None:
        return ""
    if len(looked.used) == 1:
        return f" along component {looked.used[0] + 1}, since the others hide them"
    return f" on the first {len(looked.used)} components, since the others hide them"


def _requested(count: int, looked: Looked) -> tuple[str, ...]:
    tried, begin = looked.tried, f"{count} groups, as requested"
    if not tried:
        return (f"{begin}; whether there are gaps between them is not known.",)
    one = tried[0]
    if one.is_apart and one.comes_back:
        return (
            f"{begin}, found{_where(looked) or ' on all components'}. There are gaps between "
            "them, and they are stable: if other rows are drawn, "
            f"{_at_least(one.agreement)} of each comes back.",
        )
    lacks = [] if one.is_apart else ["no gap was found between at least two of them"]
    if not one.comes_back:
        lacks.append(
            f"only {percent(one.agreement, 0)} of the least stable one comes back if other rows "
            "are drawn"
        )
    return (f"{begin}, but they divide the rows for convenience only: {joined(lacks)}.",)


def tried(one: Tried) -> str:
    """The verdict on a number of groups."""
    gap = "gaps between all" if one.is_apart else "no gap between some"
    back = "come back" if one.comes_back else "do not come back"
    return f"{gap}, {back} ({percent(one.agreement, 0)})"


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
    return f"{found.metric} {new} ± {error} on unseen rows, {train} on training rows{more}"


# ---- the answer ----------------------------------------------------------------------------------


def answer(
    rows: int,
    components: Components,
    shown: Sequence[Group],
    odd: OddRows,
    copies: Copies,
    unknown: str,
) -> str:
    """The result in one sentence; `unknown` says why nobody looked for groups."""
    parts = [_of_groups(rows, shown) if shown else _of_cloud(rows, components, unknown)]
    if odd.count:
        parts.append(f"{counted(odd.count, 'row')} {'fits' if odd.count == 1 else 'fit'} nowhere")
    if copies.exact_rows:
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


def _of_cloud(rows: int, components: Components, unknown: str) -> str:
    begin = f"No groups: the {rows:,} rows form one cloud"
    if unknown:
        begin = f"Whether the {rows:,} rows form groups is not known, since {unknown}"
    if not components.real:
        return f"{begin}{', in which columns have little in common' if not unknown else ''}"
    known = [share for share in components.shares[: components.real] if share is not None]
    return (
        f"{begin}, and {counted(components.real, 'component')} "
        f"{'carries' if components.real == 1 else 'carry'} {percent(float(np.sum(known)), 0)} of "
        f"{'the' if unknown else 'its'} variation"
    )


def advice(
    source: str, shown: Sequence[Group], odd: OddRows, copies: Copies, is_requested: bool
) -> tuple[str, ...]:
    """What to do next."""
    said = []
    if odd.count:
        said.append(
            "Look at the rows that fit nowhere: wrong units, placeholders such as 999 and typing "
            "errors are found there, as are the most interesting cases."
        )
    if copies.exact_rows or copies.near_count:
        said.append(
            "Find out why rows repeat: copies of one observation in training and in test rows make "
            "a score too good."
        )
    if shown and not is_requested:
        said.append(
            "Ask whether the groups come from how the table was made, such as two sources or two "
            "formats, before giving them a meaning."
        )
    if not shown:
        said.append(
            "To divide the rows into parts all the same, say into how many: gapless explore TABLE "
            "--clusters 4."
        )
    said.append(
        "To predict one of the columns, name it as the target: gapless fit TABLE --target COLUMN."
    )
    return tuple(said)


def sampled(used: int, rows: int) -> str:
    """That components and groups were learned from some of the rows."""
    return f"components and groups were learned from {used:,} of {rows:,} rows, drawn at random"
