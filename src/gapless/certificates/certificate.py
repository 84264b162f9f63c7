"""Certificate: a bound on how far a model is from the best one, proved from the data, in words.

`certify(problem, parameters)` computes it; estimators and `gapless.certify` call that. Imports no
solver: it takes the primal value from (w, b), a lower bound from a dual point whose feasibility it
checks itself, and charges rounding to the gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from .._ground.interrupt import TimeLimit
from .._ground.notebook import ShownInNotebook
from .._ground.percent import percent
from .._ground.threads import single_blas
from ..problem import (
    EPS,
    Bound,
    Parameters,
    Problem,
    bounds,
    covers_every_subset,
    predictions,
)
from ..streaming import is_in_parts
from .optimality import (
    Conditions,
    Evaluation,
    Slopes,
    Violation,
    evaluate,
    feasibility,
    row_violations,
    slope_rounding,
)
from .recession import (
    ALL_ZEROS,
    EMPTY_CLASS,
    FALLING,
    ONE_CLASS,
    PARTLY_SEPARATED,
    SEPARATED,
    ZEROS,
    why_endless,
)

Array = np.ndarray

# From the best to the worst: a sum of certificates has the worst kind among them, unless the sum of
# their gaps is within the sum of their tolerances.
KINDS = ("exact", "optimal", "bound", "stationary", "stopped", "none")
MEASURED = ("exact", "optimal", "stopped")
# What to do about too large a gap, if the solver takes steps.
CURE = "raise max_iter or tol"
# Rounding up to this part of P₀ is tolerated; beyond it the digits that count are lost.
RESOLVED = 1e-4
# Gaps below this fraction are written with an exponent.
SMALLEST_PLAIN = 1e-8
# Beyond this multiple of the objective without features, which is then next to nothing, say no
# percentage.
LARGEST_SHARE = 1e6
# With at most this many features, a certificate searches all subsets itself.
FEW_TO_COUNT = 30
# At most this many problems on one design share a product, to bound the memory it takes.
PROBLEMS_PER_PRODUCT = 32


@dataclass(frozen=True)
class Certificate(ShownInNotebook):
    """A bound on how far a model is from the best one. Prints as a sentence; `+` joins subproblems.

    Attributes
    ----------
    kind : str
        "optimal" (convex, gap ≤ tolerance), "exact" (the same, found in closed form), "stopped"
        (convex, gap above it), "stationary" (non-convex: no direction improves at first order),
        "bound" (a lower bound of another kind), "none" (no bound is known or no minimum exists).
    verdict : str
        The same in words, with a remedy if one is needed.
    primal, dual : float
        P at the parameters, and a lower bound of P for all parameters (of unpenalised columns,
        up to a thousand times the size at which a column alone makes up the predictions).
    gap : float
        P − D plus `rounding`: the objective is at most this much above the best possible one.
    relative_gap : float
        The gap divided by `scale`.
    tolerance : float
        The gap to reach: tol·scale, plus the rounding error if it is small.
    scale : float
        P₀, the objective at w = 0 with the best bias, above the smallest conceivable loss.
    rounding : float
        A bound on the rounding error of the sums.
    kkt : Conditions
        The largest violation of each condition of optimality, and where.
    method : str
        Which dual point gave the bound: "stored", "gradient" (−s·ℓ′), "zero", or "none"; "subsets"
        if a search of all subsets did.
    no_minimiser : str
        Why the objective falls for ever, so that no parameters are the best: "separated" (classes),
        "partly separated", "one class", "empty class", "zeros" (the targets of some rows),
        "all zeros" or "falling" (the loss of some rows); "" as far as a minimiser exists.
    """

    kind: str
    verdict: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    tolerance: float
    scale: float
    rounding: float = 0.0
    kkt: Conditions = field(default_factory=Conditions)
    method: str = "none"
    no_minimiser: str = ""

    def __post_init__(self) -> None:
        """Keep plain floats, which print as numbers and fit any file."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.floating):
                object.__setattr__(self, entry.name, float(value))

    @property
    def is_finite(self) -> bool:
        """Whether all sums are finite, so that the gap means something."""
        sums = (self.primal, self.dual, self.gap, self.tolerance, self.scale, self.rounding)
        return all(map(math.isfinite, sums))

    def __str__(self) -> str:
        numbers = f"gap {self.gap:.3g}, tolerance {self.tolerance:.3g}, objective {self.primal:.9g}"
        return f"{self.verdict}\n({numbers})" if np.isfinite(self.gap) else self.verdict

    def __repr__(self) -> str:
        return f"<Certificate {self.kind}: gap {self.gap:.3g}, tolerance {self.tolerance:.3g}>"

    def __add__(self, other: Any) -> Certificate:
        """The certificate of both subproblems together: the numbers add, the worse kind counts.

        Only the sum of the gaps counts: one part may exceed its tolerance by what others leave
        unused.
        """
        if not isinstance(other, Certificate):
            return NotImplemented
        gap, scale = self.gap + other.gap, self.scale + other.scale
        tolerance = self.tolerance + other.tolerance
        worse = max(self, other, key=lambda p: (KINDS.index(p.kind), p.no_minimiser != ""))
        joined = Certificate(
            kind=worse.kind,
            verdict=worse.verdict,
            primal=self.primal + other.primal,
            dual=self.dual + other.dual,
            gap=gap,
            relative_gap=_ratio(gap, scale),
            tolerance=tolerance,
            scale=scale,
            rounding=self.rounding + other.rounding,
            kkt=self.kkt.worst_of(other.kkt),
            method=self.method if self.method == other.method else "several",
            no_minimiser=worse.no_minimiser,
        )
        if worse.kind not in MEASURED or not (self.is_finite and other.is_finite):
            return joined
        if not joined.is_finite:
            verdict = f"stopped: the gap is not finite: {OVERFLOWS}."
            return replace(joined, kind="stopped", verdict=verdict, gap=np.inf, relative_gap=np.inf)
        if worse.kind == "stopped" and gap <= tolerance:
            joined = replace(joined, kind="optimal")
        return replace(joined, verdict=_sentence(joined))

    def __radd__(self, other: Any) -> Certificate:
        """Let `sum` start from 0."""
        return self if other == 0 else NotImplemented

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)


def certify(
    problem: Problem, parameters: Parameters, tol: float = 1e-6, exact: bool = False
) -> Certificate:
    """Bound how far `parameters` are from the minimum of `problem`.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    parameters : Parameters
        Coefficients, bias, and the solver's dual point, if any. A wrong dual point can only make
        the gap larger.
    tol : float, default=1e-6
        The gap that counts as optimal, relative to the objective at w = 0.
    exact : bool, default=False
        Whether the parameters come from a closed form; the kind is then "exact".

    Returns
    -------
    Certificate

    Notes
    -----
    Costs about four products with the data. P and D are summed in float64, even for float32 data.
    """
    return certify_all([problem], [parameters], tol, [exact])[0]


def certify_all(
    problems: Sequence[Problem],
    parameters: Sequence[Parameters],
    tol: float = 1e-6,
    exact: Sequence[bool] | None = None,
) -> list[Certificate]:
    """`certify` for several problems; those on one design share their products with it."""
    exact = [False] * len(problems) if exact is None else exact
    is_shared = all(problem.design is problems[0].design for problem in problems)
    size = PROBLEMS_PER_PRODUCT if is_shared else 1
    certificates = []
    with single_blas():
        for first in range(0, len(problems), size):
            some = slice(first, first + size)
            certificates += _certify_some(problems[some], parameters[some], tol, exact[some])
    return certificates


def certify_model(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    offset: Any = None,
    exact_kernel: bool = False,
) -> Certificate:
    """Recompute the certificate of a fitted model from the data, exported as `gapless.certify`.

    Parameters
    ----------
    model : estimator
        A fitted model of gapless.
    X, y : array-like
        The data it was fitted to.
    sample_weight : array-like of shape (n,), optional
        The weights it was fitted with.
    offset : array-like of shape (n,), optional
        The offsets it was fitted with, as PoissonRegressor takes them.
    exact_kernel : bool, default=False
        For a model that approximates a kernel by landmarks: bound the distance to the best model of
        the kernel itself. This computes n² kernel values, in blocks.

    Returns
    -------
    Certificate
        The sum over classes or outputs if the model solves one problem for each.
    """
    if is_in_parts(X):
        return _certify_in_parts(model, X, y, sample_weight)
    recompute = getattr(model, "_certified_exactly" if exact_kernel else "_certified", None)
    if exact_kernel and recompute is None:
        raise ValueError(
            f"exact_kernel=True needs a model with a kernel, and {type(model).__name__} has none; "
            "leave it out."
        )
    if recompute is not None:  # it knows its own objective and recomputes its certificate itself
        return recompute(X, y, sample_weight, **known_offset(model, offset))
    parts = getattr(model, "_certification_problem", None)
    if parts is None:
        raise TypeError(
            f"{type(model).__name__} cannot be certified: its objective is not known; pass a "
            "fitted gapless model, such as gapless.Ridge, with the X it was fitted to: for a "
            "pipeline call certify(pipeline[-1], pipeline[:-1].transform(X), y), for a search "
            "pass its best_estimator_."
        )
    tol = float(getattr(model, "tol", 1e-6))
    problems, parameters = zip(*parts(X, y, sample_weight, **known_offset(model, offset)))
    certificates = certify_all(problems, parameters, tol=tol)
    return sum(certificates[1:], start=certificates[0])


def _certify_in_parts(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    recompute = getattr(model, "_certified_in_parts", None)
    if recompute is None:
        raise TypeError(
            f"{type(model).__name__} cannot be certified in parts; pass its rows as an array."
        )
    return recompute(X, y, sample_weight)


def known_offset(model: Any, offset: Any) -> dict[str, Any]:
    """The offset as an argument of the methods that take one; an error for models without it."""
    if offset is None:
        return {}
    if not getattr(model, "_takes_offset", False):
        raise TypeError(
            f"{type(model).__name__} has no offset; leave it out, or use PoissonRegressor, "
            "GammaRegressor, TweedieRegressor, or RiskRegressor with one of their losses."
        )
    return {"offset": offset}


# ---- how a certificate is made -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Claim:
    """Parameters claimed to be optimal, and what several problems compute together.

    z is Xw + b. `name` says where the first bound to try comes from.
    """

    problem: Problem
    parameters: Parameters
    z: Array
    norms: Array
    name: str
    bound: Bound


def _certify_some(
    problems: Sequence[Problem], parameters: Sequence[Parameters], tol: float, exact: Sequence[bool]
) -> list[Certificate]:
    """Certificates for problems on one design."""
    given = [_in_float64(q) for q in parameters]
    complaints = [_complaint(p, q.w, q.b) for p, q in zip(problems, given)]
    sound = [k for k, complaint in enumerate(complaints) if complaint is None]
    claims = iter(_claims([problems[k] for k in sound], [given[k] for k in sound]))
    return [
        _certify(next(claims), tol, is_exact) if complaint is None else _refused(p, tol, complaint)
        for p, complaint, is_exact in zip(problems, complaints, exact)
    ]


def _in_float64(parameters: Parameters) -> Parameters:
    w, b = (np.asarray(part, dtype=float) for part in (parameters.w, parameters.b))
    return Parameters(w, b, parameters.theta)


def _claims(problems: Sequence[Problem], parameters: Sequence[Parameters]) -> list[Claim]:
    """The starting points of the certificates, by two products with the data for all of them."""
    if not problems:
        return []
    weights = problems[0].weights
    z = predictions(problems, parameters)
    with np.errstate(over="ignore", invalid="ignore"):
        first = [next(_dual_points(p, q.theta, s)) for p, q, s in zip(problems, parameters, z)]
    found = bounds(problems, [theta for _, theta in first])
    norms = _column_norms(problems[0])
    return [
        Claim(p, q, s, norms if p.weights is weights else _column_norms(p), name, bound)
        for p, q, s, (name, _), bound in zip(problems, parameters, z, first, found)
    ]


def _certify(claim: Claim, tol: float, exact: bool) -> Certificate:
    problem, z, norms = claim.problem, claim.z, claim.norms
    w, b = claim.parameters.w, claim.parameters.b
    with np.errstate(over="ignore", invalid="ignore"):
        primal = problem.primal(w, b, z)
    if not np.isfinite(primal) or not np.isfinite(problem.scale):
        return _refused(problem, tol, _why_infinite(problem, w))
    if not (problem.penalty.is_convex and problem.loss.is_convex):
        reason = why_endless(problem, w, b, z)
        if reason:
            endless = _unbounded(problem, tol, "none", _endless(problem, reason), primal)
            return replace(endless, no_minimiser=reason)
        return _among_subsets(problem, _judge_stationarity(claim, primal, tol), tol)
    if not problem.has_dual:
        return _without_bound(problem, w, z, primal, tol)
    best, method = _best_bound(claim, primal - tol * problem.scale)
    if best is None:
        return _refused(problem, tol, "the lower bound overflows float64; " + RESCALE)
    certificate = judged(
        best.primal,
        best.dual,
        scale=problem.scale,
        tol=tol,
        rounding=best.rounding,
        exact=exact,
        is_constant=_has_constant_target(problem),
        kkt=best.conditions,
        method=method,
    )
    reason = why_endless(problem, w, b, z)
    if reason:
        verdict = _endless(problem, reason)
        return replace(certificate, kind="none", verdict=verdict, no_minimiser=reason)
    if certificate.kind != "stopped":
        return certificate
    advice = _scaling_advice(norms)
    if best.rounding > max(RESOLVED, tol) * problem.scale:
        advice = CENTRE
    return replace(certificate, verdict=_sentence(certificate, advice))


def judged(
    primal: float,
    dual: float,
    *,
    scale: float,
    tol: float = 1e-6,
    rounding: float = 0.0,
    exact: bool = False,
    is_constant: bool = False,
    kkt: Conditions | None = None,
    method: str = "stored",
    cure: str = CURE,
) -> Certificate:
    """The certificate of a convex problem whose P and D the caller has computed from the data.

    The numbers are explained under `Certificate`; `exact` is for closed forms, `is_constant` for
    targets that leave nothing to explain, and `cure` is the verdict's advice if the gap is too
    large.
    """
    if is_constant:  # whatever is there is rounding, and no share of it means anything
        scale = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        gap = max(primal - dual, 0.0) + rounding
        tolerance = tol * scale
        # Unless it hides what is measured, rounding counts neither for nor against a model.
        if scale == 0 or rounding <= RESOLVED * scale:
            tolerance += 2 * rounding
    certificate = Certificate(
        kind="stopped",
        verdict=f"stopped: the gap is not finite: {OVERFLOWS}.",
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=_ratio(gap, scale),
        tolerance=tolerance,
        scale=scale,
        rounding=rounding,
        kkt=Conditions() if kkt is None else kkt,
        method=method,
    )
    if not certificate.is_finite:
        return replace(certificate, gap=np.inf, relative_gap=np.inf)
    if gap <= tolerance:
        certificate = replace(certificate, kind="exact" if exact else "optimal")
    return replace(certificate, verdict=_sentence(certificate, cure=cure))


def _has_constant_target(problem: Problem) -> bool:
    """Whether all rows that count have the same target."""
    y = problem.y[problem.weights > 0] if problem.has_zero_weights else problem.y
    return len(y) == 0 or bool(np.all(y == y[0]))


def _column_norms(problem: Problem) -> Array:
    """The norms of the features, over the rows that count."""
    counted = (problem.weights > 0).astype(float) if problem.has_zero_weights else None
    return np.sqrt(np.maximum(problem.design.column_square_sums(counted), 0.0))


def _best_bound(claim: Claim, enough: float) -> tuple[Evaluation | None, str]:
    """The best lower bound of the candidates, or the first that is enough; and its name."""
    best, method = None, "none"
    w, b = claim.parameters.w, claim.parameters.b
    for name, bound in _candidates(claim):
        if best is not None and bound.dual <= best.dual:
            continue
        evaluation = evaluate(claim.problem, w, b, claim.z, bound, claim.norms)
        if evaluation is not None and (best is None or evaluation.dual > best.dual):
            best, method = evaluation, name if np.any(bound.theta) else "zero"
        if best is not None and best.dual >= enough:
            break
    return best, method


def _candidates(claim: Claim) -> Iterator[tuple[str, Bound]]:
    """Bounds from the dual points; the first is known already."""
    yield claim.name, claim.bound
    problem = claim.problem
    for name, theta in _dual_points(problem, claim.parameters.theta, claim.z):
        if name != claim.name:
            yield name, problem.bound(theta)


def _dual_points(problem: Problem, stored: Array | None, z: Array) -> Iterator[tuple[str, Array]]:
    """Dual points to try, the most promising first."""
    if stored is not None and np.shape(stored) == np.shape(z):
        yield "stored", stored
    yield "gradient", -problem.derivative(z)
    yield "zero", np.zeros_like(z)


def _complaint(problem: Problem, w: Array, b: Array) -> str | None:
    """What is wrong with non-finite parameters; an error if they belong to another problem."""
    shape = (problem.d,) if problem.outputs is None else (problem.d, problem.outputs)
    if w.shape != shape or b.shape != shape[1:]:
        raise ValueError(
            f"w has shape {w.shape} and b {b.shape}, but the problem needs {shape} and "
            f"{shape[1:]}; pass the parameters of this problem."
        )
    for name, values in (("w", w), ("b", b)):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            place = "".join(f"[{i}]" for i in bad[0])
            value = values[tuple(bad[0])]
            return f"{name}{place} is {value}; scale the features, or use another solver"
    return None


def _why_infinite(problem: Problem, w: Array) -> str:
    with np.errstate(over="ignore", invalid="ignore"):
        outside = Violation.largest(np.abs(w - problem.penalty.prox(w, np.finfo(float).tiny)))
        if np.isfinite(problem.penalty.value(w)) or outside.where is None:
            return "the objective overflows float64; " + RESCALE
    return (
        f"the coefficients violate their constraints (entry {outside.where} by "
        f"{outside.value:.3g}); use a solver that respects them"
    )


def _refused(problem: Problem, tol: float, complaint: str) -> Certificate:
    """The certificate of parameters without a finite objective."""
    return _unbounded(
        problem, tol, "stopped", f"stopped: the gap is not finite: {complaint}.", np.inf
    )


def _unbounded(
    problem: Problem,
    tol: float,
    kind: str,
    verdict: str,
    primal: float,
    kkt: Conditions | None = None,
) -> Certificate:
    """A certificate without a gap."""
    return Certificate(
        kind=kind,
        verdict=verdict,
        primal=primal,
        dual=-np.inf,
        gap=np.inf,
        relative_gap=np.inf,
        tolerance=tol * problem.scale,
        scale=problem.scale,
        kkt=Conditions() if kkt is None else kkt,
    )


def _without_bound(problem: Problem, w: Array, z: Array, primal: float, tol: float) -> Certificate:
    """The certificate without a conjugate: the value, and the distance to stationarity."""
    culprit, missing = f"loss {problem.loss.name}", "conjugate and dual_domain, or dual_box"
    if problem.loss.has_conjugate:
        culprit = f"penalty {problem.penalty.name}"
        missing = "conjugate and feasible_scales"
    verdict = f"no bound is known: the {culprit} does not define its conjugate; add {missing}."
    return _unbounded(problem, tol, "none", verdict, primal, _first_order(problem, w, z))


def _first_order(problem: Problem, w: Array, z: Array, theta: Array | None = None) -> Conditions:
    """The conditions at θ, or at θ = −s·ℓ′, where the gradient of the loss is −Xᵀθ.

    With a free bias the columns count from their means: what is left of Σθ, times a large mean,
    would hide their own slopes.
    """
    given, theta = theta is not None, -problem.derivative(z) if theta is None else theta
    design, total = problem.design, float(problem.weights.sum())
    if problem.fit_bias and total > 0:
        design = design.shifted(design.transposed_times(problem.weights) / total)
    v = design.transposed_times(theta)
    distance = problem.penalty.subdifferential_distance(w, -v)
    rows = row_violations(problem, z, theta) if given else Violation()
    return Conditions(Violation.largest(distance), feasibility(problem, theta, v), rows)


def _judge_stationarity(claim: Claim, primal: float, tol: float) -> Certificate:
    """Non-convex: the distance to the subdifferential, relative to that without features.

    At a kink of the loss any slope between those on both sides counts: the stored θ knows which.
    """
    problem, w, z, theta = claim.problem, claim.parameters.w, claim.z, claim.parameters.theta
    kkt, without = _first_order(problem, w, z), problem.steepness
    start = problem.derivative(problem.predictions(problem.null.w, problem.null.b))
    enough = Slopes(
        tol * without + slope_rounding(problem, start, claim.norms),
        tol * max(without, float(np.sum(np.abs(start)))),
    )
    distance = _distance(kkt)
    is_possible = theta is not None and np.shape(theta) == np.shape(z)
    if not enough.hold(kkt, problem.d) and is_possible and problem.loss.has_conjugate:
        stored = _first_order(problem, w, z, theta)
        # A Fenchel–Young term of a row counts as much as the gap that it would be.
        if stored.complementarity.value <= tol * problem.scale and _distance(stored) < distance:
            kkt, distance = stored, _distance(stored)
    is_stationary = enough.hold(kkt, problem.d)
    numbers = (
        f"distance to the limiting subdifferential {distance:.3g}, without features {without:.3g}"
    )
    culprit = f"{problem.penalty.name} penalty"
    if problem.penalty.is_convex:
        culprit = f"{problem.loss.name} loss"
    verdict = (
        f"stationary: the {culprit} is not convex, so other minima may be "
        f"lower; no small change improves the objective at first order ({numbers})."
    )
    if not is_stationary:
        verdict = (
            f"stopped: the {culprit} is not convex, and changing some "
            f"coefficients would still improve the objective ({numbers}); raise max_iter."
        )
    kind = "stationary" if is_stationary else "stopped"
    return _unbounded(problem, tol, kind, verdict, primal, kkt)


def _among_subsets(problem: Problem, stationary: Certificate, tol: float) -> Certificate:
    """The gap to the best subset, if few features are counted and all subsets are ruled out.

    The nodes in which the search ended must cover every subset. A problem that was not searched yet
    is searched now, as long as time lasts.
    """
    subset = problem.penalty.subset(problem.d)
    is_searched = "best_subset" in vars(problem)
    is_possible = problem.loss.name == "squared" and problem.outputs is None
    if subset is None or not is_possible or not (is_searched or problem.d <= FEW_TO_COUNT):
        return stationary
    search = problem.best_subset
    with suppress(TimeLimit):
        while not is_searched and not search.is_done(0.5 * tol * problem.scale):
            search.split(0.5 * tol * problem.scale)
    leaves = search.leaves()
    if not covers_every_subset(leaves, search.free):
        return stationary
    rounding = 64 * problem.d * EPS * (search.constant + abs(stationary.primal))
    cure = "raise time_limit or max_iter, or use fewer features"
    if search.best < stationary.primal - rounding:
        cure = 'a better subset is known; use solver="branch_and_bound"'
    certificate = judged(
        stationary.primal,
        search.lower,
        scale=problem.scale,
        tol=tol,
        rounding=rounding,
        kkt=stationary.kkt,
        method="subsets",
        cure=cure,
    )
    words = (
        f" (not convex, but all {2.0**problem.d:.4g} subsets are covered by {len(leaves):,} bounds)"
    )
    verdict = certificate.verdict.replace("optimal:", "optimal, the best subset:", 1)
    return replace(certificate, verdict=verdict.rstrip(".") + words + ".")


def _distance(kkt: Conditions) -> float:
    return max(kkt.stationarity.value, kkt.feasibility.value)


# ---- sentences -----------------------------------------------------------------------------------

RESCALE = "divide the features and the target by a constant"
OVERFLOWS = "the objective, or its lower bound, overflows float64; " + RESCALE
CENTRE = ", or centre the features and the target, whose large means hide the rest"
# What makes the objective fall for ever, and what to do about it; {} are the coefficients.
ENDLESS = {
    SEPARATED: (
        "{} separate the classes, so the objective keeps falling as they grow",
        "drop the features that separate",
    ),
    PARTLY_SEPARATED: (
        "{} separate some of the rows by their class, and leave the others as they are, so the "
        "objective keeps falling as they grow",
        "drop the features that separate",
    ),
    ZEROS: (
        "the targets of a group of rows are all 0, and {} push their predictions towards 0 and "
        "leave the others as they are, so the objective keeps falling as they grow",
        "drop the features that mark these rows",
    ),
    FALLING: ("the loss of some rows keeps falling as {} grow", "drop the features that do it"),
}
ENDLESS_TARGETS = {
    ONE_CLASS: (
        "all rows are of one class, so the objective keeps falling as its score grows; add rows "
        "of another class"
    ),
    EMPTY_CLASS: (
        "a class has no rows, so the objective keeps falling as its score sinks; add rows of that "
        "class, or leave it out"
    ),
    ALL_ZEROS: (
        "all targets are 0, so the objective keeps falling as the predictions approach 0; add rows "
        "with other targets"
    ),
}


def _endless(problem: Problem, reason: str) -> str:
    """The verdict on an objective that falls for ever."""
    if reason in ENDLESS_TARGETS:
        return f"no minimiser exists: {ENDLESS_TARGETS[reason]}."
    who, cure = "coefficients without a penalty", "add a penalty"
    penalty, d = problem.penalty, problem.d
    if penalty.concave(d) is not None or penalty.subset(d) is not None:
        who = f"coefficients that the {problem.penalty.name} penalty does not hold back"
        cure = "use a penalty that does, such as L1 or L2"
    cause, other_cure = ENDLESS[reason]
    return f"no minimiser exists: {cause.format(who)}; {cure}, or {other_cure}."


def _sentence(certificate: Certificate, advice: str = "", cure: str = CURE) -> str:
    """The verdict on a convex problem in words."""
    distance = _in_words(certificate)
    if certificate.kind == "exact":
        return f"exact: solved in closed form, {distance}."
    if certificate.kind == "optimal":
        return f"optimal: {distance}."
    share = _ratio(certificate.tolerance, certificate.scale)
    allowed = f"{certificate.tolerance:.3g}"
    if share <= LARGEST_SHARE:
        allowed = f"{_percent(share)} of the objective without features"
    return f"stopped: {distance} (tolerance: {allowed}); {cure}{advice}."


def _in_words(certificate: Certificate) -> str:
    if certificate.dual > 0 and certificate.gap <= 0.01 * certificate.dual:
        excess = _percent(certificate.gap / certificate.dual)
        return f"at most {excess} above the best possible objective"
    if certificate.scale == 0 or certificate.relative_gap > LARGEST_SHARE:
        return f"at most {certificate.gap:.3g} above the best possible objective"
    share = _percent(certificate.relative_gap)
    return (
        f"at most {share} above the best possible objective, relative to the objective without "
        "features"
    )


def _percent(fraction: float) -> str:
    """A fraction as a percentage of two digits: 0.0003 %, never a bare 0."""
    if fraction == 0:
        return percent(fraction)
    if fraction < SMALLEST_PLAIN:
        return f"{100 * fraction:.1e} %"
    return percent(fraction, max(0, -1 - int(np.floor(np.log10(fraction)))))


def _scaling_advice(norms: Array) -> str:
    """Advice about features of very different size."""
    positive = norms[norms > 0]
    ratio = float(positive.max() / positive.min()) if len(positive) else 1.0
    return (
        f", or scale the features (largest/smallest column norm {ratio:.0e})" if ratio > 1e3 else ""
    )


def _ratio(a: float, b: float) -> float:
    """a/b, with 0/0 = 0."""
    if b > 0:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.float64(a) / b)
    return 0.0 if a == 0 else np.inf
