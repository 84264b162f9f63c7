"""Duality of one's own problem: min f(x) with g(x) ≥ 0 and h(x) = 0, checked at a point.

The Lagrangian is L(x, λ, u) = f(x) − Σλᵢgᵢ(x) + Σuⱼhⱼ(x) with λ ≥ 0, and its smallest value over x
is the dual value d(λ, u), never above the smallest f. What is computed from the functions at x is
exact up to rounding; what is searched for says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear, minimize

from .._ground.notebook import ShownInNotebook
from .gradients import numerical_gradient

Array = np.ndarray
Function = Callable[[Array], Any]

# Starts of the searches, and pairs of points at which convexity is tried.
STARTS, PAIRS = 5, 200
# A Lagrangian below minus this, relative to |f|, counts as falling for ever.
BOTTOMLESS = 1e10
# How far around x the searches begin, in units of 1 + |x|.
AROUND = 2.0
# A constraint is active if it is this near to 0, in units of the tolerance.
NEAR = 100.0
# Pairs about x are this many times nearer to it at each step.
NEARER = 0.1
# Differences of sampled values that are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Condition:
    """One of the KKT conditions at a point.

    Attributes
    ----------
    name, formula : str
        The condition in words, and as a formula.
    residual : float
        By how much it is violated, at most.
    tolerance : float
        The largest residual that counts as rounding.
    where : str
        The worst entry, if it is violated.
    """

    name: str
    formula: str
    residual: float
    tolerance: float
    where: str = ""

    @property
    def holds(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.residual <= self.tolerance


@dataclass(frozen=True, eq=False)
class Duality(ShownInNotebook):
    """What `duality` found. Prints as a table with a verdict.

    Attributes
    ----------
    kind : str
        "optimal", "KKT point" (not known to be convex: may be no minimum), "infeasible" or "open".
    verdict : str
        The same as a sentence, with the reason.
    primal : float
        f(x).
    dual : float
        d(λ, u), as given or as found; −∞ if the Lagrangian has no minimum.
    gap : float
        f(x) − d: if d is right and x feasible, no point is better by more.
    dual_method : str
        Where d comes from, and what that is worth.
    multipliers : tuple of two ndarrays
        λ and u.
    are_estimated : bool
        Whether they were estimated from the gradients, not given.
    conditions : tuple of Condition
        The KKT conditions.
    interior : ndarray or None
        A point with g > 0 and h = 0, if one is known: Slater's condition.
    slater : str
        Slater's condition in words.
    convexity : str
        Whether f and −g are convex and h is affine, as stated, or as far as points can show.
    is_convex : bool
        The same as a truth value.
    """

    kind: str
    verdict: str
    primal: float
    dual: float
    gap: float
    dual_method: str
    multipliers: tuple[Array, Array]
    are_estimated: bool
    conditions: tuple[Condition, ...]
    interior: Array | None
    slater: str
    convexity: str
    is_convex: bool

    def __getitem__(self, name: str) -> Condition:
        return {one.name: one for one in self.conditions}[name]

    @property
    def kkt_holds(self) -> bool:
        """Whether all KKT conditions hold."""
        return all(one.holds for one in self.conditions)

    def __str__(self) -> str:
        names, formulas = (
            max(len(getattr(c, k)) for c in self.conditions) for k in ("name", "formula")
        )
        lines = [self.verdict]
        for one in self.conditions:
            said = "holds" if one.holds else f"violated at {one.where}"
            lines.append(
                f"{one.name:<{names}}  {one.formula:<{formulas}}  {one.residual:8.2g}  {said}"
            )
        bound = f"d = {self.dual:.8g} ≤ f(x) = {self.primal:.8g}, gap {self.gap:.2g}"
        if self.kind == "infeasible":
            bound = f"d = {self.dual:.8g} bounds f where g ≥ 0 and h = 0, and so not at this x"
        lines += [
            f"weak duality: {bound}; {self.dual_method}.",
            f"Slater's condition: {self.slater}.",
            f"convexity: {self.convexity}.",
        ]
        if self.are_estimated:
            lines.append("The multipliers were estimated from the gradients at x.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Duality: {self.kind}, gap {self.gap:.3g}>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers, strings and lists."""
        plain = asdict(self) | {
            "conditions": [asdict(c) | {"holds": c.holds} for c in self.conditions]
        }
        plain["multipliers"] = [values.tolist() for values in self.multipliers]
        plain["interior"] = None if self.interior is None else self.interior.tolist()
        return plain


def duality(
    f: Function,
    g: Function | Sequence[Function] | None,
    h: Function | Sequence[Function] | None,
    x: Any,
    lam: Any = None,
    u: Any = None,
    *,
    gradients: tuple[Any, Any, Any] = (None, None, None),
    dual: Callable[[Array, Array], float] | None = None,
    interior: Any = None,
    is_convex: bool | None = None,
    tol: float = 1e-6,
    random_state: int = 0,
) -> Duality:
    """Check a solution of your own problem, min f(x) with g(x) ≥ 0 and h(x) = 0.

    Parameters
    ----------
    f : callable
        A vector in, a number out.
    g, h : callable, sequence of callables, or None
        The constraints g ≥ 0 and h = 0: a function that returns a vector, or several that return a
        number each.
    x : array-like of shape (n,)
        The point to check.
    lam, u : array-like, default=None
        Multipliers λ ≥ 0 of g and u of h; None estimates both from the gradients at x.
    gradients : tuple of three callables or None
        The gradient of f, (n,), and the Jacobians of g and h, (k, n) and (m, n); None takes
        differences.
    dual : callable, default=None
        d(λ, u), if you have derived it. None minimises the Lagrangian numerically.
    interior : array-like of shape (n,), default=None
        A point with g > 0 and h = 0, for Slater's condition; None searches for one.
    is_convex : bool, default=None
        Whether f and −g are convex and h affine; None tries pairs of points.
    tol : float, default=1e-6
        The largest residual that counts as rounding, relative to the size of its terms.
    random_state : int, default=0
        Seed of the points from which searches begin.

    Returns
    -------
    Duality
        Each KKT condition with its residual, the dual value, Slater's condition and convexity, with
        a verdict; prints as a table.

    Notes
    -----
    A strictly feasible point that is found proves Slater's condition, and a pair of points can
    refute convexity; finding none proves nothing. A numerical minimum of the Lagrangian may lie
    above the true one, so only a dual function that is given makes the gap a proof. For a convex
    problem the KKT conditions are sufficient; under Slater's condition also necessary.

    References
    ----------
    Boyd and Vandenberghe (2004), Convex Optimization, chapter 5.

    Examples
    --------
    The point of the half-plane x₁ + x₂ ≥ 2 that is nearest to the origin:

    >>> from gapless import duality
    >>> found = duality(lambda x: x @ x, lambda x: [x[0] + x[1] - 2], None, [1.0, 1.0], [2.0])
    >>> found.kind, round(found.dual, 6), found.kkt_holds
    ('optimal', 2.0, True)
    """
    own = _Problem(f, g, h, np.asarray(x, dtype=float), gradients)
    are_estimated = lam is None and u is None
    if are_estimated:
        lam, u = own.estimated(tol)
    lam = own.multipliers(lam, own.k, "lam", "g")
    u = own.multipliers(u, own.m, "u", "h")
    rng = np.random.default_rng(random_state)
    conditions = own.conditions(lam, u, tol)
    # Searches may leave the region in which the functions are defined.
    with np.errstate(all="ignore"):
        convexity, convex = own.convexity(is_convex, rng)
        value, method = own.dual(lam, u, dual, rng)
        inside, slater = own.slater(interior, rng, tol)
    gap = own.value - value
    allowed = tol * max(1.0, abs(own.value))
    is_given = dual is not None
    is_searched = is_convex is None and not is_given
    if convex and is_searched and gap > allowed and all(one.holds for one in conditions):
        # The KKT conditions of a convex problem make x a minimum of the Lagrangian.
        convex, convexity = False, f"the Lagrangian is lower than at x elsewhere, by {gap:.2g}"
    kind, verdict = _verdict(conditions, gap, allowed, is_given, convex, convexity)
    return Duality(
        kind=kind,
        verdict=verdict,
        primal=own.value,
        dual=value,
        gap=gap,
        dual_method=method,
        multipliers=(lam, u),
        are_estimated=are_estimated,
        conditions=conditions,
        interior=inside,
        slater=slater,
        convexity=convexity,
        is_convex=convex,
    )


def _verdict(
    conditions: tuple[Condition, ...],
    gap: float,
    allowed: float,
    is_given: bool,
    is_convex: bool,
    convexity: str,
) -> tuple[str, str]:
    """The kind, and the sentence."""
    failing = [one for one in conditions if not one.holds]
    primal = [one for one in failing if one.name.startswith("primal")]
    if primal:
        worst = max(primal, key=lambda one: one.residual)
        return "infeasible", f"infeasible: {worst.where} violates {worst.formula}."
    has_dual_point = all(one.name != "dual feasibility" for one in failing)
    if is_given and has_dual_point and abs(gap) <= allowed:
        return "optimal", f"optimal: the dual value proves it, with a gap of {max(gap, 0.0):.2g}."
    if is_given and has_dual_point and gap < -allowed:
        return "open", (
            f"open: the dual value is above f(x) by {-gap:.2g}, which weak duality forbids; the "
            "dual function is wrong."
        )
    if failing:
        names = " and ".join(one.name for one in failing)
        return "open", (
            f"open: {names} {'fails' if len(failing) == 1 else 'fail'} with these multipliers, so "
            "they do not show that x is optimal."
        )
    if is_convex:
        return "optimal", (
            f"optimal: all KKT conditions hold, which is sufficient for a convex problem "
            f"({convexity})."
        )
    return "KKT point", (
        f"KKT point: all KKT conditions hold, but the problem is not known to be convex "
        f"({convexity}), so x may be a local minimum, or none."
    )


class _FallsForEver(Exception):
    """The Lagrangian has no minimum."""


class _Problem:
    """The functions of a problem, at the point to check."""

    def __init__(self, f: Function, g: Any, h: Any, x: Array, gradients: tuple[Any, Any, Any]):
        if x.ndim != 1 or not len(x) or not np.all(np.isfinite(x)):
            raise ValueError("x must be a vector of finite numbers.")
        if len(gradients) != 3:
            raise ValueError("gradients must be three: of f, g and h, None for those not known.")
        self.x, self.gradients = x, gradients
        self.f = _as_number(f, "f")
        self.g, self.h = _as_vector(g), _as_vector(h)
        self.value, self.g_values, self.h_values = self.f(x), self.g(x), self.h(x)
        for name, values in (("f", self.value), ("g", self.g_values), ("h", self.h_values)):
            if not np.all(np.isfinite(values)):
                raise ValueError(f"{name}(x) is {values}; check the function at this x.")
        self.k, self.m = len(self.g_values), len(self.h_values)
        self.slope = self._slope(0, self.f, (len(x),))
        self.g_slopes = self._slopes(1, self.g, self.k)
        self.h_slopes = self._slopes(2, self.h, self.m)

    def _slope(self, place: int, function: Function, shape: tuple[int, ...]) -> Array:
        given = self.gradients[place]
        if given is None:
            return numerical_gradient(function, self.x)
        found = np.asarray(given(self.x.copy()), dtype=float)
        if found.shape != shape:
            name = "fgh"[place]
            raise ValueError(f"the gradient of {name} has shape {found.shape}, not {shape}.")
        return found

    def _slopes(self, place: int, function: Function, count: int) -> Array:
        shape = count, len(self.x)
        if self.gradients[place] is not None:
            return self._slope(place, function, shape)
        rows = [numerical_gradient(partial(_entry, function, i), self.x) for i in range(count)]
        return np.array(rows).reshape(shape)

    def multipliers(self, given: Any, count: int, name: str, of: str) -> Array:
        """Multipliers as a vector, zeros if there are none."""
        found = np.zeros(count) if given is None else np.atleast_1d(np.asarray(given, dtype=float))
        if found.shape != (count,) or not np.all(np.isfinite(found)):
            raise ValueError(
                f"{name} must be {count} finite numbers, one for each entry of {of}, got "
                f"{np.size(given)}."
            )
        return found

    def estimated(self, tol: float) -> tuple[Array, Array]:
        """λ ≥ 0 of active constraints, and u, with which the gradient of L is smallest."""
        is_active = self.g_values <= NEAR * tol * max(1.0, float(np.max(np.abs(self.x))))
        columns = np.vstack([self.g_slopes[is_active], -self.h_slopes]).T
        lam = np.zeros(self.k)
        if not columns.shape[1]:
            return lam, np.zeros(self.m)
        active = int(is_active.sum())
        lower = np.concatenate([np.zeros(active), np.full(self.m, -np.inf)])
        found = lsq_linear(
            columns, self.slope, (lower, np.inf), method="bvls" if active else "trf"
        ).x
        lam[is_active] = found[:active]
        return lam, found[active:]

    def lagrangian(self, x: Array, lam: Array, u: Array) -> float:
        """L(x, λ, u)."""
        return self.f(x) - float(lam @ self.g(x)) + float(u @ self.h(x))

    def conditions(self, lam: Array, u: Array, tol: float) -> tuple[Condition, ...]:
        """The KKT conditions that the problem has, each with its residual."""
        terms = [self.slope, *(-lam[:, None] * self.g_slopes), *(u[:, None] * self.h_slopes)]
        size = max(1.0, *(float(np.max(np.abs(term), initial=0.0)) for term in terms))
        length = max(1.0, float(np.max(np.abs(self.x))))
        gradient = np.sum(terms, axis=0)
        found = [_worst("stationarity", "∇f − Σλ∇g + Σu∇h = 0", np.abs(gradient), tol * size, "x")]
        if self.k:
            products = np.abs(lam * self.g_values)
            dual_size = max(1.0, float(np.max(np.abs(lam))))
            found += [
                _worst("primal feasibility of g", "g(x) ≥ 0", -self.g_values, tol * length, "g"),
                _worst("dual feasibility", "λ ≥ 0", -lam, tol * dual_size, "λ"),
                _worst(
                    "complementary slackness",
                    "λg(x) = 0",
                    products,
                    tol * max(1.0, abs(self.value), dual_size),
                    "λg",
                ),
            ]
        if self.m:
            residuals = np.abs(self.h_values)
            found.append(
                _worst("primal feasibility of h", "h(x) = 0", residuals, tol * length, "h")
            )
        return tuple(found)

    def dual(
        self, lam: Array, u: Array, given: Callable[[Array, Array], float] | None, rng: Any
    ) -> tuple[float, str]:
        """d(λ, u), and where it comes from."""
        if given is not None:
            return float(given(lam, u)), "d is the dual function that was given"
        if np.any(lam < 0):
            return -np.inf, "a negative λ gives no bound"
        bottom = -BOTTOMLESS * max(1.0, abs(self.value))

        def lagrangian(x: Array) -> float:
            found = self.lagrangian(x, lam, u)
            if found < bottom:
                raise _FallsForEver
            return found

        best = np.inf
        # Forward differences are too coarse to follow a slope that is small beside its curvatures.
        jacobian = self._jacobian(lam, u) or "3-point"
        try:
            for start in self._starts(rng, STARTS):
                found = minimize(lagrangian, start, method="BFGS", jac=jacobian)
                best = min(best, float(found.fun) if np.isfinite(found.fun) else np.inf)
        except _FallsForEver:
            return -np.inf, "the Lagrangian falls for ever, so these multipliers prove nothing"
        # At x itself L is known, and never above f(x) there if x is feasible.
        best = min(best, self.lagrangian(self.x, lam, u))
        return best, (
            f"d is the smallest Lagrangian found from {STARTS} starts; the true one may be lower"
        )

    def _jacobian(self, lam: Array, u: Array) -> Callable[[Array], Array] | None:
        """The gradient of L, if those of all functions are given."""
        counts = 1, self.k, self.m
        if any(count and one is None for count, one in zip(counts, self.gradients)):
            return None
        of_f, of_g, of_h = self.gradients

        def slope(x: Array) -> Array:
            found = np.asarray(of_f(x), dtype=float)
            found = found - lam @ np.asarray(of_g(x)) if self.k else found
            return found + u @ np.asarray(of_h(x)) if self.m else found

        return slope

    def slater(self, given: Any, rng: Any, tol: float) -> tuple[Array | None, str]:
        """A strictly feasible point, and the condition in words."""
        if not self.k:
            return None, "not needed without inequalities"
        if given is not None:
            point = np.asarray(given, dtype=float)
            least = self._least(point, tol)
            if least > 0:
                return point, f"holds at the given point, where g ≥ {least:.3g}"
            return None, "the given point is not strictly feasible"
        best, reached = None, 0.0
        for start in self._starts(rng, STARTS):
            point = self._inward(start)
            least = self._least(point, tol)
            if least > reached:
                best, reached = point, least
        if best is None:
            return (
                None,
                "no strictly feasible point was found, which does not prove that none exists",
            )
        shown = np.array2string(best, precision=4, threshold=6)
        return best, f"holds, by x = {shown} with g ≥ {reached:.3g}"

    def _least(self, point: Array, tol: float) -> float:
        """The smallest g at a point that keeps h = 0, else −∞."""
        if self.m and np.max(np.abs(self.h(point))) > tol * max(1.0, float(np.max(np.abs(point)))):
            return -np.inf
        return float(np.min(self.g(point)))

    def _inward(self, start: Array) -> Array:
        """The point with the largest smallest g that a search finds, up to 1."""
        constraints = [{"type": "ineq", "fun": lambda v: self.g(v[:-1]) - v[-1]}]
        if self.m:
            constraints.append({"type": "eq", "fun": lambda v: self.h(v[:-1])})
        first = np.append(start, min(float(np.min(self.g(start))), 0.0))
        bounds = [(None, None)] * len(start) + [(None, 1.0)]
        found = minimize(
            lambda v: -v[-1], first, method="SLSQP", bounds=bounds, constraints=constraints
        )
        return found.x[:-1]

    def convexity(self, stated: bool | None, rng: Any) -> tuple[str, bool]:
        """Whether the problem is convex, in words and as a truth value."""
        if stated is not None:
            return f"stated to be {'' if stated else 'not '}convex", stated
        for k in range(PAIRS):
            a, b = self._starts(rng, 3)[1:]
            if k % 2:  # about x itself, ever nearer: a maximum or a saddle there may be narrow
                step = NEARER ** (k % STARTS) * (a - self.x)
                a, b = self.x + step, self.x - step
            middle = 0.5 * (a + b)
            for name, function, sign in (("f", self.f, 1), ("−g", self.g, -1), ("h", self.h, 0)):
                ends = 0.5 * (np.asarray(function(a)) + np.asarray(function(b)))
                away = np.atleast_1d(np.asarray(function(middle)) - ends)
                room = ROUNDING * (1 + np.abs(np.atleast_1d(ends)))
                if not np.all(np.isfinite(away)):
                    continue  # outside of what the function accepts
                if np.any(np.abs(away) > room if sign == 0 else sign * away > room):
                    what = "affine" if sign == 0 else "convex"
                    return f"{name} is not {what}, as a pair of points shows", False
        return f"no counterexample among {PAIRS} pairs of points, which is not a proof", True

    def _starts(self, rng: Any, count: int) -> list[Array]:
        """x, and points around it."""
        width = AROUND * (1 + np.abs(self.x))
        return [self.x, *(self.x + width * rng.normal(size=len(self.x)) for _ in range(count - 1))]


def _entry(function: Function, i: int, x: Array) -> float:
    return float(function(x)[i])


def _worst(name: str, formula: str, residuals: Array, tolerance: float, of: str) -> Condition:
    """The condition with its largest residual."""
    worst = int(np.argmax(residuals))
    residual = max(float(residuals[worst]), 0.0) + 0.0  # no minus zero
    where = f"{of}[{worst}]" if residual > tolerance else ""
    return Condition(name, formula, residual, tolerance, where)


def _as_number(function: Function, name: str) -> Callable[[Array], float]:
    if not callable(function):
        raise TypeError(f"{name} must be a function of x, got {function!r}.")

    def value(x: Array) -> float:
        found = np.asarray(function(x.copy()), dtype=float)
        if found.size != 1:
            raise ValueError(f"{name}(x) must be a number, got shape {found.shape}.")
        return float(found.reshape(()))

    return value


def _as_vector(functions: Any) -> Callable[[Array], Array]:
    """One function of all constraints, from one, several or none."""
    if functions is None:
        return lambda x: np.zeros(0)
    if callable(functions):
        return lambda x: np.atleast_1d(np.asarray(functions(x.copy()), dtype=float)).ravel()
    each = [_as_number(one, f"constraint {i}") for i, one in enumerate(functions)]
    return lambda x: np.array([one(x) for one in each])
