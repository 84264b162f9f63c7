"""From a manifest and arrays back to a model; the other direction is `writing`.

Nothing in a file is trusted: every object must have exactly the entries that `writing` gives it,
class names are looked up in closed lists, and `checks` checks the result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import check_model, check_sparse, check_value
from .container import ModelFileError, Tensors
from .fields import fields_of
from .limits import MOST_AROUND, Budget, parameter_names
from .names import MODELS, VALUES, Classes
from .scikit_learn import left_by_fit
from .writing import DEEPEST, FLOATS, NUMBERS, PLAIN, SPARSE, TYPES, is_key

Array = np.ndarray
Node = Any

LAST_CODE_POINT = 0x10FFFF
# Axes of an array; no model has more.
MOST_AXES = 8
# The type of a text array, in which every text takes as much room as the longest may.
TEXT_TYPE = re.compile("<U[0-9]{1,5}")
# How much of unexpected names is shown.
LONGEST_NAME, MOST_NAMES = 80, 5


class Reader:
    """Builds values from nodes."""

    def __init__(self, tensors: Tensors, budget: Budget):
        self._tensors = tensors
        self._budget = budget
        # The number of models around the one being read.
        self._around = 0
        self._arrays: dict[str, Array] = {}
        # How many floats of long lists have been read.
        self._taken = 0
        self._readers: dict[str, Callable[[Node, str, int], Any]] = {
            "array": self._array,
            "dict": self._dict,
            "dtype": self._dtype,
            "float": self._float,
            "frozenset": lambda node, where, depth: frozenset(self._keys(node, where, depth)),
            "list": self._items,
            "model": self._model,
            "objects": self._objects,
            "scalar": self._scalar,
            "set": lambda node, where, depth: set(self._keys(node, where, depth)),
            "slice": self._slice,
            "sparse": self._sparse,
            "texts": self._texts,
            "tuple": lambda node, where, depth: tuple(self._items(node, where, depth)),
            "type": self._type,
            "value": self._value,
        }

    def value(self, node: Node, where: str, depth: int = 0) -> Any:
        """The value of a node."""
        if type(node) in PLAIN:
            return node
        if type(node) is float:
            # JSON allows numbers beyond all floats, which Python reads as infinite.
            if not math.isfinite(node):
                raise ModelFileError(f"{where} is too large a number.")
            return node
        if depth > DEEPEST:
            raise ModelFileError(f"{where} is nested more than {DEEPEST} levels deep.")
        if not (isinstance(node, dict) and len(node) == 1):
            raise ModelFileError(f"{where} is not a value.")
        [(kind, content)] = node.items()
        if kind not in self._readers:
            raise ModelFileError(f"{where} is of an unknown kind, {kind!r}.")
        return self._readers[kind](content, where, depth + 1)

    def check_all_read(self) -> None:
        """Refuse arrays that nothing refers to."""
        if unused := self._tensors.names - self._arrays.keys():
            raise ModelFileError(f"array {min(unused)!r} belongs to nothing.")
        if self._taken < len(self._arrays.get(FLOATS, ())):
            raise ModelFileError(f"array {FLOATS!r} has numbers that belong to nothing.")

    # ---- plain values ----------------------------------------------------------------------------

    def _float(self, node: Node, where: str, depth: int) -> float:
        if node not in ("nan", "inf", "-inf"):
            raise ModelFileError(f"{where} is not a number.")
        return float(node)

    def _items(self, node: Node, where: str, depth: int) -> list[Any]:
        if isinstance(node, dict):
            return self._floats(node, where)
        if not isinstance(node, list):
            raise ModelFileError(f"{where} is not a list.")
        return [
            item if type(item) in PLAIN else self.value(item, f"{where}[{i}]", depth)
            for i, item in enumerate(node)
        ]

    def _floats(self, node: dict[str, Any], where: str) -> list[float]:
        """A slice of the floats, which begins where the last one ended: none is used twice.

        Otherwise a small file could request any number of long lists.
        """
        [place] = _entries(node, where, FLOATS)
        floats = self._stored(FLOATS, where)
        is_stretch = isinstance(place, list) and [type(end) for end in place] == [int, int]
        is_right = is_stretch and place[0] == self._taken <= place[1] <= floats.size
        if not is_right or floats.dtype != np.float64 or floats.ndim != 1:
            raise ModelFileError(f"{where} is not a range of the array {FLOATS!r}.")
        begin, self._taken = place
        return floats[begin : self._taken].tolist()

    def _keys(self, node: Node, where: str, depth: int) -> list[Any]:
        """Members of a set, or keys of a dictionary; `is_key` says which are allowed and why."""
        keys = self._items(node, where, depth)
        if not all(is_key(key) for key in keys):
            raise ModelFileError(f"{where} has a key that is neither text nor a plain number.")
        return keys

    def _dict(self, node: Node, where: str, depth: int) -> dict[Any, Any]:
        if not (isinstance(node, list) and all(isinstance(p, list) and len(p) == 2 for p in node)):
            raise ModelFileError(f"{where} is not a list of pairs.")
        keys = self._keys([key for key, _ in node], where, depth)
        values = [self.value(value, f"{where}[…]", depth) for _, value in node]
        found = dict(zip(keys, values))
        if len(found) < len(node):
            raise ModelFileError(f"{where} has a duplicate key.")
        return found

    def _slice(self, node: Node, where: str, depth: int) -> slice:
        ends = self._items(node, where, depth)
        if len(ends) != 3:
            raise ModelFileError(f"{where} is not a slice.")
        return slice(*ends)

    def _scalar(self, node: Node, where: str, depth: int) -> Any:
        name, value = _entries(node, where, "dtype", "value")
        plain = self.value(value, where, depth)
        if name == "str" and type(plain) is str:
            return np.str_(plain)
        if name not in NUMBERS or type(plain) not in (bool, int, float):
            raise ModelFileError(f"{where} is not a number.")
        return np.dtype(name).type(plain)

    def _dtype(self, node: Node, where: str, depth: int) -> np.dtype:
        is_text = isinstance(node, str) and TEXT_TYPE.fullmatch(node)
        if is_text or (isinstance(node, str) and (node in NUMBERS or node == "object")):
            dtype = np.dtype(node)
            self._budget.check_text(dtype.itemsize, where)
            return dtype
        raise ModelFileError(f"{where} is not an array type.")

    def _type(self, node: Node, where: str, depth: int) -> type:
        if not (isinstance(node, str) and node in TYPES):
            raise ModelFileError(f"{where} is not a type.")
        return TYPES[node]

    # ---- arrays ----------------------------------------------------------------------------------

    def _stored(self, name: Node, where: str) -> Array:
        if not (isinstance(name, str) and name in self._tensors.names):
            raise ModelFileError(f"{where} refers to an array that does not exist.")
        if name not in self._arrays:
            if len(self._tensors.shape(name)) > MOST_AXES:
                raise ModelFileError(f"{where} has more than {MOST_AXES} axes.")
            self._arrays[name] = self._tensors.array(name)
        return self._arrays[name]

    def _referred_to(self, name: Node, where: str) -> Array:
        """An array that others may refer to as well; each reference counts."""
        array = self._stored(name, where)
        self._budget.spend(array.nbytes, "bytes", where)
        return array

    def _array(self, node: Node, where: str, depth: int) -> Array:
        name, order = _entries(node, where, "tensor", "order")
        array = self._referred_to(name, where)
        if array.dtype.name not in NUMBERS or order not in ("C", "F"):
            raise ModelFileError(f"{where} is not an array of numbers.")
        return array if order == "C" else array.T

    def _texts(self, node: Node, where: str, depth: int) -> Array:
        [name] = _entries(node, where, "tensor")
        points = self._referred_to(name, where)
        if points.dtype != np.uint32 or points.ndim == 0 or (points > LAST_CODE_POINT).any():
            raise ModelFileError(f"{where} is not an array of text.")
        *shape, width = points.shape
        if width == 0:
            raise ModelFileError(f"{where} has texts of length 0.")
        if points.size == 0:
            return np.zeros(shape, dtype=f"<U{width}")
        return points.reshape(-1).view(f"<U{width}").reshape(shape)

    def _objects(self, node: Node, where: str, depth: int) -> Array:
        shape, items = _entries(node, where, "shape", "items")
        values = self._items(items, where, depth)
        if not _is_shape(shape) or math.prod(shape) != len(values):
            raise ModelFileError(f"{where} has a number of items that contradicts its shape.")
        array = np.empty(len(values), dtype=object)
        # In a loop: NumPy would make one array of several that are equally long.
        for i, value in enumerate(values):
            array[i] = value
        return array.reshape(shape)

    def _sparse(self, node: Node, where: str, depth: int) -> Any:
        names = ("format", "is_array", "shape", "data", "indices", "indptr")
        form, is_array, shape, *parts = _entries(node, where, *names)
        data, indices, indptr = (self.value(part, where, depth) for part in parts)
        if form not in SPARSE or type(is_array) is not bool or not _is_shape(shape, 2):
            raise ModelFileError(f"{where} is not a sparse matrix.")
        lines, across = shape if form == "csr" else shape[::-1]
        check_sparse(data, indices, indptr, (lines, across), where)
        make = getattr(sp, f"{form}_{'array' if is_array else 'matrix'}")
        return make((data, indices, indptr), shape=tuple(shape))

    # ---- objects ---------------------------------------------------------------------------------

    def _named(self, node: Node, known: Set[str], where: str, depth: int) -> dict[str, Any]:
        """Values by name, all of which must be known; a missing one is newer than the file."""
        if not isinstance(node, dict):
            raise ModelFileError(f"{where} has no named entries.")
        # Before any is read: names are part of `where`, and long ones would take for ever.
        if strange := sorted(node.keys() - known):
            names = ", ".join(name[:LONGEST_NAME] for name in strange[:MOST_NAMES])
            raise ModelFileError(f"{where} has entries that its class does not have: {names}.")
        return {
            name: v if type(v) in PLAIN else self.value(v, f"{where}.{name}", depth)
            for name, v in node.items()
        }

    def _value(self, node: Node, where: str, depth: int) -> Any:
        name, fields = _entries(node, where, "class", "fields")
        cls = _known(name, VALUES, where)
        value = cls(**self._named(fields, frozenset(fields_of(cls, name)), where, depth))
        check_value(value, name, where)
        return value

    def _model(self, node: Node, where: str, depth: int) -> Any:
        name, parameters, fitted = _entries(node, where, "class", "parameters", "fitted")
        cls = _known(name, MODELS, where)
        self._budget.spend(1, "models", where)
        if self._around > MOST_AROUND:
            raise ModelFileError(f"{where} is a model nested in more than {MOST_AROUND} others.")
        self._around += 1
        model = cls(**self._named(parameters, parameter_names(cls), where, depth))
        learned = self._named(fitted, left_by_fit(cls).keys(), where, depth)
        self._around -= 1
        vars(model).update(learned)
        check_model(model, name, learned, where, self._budget)
        return model


def _entries(node: Node, where: str, *names: str) -> list[Any]:
    """The entries of an object, which must have exactly these."""
    if not (isinstance(node, dict) and node.keys() == set(names)):
        raise ModelFileError(f"{where} has entries other than {', '.join(names)}.")
    return [node[name] for name in names]


def _known(name: Any, registry: Classes, where: str) -> Any:
    if not (isinstance(name, str) and name in registry):
        raise ModelFileError(
            f"{where} is of the class {name!r}, which is unknown to this gapless; the file may "
            "come from a later version."
        )
    return registry[name]


def _is_shape(shape: Any, axes: int | None = None) -> bool:
    if not isinstance(shape, list) or (axes is not None and len(shape) != axes):
        return False
    return len(shape) <= MOST_AXES and all(type(s) is int and 0 <= s < 1 << 62 for s in shape)
