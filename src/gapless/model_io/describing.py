"""What a model file holds, read from its manifest without reading any array."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .container import ModelFileError, Tensors, opened

Node = Any

# Where models keep rows of their training data, and what these are.
ROWS = {
    "support_vectors_": "support vectors",
    "landmarks": "landmarks",
    "X_fit_": "training rows",
    "X_train_": "training rows",
    "_fit_X": "training rows",
    "y_fit_": "targets of training rows",
    "y_train_": "targets of training rows",
    "_y": "targets of training rows",
}
# Landmarks under scikit-learn's name for them.
OF_NYSTROEM = {"components_": "landmarks"}
OF_DENSITIES = "values of training rows, column by column"
# Entries of a manifest that are tags of the format, not attributes.
TAGS = frozenset(
    (
        *("array", "class", "dict", "dtype", "fields", "fitted", "float", "floats"),
        *(
            "frozenset",
            "items",
            "list",
            "model",
            "objects",
            "parameters",
            "scalar",
            "set",
            "slice",
            "sparse",
            "texts",
        ),
        *("tuple", "type", "value"),
    )
)
# A name and the place around it. Written out only when needed: the places of all entries, with the
# long names of a hostile file in them, would fill the memory.
Place = tuple[Any, str]


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of the training data that a file holds.

    Parameters
    ----------
    where : str
        The attribute that holds them.
    rows : int
        Their number.
    kind : str
        What they are: support vectors, landmarks, training rows or their targets.
    """

    where: str
    rows: int
    kind: str


@dataclass(frozen=True, slots=True)
class Description:
    """What a model file holds.

    Parameters
    ----------
    model : str
        The class of the model, with its part: "svm.SVC".
    written_by : dict of str
        The versions of gapless and of the packages that wrote the file.
    file_bytes : int
        The size of the file.
    arrays : int
        The number of arrays.
    numbers : int
        Their total number of entries.
    classes : tuple of str
        All classes that the file names, each once.
    training_rows : tuple of TrainingRows
        Which rows of the training data are in the file.
    """

    model: str
    written_by: dict[str, str]
    file_bytes: int
    arrays: int
    numbers: int
    classes: tuple[str, ...]
    training_rows: tuple[TrainingRows, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.model}, written by gapless {self.written_by.get('gapless', '?')}: "
            f"{self.numbers:,} numbers in {self.arrays} arrays, {self.file_bytes:,} bytes",
            *(f"contains {r.rows} {r.kind} ({r.where})" for r in self.training_rows),
        ]
        return "\n".join(lines if self.training_rows else [*lines, "contains no training rows"])


def describe(path: str | os.PathLike) -> Description:
    """Describe what a model file holds, including any training rows, without loading it.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Description
        Prints as a few lines.
    """
    path = Path(path)
    with opened(path) as (manifest, tensors):
        model = manifest["model"]
        try:
            nodes = list(_named(model))
            sizes = [_product(tensors.shape(name)) for name in tensors.names]
            found = tuple(_training_rows(nodes, tensors))
            classes = tuple(sorted({node["class"] for _, node in nodes}))
            if not all(isinstance(name, str) for name in classes):
                raise ModelFileError("a class without a name")
            return Description(
                model=model["class"],
                written_by=manifest["written_by"],
                file_bytes=path.stat().st_size,
                arrays=len(sizes),
                numbers=sum(sizes),
                classes=classes,
                training_rows=found,
            )
        # Anything not written by `writing` ends in some Python error.
        except Exception as error:
            what = error if isinstance(error, ModelFileError) else repr(error)
            raise ModelFileError(f"{path} has a damaged manifest: {what}.") from error


def _product(shape: tuple[int, ...]) -> int:
    size = 1
    for each in shape:
        size *= each
    return size


def _named(root: Node) -> Iterator[tuple[Place, Node]]:
    """All nodes of models and values with their places; without recursion, to any depth."""
    waiting: list[tuple[Place, Node]] = [((None, "model"), root)]
    while waiting:
        place, node = waiting.pop()
        if isinstance(node, dict):
            if "class" in node:
                yield place, node
            waiting += [
                (place if name in TAGS else (place, name), inner)
                for name, inner in reversed(node.items())
            ]
        elif isinstance(node, list):
            waiting += [(place, inner) for inner in reversed(node)]


def _written(place: Place) -> str:
    """A place as Python writes it."""
    names = []
    inside: Any = place
    while inside is not None:
        inside, name = inside
        names.append(name)
    return ".".join(reversed(names))


def _training_rows(nodes: list[tuple[Place, Node]], tensors: Tensors) -> Iterator[TrainingRows]:
    for place, node in nodes:
        kept = node.get("fitted") or node.get("fields") or {}
        known = ROWS | OF_NYSTROEM if node["class"].endswith(".Nystroem") else ROWS
        for name, kind in known.items():
            rows = _rows(kept.get(name), tensors)
            if rows:
                yield TrainingRows(_written((place, name)), rows, kind)
        if node["class"] == "bayes.Kernels":
            rows = _longest(kept["values"], tensors)
            yield TrainingRows(_written((place, "values")), rows, OF_DENSITIES)


def _rows(node: Node, tensors: Tensors) -> int:
    """The number of rows of an array or a sparse matrix."""
    if not isinstance(node, dict):
        return 0
    [(kind, content)] = node.items()
    if kind in ("sparse", "objects"):
        return int(content["shape"][0])
    if kind == "array":
        shape = tensors.shape(content["tensor"])
        return (shape[0] if content["order"] == "C" else shape[-1]) if shape else 0
    return tensors.shape(content["tensor"])[0] if kind == "texts" else 0


def _longest(node: Node, tensors: Tensors) -> int:
    """The largest number of values of a column in all classes together."""
    columns = [column["list"] for column in node["list"]]
    return max((sum(_rows(part, tensors) for part in parts) for parts in columns), default=0)
