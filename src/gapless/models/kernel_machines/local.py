"""Local regression: weighted means (Nadaraya–Watson) and lines around each point."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, Options, StrOptions

from ..._ground.about import Example, Examples
from ..._ground.design import Design
from ..._ground.docstrings import FEATURES, described
from ..._ground.interrupt import IN_SECONDS, TimeLimit, check, limit_name, time_limit
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Number, Numbers, Unused
from ...certificates import Certificate, judged
from ...solvers import Trace
from ...unseen import LOO, NotAvailable, Refittable, Version, best_of, drawn
from ._base import TRAINING, Array, KernelRegressor
from .least_squares import TrainingRows
from .smoothing import KERNELS, Smoother
from .tuning import METRIC, HeldOutPath, KernelChoice, search_of

# Bandwidths that are tried, as multiples of n^(−1/(d + 4)): FIRST from LARGEST to SMALLEST, then
# FINER between the neighbours of the best, ROUNDS times.
LARGEST, SMALLEST, FIRST, FINER, ROUNDS = 10.0, 0.03, 16, 4, 2
# Rows held out to choose a bandwidth.
MOST_ROWS = 2000
# The factor by which the verdict on unseen data widens and narrows the neighbourhood.
WIDER = 3.0
# Certificates look at as many points as these numbers of operations allow, but at FEWEST or more;
# the second is for when time is up or Ctrl-C waits. A weight costs about as much as VALUE features.
MUCH_WORK, LITTLE_WORK, VALUE, FEWEST = 1e9, 1e8, 20, 4


@described(FEATURES)
class KernelRegression(KernelRegressor):
    """Local regression: at each point the mean of its neighbours, or a line through them.

    The prediction at x is the a that minimises  Σᵢ sᵢ k(‖x − xᵢ‖/h) (yᵢ − a − βᵀ(xᵢ − x))²,  with
    β = 0 for degree 0 (Nadaraya–Watson) and the best β for degree 1 (local linear regression).

    Parameters
    ----------
    bandwidth : float or "loo", default="loo"
        Bandwidth h > 0 in units of the standard deviations of the features; "loo" chooses it by
        exact leave-one-out.
    degree : {0, 1}, default=0
        A mean, or a line: less bias at the border and where rows are unevenly spread.
    kernel : {"gaussian", "epanechnikov", "biweight", "triangular", "tricube", "boxcar"}, \
default="gaussian"
        How weights fall with the distance. All but the Gaussian reach no farther than h; where no
        training row is in reach, the nearest one decides.
    tol : float, default=1e-6
        The certificate is "exact" up to this gap, relative to the objective of a constant.
    time_limit : float, default=None
        Seconds after which the best bandwidth so far is kept.
    select : {"min", "1se"}, default="min"
        With "loo", the best bandwidth, or the largest within one standard error of it.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth.
    mean_ : ndarray of shape (n_features,)
        Weighted means of the features, from which rows are measured.
    scale_ : ndarray of shape (n_features,)
        Weighted standard deviations of the features, by which distances are measured.
    X_fit_ : ndarray of shape (n, n_features)
        Training rows; of equal rows (x, y) one.
    y_fit_ : ndarray of shape (n, n_targets)
        Their targets.
    weights_ : ndarray of shape (n,)
        Sums of the weights of equal rows.
    search_ : Search
        With "loo", the bandwidths that were tried and their scores on unseen rows.
    certificate_ : Certificate
        Local models are solved in closed form.
    generalization_ : Generalization
        What the model will score on unseen rows, by exact leave-one-out.

    Notes
    -----
    Nothing is computed before a prediction, which costs n·d for each row, and n·d² for degree 1.
    Bandwidths are judged by at most 2,000 held-out rows, each by all others. Beyond a handful of
    features all rows are far from each other, and kernel ridge regression is better.

    References
    ----------
    Nadaraya (1964), On estimating regression, Theory of Probability and its Applications 9.
    Fan and Gijbels (1996), Local Polynomial Modelling and its Applications, Chapman & Hall.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import KernelRegression
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = KernelRegression(degree=1).fit(x, np.sin(x[:, 0]))
    >>> print(model.predict([[1.5]]).round(2))
    [1.]
    """

    _examples: ClassVar[Examples] = (Example("diabetes"),)

    _stored: ClassVar[Declaration] = {
        **KernelRegressor._stored,
        "bandwidth_": Number(is_positive=True),
        "mean_": Numbers("features"),
        "scale_": Numbers("features", is_positive=True),
        "X_fit_": Numbers("rows", "features"),
        "y_fit_": Numbers("rows") | Numbers("rows", None),
        "weights_": Numbers("rows", low=0.0),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({LOO})],
        "degree": [Options(Real, {0, 1})],
        "kernel": [StrOptions(set(KERNELS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "select": [StrOptions({"min", "1se"})],
    }

    def __init__(
        self,
        bandwidth=LOO,
        *,
        degree=0,
        kernel="gaussian",
        tol=1e-6,
        time_limit=None,
        select="min",
    ):
        self.bandwidth = bandwidth
        self.degree = degree
        self.kernel = kernel
        self.tol = tol
        self.time_limit = time_limit
        self.select = select

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Keep the training rows, and choose the bandwidth.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best bandwidth so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        data = self._read(X, y, sample_weight)
        rows = TrainingRows(data)
        base = Design(data.X).rows(rows.first).dense()
        units = Units.of(base, rows.weights)
        targets = data.y[rows.first]
        smoother = self._smoother(units(base), targets, rows.weights)
        search = self._search(rows, base, units)
        if self.bandwidth == LOO and len(base) < 2:
            raise ValueError(
                "KernelRegression cannot choose a bandwidth from n_samples = 1, since nothing "
                "would be left to learn from; give a number."
            )
        with watch(self, data.X, data.y) as callback, time_limit(self.time_limit):
            status = search.run(callback) if self.bandwidth == LOO else "found"
            bandwidth = search.bandwidth if self.bandwidth == LOO else float(self.bandwidth)
            certificate, status = _in_time(smoother, bandwidth, self.tol, status)
        if certificate is None:
            points = _sample(smoother, LITTLE_WORK)
            certificate = _certificate(smoother, points, None, bandwidth, self.tol)
        learned: dict[str, Any] = {
            "bandwidth_": bandwidth,
            "mean_": units.mean,
            "scale_": units.scale,
            "X_fit_": np.ascontiguousarray(base),
            "y_fit_": targets,
            "weights_": rows.weights,
            "certificate_": certificate,
        }
        choice = search.choice() if self.bandwidth == LOO and search.bandwidths else None
        if choice is not None:
            learned["search_"] = choice.search
        learned["_choice"] = None if choice is None else replace(choice, rows=rows)
        self._keep(learned, data)
        if status == "interrupted":
            raise KeyboardInterrupt
        if status == "time_limit":
            self._warn(len(search.bandwidths))
        return self

    def _warn(self, tried: int) -> None:
        """Warn that time was up."""
        kept = f"after {tried} bandwidths, and keeps the best of them"
        if not tried:
            kept = "before any bandwidth was tried, and uses a rule of thumb"
        warnings.warn(
            f"KernelRegression reached {limit_name(self.time_limit, IN_SECONDS)} {kept}; raise "
            "time_limit.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _smoother(self, X: Array, y: Array, weights: Array) -> Smoother:
        return Smoother(X, y.reshape(len(y), -1), weights, self.kernel, int(self.degree))

    def _search(self, rows: TrainingRows, base: Array, units: Units) -> BandwidthSearch:
        """A search, nothing tried yet, on the distinct x: the rows of one count as their mean."""
        merged = rows.unit_squares(None, False)
        smoother = self._smoother(units(base[rows.units.first]), merged.y, merged.weights)
        return BandwidthSearch(smoother, np.asarray(merged.within), self.select)

    def _tuned(self):
        return ("bandwidth",) if self.bandwidth == LOO else ()

    # ---- predicting ------------------------------------------------------------------------------

    @property
    def _is_flat(self):
        return self.y_fit_.ndim == 1

    @property
    def _units(self):
        return Units(self.mean_, self.scale_)

    @property
    def _stored_smoother(self):
        return self._smoother(self._units(self.X_fit_), self.y_fit_, self.weights_)

    def _predict(self, X):
        local = self._stored_smoother.at(self._units(Design(X).dense()), self.bandwidth_)
        if np.any(local.is_far):
            warnings.warn(
                f"{np.count_nonzero(local.is_far)} of {len(local.is_far)} rows have no training "
                "row within the bandwidth, and are predicted by the nearest one; raise the "
                'bandwidth, or use kernel="gaussian".',
                stacklevel=4,
            )
        return local.values

    # ---- both gaps -------------------------------------------------------------------------------

    def _certify(self, data):
        # The ideal model, from the data; the stored one supplies its predictions.
        rows = TrainingRows(data)
        base = Design(data.X).rows(rows.first).dense()
        units = Units.of(base, rows.weights)
        smoother = self._smoother(units(base), data.y[rows.first], rows.weights)
        points = _sample(smoother, MUCH_WORK)
        values = self._stored_smoother.at(self._units(base[points]), self.bandwidth_).values
        bandwidth = self._settled_bandwidth(self._search(rows, base, units))
        return _certificate(smoother, points, values, bandwidth, self.tol)

    def _settled_bandwidth(self, search: BandwidthSearch) -> float:
        """The bandwidth as given, or as chosen by the search."""
        if self.bandwidth != LOO:
            return float(self.bandwidth)
        if not hasattr(self, "search_"):
            return search.bandwidth
        return float(self.search_.values["bandwidth"][self.search_.chosen])

    def _fitted(self, data):
        # The model is its data, which can be compared without an objective.
        rows = TrainingRows(data)
        pairs = (
            (Design(data.X).rows(rows.first).dense(), self.X_fit_),
            (data.y[rows.first], self.y_fit_),
            (rows.weights, self.weights_),
        )
        if not all(np.array_equal(given, kept) for given, kept in pairs):
            raise ValueError(
                "these are not the training data: X, y or the weights have changed since "
                "KernelRegression was fitted. Fit again."
            )
        return self._refittable(data)

    def _refittable(self, data):
        return LocalFit(self, Design(data.X), data.y, data.weights, self.bandwidth_)

    def _formula(self) -> None:
        """None: every row has its own average or line."""


@dataclass(frozen=True, eq=False)
class Units:
    """The scale of distances: from the means of the features, in standard deviations."""

    mean: Array
    scale: Array

    @classmethod
    def of(cls, X: Array, weights: Array) -> Units:
        """Weighted means and standard deviations; 1 for columns that do not vary."""
        mean = np.average(X, axis=0, weights=weights)
        found = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        return cls(mean, np.where(found > 1e-12 * np.abs(mean), found, 1.0))

    def __call__(self, X: Array) -> Array:
        """Rows in these units, float64."""
        return (X - self.mean) / self.scale


def _in_time(
    smoother: Smoother, bandwidth: float, tol: float, status: str
) -> tuple[Certificate | None, str]:
    """The certificate of the current fit, if there is time for it, and the status."""
    if status == "found":
        try:
            points = _sample(smoother, MUCH_WORK)
            return _certificate(smoother, points, None, bandwidth, tol), status
        except TimeLimit:
            pass
        except KeyboardInterrupt:
            status = "interrupted"
    return None, status


def _sample(smoother: Smoother, work: float) -> Array:
    """Positions of rows that a certificate checks: all, or as many as the work allows."""
    n, d = smoother.X.shape
    each = n * (VALUE + d * (d if smoother.degree else 1))
    count = int(np.clip(work / each, FEWEST, MOST_ROWS))
    return np.sort(drawn(np.arange(n), min(n, count)))


def _certificate(
    smoother: Smoother, at: Array, values: Array | None, bandwidth: float, tol: float
) -> Certificate:
    """That values at some rows are the best of their local models; None for the smoother's own."""
    primal, dual = smoother.optimality(smoother.X[at], values, bandwidth)
    centred = smoother.y - np.average(smoother.y, axis=0, weights=smoother.weights)
    scale = 0.5 * float(np.average(np.sum(centred**2, axis=1), weights=smoother.weights))
    size = 0.5 * float(np.average(np.sum(smoother.y**2, axis=1), weights=smoother.weights))
    return judged(
        primal,
        dual,
        scale=len(at) * scale,
        tol=tol,
        rounding=64 * np.finfo(float).eps * (primal + len(at) * size),
        exact=True,
        cure="the model does not match these data; fit again",
    )


class BandwidthSearch:
    """Tries bandwidths, coarse first, and keeps the predictions of each for held-out rows.

    `within` (n,) is the mean square by which the targets of an x differ from their mean.
    """

    def __init__(self, smoother: Smoother, within: Array, select: str):
        self.smoother, self.within, self.select = smoother, within, select
        n, d = smoother.X.shape
        self.unit = n ** (-1 / (d + 4))
        self.rows = np.sort(drawn(np.arange(n), min(n, MOST_ROWS))) if n else np.zeros(0, int)
        self.bandwidths: list[float] = []
        self.held: list[Array] = []

    def run(self, callback: Any) -> str:
        """Search; returns "found", or what ended it."""
        try:
            grid = self.unit * np.geomspace(LARGEST, SMALLEST, FIRST)
            trace = Trace()
            for bandwidths in (grid, *(None,) * ROUNDS):
                self._look(self._between() if bandwidths is None else bandwidths)
                trace.steps += 1
                trace.primal.append(-float(np.max(self._path().unseen)))
                if callback(trace, np.inf):
                    break
        except TimeLimit:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "found"

    def _look(self, bandwidths: Array) -> None:
        check()
        groups = np.arange(len(self.smoother.X))
        held = self.smoother.without(self.rows, groups, bandwidths)
        self.held += list(held.swapaxes(0, 1))
        self.bandwidths += [float(h) for h in bandwidths]

    def _between(self) -> Array:
        """Some more around the best."""
        path = self._path()
        best, m = int(np.argmax(path.unseen)), len(path.strengths)
        ends = path.strengths[max(best - 1, 0)], path.strengths[min(best + 1, m - 1)]
        return np.setdiff1d(np.geomspace(*ends, FINER + 2)[1:-1], path.strengths)

    def _path(self) -> HeldOutPath:
        """All bandwidths tried, the largest first."""
        order = np.argsort(-np.array(self.bandwidths), kind="stable")
        z = np.stack([self.held[k] for k in order], axis=1)
        y, weights = self.smoother.y[self.rows], self.smoother.weights[self.rows]
        within = self.within[self.rows]
        return HeldOutPath.of(np.array(self.bandwidths)[order], z, y, weights, within)

    @property
    def bandwidth(self) -> float:
        """The chosen one, or a rule of thumb if none was tried."""
        if not self.bandwidths:
            return self.unit
        path = self._path()
        return float(path.strengths[best_of(path.unseen, path.standard_errors, self.select)])

    def choice(self) -> KernelChoice:
        """What was tried and chosen, for `unseen`."""
        path = self._path()
        at = best_of(path.unseen, path.standard_errors, self.select)
        values, n = {"bandwidth": path.strengths}, len(self.smoother.X)
        search = search_of([path], [None], (0, at), values, n, METRIC)
        return KernelChoice(None, float(path.strengths[at]), search, [path], len(self.rows) == n)


class LocalFit(Refittable):
    """A local regression, and how to refit it; scale and bandwidth count as given."""

    strength = "the squared bandwidth"

    def __init__(self, estimator: KernelRegression, design, y, weights, bandwidth: float):
        super().__init__(design, y, weights)
        self.estimator, self.bandwidth = estimator, bandwidth

    @cached_property
    def _points(self) -> Array:
        return self.estimator._units(self.design.dense())

    @property
    def model(self):
        """That of all rows."""
        return self.fit_to(np.flatnonzero(self.is_counted))

    def fit_to(self, rows):
        """The same bandwidth and scale on some rows."""
        smoother = self.estimator._smoother(self._points[rows], self.y[rows], self.weights[rows])

        def predict(design: Design) -> Array:
            return smoother.at(self.estimator._units(design.dense()), self.bandwidth).values

        return predict

    def held_out(self, groups):
        """Exact: rows of the same unit have no weight."""
        kept = np.flatnonzero(self.is_counted)
        units = (self.units if groups is None else groups)[kept]
        if np.all(units == units[0]):
            raise NotAvailable("nothing would be left to learn from")
        smoother = self.estimator._smoother(self._points[kept], self.y[kept], self.weights[kept])
        held = np.zeros((len(self.y), smoother.y.shape[1]))
        everything, bandwidth = np.arange(len(kept)), np.array([self.bandwidth])
        held[kept] = smoother.without(everything, units, bandwidth)[:, 0]
        return held

    def without_each(self, rows):
        """Not available in a form that is cheaper than folds."""
        raise NotAvailable("leaving a row out takes refits, so folds are used")

    def simpler(self):
        """A wider neighbourhood."""
        return [lambda step: self._with(WIDER**step)]

    def richer(self):
        """A narrower one."""
        return [lambda step: self._with(WIDER**-step)]

    def _with(self, factor: float) -> Version:
        h = self.bandwidth * factor
        other = LocalFit(self.estimator, self.design, self.y, self.weights, h)
        return Version(other, f"bandwidth={h:.3g}")
