"""The spectrum kernel for strings: how many short pieces two of them share."""

from collections import Counter
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse as sp

from ._base import Kernel
from ._compiled import SparseRows
from ._rows import Rows, gram_of_rows
from .linear import Linear


@dataclass(frozen=True)
class Spectrum(Kernel):
    """k(x, z) = Σ over all strings u of the given length: count of u in x times count of u in z.

    X and Z are sequences of strings, such as proteins or words; rows of different lengths are
    compared fairly when normalised, k(x, z)/√(k(x, x)k(z, z)).

    Parameters
    ----------
    length : int ≥ 1, default=3
        Length of the pieces.
    is_normalized : bool, default=True
        Whether k(x, x) is made 1.

    Notes
    -----
    The cost is proportional to the number of pieces, which are counted once per string and
    multiplied as a sparse matrix.

    References
    ----------
    Leslie, Eskin and Noble (2002), The spectrum kernel: a string kernel for SVM protein
    classification.
    """

    length: int = 3
    is_normalized: bool = True

    def __post_init__(self):
        if not isinstance(self.length, Integral) or self.length < 1:
            raise ValueError(f"length must be a whole number ≥ 1, got {self.length!r}.")

    def rows(self, X, dtype=None):
        return SpectrumRows(self, X, np.float64 if dtype is None else dtype)

    def gram(self, X, Z=None):
        return gram_of_rows(self, X, Z)

    def diagonal(self, X):
        return self.rows(X).diagonal()


class SpectrumRows(Rows):
    """Strings as counts of their pieces, without pieces that the other strings lack."""

    def __init__(self, kernel, X, dtype, vocabulary=None):
        self.kernel = kernel
        self.dtype = np.dtype(dtype)
        counts = [_count(text, row, kernel.length) for row, text in enumerate(X)]
        if vocabulary is None:
            pieces = sorted(set().union(*counts))
            vocabulary = {piece: j for j, piece in enumerate(pieces)}
        self.vocabulary = vocabulary
        squares = np.array([sum(k * k for k in count.values()) for count in counts], dtype=float)
        matrix = _as_matrix(counts, vocabulary)
        if kernel.is_normalized:
            scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
            matrix, squares = sp.diags_array(scale).dot(matrix).tocsr(), (squares > 0).astype(float)
        self._set(SparseRows(Linear(), matrix, self.dtype), squares)

    def _set(self, counts, squares):
        self.counts = counts
        self.squares = squares
        return self

    def __len__(self):
        return len(self.counts)

    def of(self, X):
        return SpectrumRows(self.kernel, X, self.dtype, self.vocabulary)

    def only(self, index):
        some = SpectrumRows.__new__(SpectrumRows)
        some.kernel, some.dtype, some.vocabulary = self.kernel, self.dtype, self.vocabulary
        return some._set(self.counts.only(index), self.squares[index])

    def diagonal(self):
        return self.squares.copy()

    def gram(self, other=None):
        if other is not None:
            return self.counts.gram(other.counts)
        values = self.counts.gram()
        np.fill_diagonal(values, self.squares)
        return values


def _count(text, row, length):
    if not isinstance(text, str):
        raise TypeError(
            f"the spectrum kernel compares strings, got {type(text).__name__} in row {row}."
        )
    return Counter(text[i : i + length] for i in range(len(text) - length + 1))


def _as_matrix(counts, vocabulary):
    starts, columns, values = [0], [], []
    for count in counts:
        known = sorted((vocabulary[piece], k) for piece, k in count.items() if piece in vocabulary)
        columns += [j for j, _ in known]
        values += [k for _, k in known]
        starts.append(len(columns))
    shape = (len(counts), len(vocabulary))
    return sp.csr_array((np.array(values, dtype=float), columns, starts), shape=shape)
