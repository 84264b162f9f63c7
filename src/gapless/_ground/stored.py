"""What a fit leaves in a model, declared attribute by attribute: its kind, its shape, its range.

A class declares `_stored`, a dictionary from names to kinds. Sizes have names, and those of the
same name are equal:

    {"classes_": Labels("classes"), "theta_": Numbers("classes", "features")}

`take_over` clears what is declared when a model is fitted again, and model files hold exactly that.
The contents of a file are checked against the declaration before any prediction, so a declaration
must cover whatever predictions rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray
Sizes = dict[str, int]
# A number, the name of one, any (None), or a function of the named ones.
Size = int | str | None | Callable[[Sizes], int]
Declaration = Mapping[str, "Kind"]


class Misfit(ValueError):
    """Something is not as it was declared."""


def score_count(sizes: Sizes) -> int:
    """The number of scores per row: one for two classes, else one for each class."""
    return 1 if sizes["classes"] == 2 else sizes["classes"]


def column_count(sizes: Sizes) -> int:
    """The number of columns with coefficients: the features of a kernel, if any, or those of X."""
    return sizes.get("columns", sizes["features"])


# ---- kinds ---------------------------------------------------------------------------------------


class Kind:
    """The kind of a stored attribute."""

    # Whether every fit leaves it.
    is_needed = True

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """What is wrong with a value, in words that follow its name; None if nothing is."""
        raise NotImplementedError

    def __or__(self, other: Kind) -> Kind:
        return Either(self, other)

    @property
    def turn(self) -> int:
        """The order of checks: 0 if it names a size, 2 if it needs all of them, else 1."""
        return 1


@dataclass(frozen=True)
class Maybe(Kind):
    """An attribute that only some fits leave."""

    kind: Kind
    is_needed = False

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """As the kind says."""
        return self.kind.fault(value, sizes)

    @property
    def turn(self) -> int:
        """As the kind."""
        return self.kind.turn


@dataclass(frozen=True)
class Either(Kind):
    """One of two kinds."""

    one: Kind
    other: Kind

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """The fault found by the second kind, if the first finds one too."""
        trial = {**sizes}
        first = self.one.fault(value, trial)
        if first is not None:
            trial = {**sizes}
            second = self.other.fault(value, trial)
            if second is not None:
                # If the kind is right but the content wrong, that fault says more.
                is_nearer = isinstance(self.other, Nothing) or first.startswith("has")
                return first if is_nearer else second
        sizes |= trial
        return None

    @property
    def turn(self) -> int:
        """Once both kinds can be checked."""
        return max(self.one.turn, self.other.turn)


@dataclass(frozen=True)
class Nothing(Kind):
    """None."""

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is anything but None."""
        return None if value is None else f"is {_described(value)} where nothing is expected"


class Unused(Kind):
    """Not used by predictions; may be anything that files can hold."""

    is_needed = False

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """None."""
        return None


@dataclass(frozen=True, init=False)
class Numbers(Kind):
    """An array of numbers of a shape, dense or, if it `may_be_sparse`, a sparse matrix.

    `types` are the kinds of its dtype: "f" floats, "i" integers, "u" unsigned, "b" booleans.
    Numbers are finite, unless `is_finite` is False, and from `low` to `high`; with one of these,
    none is NaN. `is_positive` ones are above 0. `below` is a size: the numbers are positions, from
    0 on. The axis that it `may_lack` is then of size 1.
    """

    shape: tuple[Size, ...]
    types: str
    is_finite: bool
    low: float | None
    high: float | None
    below: Size
    may_lack: str | None
    may_be_sparse: bool
    is_positive: bool

    def __init__(
        self,
        *shape: Size,
        types: str = "f",
        is_finite: bool = True,
        low: float | None = None,
        high: float | None = None,
        below: Size = None,
        may_lack: str | None = None,
        may_be_sparse: bool = False,
        is_positive: bool = False,
    ):
        for name, value in (
            ("shape", shape),
            ("types", types),
            ("is_finite", is_finite),
            ("low", low),
            ("high", high),
            ("below", below),
            ("may_lack", may_lack),
            ("may_be_sparse", may_be_sparse),
            ("is_positive", is_positive),
        ):
            object.__setattr__(self, name, value)

    @property
    def turn(self) -> int:
        """Late if a size follows from others."""
        is_late = self.below is not None or any(callable(size) for size in self.shape)
        return 2 if is_late else 1

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not an array, has another type or shape, or an impossible number."""
        is_sparse = self.may_be_sparse and sp.issparse(value)
        if not (is_sparse or isinstance(value, np.ndarray)):
            return f"is {_described(value)} where {self._expected(sizes)} are expected"
        shape = value.shape
        if self.may_lack is not None and len(shape) == len(self.shape) - 1:
            lacking = self.shape.index(self.may_lack)
            shape = (*shape[:lacking], 1, *shape[lacking:])
        if value.dtype.kind not in self.types or not _fits(self.shape, shape, sizes):
            return f"is {_described(value)} where {self._expected(sizes)} are expected"
        numbers = value.data if is_sparse else value
        if self.is_finite and numbers.dtype.kind == "f" and not all_finite(numbers):
            return "has numbers that are NaN or infinite"
        low = 0 if self.below is not None else self.low
        high = self.high
        if self.below is not None:
            size = _size(self.below, sizes)
            high = None if size is None else size - 1
        if numbers.size and (low is not None or high is not None):
            with np.errstate(invalid="ignore"):
                is_within = (low is None or (numbers >= low).all()) and (
                    high is None or (numbers <= high).all()
                )
            if not is_within:
                return f"has numbers outside {_range(low, high)}"
        if self.is_positive and not (numbers > 0).all():
            return "has numbers that are not above 0"
        return None

    def _expected(self, sizes: Sizes) -> str:
        words = {"f": "numbers", "b": "truth values"}.get(self.types[0], "whole numbers")
        return f"{words} of shape {_shape(self.shape, sizes)}"


@dataclass(frozen=True)
class Labels(Kind):
    """Labels of classes or levels: an array of texts, numbers or both."""

    size: Size = "classes"
    least: int = 1
    may_miss: bool = False
    is_text: bool = False

    @property
    def turn(self) -> int:
        """Early: other sizes are compared with the number of classes."""
        return 0

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not a list of labels, or has another length."""
        if not isinstance(value, np.ndarray) or value.ndim != 1 or len(value) < self.least:
            return f"is {_described(value)} where a list of labels is expected"
        if not _fits((self.size,), value.shape, sizes):
            return f"has {len(value)} labels where {_shape((self.size,), sizes)} are expected"
        if value.dtype.kind == "f" and not (self.may_miss or all_finite(value)):
            return "has labels that are NaN or infinite"
        if self.is_text and not all(isinstance(v, str) for v in value.tolist()):
            return "has names that are not text"
        if value.dtype == object and not all(
            isinstance(v, PLAIN) or (v is None and self.may_miss) for v in value.tolist()
        ):
            return "has labels that are neither text nor numbers"
        return None


@dataclass(frozen=True)
class LabelsOfOutputs(Kind):
    """A list of labels for each of several outputs; its classes are those of all of them."""

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not a list of labels for each output, or has unknown ones."""
        if not isinstance(value, list) or len(value) < 2:
            return f"is {_described(value)} where labels of several outputs are expected"
        for own in value:
            if (fault := Labels(None).fault(own, {})) is not None:
                return fault
        found = len(value), sum(len(own) for own in value)
        if not _fits(("outputs", "classes"), found, sizes):
            return f"has {found[1]} labels of {found[0]} outputs, which does not match the rest"
        return None


@dataclass(frozen=True)
class Number(Kind):
    """One number from `low` to `high`, above 0 if `is_positive`; `size` names what it counts."""

    low: float | None = None
    high: float | None = None
    is_whole: bool = False
    is_finite: bool = True
    size: Size = None
    is_positive: bool = False

    @property
    def turn(self) -> int:
        """Early if it is a size."""
        return 2 if callable(self.size) else 1 if self.size is None else 0

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not a number, or an impossible one."""
        whole = int | np.integer
        is_number = isinstance(value, whole if self.is_whole else whole | float | np.floating)
        if not is_number or isinstance(value, bool):
            return f"is {_described(value)} where a {'whole ' * self.is_whole}number is expected"
        if self.is_finite and not np.isfinite(value):
            return f"is {value} where a finite number is expected"
        if (self.low is not None and not value >= self.low) or (
            self.high is not None and not value <= self.high
        ):
            return f"is {value}, outside {_range(self.low, self.high)}"
        if self.is_positive and not value > 0:
            return f"is {value} where a number above 0 is expected"
        if self.size is not None and not _fits((self.size,), (int(value),), sizes):
            return f"is {value} where {_size(self.size, sizes)} is expected"
        return None


def Whole(low: float | None = 0, high: float | None = None, size: Size = None) -> Number:
    """An integer."""
    return Number(low, high, is_whole=True, size=size)


@dataclass(frozen=True)
class Flag(Kind):
    """A boolean."""

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not a boolean."""
        is_flag = isinstance(value, bool | np.bool_)
        return None if is_flag else f"is {_described(value)} where True or False is expected"


@dataclass(frozen=True, init=False)
class Word(Kind):
    """A text; one of `choices`, if there are any."""

    choices: tuple[str, ...]

    def __init__(self, *choices: str):
        object.__setattr__(self, "choices", choices)

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not a text, or not one of the choices."""
        if isinstance(value, str) and (not self.choices or value in self.choices):
            return None
        among = f"one of {', '.join(self.choices)}" if self.choices else "a text"
        return f"is {_described(value)} where {among} is expected"


@dataclass(frozen=True, init=False)
class Value(Kind):
    """An instance of one of some classes; `sizes` reads named sizes from it."""

    classes: tuple[type, ...]
    sizes: Mapping[str, Callable[[Any], int | None]]

    def __init__(self, *classes: type, **sizes: Callable[[Any], int | None]):
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "sizes", sizes)

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it has another class or other sizes."""
        if not isinstance(value, self.classes):
            expected = " or ".join(cls.__name__ for cls in self.classes)
            return f"is {_described(value)} where a {expected} is expected"
        for name, read in self.sizes.items():
            found = read(value)
            if found is not None and not _fits((name,), (found,), sizes):
                return f"has {found} {name} where {sizes[name]} are expected"
        return None


@dataclass(frozen=True)
class Each(Kind):
    """A list or a tuple of values of one kind, of a given size."""

    kind: Kind
    size: Size = None
    least: int = 0

    @property
    def turn(self) -> int:
        """Once its members can be checked."""
        return 2 if callable(self.size) else max(self.kind.turn, 1)

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not a list, has another length, or a member of another kind."""
        is_list = isinstance(value, list | tuple)
        if not (is_list or (isinstance(value, np.ndarray) and value.dtype == object)):
            return f"is {_described(value)} where a list is expected"
        if len(value) < self.least or not _fits((self.size,), (len(value),), sizes):
            return f"has {len(value)} members where {_shape((self.size,), sizes)} are expected"
        for i, member in enumerate(value):
            if (fault := self.kind.fault(member, sizes)) is not None:
                return f"has a member [{i}] that {fault}"
        return None


@dataclass(frozen=True)
class Places(Kind):
    """A dictionary from texts to distinct positions 0, 1, 2, …"""

    size: Size = None
    least: int = 0

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not such a dictionary."""
        if isinstance(value, dict) and len(value) < self.least:
            return "has no words"
        if not isinstance(value, dict) or not all(isinstance(word, str) for word in value):
            return f"is {_described(value)} where words with their positions are expected"
        if not all(isinstance(place, int | np.integer) for place in value.values()):
            return "has words whose positions are not 0, 1, 2, …"
        places = np.fromiter(value.values(), np.float64, len(value))
        if not np.array_equal(np.sort(places), np.arange(len(places))):
            return "has words whose positions are not 0, 1, 2, …"
        if not _fits((self.size,), (len(value),), sizes):
            return f"has {len(value)} words where {_size(self.size, sizes)} are expected"
        return None


@dataclass(frozen=True)
class FittedModel(Kind):
    """A fitted model that has a given method and its own columns and classes."""

    answer: str = "predict"
    features: Size = None
    classes: Size = None

    def fault(self, value: Any, sizes: Sizes) -> str | None:
        """Whether it is not such a model, is not fitted, or has other columns or classes."""
        if not (hasattr(type(value), "get_params") and hasattr(type(value), self.answer)):
            return f"is {_described(value)} where a model with {self.answer} is expected"
        if not is_fitted(value):
            return f"is a {type(value).__name__} that has not been fitted"
        width = getattr(value, "n_features_in_", None)
        if width is not None and not _fits((self.features,), (width,), sizes):
            return f"takes {width} columns where {_size(self.features, sizes)} are expected"
        if self.classes is not None:
            own = getattr(value, "classes_", None)
            if not isinstance(own, np.ndarray) or not _fits((self.classes,), own.shape, sizes):
                return f"has classes other than {_size(self.classes, sizes)}"
        return None


def is_fitted(model: Any) -> bool:
    """Whether a model has any fitted attribute; for several in a row, whether the last has.

    Not scikit-learn's `check_is_fitted`, whose time doubles with each nested pipeline.
    """
    steps = getattr(model, "steps", None) or getattr(model, "transformer_list", None)
    if isinstance(steps, list) and steps:
        last = steps[-1]
        return isinstance(last, tuple) and len(last) >= 2 and is_fitted(last[1])
    # Models of scikit-learn that learn nothing declare themselves fitted.
    if isinstance(model, str) or model is None or hasattr(type(model), "__sklearn_is_fitted__"):
        return True
    declared = getattr(type(model), "_stored", None)
    if declared is not None:
        return not vars(model).keys().isdisjoint(declared)
    return any(name.endswith("_") and not name.startswith("__") for name in vars(model))


# ---- what many models have ----------------------------------------------------------------------

# The logarithm of a share of 0 is −∞; no other one is infinite.
LOGARITHM = np.finfo(np.float64).max
MOST_FEATURES = np.iinfo(np.int32).max
INPUT: Declaration = {
    "n_features_in_": Whole(high=MOST_FEATURES, size="features"),
    "feature_names_in_": Maybe(Labels("features", least=0, is_text=True)),
}

# ---- checking ------------------------------------------------------------------------------------

LONG = 1 << 14
PLAIN = (str, bool, int, float, np.generic)


@dataclass(frozen=True)
class Checks:
    """A prepared declaration: what must be there, and the kinds in the order of their turns."""

    needed: frozenset[str]
    kinds: tuple[tuple[str, Kind], ...]

    @classmethod
    def of(cls, declared: Declaration) -> Checks:
        """Sizes that others are compared with come first; what may be anything is left out."""
        needed = frozenset(name for name, kind in declared.items() if kind.is_needed)
        plain = {k: v.kind if isinstance(v, Maybe) else v for k, v in declared.items()}
        kinds = [pair for pair in plain.items() if not isinstance(pair[1], Unused)]
        return cls(needed, tuple(sorted(kinds, key=lambda pair: pair[1].turn)))

    def check(self, found: Mapping[str, Any]) -> bool:
        """Raise a Misfit unless everything found is as declared.

        A model without any attribute that every fit leaves has not been fitted, which is fine.
        Returns whether it has been.
        """
        missing = self.needed - found.keys()
        if missing:
            if len(missing) == len(self.needed):
                return False
            raise Misfit(f"{min(missing)} is missing")
        sizes: Sizes = {}
        for name, kind in self.kinds:
            if name in found and (fault := kind.fault(found[name], sizes)) is not None:
                raise Misfit(f"{name} {fault}")
        return True


def all_finite(numbers: Array) -> bool:
    """Whether no number is NaN or infinite; for a long array a sum shows it, without a copy."""
    if numbers.size > LONG:
        with np.errstate(all="ignore"):
            if np.isfinite(numbers.sum()):
                return True
    return bool(np.isfinite(numbers).all())


def _size(size: Size, sizes: Sizes) -> int | None:
    if callable(size):
        return size(sizes)
    return sizes.get(size) if isinstance(size, str) else size


def _fits(shape: Iterable[Size], found: tuple[int, ...], sizes: Sizes) -> bool:
    """Whether a shape is as it should be; sizes not known yet are set to those found."""
    shape = tuple(shape)
    if len(shape) != len(found):
        return False
    for size, length in zip(shape, found):
        if size is None:
            continue
        if isinstance(size, str):
            if sizes.setdefault(size, length) != length:
                return False
        elif (size(sizes) if callable(size) else size) != length:
            return False
    return True


# ---- words ---------------------------------------------------------------------------------------


def _shape(shape: tuple[Size, ...], sizes: Sizes) -> str:
    """A shape in words: (classes = 3, 2)."""

    def described(size: Size) -> str:
        if size is None:
            return "any"
        if isinstance(size, str):
            return f"{size} = {sizes[size]}" if size in sizes else size
        return str(_size(size, sizes))

    return f"({', '.join(map(described, shape))})" if len(shape) != 1 else described(shape[0])


def _range(low: float | None, high: float | None) -> str:
    return f"[{'−∞' if low is None else low}, {'∞' if high is None else high}]"


def _described(value: Any) -> str:
    """What a value is, in a few words."""
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if sp.issparse(value):
        return f"a sparse matrix of {value.dtype} of shape {value.shape}"
    if isinstance(value, str | bool | int | float | np.generic):
        return f"{str(value)[:40]!r}"
    return f"a {type(value).__name__}"
