"""Model files taken apart, changed, and put together again, for tests of files that are wrong."""

import json
import struct
from pathlib import Path


def contents(path):
    """The manifest of a file and its arrays (dtype, shape, bytes) by name."""
    return taken_apart(Path(path).read_bytes())


def taken_apart(data):
    """The same of the bytes of a file."""
    [size] = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    manifest = json.loads(header.pop("__metadata__")["gapless"])
    body = data[8 + size :]
    arrays = {
        name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }
    return manifest, arrays


def write(path, manifest, arrays):
    """A file of this manifest and these arrays, whatever they are."""
    Path(path).write_bytes(put_together(manifest, arrays))
    return path


def put_together(manifest, arrays):
    """The bytes of such a file."""
    header, body = {"__metadata__": {"gapless": json.dumps(manifest)}}, b""
    for name, (dtype, shape, data) in arrays.items():
        place = [len(body), len(body) + len(data)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": place}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def change(manifest, path, value):
    *inside, last = path
    node = manifest
    for name in inside:
        node = node[name]
    node[last] = value
