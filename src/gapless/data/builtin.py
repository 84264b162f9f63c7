"""Built-in tables: scikit-learn's bundled ones and a few small ones; none is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

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
# Customers of a bank, and whether they left it.
CUSTOMERS = """
female 27 19000  no
male   51 64000  yes
male   52 105000 yes
female 33 55000  yes
male   45 45000  no
"""
# Documents about China (c) or Japan (j).
DOCUMENTS = (
    ("Chinese Beijing Chinese", "c"),
    ("Chinese Chinese Shanghai", "c"),
    ("Chinese Macao", "c"),
    ("Tokyo Japan Chinese", "j"),
)
# Eight points that a line separates.
POINTS = """
0.3858 0.4687  1
0.4871 0.6110 -1
0.9218 0.4103 -1
0.7382 0.8936 -1
0.1763 0.0579  1
0.4057 0.3529  1
0.9355 0.8132 -1
0.2146 0.0099  1
"""
# Three bits, and whether at least two of them are 1; in the order in which a perceptron reads them.
BITS = """
1 0 0 -1
1 0 1  1
1 1 0  1
1 1 1  1
0 0 1 -1
0 1 0 -1
0 1 1  1
0 0 0 -1
"""
# The distance between any two of five samples.
SAMPLES = """
 0 17 21 31 23
17  0 30 34 21
21 30  0 28 39
31 34 28  0 43
23 21 39 43  0
"""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in table, before it is loaded.

    Attributes
    ----------
    name : str
        Its name in `read_table` and on the command line.
    rows, columns : int
        Its size; the target counts as a column.
    target : str or None
        The column to predict; None for a table of distances, which has none.
    task : {"classification", "regression", "clustering"}
        The task of predicting it.
    about : str
        A description in one sentence.
    """

    name: str
    rows: int
    columns: int
    target: str | None
    task: str
    about: str


BUILTIN = {
    entry.name: entry
    for entry in (
        BuiltIn(
            *("bits", 8, 4, "majority", "classification"),
            "Three bits; are at least two of them 1? A perceptron learns it in six epochs.",
        ),
        BuiltIn(
            *("breast_cancer", 569, 31, "diagnosis", "classification"),
            "Shapes of cell nuclei; is the tumour malignant?",
        ),
        BuiltIn(
            *("customers", 5, 4, "left", "classification"),
            "Gender, age and salary of five customers; who left?",
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
            *("documents", 4, 2, "about", "classification"),
            "Four short texts; is it about China or Japan?",
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
            *("mass", 30, 4, "mass", "regression"),
            "Height, body-mass index and age, drawn with noise of 3 kg; mass = bmi · height².",
        ),
        BuiltIn(
            *("points", 8, 3, "side", "classification"),
            "Eight points of the plane that a line separates with a margin of 0.1747.",
        ),
        BuiltIn(
            *("samples", 5, 5, None, "clustering"),
            "The distances between five samples, as a matrix; which are alike?",
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


@overload
def load_builtin(name: str, *, return_X_y: Literal[False] = False) -> Table: ...
@overload
def load_builtin(name: str, *, return_X_y: Literal[True]) -> tuple[Any, np.ndarray | None]: ...
def load_builtin(name: str, *, return_X_y: bool = False) -> Table | tuple[Any, np.ndarray | None]:
    """A built-in table, its target in the last column.

    Parameters
    ----------
    name : str
        A key of `BUILTIN`.
    return_X_y : bool, default=False
        Whether to return features and target apart, ready for `fit`.

    Returns
    -------
    Table, or X and y
        X is an array if all features are numbers, else a polars DataFrame. y is None for a table
        without a target.

    Examples
    --------
    >>> from gapless.data import load_builtin
    >>> print(load_builtin("tennis"))
    tennis: 14 rows, 5 columns
    >>> X, y = load_builtin("points", return_X_y=True)
    >>> X.shape, y.tolist()
    ((8, 2), [1, -1, -1, -1, 1, 1, -1, 1])
    """
    if name not in BUILTIN:
        raise TableError(f"unknown built-in table {name!r}; choose from {', '.join(BUILTIN)}.")
    target = BUILTIN[name].target
    frame = _LOADERS[name](target)
    if not return_X_y:
        return Table(frame, (), source=name, format="built-in")
    features = frame if target is None else frame.drop(target)
    is_numeric = all(dtype.is_numeric() for dtype in features.dtypes)
    X = features.to_numpy() if is_numeric else features
    return X, None if target is None else frame[target].to_numpy()


def _bundled(name: str) -> Callable[[Any], pl.DataFrame]:
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


def _customers(target: str) -> pl.DataFrame:
    frame = _words(CUSTOMERS, ("gender", "age", "salary", target))
    return frame.with_columns(pl.col("age", "salary").cast(pl.Int64))


def _documents(target: str) -> pl.DataFrame:
    return pl.DataFrame(DOCUMENTS, schema=["text", target], orient="row")


def _points(target: str) -> pl.DataFrame:
    frame = _words(POINTS, ("x1", "x2", target))
    return frame.with_columns(pl.col("x1", "x2").cast(pl.Float64), pl.col(target).cast(pl.Int64))


def _bits(target: str) -> pl.DataFrame:
    return _words(BITS, ("bit1", "bit2", "bit3", target)).cast(pl.Int64)


def _samples(target: None) -> pl.DataFrame:
    return _words(SAMPLES, ("a", "b", "c", "d", "e")).cast(pl.Float64)


def _mass(target: str) -> pl.DataFrame:
    """Adults whose mass follows from height and body-mass index alone; age has no part in it."""
    rng, n = np.random.default_rng(0), BUILTIN["mass"].rows
    height, bmi = rng.normal(1.7, 0.1, n), rng.normal(25.0, 4.0, n)
    age = rng.uniform(20.0, 70.0, n)
    mass = bmi * height**2 + rng.normal(0.0, 3.0, n)
    return pl.DataFrame({"height": height, "bmi": bmi, "age": age, target: mass})


def _watermelon(target: str) -> pl.DataFrame:
    frame = _words(WATERMELON, (*MELON[:-1], target))
    return frame.with_columns(pl.col("density", "sugar").cast(pl.Float64))


def _friedman(target: str) -> pl.DataFrame:
    """Friedman (1991), section 4.3: 10 sin(πx₁x₂) + 20(x₃ − ½)² + 10x₄ + 5x₅ and noise."""
    X, y = datasets.make_friedman1(BUILTIN["friedman"].rows, 10, noise=1.0, random_state=0)
    names = [f"x{k + 1}" for k in range(X.shape[1])]
    return pl.DataFrame(X, schema=names).with_columns(pl.Series(target, y))


_LOADERS: dict[str, Callable[[Any], pl.DataFrame]] = {
    **{name: _bundled(name) for name in ("breast_cancer", "diabetes", "digits", "iris", "wine")},
    "bits": _bits,
    "customers": _customers,
    "documents": _documents,
    "friedman": _friedman,
    "mass": _mass,
    "points": _points,
    "samples": _samples,
    "tennis": _tennis,
    "watermelon": _watermelon,
}
