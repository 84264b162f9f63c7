"""What happens past the point where a model fits all its rows exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.interrupt import check
from .._ground.notebook import ShownInNotebook
from .._ground.threads import single_blas
from .._ground.validation import check_values

Array = np.ndarray

# Singular values below this part of the largest are taken as 0.
SMALLEST = 1e-10


@dataclass(frozen=True, eq=False)
class DoubleDescent(ShownInNotebook):
    """Errors by the number of random features. Prints as a sentence.

    Attributes
    ----------
    features : ndarray of int, shape (m,)
        Numbers of features.
    train, test : ndarray of shape (m,)
        Mean squared errors of training and test rows, the median over the draws.
    of_draws : ndarray of shape (m, draws)
        The test error of each draw.
    rows : int
        The number of training rows: with as many features the model fits them all exactly.
    penalty : float
        Of the squared norm of the coefficients; 0 takes the smallest of all best fits.
    """

    features: Array
    train: Array
    test: Array
    of_draws: Array
    rows: int
    penalty: float

    @property
    def peak(self) -> int:
        """The number of features with the largest test error."""
        return int(self.features[np.argmax(self.test)])

    def __str__(self) -> str:
        under = self.features < self.rows
        last = f"{self.test[-1]:.3g} with {self.features[-1]}"
        before = f"{self.test[under].min():.3g} at best below {self.rows}, " if under.any() else ""
        return (
            f"the test error is {before}{self.test.max():.3g} with {self.peak} features and "
            f"{last}, for {self.rows} training rows."
        )

    def __repr__(self) -> str:
        return f"<DoubleDescent of {self.rows} rows: largest test error with {self.peak} features>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        arrays = {name: getattr(self, name).tolist() for name in ("features", "train", "test")}
        return arrays | {"rows": self.rows, "penalty": self.penalty, "peak": self.peak}

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw both errors by the number of features, marking that of rows; returns the axes."""
        plots = pictures()
        return plots.descent(self.features, self.train, self.test, rows=self.rows, axes=axes)


def double_descent(
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    features: Sequence[int] | None = None,
    penalty: float = 0.0,
    draws: int = 5,
    random_state: int = 0,
) -> DoubleDescent:
    """Fit least squares on more and more random features, past the point of interpolation.

    Parameters
    ----------
    X, X_test : array-like of shape (n, d) and (m, d)
        Numbers of training and test rows; the cost grows with n³, so a few hundred are enough.
    y, y_test : array-like of shape (n,) and (m,)
        Targets; classes are predicted as numbers 0 and 1, one for each class.
    features : sequence of int, default=None
        Numbers of features; if None 25 of them from n/20 to 10 n, close together near n.
    penalty : float, default=0.0
        λ in ‖y − Φw‖² + λ‖w‖². With 0, the best fit with the smallest norm; a little more takes the
        peak away.
    draws : int, default=5
        How often features are drawn; medians over the draws are reported.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    DoubleDescent

    Notes
    -----
    The features are max(0, aᵀx + c) with a uniform on the sphere, for columns of x scaled to
    variance 1. With fewer features than rows, more of them first help and then over-fit. With as
    many, one solution alone fits all rows, and has a huge norm. Beyond, there are many solutions,
    and the smallest of them becomes smoother again.

    References
    ----------
    Belkin, Hsu, Ma and Mandal (2019), Reconciling modern machine-learning practice and the
    classical bias–variance trade-off, PNAS 116.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless.evaluation import double_descent
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = double_descent(X[:100], y[:100], X[100:], y[100:])
    >>> print(80 <= found.peak <= 125)
    True
    """
    A, B = (np.asarray(part, dtype=float) for part in (X, X_test))
    n = len(A)
    targets = _as_numbers(np.asarray(y), np.asarray(y_test))
    counts = _read_features(features, n)
    if draws < 1 or not penalty >= 0:
        raise ValueError(f"draws must be at least 1 and penalty ≥ 0, got {draws} and {penalty}.")
    shapes_agree = A.ndim == 2 and B.shape[1:] == A.shape[1:]
    if not shapes_agree or [len(A), len(B)] != [len(part) for part in targets]:
        raise ValueError(
            f"X {A.shape}, y {np.shape(y)}, X_test {B.shape} and y_test {np.shape(y_test)} do not "
            "match."
        )
    for name, part in (("X", A), ("X_test", B)):
        check_values(part, name, None)
    mean, spread = A.mean(axis=0), A.std(axis=0)
    spread[spread == 0] = 1.0
    A, B = (A - mean) / spread, (B - mean) / spread
    errors = np.empty((2, len(counts), draws))
    for j in range(draws):
        rng = np.random.default_rng([random_state, j])
        directions = rng.standard_normal((A.shape[1], counts[-1]))
        directions /= np.linalg.norm(directions, axis=0)
        offsets = rng.uniform(-1.0, 1.0, counts[-1])
        wide = [np.maximum(part @ directions + offsets, 0.0) for part in (A, B)]
        for i, count in enumerate(counts):
            check()
            with single_blas():
                errors[:, i, j] = _errors([part[:, :count] for part in wide], targets, penalty)
    train, test = np.median(errors, axis=2)
    return DoubleDescent(counts, train, test, errors[1], n, float(penalty))


def _as_numbers(y: Array, y_test: Array) -> tuple[Array, Array]:
    """Targets (n, K): numbers, centred; classes as 0 and 1."""
    if y.dtype.kind in "fiu" and (y.dtype.kind == "f" or len(np.unique(y)) > 20):
        y, y_test = y[:, None].astype(float), y_test[:, None].astype(float)
    else:
        classes = np.unique(y)
        y, y_test = (np.asarray(part[:, None] == classes, dtype=float) for part in (y, y_test))
    return y - y.mean(axis=0), y_test - y.mean(axis=0)


def _read_features(features: Sequence[int] | None, n: int) -> Array:
    if features is None:
        below = n * np.geomspace(0.05, 0.9, 9)
        near, above = n * np.linspace(0.95, 1.1, 4), n * np.geomspace(1.2, 10.0, 12)
        features = np.concatenate([below, near, above]).round().astype(int).tolist()
    counts = np.unique(np.asarray(features, dtype=int))
    counts = counts[counts > 0]
    if not len(counts):
        raise ValueError("features must contain at least one number above 0.")
    return counts


def _errors(wide: list[Array], targets: tuple[Array, Array], penalty: float) -> tuple[float, float]:
    """Mean squared errors of training and test rows, from the singular values of the features."""
    U, s, Vt = scipy.linalg.svd(wide[0], full_matrices=False, check_finite=False)
    kept = s > SMALLEST * s[:1].max(initial=0.0)
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    w = Vt.T @ ((s / (s**2 + penalty))[:, None] * (U.T @ targets[0]))
    train, test = (float(np.mean((y - part @ w) ** 2)) for part, y in zip(wide, targets))
    return train, test
