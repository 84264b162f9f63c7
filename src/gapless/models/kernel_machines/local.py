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

from ... import kernels
from ..._ground.about import Example, Examples
from ..._ground.design import Design
from ..._ground.docstrings import FEATURES, described
from ..._ground.interrupt import IN_SECONDS, TimeLimit, check, limit_name, time_limit
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Maybe, Number, Numbers, Unused, Value
from ...certificates import Certificate, judged
from ...kernels import Kernel
from ...solvers import Trace
from ...unseen import LOO, NotAvailable, Refittable, Version, best_of, drawn, kernel_dial
from ._base import TRAINING, Array, KernelRegressor
from .least_squares import TrainingRows
from .smoothing import KERNELS, KernelWeights, Local, Profile, Smoother
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

    The prediction at x is the a that minimises  Σᵢ sᵢ k(x, xᵢ) (yᵢ − a − βᵀ(xᵢ − x))²,  with β = 0
    for degree 0 (Nadaraya–Watson) and the best β for degree 1 (local linear regression). The
    weights are a function k of the distance ‖x − xᵢ‖/h in bandwidths, or with `gamma` or a kernel
    of `gapless.kernels` the values of that kernel.

    Parameters
    ----------
    bandwidth : float, "loo" or None, default=None
        Bandwidth h > 0 in units of the standard deviations of the features; "loo" chooses it by
        exact leave-one-out. None is "loo", unless `gamma` or the kernel sets the width.
    degree : {0, 1}, default=0
        A mean, or a line: less bias at the border and where rows are unevenly spread.
    kernel : {"gaussian", "epanechnikov", "biweight", "triangular", "tricube", "boxcar"}, name of \
another kernel, Kernel or callable, default="gaussian"
        How weights fall with the distance. All but the Gaussian reach no farther than h; where no
        training row is in reach, the nearest one decides. Or, in the units of X and as in
        `KernelRidge`, the name of a kernel that has no negative values ("rbf", "laplacian",
        "matern", "chi2", …), an instance such as `Gaussian(sigma=0.5)` or a sum or product of
        some, or a function of two rows that returns a number.
    gamma : float, "scale", "auto", "loo" or None, default=None
        Scale γ of the kernel in the units of X, in place of a bandwidth, as in `KernelRidge`:
        exp(−γ‖x − z‖²) for the Gaussian. A number, 1/(d·variance of X), 1/d, or chosen by
        leave-one-out. None is the kernel's own default, mostly 1/d, for a kernel that needs one.
    tol : float, default=1e-6
        The certificate is "exact" up to this gap, relative to the objective of a constant.
    time_limit : float, default=None
        Seconds after which the best bandwidth so far is kept.
    select : {"min", "1se"}, default="min"
        With "loo", the best width, or the largest within one standard error of it.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth, unless the weights are values of a kernel.
    kernel_ : Kernel
        The kernel with all its parameters numbers, if its values are the weights.
    gamma_ : float
        With gamma="loo", the chosen scale.
    mean_ : ndarray of shape (n_features,)
        Weighted means of the features, from which rows are measured.
    scale_ : ndarray of shape (n_features,)
        Weighted standard deviations of the features, by which distances are measured; 1 where a
        kernel compares the rows as they are.
    X_fit_ : ndarray of shape (n, n_features)
        Training rows; of equal rows (x, y) one.
    y_fit_ : ndarray of shape (n, n_targets)
        Their targets.
    weights_ : ndarray of shape (n,)
        Sums of the weights of equal rows.
    search_ : Search
        With "loo", the bandwidths or scales that were tried and their scores on unseen rows.
    certificate_ : Certificate
        Local models are solved in closed form.
    generalization_ : Generalization
        What the model will score on unseen rows, by exact leave-one-out.

    Notes
    -----
    A Gaussian of bandwidth h and one of γ = 1/(2h²) are the same for features of variance 1.
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

    With a kernel, in the units of x:

    >>> from gapless.kernels import Gaussian
    >>> model = KernelRegression(kernel=Gaussian(sigma=0.1)).fit(x, np.sin(x[:, 0]))
    >>> print(model.predict([[1.5]]).round(2))
    [0.99]
    """

    _examples: ClassVar[Examples] = (Example("diabetes"),)

    _stored: ClassVar[Declaration] = {
        **KernelRegressor._stored,
        "bandwidth_": Maybe(Number(is_positive=True)),
        "kernel_": Maybe(Value(Kernel)),
        "gamma_": Unused(),
        "mean_": Numbers("features"),
        "scale_": Numbers("features", is_positive=True),
        "X_fit_": Numbers("rows", "features"),
        "y_fit_": Numbers("rows") | Numbers("rows", None),
        "weights_": Numbers("rows", low=0.0),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), StrOptions({LOO}), None],
        "degree": [Options(Real, {0, 1})],
        "kernel": [str, callable, Kernel],
        "gamma": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"scale", "auto", LOO}),
            None,
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "select": [StrOptions({"min", "1se"})],
    }

    def __init__(
        self,
        bandwidth=None,
        *,
        degree=0,
        kernel="gaussian",
        gamma=None,
        tol=1e-6,
        time_limit=None,
        select="min",
    ):
        self.bandwidth = bandwidth
        self.degree = degree
        self.kernel = kernel
        self.gamma = gamma
        self.tol = tol
        self.time_limit = time_limit
        self.select = select

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Keep the training rows, and choose the bandwidth or scale, where that is wanted.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best bandwidth so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        data = self._read(X, y, sample_weight)
        rows = TrainingRows(data)
        base = Design(data.X).rows(rows.first).dense()
        space = self._space(base, rows.weights)
        targets, tuned = data.y[rows.first], self._tuned()
        search = self._search(rows, base, space)
        if tuned and len(base) < 2:
            raise ValueError(
                f"KernelRegression cannot choose a {tuned[0]} from n_samples = 1, since nothing "
                "would be left to learn from; give a number."
            )
        with watch(self, data.X, data.y) as callback, time_limit(self.time_limit):
            status = search.run(callback) if tuned else "found"
            space = space.widened(search.bandwidth) if tuned else space
            smoother = space.smoother(base, targets, rows.weights, self.degree)
            certificate, status = _in_time(smoother, space.width, self.tol, status)
        if certificate is None:
            points = _sample(smoother, LITTLE_WORK)
            certificate = _certificate(smoother, points, None, space.width, self.tol)
        learned: dict[str, Any] = {
            **space.learned(tuned),
            "X_fit_": np.ascontiguousarray(base),
            "y_fit_": targets,
            "weights_": rows.weights,
            "certificate_": certificate,
        }
        choice = search.choice(tuned[0]) if tuned and search.bandwidths else None
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
        kept = f"after {tried} widths, and keeps the best of them"
        if not tried:
            kept = "before any width was tried, and uses a rule of thumb"
        warnings.warn(
            f"KernelRegression reached {limit_name(self.time_limit, IN_SECONDS)} {kept}; raise "
            "time_limit.",
            ConvergenceWarning,
            stacklevel=4,
        )

    @property
    def _has_bandwidth(self) -> bool:
        """Whether weights are a function of the distance in bandwidths, and not a kernel's."""
        return isinstance(self.kernel, str) and self.kernel in KERNELS and self.gamma is None

    def _space(self, base: Array, weights: Array) -> Space:
        """How rows are compared; with the width to start from if that is chosen."""
        mean, scale = _moments(base, weights)
        if self._has_bandwidth:
            width = 1.0 if self._tuned() else float(self.bandwidth)
            return Space(mean, scale, Profile(self.kernel), width)
        kernel = self._given_kernel().resolve(base, weights)
        return Space(mean, np.ones_like(scale), KernelWeights(kernel), 1.0)

    def _given_kernel(self) -> Any:
        """The kernel whose values are the weights."""
        name = self.kernel if isinstance(self.kernel, str) else getattr(self.kernel, "name", "")
        if name == "precomputed":
            raise ValueError(
                "KernelRegression compares rows itself; with a matrix K of kernel values its "
                "predictions are K @ y / K.sum(axis=1)."
            )
        if isinstance(self.kernel, str) and name not in {*KERNELS, *Kernel.registry}:
            raise ValueError(
                f"kernel={name!r} is not known; use one of {', '.join(KERNELS)}, with a bandwidth, "
                f"or of {', '.join(sorted({*Kernel.registry} - {*KERNELS}))}."
            )
        if name in KERNELS and name not in Kernel.registry:
            raise ValueError(
                f'kernel="{name}" has a bandwidth and no gamma; give a bandwidth, or gamma with '
                '"rbf" or another kernel of gapless.kernels.'
            )
        if self.bandwidth is not None:
            raise ValueError(
                f"bandwidth={self.bandwidth!r} is for kernels of the distance in bandwidths "
                f"({', '.join(KERNELS)}) without gamma; here gamma or the kernel sets the width."
            )
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            kernel: Any = kernels.Callable(self.kernel, True)
        else:
            gamma = "scale" if self.gamma == LOO else self.gamma
            kernel = kernels.by_name(self.kernel, gamma=gamma)
        if self.gamma == LOO:
            if "gamma" not in kernel.parameters():
                raise ValueError(
                    f'gamma="loo" needs a kernel with a scale, such as "rbf"; {kernel!r} has none.'
                )
            kernel = kernel.replace(gamma="scale")
        return kernel

    def _search(self, rows: TrainingRows, base: Array, space: Space) -> BandwidthSearch:
        """A search, nothing tried yet, on the distinct x: the rows of one count as their mean."""
        merged = rows.unit_squares(None, False)
        distinct = base[rows.units.first]
        smoother = space.smoother(distinct, merged.y, merged.weights, self.degree)
        return BandwidthSearch(smoother, np.asarray(merged.within), self.select)

    def _tuned(self):
        if self._has_bandwidth:
            return ("bandwidth",) if self.bandwidth in (None, LOO) else ()
        return ("gamma",) if isinstance(self.gamma, str) and self.gamma == LOO else ()

    # ---- predicting ------------------------------------------------------------------------------

    @property
    def _is_flat(self):
        return self.y_fit_.ndim == 1

    @property
    def _stored_space(self) -> Space:
        if not hasattr(self, "kernel_"):
            return Space(self.mean_, self.scale_, Profile(self.kernel), self.bandwidth_)
        return Space(self.mean_, self.scale_, KernelWeights(self.kernel_), 1.0)

    def _predict(self, X):
        local = self._local(Design(X).dense())
        if np.any(local.is_far):
            where, cure = "within the bandwidth", 'raise the bandwidth, or use kernel="gaussian"'
            if hasattr(self, "kernel_"):
                where, cure = "within reach of the kernel", "use a wider kernel"
            warnings.warn(
                f"{np.count_nonzero(local.is_far)} of {len(local.is_far)} rows have no training "
                f"row {where}, and are predicted by the nearest one; {cure}.",
                stacklevel=4,
            )
        return local.values

    def _local(self, X: Array) -> Local:
        """The stored model at some rows."""
        space = self._stored_space
        smoother = space.smoother(self.X_fit_, self.y_fit_, self.weights_, self.degree)
        return smoother.at(space.points(X), space.width)

    # ---- both gaps -------------------------------------------------------------------------------

    def _certify(self, data):
        # The ideal model, from the data; the stored one supplies its predictions.
        rows = TrainingRows(data)
        base = Design(data.X).rows(rows.first).dense()
        space = self._settled_space(rows, base)
        smoother = space.smoother(base, data.y[rows.first], rows.weights, self.degree)
        points = _sample(smoother, MUCH_WORK)
        values = self._local(base[points]).values
        return _certificate(smoother, points, values, space.width, self.tol)

    def _settled_space(self, rows: TrainingRows, base: Array) -> Space:
        """How rows are compared, with the width as given or as chosen by the search."""
        space, tuned = self._space(base, rows.weights), self._tuned()
        if not tuned:
            return space
        if not hasattr(self, "search_"):
            return space.widened(self._search(rows, base, space).bandwidth)
        return space.with_value(float(self.search_.values[tuned[0]][self.search_.chosen]))

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
        return LocalFit(self._stored_space, int(self.degree), Design(data.X), data.y, data.weights)

    def _formula(self) -> None:
        """None: every row has its own average or line."""


@dataclass(frozen=True, eq=False)
class Space:
    """How rows are compared: as measured from means in standard deviations, or as they are.

    `width` is the bandwidth, or for a kernel how many times as wide it is as it says.
    """

    mean: Array
    scale: Array
    neighbourhood: Profile | KernelWeights
    width: float

    @property
    def kernel(self) -> Kernel | None:
        """The kernel whose values are the weights, if there is one."""
        found = self.neighbourhood
        return found.at_width(self.width) if isinstance(found, KernelWeights) else None

    def points(self, X: Array) -> Array:
        """Rows as they are compared, float64."""
        if self.kernel is not None:
            return np.asarray(X, dtype=np.float64)
        return (X - self.mean) / self.scale

    def smoother(self, X: Array, y: Array, weights: Array, degree: int) -> Smoother:
        """Local models from rows X with their targets and weights."""
        origin = 0.0 if self.kernel is None else self.mean
        y = y.reshape(len(y), -1)
        return Smoother(self.points(X), y, weights, self.neighbourhood, int(degree), origin)

    def widened(self, width: float) -> Space:
        """The same with another width."""
        if isinstance(self.neighbourhood, Profile):
            return replace(self, width=width)
        return self.of_kernel(self.neighbourhood.at_width(width))

    def of_kernel(self, kernel: Kernel) -> Space:
        """The same with another kernel."""
        return replace(self, neighbourhood=KernelWeights(kernel), width=1.0)

    def with_value(self, value: float) -> Space:
        """The same with another bandwidth, or scale γ of the kernel."""
        if self.kernel is None:
            return self.widened(value)
        return self.of_kernel(self.kernel.replace(gamma=value))

    def learned(self, tuned: tuple[str, ...]) -> dict[str, Any]:
        """What a fit keeps of it."""
        found: dict[str, Any] = {"mean_": self.mean, "scale_": self.scale}
        if self.kernel is None:
            return found | {"bandwidth_": self.width}
        if tuned:
            found["gamma_"] = float(self.kernel.parameters()["gamma"])
        return found | {"kernel_": self.kernel}


def _moments(X: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted means and standard deviations; 1 for columns that do not vary."""
    mean = np.average(X, axis=0, weights=weights)
    found = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(found > 1e-12 * np.abs(mean), found, 1.0)


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

    def choice(self, name: str) -> KernelChoice:
        """What was tried and chosen, for `unseen`; `name` is what the widths are given as."""
        path = self._path()
        at = best_of(path.unseen, path.standard_errors, self.select)
        values, n = path.strengths, len(self.smoother.X)
        found = self.smoother.neighbourhood
        if isinstance(found, KernelWeights):
            values = np.array([found.at_width(width).parameters()["gamma"] for width in values])
        search = search_of([path], [None], (0, at), {name: values}, n, METRIC)
        return KernelChoice(None, float(path.strengths[at]), search, [path], len(self.rows) == n)


class LocalFit(Refittable):
    """A local regression, and how to refit it; how rows are compared counts as given."""

    strength = "the squared bandwidth"

    def __init__(self, space: Space, degree: int, design: Design, y: Array, weights: Array):
        super().__init__(design, y, weights)
        self.space, self.degree = space, degree

    @property
    def model(self):
        """That of all rows."""
        return self.fit_to(np.flatnonzero(self.is_counted))

    @cached_property
    def _rows(self) -> Array:
        return self.design.dense()

    def _smoother(self, rows: Array) -> Smoother:
        return self.space.smoother(self._rows[rows], self.y[rows], self.weights[rows], self.degree)

    def fit_to(self, rows):
        """The same width and scale on some rows."""
        smoother = self._smoother(rows)

        def predict(design: Design) -> Array:
            return smoother.at(self.space.points(design.dense()), self.space.width).values

        return predict

    def held_out(self, groups):
        """Exact: rows of the same unit have no weight."""
        kept = np.flatnonzero(self.is_counted)
        units = (self.units if groups is None else groups)[kept]
        if np.all(units == units[0]):
            raise NotAvailable("nothing would be left to learn from")
        smoother = self._smoother(kept)
        held = np.zeros((len(self.y), smoother.y.shape[1]))
        everything, width = np.arange(len(kept)), np.array([self.space.width])
        held[kept] = smoother.without(everything, units, width)[:, 0]
        return held

    def without_each(self, rows):
        """Not available in a form that is cheaper than folds."""
        raise NotAvailable("leaving a row out takes refits, so folds are used")

    def simpler(self):
        """A wider neighbourhood."""
        return [self._dial(WIDER)]

    def richer(self):
        """A narrower one."""
        return [self._dial(1 / WIDER)]

    def _dial(self, factor: float) -> Any:
        """Fits whose neighbourhood is wider by powers of a factor."""
        kernel = self.space.kernel
        if kernel is not None:
            return kernel_dial(
                kernel, lambda other: self._with(self.space.of_kernel(other)), factor**-2
            )

        def turned(step: int) -> Version:
            other = self.space.widened(self.space.width * factor**step)
            return Version(self._with(other), f"bandwidth={other.width:.3g}")

        return turned

    def _with(self, space: Space) -> LocalFit:
        return LocalFit(space, self.degree, self.design, self.y, self.weights)
