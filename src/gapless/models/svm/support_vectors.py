"""What a fitted machine stores, and how it scores rows: Σ θᵢ k(xᵢ, x) + b over support vectors xᵢ.

The attributes have scikit-learn's layout: support vectors by class, and for each of them as many
coefficients as the arrangement of the classes needs. Called by `_base` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from ... import kernels
from ..._ground.memory import blocks
from ..._ground.threads import single_blas
from ..._ground.validation import Training
from ...kernels import Rows
from ..linear import dense
from .multiclass import Times
from .training_rows import TrainingRows

Array = np.ndarray

# The attributes, for `described`.
SUPPORT = """
support_ : ndarray of shape (n_SV,)
    Rows of the support vectors, by class.
support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
    The support vectors; empty for kernel="precomputed".
shape_fit_ : tuple of int
    Shape of the training data.
rows_fit_ : {ndarray, sparse matrix}
    The training data, where the kernel is a function, which is called with all of them.
"""
# Machines without classes have one problem.
ONE_PROBLEM = """
max_iter : int
    Largest number of steps; −1 for no limit.
support_ : ndarray of shape (n_SV,)
    Rows of the support vectors.
n_support_ : ndarray of shape (1,)
    How many support vectors there are.
dual_coef_ : {ndarray, sparse matrix} of shape (1, n_SV)
    Signed multipliers: ⟨w, φ(x)⟩ is their sum over kernel values.
intercept_ : ndarray of shape (1,)
    Bias b.
coef_ : ndarray of shape (1, n_features)
    Coefficients w, for a linear kernel.
n_iter_ : int
    Number of steps.
trace_ : Trace
    Objective and gap at θ = 0 and after each round of steps, with the seconds.
"""
# Up to this many kernel values of new rows are computed once for all classes.
FEW_VALUES = 1 << 16
# Support vectors of up to this many values stay ready for the next prediction. They are not stored
# in the model, or copies and files would take them along.
KEPT_VALUES = 1 << 20
_READY: WeakKeyDictionary[Any, tuple] = WeakKeyDictionary()


# ---- keeping -------------------------------------------------------------------------------------


def support_attributes(
    data: Training, rows: TrainingRows, packed: Array, kernel: kernels.Kernel, is_given: bool
) -> dict[str, Any]:
    """Support vectors and their coefficients, from those of the distinct rows (columns, m).

    `is_given` says whether X holds kernel values, of which the rows are not known.
    """
    counts = np.append(np.any(packed != 0, axis=0), False)
    support = np.flatnonzero(counts[rows.inverse])
    classes, count = np.zeros(len(support), dtype=int), 1
    if data.classes is not None:
        support = support[np.argsort(data.y[support], kind="stable")]
        classes, count = data.y[support], len(data.classes)
    coef = packed[:, rows.inverse[support]] * rows.row_shares[support]
    found = {
        "support_": support.astype(np.int32),
        "support_vectors_": np.empty((0, 0)) if is_given else data.X[support],
        "n_support_": np.bincount(classes, minlength=count).astype(np.int32),
        "dual_coef_": _like(data.X, coef),
    }
    if isinstance(kernel, kernels.Callable):
        found["rows_fit_"] = data.X
    return found


def _like(X: Any, values: Array) -> Any:
    """Values as an array, or as a sparse matrix of the kind of X."""
    if not sp.issparse(X):
        return values
    return sp.csr_array(values) if isinstance(X, sp.sparray) else sp.csr_matrix(values)


def misfit(model: Any) -> str | None:
    """What is inconsistent in the stored attributes, in words; None if nothing is."""
    count = len(vars(model).get("classes_", [None]))
    arrangement = model._fitted_arrangement(count)
    if len(model.n_support_) != count or model.n_support_.sum() != len(model.support_):
        return f"n_support_ does not divide {len(model.support_)} support vectors by class"
    if model.dual_coef_.shape[0] != arrangement.width:
        return (
            f"dual_coef_ has {model.dual_coef_.shape[0]} rows, which does not fit {count} classes"
        )
    if len(model.intercept_) != arrangement.problems:
        return f"intercept_ has {len(model.intercept_)} entries, which does not fit {count} classes"
    if model._is_precomputed != (model.support_vectors_.shape == (0, 0)):
        return "support_vectors_ and kernel_ contradict each other"
    if model._is_precomputed and model.shape_fit_[0] != model.n_features_in_:
        return "shape_fit_ and n_features_in_ contradict each other"
    return None


def blocks_of_support(model: Any) -> list[slice]:
    """The slices of each class among the support vectors."""
    ends, count = np.cumsum([0, *model.n_support_]), model.dual_coef_.shape[1]
    if ends[-1] != count:
        raise ValueError(
            f"The internal representation of {type(model).__name__} was altered: n_support_ "
            f"counts {ends[-1]} support vectors, dual_coef_ has {count}; fit again."
        )
    return [slice(int(first), int(last)) for first, last in pairwise(ends)]


def multipliers(model: Any) -> Array:
    """|θ| of all training rows of the fit in each problem, (n, problems); 0 in others' problems."""
    blocks = blocks_of_support(model)
    arrangement = model._fitted_arrangement(len(blocks))
    thetas = arrangement.unpack(blocks, dense(model.dual_coef_))
    found = np.zeros((model.shape_fit_[0], arrangement.problems))
    for k, part in enumerate(arrangement.parts(blocks, np.zeros(blocks[-1].stop))):
        found[model.support_[part.rows], k] = np.abs(thetas[k])
    return found


# ---- scoring -------------------------------------------------------------------------------------


def problem_scores(model: Any, X: Any) -> Array:
    """Scores of all problems, (n, problems), of validated rows."""
    coef, blocks = dense(model.dual_coef_), blocks_of_support(model)
    arrangement = model._fitted_arrangement(len(blocks))
    scores = np.empty((X.shape[0], arrangement.problems))
    with single_blas():
        for chunk, times in _products(model, X, len(blocks)):
            scores[chunk] = arrangement.scores(blocks, coef, times)
    return scores + model.intercept_


def _products(model: Any, X: Any, classes: int) -> Iterator[tuple[slice, Times]]:
    """Rows, some at a time, and what multiplies their values with some support vectors.

    The caller goes through the classes one after the other.
    """
    dtype = X.dtype if X.ndim == 2 else np.float64
    if hasattr(model, "rows_fit_"):
        # A function may depend on what it compares: it is called as scikit-learn calls it.
        base = model.kernel_.rows(model.rows_fit_, dtype)
        for chunk in blocks(X.shape[0], len(base)):
            values = base.of(X[chunk]).gram(base)[:, model.support_]
            yield chunk, partial(_of_values, values)
        return
    base = _support_rows(model, dtype)
    for chunk, rows in base.chunks(X):
        # Few values are computed at once: a call for each class takes longer than they do.
        if classes > 1 and len(rows) * len(base) <= FEW_VALUES:
            yield chunk, partial(_of_values, rows.gram(base))
        else:
            yield chunk, partial(_of_rows, rows, base)


def _support_rows(model: Any, dtype: Any) -> Rows:
    """The support vectors, prepared for products; kept as long as they do not change."""
    support = model.support_ if model._is_precomputed else model.support_vectors_
    if sp.issparse(support) or support.dtype.kind != "f" or support.size > KEPT_VALUES:
        return model.kernel_.rows(support, dtype)
    kernel, values, rows = _READY.get(model, (None, None, None))
    if kernel is not model.kernel_ or rows.dtype != dtype or not np.array_equal(values, support):
        rows = model.kernel_.rows(support, dtype)
        _READY[model] = model.kernel_, support.copy(), rows
    return rows


def _of_values(values: Array, block: slice, coef: Array) -> Array:
    """Products of kernel values with some of the support vectors, and their coefficients."""
    with single_blas():
        return values[:, block] @ coef.T


def _of_rows(rows: Rows, base: Rows, block: slice, coef: Array) -> Array:
    """Products of rows with some of the support vectors, and their coefficients."""
    return rows.times(base.only(block), np.ascontiguousarray(coef.T))


def linear_coefficients(model: Any) -> Any:
    """w = Σ θᵢxᵢ of each problem, for a linear kernel; read-only."""
    dual, blocks = dense(model.dual_coef_), blocks_of_support(model)

    def times(block: slice, of_block: Array) -> Array:
        product = model.support_vectors_[block].T @ of_block.T
        return product.toarray() if sp.issparse(product) else np.asarray(product)

    coef = model._fitted_arrangement(len(blocks)).scores(blocks, dual, times).T
    coef = _like(model.support_vectors_, coef.astype(model.support_vectors_.dtype))
    # A change would have no effect, so it must not look as if it had.
    (coef.data if sp.issparse(coef) else coef).flags.writeable = False
    return coef
