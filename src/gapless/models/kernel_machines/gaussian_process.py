"""Gaussian process regression: kernel ridge with variances, and a fit of the kernel itself."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack
from sklearn.base import _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ... import kernels
from ..._ground.about import Example, Examples, Formula, chosen
from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.docstrings import FEATURES, described
from ..._ground.interrupt import IN_SECONDS, limit_name
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Number, Numbers, Unused, Value
from ..._ground.threads import single_blas
from ..._ground.validation import Training, read_rows
from ...certificates import Certificate
from ...kernels import Kernel
from ._base import TRAINING, Array, KernelRegressor
from .least_squares import EPS, Coefficients, Proof
from .leave_one_out import KernelFit
from .marginal_likelihood import LikelihoodSearch, Parametrised, Posterior, Process, Theirs, inward

# A slope of the log likelihood up to this share of the number of targets counts as 0: their noise,
# which has a curvature of half that number, is then known to as many digits.
FLAT = 1e-3
# The share of the targets' variance that counts as noise at first.
NOISE = 0.1
# Rows predicted with their variances at a time.
ROWS_AT_A_TIME = 4096


@described(FEATURES)
class GaussianProcessRegressor(KernelRegressor):
    """Gaussian process regression with kernel parameters by maximum marginal likelihood.

    The mean minimises  ½ Σᵢ sᵢ (yᵢ − f(xᵢ))² + ½ν‖f‖²  over the functions f of the kernel's space,
    ν being the variance of the noise: kernel ridge regression with α = ν. The process adds how
    sure that is, and how probable y is under the kernel, by which its parameters are fitted.

    Parameters
    ----------
    kernel : Kernel, default=None
        Covariance of the process: an instance from `gapless.kernels`, such as
        ``1.0 * Gaussian(0.5) + White(0.1)``, or a kernel of scikit-learn's. None is a multiple of
        the Gaussian plus white noise, beginning at the sizes of X and y; before a fit,
        ``1.0 * Gaussian(0.5)``.
    alpha : float or array-like of shape (n_samples,), default=1e-10
        Variance ν ≥ 0 of the noise, added to the diagonal of the kernel matrix.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        How the kernel's parameters are found; a function is called as optimizer(objective, start,
        bounds=…) and returns parameters and the objective there. None keeps them.
    n_restarts_optimizer : int, default=0
        How many more starts are tried, drawn within the bounds.
    normalize_y : bool, default=False
        Whether to subtract the mean of y and divide by its standard deviation.
    copy_X_train : bool, default=True
        Accepted for scikit-learn's sake; X is never written to.
    n_targets : int, default=None
        Number of targets, which predictions before a fit need.
    random_state : int, RandomState or None, default=None
        Of the starts.
    tol : float, default=1e-6
        The certificate of the mean is "exact" up to this duality gap, relative to that at f = 0.
    time_limit : float, default=None
        Seconds after which the best parameters so far are kept.

    Attributes
    ----------
    X_train_ : ndarray of shape (n, n_features)
        Training rows; of equal rows (x, y) one, as weights have it.
    y_train_ : ndarray of shape (n,) or (n, n_targets)
        Their targets, normalised if requested.
    kernel_ : Kernel
        The kernel with its parameters.
    L_ : ndarray of shape (n, n)
        Lower Cholesky factor of the kernel matrix with its noise.
    alpha_ : ndarray of shape (n,) or (n, n_targets)
        Coefficients of the mean.
    log_marginal_likelihood_value_ : float
        Log-marginal likelihood of `kernel_`.
    trace_ : Trace
        Minus the likelihood of each kernel that was tried, with the seconds; its gap is not known.
    certificate_ : Certificate
        The mean is exact. Where parameters were fitted the kind is "stationary", since their
        likelihood may have several maxima, and the verdict says how far its gradient is from 0.
    generalization_ : Generalization
        What the mean will score on unseen rows, by exact leave-one-out for this kernel.

    Notes
    -----
    Costs n³/3 operations, and about n³ for each evaluation of the likelihood with its gradient. A
    row of weight s counts as s equal rows, in the likelihood too.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, MIT Press.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import GaussianProcessRegressor
    >>> from gapless.kernels import Gaussian, White
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * np.cos(40 * x[:, 0])
    >>> model = GaussianProcessRegressor(1.0 * Gaussian(0.5) + White(0.1)).fit(x, y)
    >>> mean, std = model.predict([[3.0]], return_std=True)
    >>> print(mean.round(1), std.round(1))
    [0.1] [0.1]
    """

    _examples: ClassVar[Examples] = (
        Example(
            "diabetes",
            {
                "kernel": 1.0 * kernels.Gaussian(0.01) + kernels.White(1.0),
                "normalize_y": True,
            },
        ),
    )

    _stored: ClassVar[Declaration] = {
        **KernelRegressor._stored,
        "X_train_": Numbers("rows", "features", may_be_sparse=True),
        "y_train_": Numbers("rows", "outputs", may_lack="outputs"),
        "kernel_": Value(Kernel),
        "L_": Numbers("rows", "rows"),
        "alpha_": Numbers("rows", "outputs", may_lack="outputs"),
        "log_marginal_likelihood_value_": Number(is_finite=False),
        "trace_": Unused(),
        "_noise": Unused(),
        "_y_train_mean": Numbers("outputs"),
        "_y_train_std": Numbers("outputs"),
    }
    _parameter_constraints: ClassVar[dict] = {
        "kernel": [object],
        "alpha": [Interval(Real, 0, None, closed="left"), np.ndarray, list],
        "optimizer": [StrOptions({"fmin_l_bfgs_b"}), callable, None],
        "n_restarts_optimizer": [Interval(Integral, 0, None, closed="left")],
        "normalize_y": ["boolean"],
        "copy_X_train": ["boolean"],
        "n_targets": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        kernel=None,
        *,
        alpha=1e-10,
        optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=0,
        normalize_y=False,
        copy_X_train=True,
        n_targets=None,
        random_state=None,
        tol=1e-6,
        time_limit=None,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state
        self.tol = tol
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Fit the process.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best parameters so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        data = self._read(X, y, sample_weight)
        process, mean, std = self._process(data)
        kernel = self._start(process)
        with single_blas(), watch(self, data.X, data.y) as callback:
            search = LikelihoodSearch(process, kernel, callback)
            status = search.run(self)
        if search.best is None:
            raise np.linalg.LinAlgError(
                f"The kernel, {kernel.kernel}, is not returning a positive definite matrix. Try "
                "gradually increasing the 'alpha' parameter of your GaussianProcessRegressor "
                "estimator."
            )
        is_fitted = self.optimizer is not None and len(kernel.theta) > 0
        posterior, slope = search.best.refined, search.slope if is_fitted else None
        if is_fitted and status == "found":
            posterior.kernel.check()
        learned = self._learned(data, posterior, mean, std)
        learned["certificate_"] = self._certificate(posterior, posterior.fitted, slope)
        learned["trace_"] = search.trace
        self._keep(learned, data)
        if status == "interrupted":
            raise KeyboardInterrupt
        _warn_of_noise(process)
        if status == "time_limit":
            warnings.warn(
                f"GaussianProcessRegressor reached {limit_name(self.time_limit, IN_SECONDS)}, and "
                "keeps the best parameters so far; raise time_limit.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    # ---- the process -----------------------------------------------------------------------------

    def _start(self, process: Process) -> Any:
        """The kernel as a function of its parameters, at the start of the search."""
        size = process.size
        if self.kernel is None:
            unit = size if size > 0 else 1.0
            kernel = unit * kernels.Gaussian("scale") + kernels.White(NOISE * unit)
            return parametrised(kernel, process.X, process.weights)
        start = parametrised(self.kernel, process.X, process.weights)
        return start if self.optimizer is None else start.near(size, process.X)

    def _process(self, data: Training) -> tuple[Process, Array, Array]:
        """Distinct rows in the order of the data, and mean and scale of each target."""
        y = data.y.reshape(len(data.y), -1)
        count = y.shape[1]
        if self.n_targets is not None and count != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {count} != {self.n_targets}."
            )
        noise = self._noise_of(len(y))
        mean, std = np.zeros(count), np.ones(count)
        if self.normalize_y:
            mean = np.average(y, axis=0, weights=data.weights)
            std = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=data.weights))
            std = np.where(std > 10 * np.finfo(float).eps * np.abs(mean), std, 1.0)
        labels = Design(data.X).equal_rows(np.column_stack([y, noise]))
        distinct = DistinctRows.by(labels, data.weights)
        order = np.argsort(distinct.first)
        rows, weights = distinct.first[order], distinct.weights[order]
        process = Process(Design(data.X).rows(rows).X, (y[rows] - mean) / std, noise[rows], weights)
        return process, mean, std

    def _noise_of(self, n: int) -> Array:
        """Variances added to the diagonal, (n,)."""
        alpha = np.ravel(np.asarray(self.alpha, dtype=float))
        if len(alpha) not in (1, n):
            raise ValueError(
                "alpha must be a scalar or an array with same number of entries as y. "
                f"({len(alpha)} != {n})"
            )
        return np.broadcast_to(alpha, n)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        """Log-marginal likelihood of the training data for parameters of the kernel.

        Parameters
        ----------
        theta : array-like of shape (n_parameters,), default=None
            Logarithms of the kernel's parameters; None uses those of `kernel_`.
        eval_gradient : bool, default=False
            Whether to return the gradient as well, which needs theta.
        clone_kernel : bool, default=True
            If False, `kernel_` gets these parameters.

        Returns
        -------
        log_likelihood : float
            Summed over the targets; −inf where the kernel matrix is not positive definite.
        gradient : ndarray of shape (n_parameters,)
            In theta; only with `eval_gradient`.
        """
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        kernel = parametrised(self.kernel_, self.X_train_).at(np.asarray(theta, dtype=float))
        if not clone_kernel:
            self.kernel_ = kernel.kernel
        with single_blas():
            posterior = self._stored_process().posterior(kernel)
            if posterior is None:
                return (-np.inf, np.zeros(len(theta))) if eval_gradient else -np.inf
            value = posterior.log_likelihood
            return (value, posterior.gradient()) if eval_gradient else value

    def _stored_process(self) -> Process:
        y = self.y_train_.reshape(len(self.y_train_), -1)
        return Process(self.X_train_, y, *self._noise)

    # ---- what is learned -------------------------------------------------------------------------

    def _learned(self, data, posterior: Posterior, mean: Array, std: Array) -> dict[str, Any]:
        process, flat = posterior.process, data.y.ndim == 1
        return {
            "X_train_": process.X,
            "y_train_": process.y[:, 0] if flat else process.y,
            "kernel_": posterior.kernel.kernel,
            "L_": posterior.L,
            "alpha_": posterior.c[:, 0] if flat else posterior.c,
            "log_marginal_likelihood_value_": posterior.log_likelihood,
            "_noise": (process.noise, process.weights),
            "_y_train_mean": mean,
            "_y_train_std": std,
        }

    def _certificate(self, posterior: Posterior, means: Array, slope: float | None) -> Certificate:
        """The certificate of the mean, with these values at the rows, and of fitted parameters.

        `slope` is ‖∇‖∞ of their likelihood: None if nothing was fitted, inf if unknown.
        """
        process, kernel = posterior.process, posterior.kernel
        noise = variances(process.noise, kernel, process.X) / process.weights
        found = Coefficients(posterior.c, np.zeros(process.y.shape[1]), means)
        # In units of the mean noise, which may be as small as rounding.
        unit = float(np.mean(noise))
        strengths = np.full(process.y.shape[1], unit)
        proof = Proof.of(process.y, unit / noise, found, strengths, False)
        scale = 0.5 * float(np.sum(process.y**2 * (unit / noise)[:, None]))
        certificate = proof.certificate(scale, self.tol, "raise alpha, or fit again")
        if slope is None:
            return certificate
        total = float(process.weights.sum()) * process.y.shape[1]
        is_flat = slope <= FLAT * total
        kind = "stationary" if is_flat and certificate.kind == "exact" else "stopped"
        return replace(
            certificate,
            kind=kind,
            verdict=f"{kind}: for this kernel the mean is {certificate.verdict.removesuffix('.')}. "
            f"The likelihood of the kernel's parameters {_of_slope(slope, is_flat)}.",
        )

    # ---- predicting ------------------------------------------------------------------------------

    def predict(self, X, return_std=False, return_cov=False, *, interval=None):
        """Predict the mean of the process, and its spread if requested.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Rows to predict. Before a fit, by what the kernel alone says.
        return_std : bool, default=False
            Whether to return standard deviations as well, noise of the kernel included.
        return_cov : bool, default=False
            Whether to return the covariance of all rows instead.
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval, whether
            the kernel is right or not: see `gapless.intervals`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Means; with `interval`, a tuple `(prediction, lower, upper)`.
        spread : ndarray
            Standard deviations in the shape of y, or covariances with the rows twice.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if interval is not None:
            return super().predict(X, interval=interval)
        if not hasattr(self, "X_train_"):
            return self._prior(read_rows(self, X), return_std, return_cov)
        if not (return_std or return_cov):
            return self._scores(X)
        X = read_rows(self, X)
        mean = self._shaped(self._predict(X))
        spread = self._covariance(X) if return_cov else self._variance(X)
        scaled = spread[..., None] * self._y_train_std**2
        scaled = scaled[..., 0] if self._is_flat or scaled.shape[-1] == 1 else scaled
        return mean, scaled if return_cov else np.sqrt(scaled)

    def _prior(self, X: Any, return_std: bool, return_cov: bool) -> Any:
        """The kernel's prediction before any data."""
        kernel = 1.0 * kernels.Gaussian(0.5) if self.kernel is None else self.kernel
        kernel, count = parametrised(kernel, X), self.n_targets or 1
        mean = np.zeros((X.shape[0], count))
        spread = kernel.gram(X) if return_cov else np.sqrt(kernel.diagonal(X))
        if count == 1:
            mean = mean[:, 0]
        else:
            spread = np.repeat(spread[..., None], count, axis=-1)
        return (mean, spread) if return_std or return_cov else mean

    def _scores(self, X):
        return self._shaped(super()._scores(X))

    def _shaped(self, z: Array) -> Array:
        """A single target is a vector, as in scikit-learn."""
        return z[:, 0] if z.ndim == 2 and z.shape[1] == 1 else z

    @property
    def _is_flat(self):
        return self.alpha_.ndim == 1

    def _predict(self, X):
        c = self.alpha_.reshape(len(self.alpha_), -1)
        kernel = parametrised(self.kernel_, self.X_train_)
        z = kernel.times(X, self.X_train_, c)
        return self._y_train_std * z + self._y_train_mean

    def _reduced(self, kernel: Any, X: Any) -> Array:
        """V = L⁻¹K(X_train, X), (n, rows): the training rows explain VᵀV."""
        with single_blas():
            V, _ = lapack.dtrtrs(self.L_, kernel.between(X, self.X_train_).T, lower=1)
        return V

    def _covariance(self, X: Any) -> Array:
        kernel = parametrised(self.kernel_, self.X_train_)
        V = self._reduced(kernel, X)
        with single_blas():
            return kernel.gram(X) - V.T @ V

    def _variance(self, X: Any) -> Array:
        """Variances, in blocks of rows."""
        kernel = parametrised(self.kernel_, self.X_train_)
        variance = np.array(kernel.diagonal(X), dtype=float)
        for start in range(0, len(variance), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            variance[part] -= np.einsum("ij,ij->j", *2 * (self._reduced(kernel, X[part]),))
        if np.any(variance < 0):
            warnings.warn(
                "Predicted variances smaller than 0. Setting those variances to 0.", stacklevel=4
            )
        return np.maximum(variance, 0.0)

    def sample_y(self, X, n_samples=1, random_state=0):
        """Draw functions from the process, at given rows.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            Where the functions are evaluated.
        n_samples : int, default=1
            How many are drawn.
        random_state : int, RandomState or None, default=0
            Of the draw.

        Returns
        -------
        y : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
            Their values.
        """
        rng = check_random_state(random_state)
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return rng.multivariate_normal(mean, covariance, n_samples).T
        draws = [
            rng.multivariate_normal(mean[:, k], covariance[..., k], n_samples).T
            for k in range(mean.shape[1])
        ]
        return np.stack(draws, axis=1)

    # ---- both gaps -------------------------------------------------------------------------------

    def _certify(self, data):
        posterior, means = self._on_trial(data)
        is_fitted = self.optimizer is not None and len(posterior.kernel.theta) > 0
        with single_blas():
            slopes = posterior.gradient() if is_fitted else None
        slope = None if slopes is None else inward(slopes, posterior.kernel)
        c = self.alpha_.reshape(posterior.c.shape)
        return self._certificate(replace(posterior, c=c), means, slope)

    def _objective(self, data):
        posterior, means = self._on_trial(data)
        c = self.alpha_.reshape(posterior.c.shape)
        return self._certificate(replace(posterior, c=c), means, None).primal

    def _on_trial(self, data: Training) -> tuple[Posterior, Array]:
        """The process of the data with the stored kernel, and the stored model's predictions."""
        process, mean, std = self._process(data)
        kernel = parametrised(self.kernel_, process.X)
        start = self._start(process)
        if isinstance(start, Parametrised) and len(start.theta) == len(kernel.theta):
            kernel = Parametrised(kernel.kernel, process.X, start=start.theta)
        posterior = process.posterior(kernel)
        if posterior is None or len(posterior.c) != len(self.alpha_):
            raise ValueError(
                "these are not the training data: the kernel matrix differs. Fit again."
            )
        return posterior, (self._predict(process.X) - mean) / std

    def _refittable(self, data):
        kernel = parametrised(self.kernel_, self.X_train_)
        noise = variances(self._noise_of(len(data.y)), kernel, self.X_train_)
        return KernelFit(
            Design(data.X),
            data.y,
            data.weights,
            kernel.plain(),
            np.ones(len(self._y_train_mean)),
            False,
            noise=noise,
            offset=self._y_train_mean,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def _formula(self) -> Formula:
        return Formula(
            "½ Σᵢ (yᵢ − f(xᵢ))² + ½ν‖f‖²", {"ν": self.alpha, "kernel": chosen(self, "kernel")}
        )


def _of_slope(slope: float, is_flat: bool) -> str:
    """What a slope means for the parameters, in words."""
    if is_flat:
        return f"may have several maxima; here its largest slope is {slope:.2g}"
    if not np.isfinite(slope):
        return "was not followed long enough to tell; raise time_limit"
    return (
        f"has no maximum here (largest slope {slope:.2g}); begin with other parameters, raise "
        "n_restarts_optimizer, or add White noise to the kernel"
    )


def variances(noise: Array, kernel: Any, X: Any) -> Array:
    """All the noise of the rows; if there is none, the rounding of the kernel."""
    noise = noise + kernel.noise(X)
    return np.maximum(noise, EPS * float(np.mean(kernel.diagonal(X))))


def parametrised(kernel: Any, X: Any, weights: Array | None = None) -> Any:
    """A kernel of gapless or scikit-learn as a function of its parameters."""
    if isinstance(kernel, kernels.Kernel):
        return Parametrised(kernel, X, weights)
    if hasattr(kernel, "clone_with_theta"):
        return Theirs(clone(kernel))
    raise TypeError(
        f"kernel={kernel!r} is not a kernel; use one from gapless.kernels, such as 1.0 * "
        "Gaussian(0.5), or from sklearn.gaussian_process.kernels."
    )


def _warn_of_noise(process: Process) -> None:
    if 0 < process.size < float(np.min(process.noise)):
        warnings.warn(
            f"alpha, the variance of the noise, is at least {np.min(process.noise):.2g}, and the "
            f"mean square of y is {process.size:.2g}: all of y counts as noise. Set "
            "normalize_y=True, or a smaller alpha.",
            stacklevel=4,
        )
