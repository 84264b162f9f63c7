"""Model files that are almost right: bytes, manifests and arrays of valid files, changed."""

import json
import struct

import numpy as np
from model_file_changes import changes
from model_file_parts import put_together, taken_apart

# What a number or a name in a manifest may become.
STRANGE = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**63),
    1e308,
    "",
    "0",
    "svm.SVC",
    "trees.Tree",
    {},
    [],
    {"list": []},
    {"float": "nan"},
    {"array": {"tensor": "0", "order": "F"}},
    {"tuple": [1, 2]},
]


def split(data):
    """The header of a file as JSON, its manifest, and the bytes of its arrays."""
    [size] = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    manifest = json.loads(header["__metadata__"]["gapless"])
    return header, manifest, data[8 + size :]


def join(header, manifest, body):
    header = {**header, "__metadata__": {"gapless": json.dumps(manifest)}}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def places(node, found):
    """All (container, key) of a tree of JSON."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(pairs):
        found.append((node, key))
        if isinstance(value, dict | list):
            places(value, found)
    return found


def of_bytes(data, rng):
    """Some bytes anywhere become others, or the end is missing."""
    data = bytearray(data)
    if rng.random() < 0.2:
        return bytes(data[: rng.integers(len(data))])
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] = rng.integers(256)
    return bytes(data)


def of_manifest(data, rng):
    """An entry of the manifest becomes something else, goes, or is exchanged for another."""
    header, manifest, body = split(data)
    found = places(manifest, [])
    node, key = found[rng.integers(len(found))]
    what = rng.integers(4)
    if what == 0:
        node[key] = STRANGE[rng.integers(len(STRANGE))]
    elif what == 1 and isinstance(node, dict):
        del node[key]
    elif what == 2 and isinstance(node, dict):
        node[f"{key}x"] = node.pop(key)
    else:
        other, place = found[rng.integers(len(found))]
        # A copy, since a manifest cannot hold itself.
        node[key] = json.loads(json.dumps(other[place]))
    return join(header, manifest, body)


def of_header(data, rng):
    """A shape, a type or a place of an array becomes another."""
    header, manifest, body = split(data)
    names = [name for name in header if name != "__metadata__"]
    entry = header[names[rng.integers(len(names))]]
    what = rng.integers(3)
    if what == 0:
        entry["dtype"] = str(rng.choice(["F64", "I64", "U32", "F32", "BOOL", "BF16", "U8", "X"]))
    elif what == 1:
        entry["shape"] = [int(size) for size in rng.permutation([*entry["shape"], 1])]
    else:
        entry["data_offsets"] = [int(rng.integers(len(body) + 9)) for _ in range(2)]
    return join(header, manifest, body)


def of_arrays(data, rng):
    """Numbers of an array become others that are small, large or no numbers."""
    header, manifest, body = split(data)
    names = [name for name in header if name != "__metadata__"]
    entry = header[names[rng.integers(len(names))]]
    begin, end = entry["data_offsets"]
    kinds = {"F64": "<f8", "I64": "<i8", "U32": "<u4", "I32": "<i4", "U8": "<u1", "F32": "<f4"}
    if entry["dtype"] not in kinds or begin == end:
        return of_manifest(data, rng)
    array = np.frombuffer(body[begin:end], dtype=kinds[entry["dtype"]]).copy()
    some = rng.integers(len(array), size=rng.integers(1, 3))
    choice = [0, 1, 2, 7, 10**6, 2**31 - 1] + (
        [np.nan, np.inf, -1.0] if array.dtype.kind == "f" else []
    )
    choice += [-1, -(2**31)] if array.dtype.kind == "i" else []
    with np.errstate(all="ignore"):
        array[some] = np.array(choice)[rng.integers(len(choice), size=len(some))].astype(
            array.dtype
        )
    return join(header, manifest, body[:begin] + array.tobytes() + body[end:])


def of_structure(data, rng):
    """What was fitted becomes almost right: a count, a type, a shape, a place or a member."""
    for _ in range(rng.integers(1, 4)):
        for _, manifest, arrays in changes(*taken_apart(data), rng, 1):
            data = put_together(manifest, arrays)
    return data


MUTATIONS = (of_bytes, of_manifest, of_header, of_arrays, of_structure)
