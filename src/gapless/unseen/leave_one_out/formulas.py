"""Choose the formula that predicts each row without itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._ground.percent import percent
from ..._ground.threads import single_blas
from ...problem import FreeColumns, Parameters, Problem
from ...solvers import Curved
from . import joint, span
from ._base import (
    LARGEST_ACTIVE_SHARE,
    LARGEST_LEVERAGE,
    Array,
    HeldOut,
    NotAvailable,
    refuse_large_system,
    squares_of,
)
from .distinct import MergedRows
from .features import InFeatures
from .rows import InRows, kernel_of
from .spectrum import Spectrum

# The digits an exact formula may lose before singular values take over; more if those would take
# longer, counted in operations, and how many are still worth it: some seconds.
LOSS_OF_DIGITS, LARGEST_LOSS_OF_DIGITS = 1e-10, 1e-7
CHEAP, MOST_WORK = 2e8, 2e10
# A smallest eigenvalue of ∇²P, with a unit diagonal, above which P counts as convex around a fit.
SADDLE = 1e-6


def leave_out(
    problem: Problem,
    parameters: Parameters,
    groups: Array | None = None,
    curved: Curved | None = None,
) -> HeldOut:
    """Predict each row without all rows of its x, or without its group of rows.

    Parameters
    ----------
    problem : Problem
        What was minimised.
    parameters : Parameters
        Its solution; piecewise-linear losses need the dual point as well.
    groups : array-like of shape (n,), optional
        Labels of rows that are left out together; by default those of one x, whatever their
        targets.
    curved : Curved, optional
        The loss to second order at the solution, if it is known from the fit: for a smooth loss of
        one prediction, and ½Σ l2ⱼwⱼ².

    Returns
    -------
    HeldOut
        Predictions and leverages of all rows. Rows of weight 0 get their plain prediction.

    Raises
    ------
    NotAvailable
        If no formula can be trusted.

    Notes
    -----
    Exact ("loo") for the squared loss with ½Σ l2ⱼwⱼ² or without a penalty. For other smooth losses,
    and on the active set of other penalties, one Newton step from the full fit ("approximate loo").
    Rows of one x pull in the same direction: their slopes and curvatures add up, and for the
    squared loss they are one row with the mean of their targets. The cost is about that of one step
    of a fit, n·m² for m active coefficients or n³ if n < m.

    References
    ----------
    Allen (1974), Technometrics 16. Vapnik and Chapelle (2000), Neural Computation 12.
    Rad and Maleki (2020), J. R. Stat. Soc. B 82.
    """
    groups = None if groups is None else _labels(groups, problem.n)
    units = MergedRows.units(problem, groups)
    groups = None if groups is None else groups[units.first]
    if groups is not None and np.all(groups == groups[0]):
        raise NotAvailable("all rows are in one group")
    if curved is not None:
        z, leverage, method = _around(problem, curved, units)
        plain = curved.z
    else:
        z, leverage, method = _estimate(problem, parameters, units, groups)
        plain = problem.predictions(parameters.w, parameters.b)
    z, leverage = units.spread(z, plain), units.spread(leverage, np.zeros(problem.n))
    return HeldOut(z, leverage, method)


def _labels(groups: Array, n: int) -> Array:
    labels = np.unique(np.asarray(groups), return_inverse=True)[1]
    if labels.shape != (n,):
        raise ValueError(f"groups has shape {np.shape(groups)}, but there are {n} rows.")
    return labels


def _around(problem: Problem, curved: Curved, units: MergedRows) -> tuple[Array, Array, str]:
    """Held-out predictions of the units (m,), leverages and method, from a fit's derivatives."""
    l2 = squares_of(problem)
    assert l2 is not None
    of_units = replace(
        curved,
        z=units.firsts(curved.z),
        slope=units.sums(curved.slope),
        curvature=units.sums(curved.curvature),
    )
    system = InFeatures.around(units.rows(problem.design), l2, of_units, problem.fit_bias)
    held, leverage = system.leave_each()
    _refuse_wild_steps(held, leverage, 1.0)
    return held[:, 0], leverage, "approximate loo"


def _estimate(
    problem: Problem, parameters: Parameters, units: MergedRows, groups: Array | None
) -> tuple[Array, Array, str]:
    """Held-out predictions of the units in the shape of z, leverages, and the method."""
    loss, penalty = problem.loss, problem.penalty
    l2 = squares_of(problem)
    if loss.is_piecewise_linear and loss.has_dual_box:
        return *_by_outputs(span.hold_out, problem, parameters, units, groups), "span"
    if not loss.has_curvature:
        raise NotAvailable(f"the {loss.name} loss has no curvature")
    if not penalty.has_curvature:
        raise NotAvailable(f"the curvature of the {penalty.name} penalty is not known")
    if not penalty.is_convex:
        _refuse_saddle(problem, parameters)
    if l2 is not None and loss.name == "squared":
        return *_least_squares(units.merged(problem), parameters, groups, l2), "loo"
    if l2 is None:
        _refuse_large_active_set(problem, parameters, len(units.first))
    couples = penalty.coordinates(problem.d) is None and problem.outputs is not None
    if loss.task == "multiclass" or couples:
        z, leverage = joint.hold_out(problem, parameters, units, groups)
    else:
        z, leverage = _by_outputs(_one_step, problem, parameters, units, groups)
    _refuse_wild_steps(z, leverage, LARGEST_LEVERAGE if l2 is None else 1.0)
    return z, leverage, "approximate loo"


def _refuse_saddle(problem: Problem, parameters: Parameters) -> None:
    """NotAvailable unless P is convex around the fit, though its penalty is not."""
    if problem.outputs is not None:
        raise NotAvailable(f"the {problem.penalty.name} penalty of several scores is not convex")
    w, active = parameters.w, np.flatnonzero(problem.penalty.active(parameters.w))
    refuse_large_system(len(active), problem)
    z = problem.predictions(w, parameters.b)
    curvature = problem.weighted(problem.loss.curvature(problem.y, z))
    columns = FreeColumns(problem.design.columns(active), problem.fit_bias)
    H = columns.gram(curvature)
    own = np.arange(len(active))
    H[own, own] += problem.penalty.hessian(w)
    scale = np.sqrt(np.abs(np.diag(H)))
    scale[scale == 0] = 1.0
    with single_blas():
        if len(H) and np.linalg.eigvalsh(H / np.multiply.outer(scale, scale))[0] <= SADDLE:
            raise NotAvailable(f"with the {problem.penalty.name} penalty the fit is not convex")


def _refuse_large_active_set(problem: Problem, parameters: Parameters, rows: int) -> None:
    count = np.count_nonzero(problem.penalty.active(parameters.w)) / (problem.outputs or 1)
    if count > LARGEST_ACTIVE_SHARE * rows:
        raise NotAvailable(
            f"{count:g} active coefficients are more than half of the {rows} distinct rows"
        )


def _refuse_wild_steps(z: Array, leverage: Array, largest: float) -> None:
    if not (np.all(np.isfinite(z)) and np.max(leverage) < 1):
        raise NotAvailable("one row alone determines its own prediction")
    if np.max(leverage) > largest:
        most = percent(largest, 0)
        raise NotAvailable(f"one row determines more than {most} of its own prediction")


def _by_outputs(
    hold_out, problem: Problem, parameters: Parameters, units: MergedRows, groups: Array | None
):
    """Each output on its own; the leverage of a row is the largest of them."""
    if problem.outputs is None:
        return hold_out(problem, parameters, units, groups)
    results = []
    for k in range(problem.outputs):
        one = replace(problem, y=np.ascontiguousarray(problem.y[:, k]), outputs=None)
        theta = None if parameters.theta is None else parameters.theta[:, k]
        results.append(
            hold_out(one, Parameters(parameters.w[:, k], parameters.b[k], theta), units, groups)
        )
    z, leverage = zip(*results)
    return np.stack(z, axis=1), np.max(leverage, axis=0)


def _one_step(
    problem: Problem, parameters: Parameters, units: MergedRows, groups: Array | None
) -> tuple[Array, Array]:
    """A smooth loss of one prediction."""
    w, penalty = parameters.w, problem.penalty
    z = problem.predictions(w, parameters.b)
    _, slope, curvature = problem.loss.derivatives(problem.y, z)
    g, A = units.sums(problem.weighted(slope)), units.sums(problem.weighted(curvature))
    z, merged = units.firsts(z), units.merged(problem)
    design = merged.design
    system: InFeatures | InRows
    l2 = squares_of(problem)
    if l2 is not None and merged.d > merged.n:
        kernel = kernel_of(merged, l2)
        softness = kernel.softness(A)
        refuse_large_system(int(np.count_nonzero(np.isfinite(softness))), merged)
        system = InRows(kernel, z[:, None], -g[:, None], softness, resolve=True)
    else:
        active = penalty.active(w)
        refuse_large_system(int(np.count_nonzero(active)), merged)
        if not active.all():
            design = design.columns(np.flatnonzero(active))
        curvature = penalty.hessian(w)
        system = InFeatures(design, curvature, A, g[:, None], z[:, None], problem.fit_bias)
    held, leverage = system.leave(groups)
    return held[:, 0], leverage


def _least_squares(
    problem: Problem, parameters: Parameters, groups: Array | None, l2: Array
) -> tuple[Array, Array]:
    """The squared loss with ½Σ l2ⱼwⱼ², all outputs together: fast if that keeps the digits."""
    s, n, d = problem.weights, problem.n, problem.d
    refuse_large_system(min(n, d), problem)
    y = problem.y.reshape(n, -1)
    z = problem.predictions(parameters.w, parameters.b).reshape(n, -1)
    theta = s[:, None] * (y - z)
    system: InFeatures | InRows
    work = float(n) * d * min(n, d)
    enough = LOSS_OF_DIGITS if work < CHEAP else LARGEST_LOSS_OF_DIGITS
    lost, reason = np.inf, "the problem is too large and too ill-conditioned"
    try:
        if d <= n:
            system = InFeatures(problem.design, l2, s, -theta, z, problem.fit_bias)
            system.settle(l2, parameters.w.reshape(d, y.shape[1]))
        else:
            system = InRows(kernel_of(problem, l2), z, theta, 1 / s, resolve=True)
        held, leverage = system.leave(groups)
        lost = system.lost(leverage)
    except NotAvailable as error:
        reason = str(error)
    if lost > enough:
        if work > MOST_WORK:
            raise NotAvailable(reason)
        spectrum = Spectrum(problem.design, y, s, l2, problem.fit_bias)
        missing, leverage = spectrum.leave(groups)
        held = y - missing
    return held.reshape(problem.y.shape), leverage
