"""Linear models on the features of a kernel: what estimators with a parameter `kernel` share.

By the representer theorem the best f in the space of a kernel, for any loss and ½λ‖f‖², is a
combination of the kernel at the training rows: a linear model on features Φ with ΦΦᵀ = K. So a
kernel changes X, once, in `fit` and in prediction; all else is as for linear models. If K is too
large, features of landmarks or random ones replace it, and their number grows until leave-one-out
no longer improves.

References
----------
Schölkopf, Herbrich and Smola (2001), A generalized representer theorem, COLT.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.design import Design
from ..._ground.distinct_rows import DistinctRows
from ..._ground.interrupt import TimeLimit, check, deadline, time_limit
from ..._ground.parts import PartKind, get_params, set_params
from ..._ground.stored import Declaration, Maybe, Numbers
from ..._ground.validation import Training, read_rows
from ...certificates import certify_all
from ...kernels import KERNEL_INSTANCE, Kernel
from ...problem import (
    EXACT,
    FEATURES,
    NYSTROEM,
    PRECOMPUTED,
    RANDOM,
    Drawing,
    KernelFeatures,
    Parameters,
    Tried,
    exact_features,
    one_landmark,
    random_features,
)
from ...solvers import solve_many
from ...unseen import (
    Dial,
    Fitted,
    NotAvailable,
    by_appearance,
    by_formula,
    by_refits,
    drawn,
    kernel_dial,
    mean_and_error,
)
from ..linear import Mapped, dense, fitted_of, unpack
from .kernel_certificates import concerning, exact_certificate, of_both, of_predictions

Array = np.ndarray

AUTO = "auto"
APPROXIMATIONS = (AUTO, NYSTROEM, RANDOM)
# With at most this many rows a factor of the Gram matrix takes seconds, and steps on it no more.
EXACT_ROWS = 3000
# The first rank to try, doubled each time, and the largest; the bytes that their features may take.
FIRST_RANK, MOST_FEATURES, MOST_BYTES = 64, 1024, 2 << 30
# With more rows a sample of this many determines the rank.
MOST_ROWS = 100_000
# The rank has grown enough when doubling it gained only this part of a standard error.
ENOUGH = 0.5
# Models that only serve to compare ranks need no more digits.
ROUGH = 1e-4
# What estimators with a kernel describe alike.
ON_KERNEL = """
approximation : {"auto", "nystroem", "random_features"} or None
    What replaces the kernel: itself (None), landmarks, or random features; "auto" takes the
    kernel itself up to 3,000 rows, and landmarks beyond.
n_components : int
    How many landmarks or random features. None doubles them until leave-one-out no longer improves
    by half its standard error.
random_state : int
    Seed of the landmarks or the random features.
features_ : KernelFeatures
    With a kernel: the features on which the model is linear, and of which `coef_` are the
    coefficients.
X_fit_ : {ndarray, sparse matrix} of shape (m, n_features)
    With a kernel, unless the features are random: the rows z of f(x) = Σⱼ αⱼ k(zⱼ, x).
dual_coef_ : ndarray of shape (m,), (n_targets, m) or (n_classes, m)
    The αⱼ of these rows, float64.
"""
# The parameters of every estimator with a kernel.
KERNEL_CONSTRAINTS = {
    "kernel": [str, Kernel, callable],
    "approximation": [StrOptions(set(APPROXIMATIONS)), None],
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": [Interval(Integral, 0, None, closed="left")],
}


class WithKernel:
    """Mixin of estimators that fit linear models on features of a kernel, if they have one.

    Goes before the linear base in a class statement. The estimator has the parameters `kernel`,
    `approximation`, `n_components` and `random_state`.
    """

    X_fit_: Any
    dual_coef_: Array
    coef_: Array
    n_features_in_: int
    # A kernel has parameters of its own, which can be set as kernel__gamma.
    _part_kinds: ClassVar[dict[str, PartKind]] = KERNEL_INSTANCE
    get_params = get_params
    set_params = set_params
    _kernel_attributes: ClassVar[Declaration] = {
        **FEATURES,
        "X_fit_": Maybe(
            Numbers("landmarks", None, may_be_sparse=True) | Numbers("landmarks", types="iu")
        ),
        "dual_coef_": Maybe(Numbers("outputs", "landmarks", may_lack="outputs")),
    }

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        features = vars(self).get("features_")
        if features is None or features.kind == RANDOM:
            return None
        for name in ("X_fit_", "dual_coef_"):
            if name not in vars(self):
                return f"{name} is missing"
        if self.X_fit_.ndim != features.landmarks.ndim:
            return "X_fit_ and the landmarks of features_ contradict each other"
        if self.X_fit_.ndim == 2 and self.X_fit_.shape[1] != self.n_features_in_:
            return f"X_fit_ has {self.X_fit_.shape[1]} columns, and X has {self.n_features_in_}"
        if self.dual_coef_.shape[:-1] != self.coef_.shape[:-1]:
            return "dual_coef_ and coef_ have different outputs"
        return None

    def _kernel(self) -> Kernel | None:
        """The kernel; None for a linear model."""
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        is_given = isinstance(self.kernel, str) and self.kernel == PRECOMPUTED
        tags.input_tags.pairwise = is_given
        tags.input_tags.sparse = not is_given
        return tags

    def _map(self, data, callback):
        kernel = self._kernel()
        if kernel is None:
            return super()._map(data, callback)
        supply = Supply.of(self, kernel, data)
        if supply.kind == EXACT or self.n_components is not None:
            return _mapped(data, supply.features(self.n_components or 0))
        return grown(self, data, supply, callback)

    def _map_late(self, data):
        kernel = self._kernel()
        if kernel is None:
            return super()._map_late(data)
        return _mapped(data, one_landmark(kernel, data.X, data.weights))

    def _remap(self, data):
        features = vars(self).get("features_")
        if features is None:
            return super()._remap(data)
        distinct = DistinctRows.of(data.X, data.weights)
        if features.kind == EXACT:
            # To the last bit as in the fit, if these are its data.
            again = exact_features(features.kernel, data.X, distinct)
            if np.array_equal(again.positions, features.positions):
                return replace(data, X=again.train)
        return replace(data, X=features.transform_training(data.X, distinct))

    def _design(self, X):
        features = vars(self).get("features_")
        if features is None:
            return super()._design(X)
        return Design(features.transform(read_rows(self, X)))

    def _scores(self, X):
        features = vars(self).get("features_")
        if features is None:
            return super()._scores(X)
        check_is_fitted(self)
        X = read_rows(self, X)
        if features.kind == RANDOM:
            scores = features.scores(X, dense(self.coef_).T.astype(np.float64))
        else:
            scores = features.kernel.times(X, self.X_fit_, self.dual_coef_.T)
        return scores.astype(np.result_type(self.coef_.dtype, X.dtype)) + self.intercept_

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        features = learned.get("features_")
        if features is None:
            return specifics
        said = concerning(learned["certificate_"], features)
        specifics |= {"features_": features.without_training(), "certificate_": said}
        if features.kind != RANDOM:
            # Always in float64: many nearly cancel if a kernel is smooth.
            w = np.vstack([np.atleast_2d(s.parameters.w.T) for s in solutions])
            shape = specifics.get("coef_", learned["coef_"]).shape
            specifics["dual_coef_"] = features.dual_coef(w.T).T.reshape(*shape[:-1], -1)
            specifics["X_fit_"] = features.landmarks
        return specifics

    def _fitted(self, data, problems):
        fitted = super()._fitted(data, problems)
        features = vars(self).get("features_")
        if features is not None and features.kind != RANDOM:
            # Rows are held out by coef_, but dual_coef_ predicts.
            self._check_objective(*of_predictions(self, data.X, problems))
        if features is None:
            return fitted
        given = {field.name: getattr(fitted, field.name) for field in fields(fitted)}
        return OnFeatures(**given, estimator=self, data=data, features=features)

    def _certified(self, X, y, sample_weight):
        """The certificate, recomputed from the data."""
        return self._judged(*self._rebuilt(X, y, sample_weight))

    def _judged(self, data, problems):
        """The certificate of the stored model, on the problems of these data."""
        parameters = unpack(problems, self.coef_, self.intercept_, self.dual_)
        found = sum(certify_all(problems, parameters, tol=self.tol))
        features = vars(self).get("features_")
        if features is not None and features.kind != RANDOM:
            found = of_both(found, self, data.X, problems)
        return concerning(found, features)

    def _certified_exactly(self, X, y, sample_weight):
        """The same for the kernel itself, if landmarks replaced it."""
        return exact_certificate(self, X, y, sample_weight)


@dataclass(frozen=True, eq=False)
class OnFeatures(Fitted):
    """A fit on features of a kernel, which may be narrower or wider."""

    estimator: Any = None
    data: Any = None
    features: Any = None

    @property
    def is_limited(self) -> bool:  # type: ignore[override]
        """Whether the kernel has a fixed shape."""
        return self.features.kernel.is_limited

    @property
    def plain_rows(self) -> Design | None:
        """The rows the features were computed from."""
        return Design(self.data.X) if self.data.X.shape[0] == len(self.weights) else None

    def simpler(self) -> list[Dial]:
        """A stronger penalty, or a wider kernel."""
        return [*super().simpler(), *self._kernels(0.1)]

    def richer(self) -> list[Dial]:
        """A weaker penalty, or a narrower kernel."""
        return [*super().richer(), *self._kernels(10.0)]

    def _kernels(self, base: float) -> list[Dial]:
        if self.features.kind != EXACT:
            return []
        return [kernel_dial(self.features.kernel, self._of_kernel, base)]

    def _of_kernel(self, kernel: Kernel) -> Fitted:
        distinct = DistinctRows.of(self.data.X, self.data.weights)
        mapped = replace(self.data, X=exact_features(kernel, self.data.X, distinct).train)
        problems = self.estimator._settled()._problems(mapped)
        problems = [replace(p, penalty=own.penalty) for p, own in zip(problems, self.problems)]
        start = [problem.null for problem in problems]
        return replace(self, problems=problems, start=start, is_solved=False)


# ---- features ------------------------------------------------------------------------------------


def chosen_kind(approximation: str | None, n: int, exact_rows: int = EXACT_ROWS) -> str:
    """The meaning of `approximation` for `n` rows: "exact", "nystroem" or "random_features"."""
    if approximation is None or (approximation == AUTO and n <= exact_rows):
        return EXACT
    return NYSTROEM if approximation == AUTO else approximation


@dataclass(eq=False)
class Supply:
    """Features of one kernel for the same rows, of any rank; those of landmarks are nested."""

    kernel: Kernel
    kind: str
    X: Any
    distinct: DistinctRows
    seed: int
    # The number of rows for which features are finally made, if X is a sample of them.
    total: int

    @classmethod
    def of(cls, model: Any, kernel: Kernel, data: Training) -> Supply:
        """The supply for an estimator."""
        distinct = DistinctRows.of(data.X, data.weights)
        kind = chosen_kind(model.approximation, len(distinct.first))
        kernel = kernel.resolve(data.X, data.weights)
        return cls(kernel, kind, data.X, distinct, model.random_state, data.X.shape[0])

    def only(self, some: Training) -> Supply:
        """The same from some of the rows."""
        return replace(self, X=some.X, distinct=DistinctRows.of(some.X, some.weights))

    def features(self, rank: int) -> KernelFeatures:
        """Features of at most that rank, if they are approximate, in the precision of the data."""
        if self.kind == EXACT:
            return exact_features(self.kernel, self.X, self.distinct)
        if self.kind == RANDOM:
            return random_features(self.kernel, self.X, self.distinct, rank, self.seed)
        return self._drawing.features(rank)

    @cached_property
    def _drawing(self) -> Drawing:
        return Drawing(self.kernel, self.X, self.distinct, self.seed, self.most)

    @property
    def most(self) -> int:
        """The largest rank, by memory, time and need."""
        return max(min(self._fitting, MOST_FEATURES, len(self.distinct.first)), 1)

    @property
    def _fitting(self) -> int:
        """The largest rank whose features fit their memory."""
        return MOST_BYTES // (self.X.dtype.itemsize * self.total)

    def ranks(self) -> Iterator[int]:
        """Ranks to try, each twice the one before.

        So the earlier features take half as much again; a last rank close to the one before, at the
        memory limit, would take twice as much.
        """
        rank = min(FIRST_RANK, self.most)
        while rank < self.most:
            yield rank
            rank *= 2
        if rank == self.most or self.most < self._fitting:
            yield self.most


def _mapped(data: Training, features: KernelFeatures) -> Mapped:
    return Mapped(replace(data, X=features.train), features)


def grown(model: Any, data: Training, supply: Supply, callback: Any) -> Mapped:
    """Features of a rank that twice as many would hardly improve, and a solution on them.

    With many rows a sample determines the rank, in half of the available time.
    """
    if len(supply.distinct.first) <= MOST_ROWS or supply.kernel.name == PRECOMPUTED:
        return _grown(model, data, supply, callback)
    some = _sample(data, supply.distinct)
    left = deadline() - time.monotonic()
    with time_limit(max(0.5 * left, 0.0) if np.isfinite(left) else None):
        found = _grown(model, some, supply.only(some), callback)
    if found.status == "interrupted":
        raise KeyboardInterrupt
    train = found.features.transform_training(data.X, supply.distinct)
    features = replace(found.features, train=train)
    # The other half is for a solution on all rows.
    status = "optimal" if found.status == "time_limit" else found.status
    return replace(found, data=replace(data, X=features.train), features=features, status=status)


def _sample(data: Training, distinct: DistinctRows) -> Training:
    """Some of the distinct rows, drawn by content, with weights scaled up to that of all."""
    count = len(distinct.first)
    # Rows without weight have the number −1, which is the last.
    is_drawn = np.zeros(count + 1, dtype=bool)
    is_drawn[drawn(np.arange(count), MOST_ROWS)] = True
    rows = np.flatnonzero(is_drawn[distinct.inverse])
    weights = data.weights[rows]
    return replace(
        data,
        X=data.X[rows],
        y=data.y[rows],
        weights=weights * (data.weights.sum() / weights.sum()),
        sample_weight=data.sample_weight[rows],
    )


def _grown(model: Any, data: Training, supply: Supply, callback: Any) -> Mapped:
    """The same from all rows."""
    found, tried, is_enough = None, [], False
    try:
        for rank in supply.ranks():
            check()
            found = _solved(model, _mapped(data, supply.features(rank)), found, callback)
            if found.status in ("time_limit", "interrupted", "callback"):
                break
            tried.append(Tried(found.features.rank, *_unseen(model, found)))
            is_all = found.features.rank < rank or rank == len(supply.distinct.first)
            is_enough = is_all or _is_level(tried)
            if is_enough:
                break
    except (TimeLimit, KeyboardInterrupt) as stop:
        if found is None:
            raise
        status = "time_limit" if isinstance(stop, TimeLimit) else "interrupted"
        found = replace(found, status=status)
    assert found is not None
    features = replace(found.features, tried=tuple(tried), is_enough=is_enough)
    return replace(found, features=features)


def _is_level(tried: list[Tried]) -> bool:
    """Whether the last step gained little."""
    if len(tried) < 2:
        return False
    return tried[-1].unseen - tried[-2].unseen <= ENOUGH * tried[-1].standard_error


def _solved(model: Any, mapped: Mapped, smaller: Mapped | None, callback: Any) -> Mapped:
    """Roughly the solution on these features, from that on fewer of them."""
    problems, starts = model._problems(mapped.data), None
    if smaller is not None and smaller.starts is not None:
        carry = mapped.features.carried
        starts = [Parameters(carry(start.w), start.b) for start in smaller.starts]
    options = {"tol": max(ROUGH, model.tol), "polish": False, "callback": callback}
    solutions = solve_many(problems, starts=starts, **options)
    reached = [solution.parameters for solution in solutions]
    reached += [problem.null for problem in problems[len(solutions) :]]
    status = solutions[-1].status if solutions else "time_limit"
    return replace(mapped, starts=reached, status=status)


def _unseen(model: Any, found: Mapped) -> tuple[float, float]:
    """Minus the mean loss of held-out rows, and its standard error."""
    problems = model._problems(found.data)
    fitted = fitted_of(model, found.data, (problems, found.starts or []))
    try:
        z = by_formula(fitted).z
    except NotAvailable as reason:
        z = by_refits(fitted, fitted.units, str(reason)).z
    weights = np.where(np.all(np.isfinite(z), axis=1), problems[0].weights, 0.0)
    units, _ = by_appearance(fitted.units, weights > 0)
    return mean_and_error(fitted.row_scores(z), weights, units)
