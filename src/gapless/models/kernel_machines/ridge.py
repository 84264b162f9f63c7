"""Kernel ridge regression."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ... import kernels
from ..._ground import docstrings
from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.design import Design
from ..._ground.interrupt import IN_SECONDS, TimeLimit, limit_name, seconds_left, time_limit
from ..._ground.progress import watch
from ..._ground.stored import Declaration, Maybe, Number, Numbers, Unused, Value
from ..._ground.threads import single_blas
from ..._ground.validation import Training
from ...kernels import Kernel
from ...losses import Squared
from ...problem import EXACT, FEATURES
from ...solvers import Trace
from ...unseen import LOO
from ..risk import (
    KERNEL_CONSTRAINTS,
    Expansion,
    ExpansionObjective,
    chosen_kind,
    exact_certificate,
    features_of,
)
from ._base import TRAINING, Array, KernelRegressor
from .least_squares import Coefficients, KernelSquares, TrainingRows
from .leave_one_out import ConstantFit, KernelFit, base_rows, solve_each
from .ridge_on_features import EXACT_ROWS, RidgeOnFeatures
from .tuning import KernelChoice, choose, default_strengths

# Entries on both sides of the diagonal may differ by this share of the largest, which is rounding
# in float32; rows that are compared at a time.
ASYMMETRY, TOGETHER = 1e-5, 256


@docstrings.described(docstrings.FEATURES)
class KernelRidge(KernelRegressor):
    """Ridge regression in the feature space of a kernel.

    Minimises  ½ Σᵢ sᵢ (yᵢ − f(xᵢ) − b)² + ½α‖f‖²  over the functions f of the kernel's space, which
    is f(x) = Σᵢ cᵢ k(xᵢ, x) with (K + αS⁻¹)c = y − b.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,) or "loo", default=1
        Strength α ≥ 0 of the penalty, one for each target if it is an array. "loo" chooses it by
        exact leave-one-out, from one decomposition of the kernel matrix.
    kernel : str, Kernel or callable, default="linear"
        The name of a kernel ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "chi2",
        "precomputed", …), an instance from `gapless.kernels`, or a function of two rows that
        returns a number.
    gamma : float, "scale", "auto", "loo" or None, default=None
        Scale γ of kernels that have one: a number, 1/(d·variance of X), 1/d, or chosen by
        leave-one-out. None is the kernel's own default, mostly 1/d.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword arguments for a kernel that is a function.
    fit_intercept : bool, default=False
        Whether to fit a bias b, which is not penalised.
    tol : float, default=1e-6
        The certificate is "exact" up to this duality gap, relative to the objective at f = 0.
    time_limit : float, default=None
        Seconds after which the fit ends with what it has.
    select : {"min", "1se"}, default="min"
        With "loo", the best strength, or the strongest penalty within one standard error of it.
    approximation : {"auto", "nystroem", "random_features"} or None, default="auto"
        What replaces the kernel: itself (None), landmarks among the rows, or random features;
        "auto" takes the kernel itself up to 20,000 distinct rows, and landmarks beyond.
    n_components : int, default=None
        How many landmarks or random features. None doubles them until leave-one-out no longer
        improves by half its standard error.
    random_state : int, default=0
        Seed of the landmarks or the random features.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients c, float64; 0 for rows of weight 0. Of the landmarks, if those replace the
        kernel; not there for random features.
    intercept_ : float or ndarray of shape (n_targets,)
        Bias b.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Training rows, which predictions need; for a precomputed kernel, its matrix. The landmarks
        alone, if those replace the kernel.
    features_ : KernelFeatures
        The features of landmarks, or random ones, if they replace the kernel.
    coef_ : ndarray of shape (n_components,) or (n_targets, n_components)
        The coefficients of these features.
    kernel_ : Kernel
        The kernel with all its parameters numbers.
    alpha_ : float
        With alpha="loo", the chosen strength.
    gamma_ : float
        With gamma="loo", the chosen scale.
    search_ : Search
        With "loo", all models that were tried and their scores on unseen rows.
    certificate_ : Certificate
        How far the fit can be from the best possible one.
    generalization_ : Generalization
        What the model will score on unseen rows, by exact leave-one-out.

    Notes
    -----
    A fit takes n² numbers of memory, in float32 beyond 2,000 rows, and n³/3 operations. The float32
    factor is refined by float64 residuals, so that all digits are right. With "loo" about 9n³, in
    float32 too where that decides; a sample of 2,000 rows chooses γ, and beyond 4,000 rows α too.
    Held-out predictions (`generalization_`, `predict(X, interval=0.9)`) cost n³; beyond 5,000
    distinct rows they are made by folds. With r landmarks a fit takes 8·n·r bytes
    (4·n·r for float32 data) and n·r² operations, and so do held-out predictions, which then are
    exact for any n.

    References
    ----------
    Saunders, Gammerman and Vovk (1998), Ridge regression learning algorithm in dual variables.
    Rifkin and Lippert (2007), Notes on regularized least squares, MIT-CSAIL-TR-2007-025.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import KernelRidge
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(alpha="loo", kernel="rbf", gamma=1.0).fit(x, np.sin(x[:, 0]))
    >>> print(model.certificate_.kind, round(float(model.predict([[1.5]])[0]), 3))
    exact 0.997
    """

    _examples: ClassVar[Examples] = (
        Example("diabetes", {"alpha": "loo", "kernel": "rbf", "gamma": "loo"}),
    )

    _stored: ClassVar[Declaration] = {
        **KernelRegressor._stored,
        **FEATURES,
        "coef_": Maybe(Numbers("outputs", "columns", may_lack="outputs")),
        "X_fit_": Maybe(Numbers("rows", None, may_be_sparse=True)),
        "dual_coef_": Maybe(Numbers("rows", "outputs", may_lack="outputs")),
        "intercept_": Number() | Numbers("outputs"),
        "kernel_": Value(Kernel),
        "alpha_": Unused(),
        "gamma_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({LOO})],
        "kernel": [str, callable, kernels.Kernel],
        "gamma": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"scale", "auto", LOO}),
            None,
        ],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "select": [StrOptions({"min", "1se"})],
        **{k: KERNEL_CONSTRAINTS[k] for k in ("approximation", "n_components", "random_state")},
    }

    def __init__(
        self,
        alpha=1,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        fit_intercept=False,
        tol=1e-6,
        time_limit=None,
        select="min",
        approximation="auto",
        n_components=None,
        random_state=0,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.time_limit = time_limit
        self.select = select
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @docstrings.described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data, or with kernel="precomputed" the kernel matrix (n_samples, n_samples).

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C leaves f = 0, with its honest gap, or what least squares
            on fewer features has found, and raises KeyboardInterrupt; an error leaves the estimator
            as it was.
        """
        data = self._read(X, y, sample_weight)
        rows = TrainingRows(data)
        squares = rows.squares(self._kernel(data, rows), self.fit_intercept)
        kind = chosen_kind(self.approximation, squares.n, EXACT_ROWS)
        strengths, began = self._strengths(squares), time.monotonic()
        choice: KernelChoice | None = None
        status, found = "solved", squares.null()
        with single_blas(), watch(self, data.X, data.y) as callback:
            try:
                with time_limit(self.time_limit):
                    of_units = rows.unit_squares(squares.kernel, self.fit_intercept)
                    choice = self._choose(of_units, strengths, callback)
                    if choice is not None:
                        squares = rows.squares(choice.kernel, self.fit_intercept)
                        strengths = np.full_like(strengths, choice.strength)
                    if kind == EXACT:
                        found = solve_each(squares, strengths)
            except TimeLimit:
                status = "time_limit"
            except KeyboardInterrupt:
                status = "interrupted"
            if kind != EXACT:
                left = seconds_left(self.time_limit, began) if status == "solved" else 0.0
                ridge = self._on_features(squares.kernel, strengths, kind)
                learned, ending = ridge.learn(data, callback, left)
                status = ending if status == "solved" and ending != "optimal" else status
        if kind == EXACT:
            learned = self._learned(data, rows, squares.kernel, found)
            learned["certificate_"] = squares.certify(found, strengths, self.tol)
        learned |= self._chosen(choice, strengths, squares.kernel)
        # The scores of a search are those of its models, not of one whose time was up.
        is_chosen = choice is not None and status == "solved"
        learned["_choice"] = replace(choice, rows=rows) if choice and is_chosen else None
        self._keep(learned, data)
        if status == "interrupted":
            raise KeyboardInterrupt
        self._warn(status, kind != EXACT or found.is_solved)
        return self

    # ---- what is minimised -----------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset=True):
        data = super()._read(X, y, sample_weight, reset=reset)
        if self.kernel == "precomputed":
            data = replace(data, X=check_square(data.X))
        return data

    def _kernel(self, data: Training, rows: TrainingRows) -> Any:
        """The kernel with all parameters as numbers; the one to start with if γ is chosen."""
        gamma = "scale" if self.gamma == LOO else self.gamma
        if callable(self.kernel) and not isinstance(self.kernel, kernels.Kernel):
            kernel: Any = kernels.Callable(self.kernel, True, self.kernel_params)
        else:
            kernel = kernels.by_name(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
        if self.gamma == LOO:
            if "gamma" not in kernel.parameters():
                raise ValueError(
                    f'gamma="loo" needs a kernel with a scale, such as "rbf"; {kernel!r} has none.'
                )
            kernel = kernel.replace(gamma="scale")
        base = data.X if kernel.name == "precomputed" else Design(data.X).rows(rows.first).X
        return kernel.resolve(base, rows.weights)

    def _strengths(self, squares: KernelSquares) -> Array:
        """λ of each target: α plus the kernel's own noise."""
        count = squares.y.shape[1]
        alpha = 1.0 if isinstance(self.alpha, str) else np.asarray(self.alpha, dtype=float)
        if np.size(alpha) not in (1, count):
            raise ValueError(
                "Number of targets and number of penalties do not correspond: "
                f"alpha has {np.size(alpha)} entries, y has {count} columns."
            )
        if not np.all(np.isfinite(alpha)) or np.any(np.asarray(alpha) < 0):
            raise ValueError(f"alpha must be finite numbers ≥ 0, got {self.alpha!r}.")
        return np.broadcast_to(np.ravel(alpha), count) + squares.kernel.noise

    def _on_features(self, kernel: Any, strengths: Array, kind: str) -> RidgeOnFeatures:
        """The same with features of landmarks, or random ones, in place of the kernel."""
        return RidgeOnFeatures(
            strengths if np.any(strengths != strengths[0]) else float(strengths[0]),
            kernel,
            kind,
            self.n_components,
            self.random_state,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
        )

    # ---- tuning ----------------------------------------------------------------------------------

    def _tuned(self):
        return tuple(
            name
            for name in ("alpha", "gamma")
            if isinstance(getattr(self, name), str) and getattr(self, name) == LOO
        )

    def _choose(self, squares: KernelSquares, strengths: Array, callback) -> KernelChoice | None:
        """Choose the tuned parameters; None if there are none."""
        tuned = self._tuned()
        if not tuned:
            return None
        if squares.n < 2:
            raise ValueError(
                f"KernelRidge cannot choose {' and '.join(tuned)} from n_samples = 1, since "
                "nothing would be left to learn from; give a number."
            )
        if "alpha" not in tuned and np.any(strengths != strengths[0]):
            raise ValueError('gamma="loo" needs one alpha for all targets, or alpha="loo".')
        trace = Trace()

        def after_scale(score: float) -> bool:
            trace.steps += 1
            trace.primal.append(-score)
            return callback(trace, np.inf)

        return choose(
            squares,
            (lambda gamma: squares.kernel.replace(gamma=gamma)) if "gamma" in tuned else None,
            default_strengths if "alpha" in tuned else lambda part: strengths[:1],
            self.select,
            after_scale,
        )

    def _chosen(self, choice: KernelChoice | None, strengths: Array, kernel: Any) -> dict[str, Any]:
        """The attributes of the choice; defaults if time ran out before."""
        found: dict[str, Any] = {}
        tuned = self._tuned()
        if "alpha" in tuned:
            found["alpha_"] = float(strengths[0]) - kernel.noise
        if "gamma" in tuned:
            found["gamma_"] = float(kernel.gamma)
        if choice is not None:
            found["search_"] = choice.search
        return found

    # ---- what is learned -------------------------------------------------------------------------

    def _learned(
        self, data, rows: TrainingRows, kernel: Any, found: Coefficients
    ) -> dict[str, Any]:
        c, b = rows.spread(found.c), found.b
        flat = data.y.ndim == 1
        return {
            "dual_coef_": c[:, 0] if flat else c,
            "intercept_": (float(b[0]) if flat else b) if self.fit_intercept else 0.0,
            "X_fit_": data.X,
            "kernel_": kernel,
        }

    def _warn(self, status: str, is_solved: bool) -> None:
        """Warn about what went wrong, if anything did, and what to do."""
        if status == "time_limit":
            warnings.warn(
                f"KernelRidge reached {limit_name(self.time_limit, IN_SECONDS)} before its "
                f"equations were solved, and predicts {self._left_over}; raise time_limit.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not is_solved:
            warnings.warn(
                "Singular matrix in solving dual problem. Using least-squares solution instead; "
                "raise alpha.",
                stacklevel=3,
            )

    @property
    def _left_over(self) -> str:
        """The prediction of a fit whose time was up."""
        has_learned = "features_" in vars(self) and np.any(self.coef_)
        return "with fewer features than requested" if has_learned else "a constant"

    # ---- predicting and proving ------------------------------------------------------------------

    @property
    def _is_approximate(self) -> bool:
        """Whether features replace the kernel."""
        return "features_" in vars(self)

    @property
    def _is_flat(self):
        return (self.coef_ if self._is_approximate else self.dual_coef_).ndim == 1

    def _calibration_rows(self, X):
        design = super()._calibration_rows(X)
        return Design(self.features_.transform(design.X)) if self._is_approximate else design

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        needed = ("features_", "coef_") if self._is_approximate else ("X_fit_", "dual_coef_")
        for name in needed:
            if name not in vars(self):
                return f"{name} is missing"
        if not self._is_approximate and self.X_fit_.shape[1] != self.n_features_in_:
            return f"X_fit_ has {self.X_fit_.shape[1]} columns, and X has {self.n_features_in_}"
        return None

    def _predict(self, X):
        if self._is_approximate:
            w = np.atleast_2d(self.coef_).T.astype(np.float64)
            return self.features_.scores(X, w) + self.intercept_
        c = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        used = np.flatnonzero(np.any(c != 0, axis=1))
        base = base_rows(self.kernel_, Design(self.X_fit_), used)
        return self.kernel_.times(X, base, c[used]) + self.intercept_

    def _certified_exactly(self, X, y, sample_weight=None):
        """The certificate for the kernel itself, whatever replaced it."""
        if not self._is_approximate:
            return self._certified(X, y, sample_weight)
        features_of(self)  # refuses random ones in the name of this class
        return exact_certificate(RidgeOnFeatures.of(self), X, y, sample_weight)

    def _certify(self, data):
        if self._is_approximate:
            ridge = RidgeOnFeatures.of(self)
            return ridge._judged(data, ridge.on(data))
        rows = TrainingRows(data)
        squares = rows.squares(self.kernel_, self.fit_intercept)
        c = rows.gather(self.dual_coef_.reshape(len(self.dual_coef_), -1))
        b = np.broadcast_to(self.intercept_, c.shape[1])
        strengths = self._settled_strengths(squares)
        return squares.certify(Coefficients(c, b, squares.times(c)), strengths, self.tol)

    def _differentiable(self, X, y, sample_weight=None) -> ExpansionObjective:
        """What the fit minimises, as a function of the coefficients of its rows."""
        if self._is_approximate:
            raise TypeError(
                "features replace the kernel in this KernelRidge; check its gradients with "
                "approximation=None."
            )
        data = self._reread(X, y, sample_weight)
        rows = TrainingRows(data)
        strengths = self._settled_strengths(rows.squares(self.kernel_, self.fit_intercept))
        c = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        K, b = self.kernel_.gram(data.X), np.broadcast_to(self.intercept_, c.shape[1])
        y, bias = data.y.reshape(len(c), -1), self.fit_intercept
        return ExpansionObjective(
            [
                Expansion(K, y[:, k], data.weights, Squared(), strengths[k], c[:, k], b[k], bias)
                for k in range(c.shape[1])
            ]
        )

    def _settled_alpha(self) -> Any:
        """α as given or chosen."""
        return self.alpha_ if "alpha" in self._tuned() else self.alpha

    def _settled_strengths(self, squares: KernelSquares) -> Array:
        """λ of each target, as given or chosen."""
        return self._at(alpha=self._settled_alpha())._strengths(squares)

    def _refittable(self, data):
        if self._is_approximate:
            return RidgeOnFeatures.of(self).fitted(data)
        c = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        if not np.any(c):
            return ConstantFit(Design(data.X), data.y, data.weights, self.fit_intercept)
        b = np.broadcast_to(self.intercept_, c.shape[1])
        squares = TrainingRows(data).squares(self.kernel_, self.fit_intercept)
        return KernelFit(
            Design(data.X),
            data.y,
            data.weights,
            self.kernel_,
            self._settled_strengths(squares),
            self.fit_intercept,
            Coefficients(c, b, c),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _formula(self) -> Formula:
        return Formula(
            f"½ Σᵢ (yᵢ − f(xᵢ){bias_term(self, '−')})² + ½α‖f‖²",
            {"α": chosen(self, "alpha"), "kernel": chosen(self, "kernel")},
        )


def check_square(K: Any) -> Array:
    """A precomputed kernel matrix as a dense array, or an error if it is not symmetric."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"Precomputed metric requires shape (n_samples, n_samples): the kernel matrix has "
            f"shape {K.shape}, but must be square; compute it between the training rows and "
            "themselves."
        )
    K = K.toarray() if sp.issparse(K) else K
    for start in range(0, len(K), TOGETHER):
        some = slice(start, start + TOGETHER)
        difference = np.abs(K[some] - K[:, some].T)
        i, j = np.unravel_index(np.argmax(difference), difference.shape)
        if difference[i, j] > ASYMMETRY * np.max(np.abs(K)):
            raise ValueError(
                f"the kernel matrix is not symmetric: K[{start + i}, {j}] and K[{j}, {start + i}] "
                f"differ by {difference[i, j]:.3g}, so it is not a matrix of inner products; "
                "gapless.kernels.mercer_check(K) shows details."
            )
    return K
