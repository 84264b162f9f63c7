"""What a network is given: rows of its shape, and targets in the form that its loss takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.validation import check_values
from ...losses import Loss

Array = np.ndarray
Shape = tuple[int, ...]


def rows_of(X: Any, shape: Shape | None) -> Any:
    """X as an array or a CSR matrix of rows of a shape; None takes the shape that they have.

    Flat rows are taken for images of as many numbers, and (n, height, width) for one channel.
    """
    if sp.issparse(X):
        if shape is not None and len(shape) > 1:
            raise TypeError("X is sparse, but images are dense; convert it with X.toarray().")
        X = sp.csr_matrix(X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    else:
        X = _numbers(X)
    if X.ndim == 3 and (shape is None or len(shape) == 3):
        X = X[..., None]
    if X.ndim not in (2, 4):
        raise ValueError(
            f"X has shape {X.shape}; give rows (n, features), or images (n, height, width) or "
            "(n, height, width, channels)."
        )
    is_flat = X.ndim == 2 and shape is not None and X.shape[1] == math.prod(shape)
    if shape is not None and X.shape[1:] != shape and not is_flat:
        raise ValueError(
            f"X has rows of shape {X.shape[1:]}, but the network was built for {shape}."
        )
    if X.shape[0] == 0:
        raise ValueError("X has no rows.")
    check_finite(X)
    return X


def _numbers(X: Any) -> Array:
    X = np.asarray(X)
    if X.dtype in (np.float32, np.float64):
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("X has entries that are no numbers; encode them first.") from None


def check_finite(X: Any) -> None:
    """Refuse NaN and infinities; say in which row and column, or which pixel."""
    if X.ndim != 4:
        check_values(X, "X", None)
        return
    if np.isfinite(np.sum(X, dtype=np.float64)):
        return
    is_bad = ~np.isfinite(X)
    if is_bad.any():
        image, row, column, channel = (int(i) for i in np.argwhere(is_bad)[0])
        raise ValueError(
            f"X contains NaN or infinity: image {image} has {X[image, row, column, channel]} in "
            f"the pixel of row {row} and column {column}, channel {channel}; leave the image out, "
            "or fill the pixel in."
        )


def targets_of(loss: Loss, y: Any, rows: int, outputs: int) -> Array:
    """Targets as the loss takes them: positions of classes (n,), or (n, outputs)."""
    try:
        found = np.asarray(y)
        numbers = found.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"y must be numbers for the {loss.name} loss; {_wanted(loss, outputs)}."
        ) from None
    if found.ndim == 0 or len(found) != rows:
        raise ValueError(f"X has {rows} rows, but y has shape {found.shape}.")
    check_values(numbers, "y", None)
    if loss.task == "multiclass":
        flat = numbers.reshape(rows, -1)
        is_class = (flat == np.floor(flat)) & (flat >= 0) & (flat < outputs)
        _require(loss, flat.shape[1] == 1 and bool(is_class.all()), numbers, is_class, outputs)
        return flat[:, 0].astype(np.intp)
    numbers = numbers.reshape(rows, -1)
    if numbers.shape[1] != outputs:
        raise ValueError(
            f"y has {numbers.shape[1]} columns, but the network has {outputs} outputs; they must "
            "be as many."
        )
    if loss.task == "binary":
        is_sign = np.abs(numbers) == 1
        _require(loss, bool(is_sign.all()), numbers, is_sign, outputs)
    else:
        loss.check_targets(numbers)
    return numbers


def _require(loss: Loss, is_right: bool, y: Array, is_allowed: Array, outputs: int) -> None:
    if is_right:
        return
    where = ""
    if not is_allowed.all():
        place = np.argwhere(~is_allowed)[0]
        where = f", and y has {y.reshape(len(y), -1)[tuple(place)]:g} in row {int(place[0])}"
    raise ValueError(f"the {loss.name} loss takes other targets{where}; {_wanted(loss, outputs)}.")


def _wanted(loss: Loss, outputs: int) -> str:
    if loss.task == "multiclass":
        last = f"0 to {outputs - 1}"
        return (
            f"give one class for each row, a whole number from {last}, as the network has "
            f"{outputs} outputs, e.g. np.unique(y, return_inverse=True)[1]"
        )
    if loss.task == "binary":
        return "give −1 or +1, e.g. np.where(y == positive, 1, -1)"
    return "give one number for each output"
