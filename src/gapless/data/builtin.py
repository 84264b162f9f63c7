"""Built-in tables: scikit-learn's bundled ones and a few small ones; none is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn import datasets

from .findings import TableError
from .tables import Table

# Quinlan (1986), table 1: whether the weather is right for a game.
TENNIS = """
sunny    hot  high   weak   no
sunny    hot  high   strong no
overcast hot  high   weak   yes
rain     mild high   weak   yes
rain     cool normal weak   yes
rain     cool normal strong no
overcast cool normal strong yes
sunny    mild high   weak   no
sunny    cool normal weak   yes
rain     mild normal weak   yes
sunny    mild normal strong yes
overcast mild high   strong yes
overcast hot  normal weak   yes
rain     mild high   strong no
"""
# Zhou (2016), table 4.3: whether a melon is ripe, from its looks, its sound and two measurements.
WATERMELON = """
green curled   muffled clear  hollow hard 0.697 0.460 yes
black curled   dull    clear  hollow hard 0.774 0.376 yes
black curled   muffled clear  hollow hard 0.634 0.264 yes
green curled   dull    clear  hollow hard 0.608 0.318 yes
light curled   muffled clear  hollow hard 0.556 0.215 yes
green slightly muffled clear  dented soft 0.403 0.237 yes
black slightly muffled hazy   dented soft 0.481 0.149 yes
black slightly muffled clear  dented hard 0.437 0.211 yes
black slightly dull    hazy   dented hard 0.666 0.091 no
green stiff    crisp   clear  flat   soft 0.243 0.267 no
light stiff    crisp   blurry flat   hard 0.245 0.057 no
light curled   muffled blurry flat   soft 0.343 0.099 no
green slightly muffled hazy   hollow hard 0.639 0.161 no
light slightly dull    hazy   hollow hard 0.657 0.198 no
black slightly muffled clear  dented soft 0.360 0.370 no
light curled   muffled blurry flat   hard 0.593 0.042 no
green curled   dull    hazy   dented hard 0.719 0.103 no
"""
MELON = ("color", "root", "sound", "texture", "navel", "touch", "density", "sugar", "ripe")


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in table, before it is loaded.

    Attributes
    ----------
    name : str
        Its name in `read_table` and on the command line.
    rows, columns : int
        Its size; the target counts as a column.
    target : str
        The column to predict.
    task : {"classification", "regression"}
        The task of predicting it.
    about : str
        A description in one sentence.
    """

    name: str
    rows: int
    columns: int
    target: str
    task: str
    about: str


BUILTIN = {
    entry.name: entry
    for entry in (
        BuiltIn(
            *("breast_cancer", 569, 31, "diagnosis", "classification"),
            "Shapes of cell nuclei; is the tumour malignant?",
        ),
        BuiltIn(
            *("diabetes", 442, 11, "progression", "regression"),
            "Age, sex, weight and blood values of patients; how far is the disease after a year?",
        ),
        BuiltIn(
            *("digits", 1797, 65, "digit", "classification"),
            "Images of 8 by 8 pixels; which digit is it?",
        ),
        BuiltIn(
            *("friedman", 500, 11, "y", "regression"),
            "Friedman's formula (1991) with noise; five of the ten columns are irrelevant.",
        ),
        BuiltIn(
            *("iris", 150, 5, "species", "classification"),
            "Lengths and widths of petals and sepals; which species?",
        ),
        BuiltIn(
            *("tennis", 14, 5, "play", "classification"),
            "Weather on 14 days, in words (Quinlan 1986); will the game be played?",
        ),
        BuiltIn(
            *("watermelon", 17, 9, "ripe", "classification"),
            "Descriptions and two measurements of 17 melons (Zhou 2016); is the melon ripe?",
        ),
        BuiltIn(
            *("wine", 178, 14, "cultivar", "classification"),
            "Chemistry of wines; which of three growers made it?",
        ),
    )
}


def load_builtin(name: str) -> Table:
    """A built-in table, its target in the last column.

    Parameters
    ----------
    name : str
        A key of `BUILTIN`.

    Returns
    -------
    Table

    Examples
    --------
    >>> from gapless.data import load_builtin
    >>> print(load_builtin("tennis"))
    tennis: 14 rows, 5 columns
    """
    if name not in BUILTIN:
        raise TableError(f"unknown built-in table {name!r}; choose from {', '.join(BUILTIN)}.")
    frame = _LOADERS[name](BUILTIN[name].target)
    return Table(frame, (), source=name, format="built-in")


def _bundled(name: str) -> Callable[[str], pl.DataFrame]:
    """A table of scikit-learn's; classes by name if these are words."""

    def load(target: str) -> pl.DataFrame:
        data = getattr(datasets, f"load_{name}")()
        names = [
            str(column).replace(" (cm)", "").replace(" ", "_") for column in data.feature_names
        ]
        y = data.target
        if hasattr(data, "target_names") and name != "digits":
            y = np.asarray(data.target_names)[y].astype(str)
        return pl.DataFrame(data.data, schema=names).with_columns(pl.Series(target, y))

    return load


def _words(text: str, names: tuple[str, ...]) -> pl.DataFrame:
    rows = [line.split() for line in text.strip().split("\n")]
    return pl.DataFrame(rows, schema=list(names), orient="row")


def _tennis(target: str) -> pl.DataFrame:
    return _words(TENNIS, ("outlook", "temperature", "humidity", "wind", target))


def _watermelon(target: str) -> pl.DataFrame:
    frame = _words(WATERMELON, (*MELON[:-1], target))
    return frame.with_columns(pl.col("density", "sugar").cast(pl.Float64))


def _friedman(target: str) -> pl.DataFrame:
    """Friedman (1991), section 4.3: 10 sin(πx₁x₂) + 20(x₃ − ½)² + 10x₄ + 5x₅ and noise."""
    X, y = datasets.make_friedman1(BUILTIN["friedman"].rows, 10, noise=1.0, random_state=0)
    names = [f"x{k + 1}" for k in range(X.shape[1])]
    return pl.DataFrame(X, schema=names).with_columns(pl.Series(target, y))


_LOADERS: dict[str, Callable[[str], pl.DataFrame]] = {
    **{name: _bundled(name) for name in ("breast_cancer", "diabetes", "digits", "iris", "wine")},
    "friedman": _friedman,
    "tennis": _tennis,
    "watermelon": _watermelon,
}
