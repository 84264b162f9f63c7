"""Every way in which one entry of a model file can be wrong: counts, types, shapes, places."""

import json

import numpy as np

TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "U32": "<u4",
    "U8": "<u1",
    "BOOL": "?",
}
MISSING = object()
# What is said of a model, at which predictions do not look.
SAID = ("certificate_", "generalization_", "trace_", "path_", "search_", "prune_trace_")


def places(node, where=()):
    """All entries of a manifest, from the outside to the inside: (path, entry)."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(pairs):
        if key in SAID:
            continue
        # Of many members of an ensemble two are enough.
        if isinstance(key, int) and 2 <= key < len(node) - 1 and isinstance(value, dict):
            continue
        yield (*where, key), value
        if isinstance(value, dict | list):
            yield from places(value, (*where, key))


def at(node, path):
    for key in path:
        node = node[key]
    return node


def of_numbers(array):
    """Arrays that are almost this one: (what was done, the other array)."""
    for axis, size in enumerate(array.shape):
        if size:
            yield f"axis {axis} shorter", np.delete(array, -1, axis)
        last = np.take(array, [-1], axis) if size else np.zeros_like(array, shape=_one(array, axis))
        yield f"axis {axis} longer", np.concatenate([array, last], axis)
    yield "one axis more", array[..., None]
    if array.ndim > 1:
        yield "flat", array.reshape(-1)
        if len(set(array.shape)) > 1:
            yield "transposed", array.swapaxes(0, 1)
    yield "empty", array[:0] if array.ndim else np.zeros(0, array.dtype)
    if not array.size:
        return
    if array.dtype.kind == "f":
        for name, value in (("NaN", np.nan), ("infinite", np.inf), ("minus one", -1.0)):
            for place in (0, -1):
                yield f"{name} at {place}", _with(array, place, value)
        yield "whole numbers", np.nan_to_num(array).clip(-9, 9).astype("<i8")
    else:
        numbers = () if array.dtype == bool else (0, 1, 2, 10**6, 2**31 - 1, -1, -(2**31))
        for number in numbers:
            for place in (0, -1):
                if array.dtype.kind != "u" or number >= 0:
                    yield f"{number} at {place}", _with(array, place, number)
        yield "floats", array.astype("<f8")


def _one(array, axis):
    return [1 if a == axis else size for a, size in enumerate(array.shape)]


def _with(array, place, value):
    changed = array.copy()
    with np.errstate(all="ignore"):
        changed.reshape(-1)[place] = np.asarray(value).astype(array.dtype)
    return changed


def of_plain(value):
    """What may replace a number, a boolean, a text or nothing."""
    others = [None, -1, 10**9, 0, "x", {"float": "nan"}, {"float": "inf"}, True, {"list": []}]
    if isinstance(value, int | float) and not isinstance(value, bool):
        others += [value + 1, -value]
    for other in others:
        if other != value:
            yield f"{other!r}", other


def of_list(items):
    """Lists that are almost this one."""
    if isinstance(items, list):
        if items:
            yield "without the last", items[:-1]
            yield "the last twice", [*items, items[-1]]
            yield "a text first", ["x", *items[1:]]
        if len(items) > 1 and items[0] != items[1]:
            yield "the first two exchanged", [items[1], items[0], *items[2:]]
        yield "empty", []
    yield "a text", "x"


def changes(manifest, arrays, rng, count):
    """Files with one entry changed: (what was done, manifest, arrays), each until the next one.

    So many entries anywhere in what was fitted, each in one of the ways in which it can be wrong.
    """
    fitted = manifest["model"]["fitted"]
    found = list(places(fitted))
    for path, entry in (found[k] for k in rng.integers(len(found), size=count if found else 0)):
        key, parent = path[-1], path[-2] if len(path) > 1 else "fitted"
        others = list(_others(key, parent, entry, arrays))
        if parent in ("fitted", "fields", "parameters"):
            others.append(("missing", MISSING, arrays))
        if not others:
            continue
        what, other, tensors = others[rng.integers(len(others))]
        inside = at(fitted, path[:-1])
        if other is MISSING:
            del inside[key]
        else:
            inside[key] = other
        yield f"{'.'.join(map(str, path))}: {what}", manifest, used(manifest, tensors)
        inside[key] = entry


def _others(key, parent, entry, arrays):
    """What may replace an entry: (what it is, the other entry, arrays)."""
    if key in ("class", "tensor", "order", "dtype", "kind", "is_array"):
        return
    if key in ("array", "texts") and isinstance(entry, dict):
        yield from _of_array(entry, arrays)
    elif key in ("list", "tuple", "items", "dict"):
        yield from ((what, other, arrays) for what, other in of_list(entry))
    elif key == "shape":
        for k, size in enumerate(entry):
            for other in (size + 1, size - 1, 2**31, 0):
                shape = [*entry[:k], other, *entry[k + 1 :]]
                yield f"{shape}", shape, arrays
    elif parent in ("fitted", "fields") and isinstance(entry, dict):
        yield from ((f"{other!r}", other, arrays) for other in ("x", 1, None, {"list": []}))
    elif not isinstance(entry, dict | list):
        yield from ((what, other, arrays) for what, other in of_plain(entry))


def _of_array(entry, arrays):
    """Another array in one place; where others refer to the old one, it stays."""
    dtype, shape, data = arrays[entry["tensor"]]
    array = np.frombuffer(data, dtype=TYPES[dtype]).reshape(shape)
    names = {np.dtype(kind): name for name, kind in TYPES.items()}
    for what, other in of_numbers(array):
        changed = names[other.dtype], list(other.shape), other.tobytes()
        yield what, {**entry, "tensor": "changed"}, {**arrays, "changed": changed}


def used(manifest, arrays):
    """The arrays that a manifest refers to; a file may have no others."""
    text = json.dumps(manifest)
    return {name: array for name, array in arrays.items() if _is_used(name, text)}


def _is_used(name, text):
    return name == "floats" or f'"tensor": "{name}"' in text
