"""From a model to its manifest and its arrays.

Plain values of JSON stand for themselves. Everything else is an object with one entry, whose name
says what it is: {"tuple": […]}, {"array": {…}}, {"model": {"class": "svm.SVC", …}}. Lists of many
floats are slices of one array of them all, {"tuple": {"floats": [0, 100]}}: as text they would
dominate the time and size of a wide table's file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .container import ModelFileError
from .fields import contents
from .limits import MOST_AROUND, MOST_MODELS, check_limits
from .names import MODELS, VALUES, name_of
from .scikit_learn import FORGOTTEN, left_by_fit

Array = np.ndarray
Node = Any

DEEPEST = 64
# What stands for itself.
PLAIN = frozenset((bool, int, str, type(None)))
# The array of all floats of long lists, and the least length of these.
FLOATS, MANY = "floats", 16
NUMBERS = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
) | {"float16", "float32", "float64"}
TYPES = {"bool": bool, "float": float, "int": int, "object": object, "str": str} | {
    f"numpy.{name}": np.dtype(name).type for name in NUMBERS
}
SPARSE = ("csr", "csc")


class Writer:
    """Makes nodes of a manifest, and collects the arrays they refer to."""

    def __init__(self) -> None:
        self._tensors: dict[str, Array] = {}
        self._floats: list[float] = []
        # The number of models so far, and of those around the one being written.
        self._models = self._around = 0
        # For each array seen, the name of its tensor; the array is kept so that no other one gets
        # its place in memory.
        self._met: dict[int, tuple[Array, Node]] = {}

    @property
    def tensors(self) -> dict[str, Array]:
        """All arrays by name."""
        return self._tensors | ({FLOATS: np.array(self._floats)} if self._floats else {})

    def node(self, value: Any, where: str, depth: int = 0) -> Node:
        """The node for a value; `where` names it in errors."""
        if depth > DEEPEST:
            raise ModelFileError(
                f"{where} is nested more than {DEEPEST} levels deep, or contains itself."
            )
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind in (list, tuple):
            return {kind.__name__: self._items(value, where, depth + 1)}
        name = name_of(kind)
        if name in VALUES:
            return {"value": self._fields(value, name, where, depth + 1)}
        if kind in (set, frozenset):
            return {
                kind.__name__: [self._key(v, where, depth + 1) for v in sorted(value, key=repr)]
            }
        if kind is dict:
            return {"dict": [self._pair(k, v, where, depth + 1) for k, v in value.items()]}
        if kind is slice:
            ends = (value.start, value.stop, value.step)
            return {"slice": [self.node(end, where, depth + 1) for end in ends]}
        if kind is np.ndarray:
            return self._array(value, where, depth)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.dtype):
            return {"dtype": self._dtype(value, where)}
        if isinstance(value, type):
            return {"type": self._type(value, where)}
        if sp.issparse(value):
            return self._sparse(value, where, depth)
        if name in MODELS:
            return {"model": self._model(value, name, where, depth + 1)}
        raise ModelFileError(_refusal(value, where))

    def _items(self, values: Sequence[Any], where: str, depth: int) -> Node:
        if len(values) >= MANY and set(map(type, values)) == {float}:
            begin = len(self._floats)
            self._floats.extend(values)
            return {FLOATS: [begin, len(self._floats)]}
        return [
            v if type(v) in PLAIN else self.node(v, f"{where}[{i}]", depth)
            for i, v in enumerate(values)
        ]

    # ---- arrays ----------------------------------------------------------------------------------

    def _array(self, array: Array, where: str, depth: int) -> Node:
        if array.dtype == object:
            items = self._items(array.reshape(-1).tolist(), where, depth + 1)
            return {"objects": {"shape": list(array.shape), "items": items}}
        if id(array) not in self._met:
            self._met[id(array)] = array, self._tensor(array, where)
        return self._met[id(array)][1]

    def _tensor(self, array: Array, where: str) -> Node:
        name = str(len(self._tensors))
        if array.dtype.kind == "U" and array.dtype.isnative:
            # A row of code points for each text, at least one: with arrays that take no room a
            # small file could request any amount of memory.
            width = max(array.dtype.itemsize // 4, 1)
            points = np.ascontiguousarray(array, dtype=f"<U{width}").reshape(-1).view(np.uint32)
            self._tensors[name] = points.reshape(*array.shape, width)
            return {"texts": {"tensor": name}}
        if array.dtype.name not in NUMBERS or not array.dtype.isnative:
            raise ModelFileError(
                f"{where} is an array of {array.dtype}; files hold numbers, booleans and text."
            )
        # The last bits of sums depend on an array's memory layout, so that is kept.
        order = "C" if array.flags.c_contiguous or not array.flags.f_contiguous else "F"
        self._tensors[name] = np.ascontiguousarray(array if order == "C" else array.T).reshape(
            array.shape if order == "C" else array.shape[::-1]
        )
        return {"array": {"tensor": name, "order": order}}

    def _sparse(self, matrix: Any, where: str, depth: int) -> Node:
        if matrix.format not in SPARSE:
            raise ModelFileError(
                f"{where} is a sparse matrix in {matrix.format!r} format; use csr."
            )
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        parts = {
            name: self._array(getattr(matrix, name), f"{where}.{name}", depth + 1)
            for name in ("data", "indices", "indptr")
        }
        is_array = isinstance(matrix, sp.sparray)
        shape = [int(size) for size in matrix.shape]
        return {"sparse": {"format": matrix.format, "is_array": is_array, "shape": shape, **parts}}

    def _scalar(self, value: np.generic, where: str) -> Node:
        plain = value.item()
        if value.dtype.name not in NUMBERS and not isinstance(plain, str):
            raise ModelFileError(f"{where} is a {type(value).__name__}, which files cannot hold.")
        name = "str" if isinstance(plain, str) else value.dtype.name
        return {"scalar": {"dtype": name, "value": self.node(plain, where)}}

    def _dtype(self, dtype: np.dtype, where: str) -> str:
        if dtype.name in NUMBERS or dtype.kind in "OU":
            return dtype.str if dtype.kind == "U" else dtype.name
        raise ModelFileError(f"{where} is the type {dtype}, which files cannot hold.")

    def _type(self, value: type, where: str) -> str:
        for name, known in TYPES.items():
            if value is known:
                return name
        raise ModelFileError(_refusal(value, where))

    # ---- objects ---------------------------------------------------------------------------------

    def _pair(self, key: Any, value: Any, where: str, depth: int) -> list[Node]:
        inside = f"{where}[{key!r}]"
        return [self._key(key, inside, depth), self.node(value, inside, depth)]

    def _key(self, key: Any, where: str, depth: int) -> Node:
        if not is_key(key):
            raise ModelFileError(
                f"{where} is a key or a member of a set, where files allow only text and plain "
                "numbers."
            )
        return self.node(key, where, depth)

    def _named(self, values: dict[str, Any], where: str, depth: int) -> dict[str, Node]:
        return {
            name: v if type(v) in PLAIN else self.node(v, f"{where}.{name}", depth)
            for name, v in values.items()
        }

    def _fields(self, value: Any, name: str, where: str, depth: int) -> Node:
        return {"class": name, "fields": self._named(contents(value, name), where, depth)}

    def _model(self, model: Any, name: str, where: str, depth: int) -> Node:
        check_limits(model, where)
        self._models += 1
        if self._models > MOST_MODELS or self._around > MOST_AROUND:
            raise ModelFileError(
                f"{where} is one model too many: a file holds {MOST_MODELS}, nested at most "
                f"{MOST_AROUND} deep; use fewer, or nest fewer."
            )
        self._around += 1
        node = self._parts(model, name, where, depth)
        self._around -= 1
        return node

    def _parts(self, model: Any, name: str, where: str, depth: int) -> Node:
        parameters = model.get_params(deep=False)
        return {
            "class": name,
            "parameters": self._named(parameters, where, depth),
            "fitted": self._named(_learned(model, parameters, where), where, depth),
        }


def is_key(key: Any) -> bool:
    """Whether files may hold a key of a dictionary or a member of a set.

    Texts, tuples of these, and numbers of 64 bits. Any number of others may share a hash, e.g.
    tuples of −1 and −2, so that a dictionary of a million of them would take for ever.
    """
    if isinstance(key, tuple):
        return all(isinstance(part, str) for part in key)
    if isinstance(key, int):
        return -(1 << 63) <= key < 1 << 64
    return key is None or isinstance(key, str | float | np.generic)


def _learned(model: Any, parameters: dict[str, Any], where: str) -> dict[str, Any]:
    """What a fit has left in a model, by name."""
    cls: Any = type(model)
    declared = left_by_fit(cls)
    # What every new model of these parameters has need not be stored.
    ignored = {*parameters, *FORGOTTEN, "_sklearn_version", *vars(type(model)(**parameters))}
    state = model.__getstate__()
    learned = {name: value for name, value in state.items() if name in declared}
    for name in state.keys() - learned.keys() - ignored:
        raise ModelFileError(
            f"{where} has an attribute {name!r} that files cannot hold; delete it, del "
            f"model.{name}, if it is yours."
        )
    return learned


def _refusal(value: Any, where: str) -> str:
    """Why a value cannot be stored, and what to do."""
    kind = type(value).__name__
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{where} is a random number generator; use an integer seed, e.g. 0."
    if isinstance(value, BaseEstimator):
        return (
            f"{where} is a {kind}, which model files cannot hold: they hold gapless estimators, "
            "and pipelines of scikit-learn's preprocessing. Use one of those instead, or keep "
            "this step outside and call it yourself."
        )
    if callable(value) or type(value).__module__.partition(".")[0] not in ("gapless", "builtins"):
        return (
            f"{where} is your own code ({getattr(value, '__name__', kind)}), which files cannot "
            "hold; use a built-in one, by name or as an instance from gapless, or keep the code "
            "that builds the model and fit it again."
        )
    return f"{where} is a {kind}, which model files cannot hold."
