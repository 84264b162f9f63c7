"""A tree of clusters: heights upwards, merges as brackets, large trees down to a few clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from .style import CLASSES, FAINT, SOFT, axes_for, finished, named_height

# Leaves that fit side by side with their names.
MOST_LEAVES = 60
# With more, names stand upright.
FEW_NAMES = 15


@dataclass
class _Drawn:
    """What a picture of a tree is made of."""

    places: dict[int, float] = field(default_factory=dict)
    colours: dict[int, str] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=list)


def dendrogram(
    table: np.ndarray,
    *,
    height: float | None = None,
    most_leaves: int | None = None,
    names: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw a tree of merges.

    Parameters
    ----------
    table : ndarray of shape (n − 1, 4)
        The merges of n rows in the format of SciPy's `linkage`.
    height : float, default=None
        Clusters below it have a colour each, and a line shows it.
    most_leaves : int, default=None
        The largest number of leaves; by default 60. Of a larger tree its upper end is drawn, and
        leaves that are clusters give the number of their rows in brackets.
    names : sequence of str, default=None
        The names of the n rows; by default their numbers.
    axes : matplotlib Axes, default=None
        Where to draw; new ones, wide enough to be read, if None.

    Returns
    -------
    axes : matplotlib Axes
        With a bracket for each merge at its height.
    """
    table = np.asarray(table, dtype=np.float64)
    merges = len(table)
    rows = merges + 1
    if names is not None and len(names) != rows:
        raise ValueError(f"there are {len(names)} names for {rows} rows; give one for each.")
    shown = min(max(MOST_LEAVES if most_leaves is None else int(most_leaves), 2), rows)
    # Of the merges, the last ones are drawn.
    first = merges - (shown - 1)
    drawn = _laid_out(table, first, height)
    axes = axes_for(axes, min(max(0.16 * shown + 1.5, 5.0), 11.5), 4.2)
    _draw_brackets(axes, table, first, drawn)
    top = float(table[first:, 2].max(initial=0.0))
    axes.set(xlim=(-0.7, shown - 0.3), ylim=(0, 1.05 * top if top > 0 else 1.0))
    if height is not None and 0 < height < 1.05 * top:
        # Readers of 1.05e+03 think of a power of ten first.
        text = f"{height:,.0f}" if 1000 <= height < 1e6 else f"{height:.3g}"
        named_height(axes, height, f"cut at\n{text}")
    finished(axes, ylabel="distance of the clusters", grid="y")
    _name_leaves(axes, table, drawn.leaves, names)
    return axes


def _laid_out(table: np.ndarray, first: int, height: float | None) -> _Drawn:
    """Places of the clusters from left to right, and their colours."""
    merges = len(table)
    rows = merges + 1
    children = table[:, :2].astype(np.intp)
    drawn = _Drawn()
    is_coloured = _reach(table) < (-np.inf if height is None else height)
    used = 0
    # From the root down, the left child first; a child inherits the colour of its cluster.
    stack: list[tuple[int, str | None]] = [(rows + merges - 1, None)]
    while stack:
        node, colour = stack.pop()
        merge = node - rows
        is_whole = merge < 0 or bool(is_coloured[merge])
        if colour is None and is_whole and height is not None:
            colour = CLASSES[used % len(CLASSES)]
            used += 1
        drawn.colours[node] = colour or SOFT
        if merge < first:
            drawn.places[node] = float(len(drawn.leaves))
            drawn.leaves.append(node)
        else:
            one, other = children[merge].tolist()
            stack += [(other, colour), (one, colour)]
    for merge in range(first, merges):
        one, other = children[merge].tolist()
        drawn.places[rows + merge] = 0.5 * (drawn.places[one] + drawn.places[other])
    return drawn


def _reach(table: np.ndarray) -> np.ndarray:
    """The greatest height within each merge."""
    heights = table[:, 2]
    if np.all(heights[1:] >= heights[:-1]):
        return heights
    rows = len(table) + 1
    most = np.concatenate([np.full(rows, -np.inf), heights])
    for t, (one, other) in enumerate(table[:, :2].astype(np.intp).tolist(), start=rows):
        most[t] = max(most[t], most[one], most[other])
    return most[rows:]


def _draw_brackets(axes: Axes, table: np.ndarray, first: int, drawn: _Drawn) -> None:
    rows = len(table) + 1
    brackets, colours = [], []
    for merge in range(first, len(table)):
        one, other = table[merge, :2].astype(np.intp).tolist()
        top = table[merge, 2]
        feet = [table[node - rows, 2] if node >= rows + first else 0.0 for node in (one, other)]
        left, right = drawn.places[one], drawn.places[other]
        brackets.append([(left, feet[0]), (left, top), (right, top), (right, feet[1])])
        colours.append(drawn.colours[rows + merge])
    width = 1.4 if len(brackets) <= MOST_LEAVES else 0.8
    axes.add_collection(LineCollection(brackets, colors=colours, linewidths=width))
    # What a leaf that is a cluster hides: the height of its own merge.
    hidden = [node for node in drawn.leaves if node >= rows]
    axes.scatter(
        [drawn.places[node] for node in hidden],
        [table[node - rows, 2] for node in hidden],
        s=10,
        color=[drawn.colours[node] for node in hidden] or FAINT,
        zorder=3,
    )


def _name_leaves(
    axes: Axes, table: np.ndarray, leaves: list[int], names: Sequence[str] | None
) -> None:
    rows = len(table) + 1
    texts = []
    for node in leaves:
        if node >= rows:
            texts.append(f"({table[node - rows, 3]:.0f})")
        else:
            texts.append(str(node) if names is None else str(names[node]))
    is_long = len(leaves) > FEW_NAMES or any(len(text) > 6 for text in texts)
    size = 9 if len(leaves) <= 30 else 7 if len(leaves) <= MOST_LEAVES else 5
    axes.set_xticks(range(len(leaves)), texts, rotation=90 if is_long else 0, fontsize=size)
    axes.tick_params(axis="x", length=0)
    if any(node >= rows for node in leaves):
        axes.set_xlabel("row, or (number of rows)")
    else:
        axes.set_xlabel("row")
