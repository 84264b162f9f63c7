"""The certificate of kernel PCA: what its components miss, and what any others would miss."""

from __future__ import annotations

import numpy as np

from ..._ground.interrupt import TimeLimit
from ..._ground.threads import single_blas
from ...certificates import Certificate
from ...problem import PRECOMPUTED
from .eigenpairs import EigenPairs
from .kernel_subspace import CentredGram, KernelSubspace
from .subspace_bound import SumBound, bound_by_matrix, bound_by_probes, bound_by_squares
from .variance_verdict import judged_variance

Array = np.ndarray

# The gap that counts as optimal, relative to the variance of all rows.
TOL = 1e-6
# Up to this many distinct rows a fit proves its bound by a factorisation, and `certify` up to the
# second number: beyond, that takes longer than the fit, or than anyone waits, and probes must do.
PROVED_ROWS, PROVED_ON_REQUEST = 2500, 8_000
# Directions set apart before probes look for others, for each component and besides: the more, the
# smaller what is left, and the clearer the probes see that it is small.
APART, APART_AT_LEAST = 3, 32
# Rounding beside the variance beyond which the kernel's values tell nothing.
RESOLVED = 1e-4
# Residuals relative to the largest eigenvalue that leave the bound its digits.
RESIDUAL = {np.dtype(np.float64): 1e-7, np.dtype(np.float32): 4e-6}
CURE = "raise max_iter or time_limit"
ON_REQUEST = "gapless.certify(model, X) proves more, by a factorisation"
FAR = (
    "the kernel's values have no more digits for what the rows differ in; subtract the means of "
    "the columns first, e.g. with StandardScaler()"
)
TOO_MANY = "for so many rows no better bound is known"


def may_wait(gram: CentredGram, pairs: EigenPairs) -> bool:
    """Whether a fit leaves the proof to whoever reads its certificate, since it takes as long."""
    is_iterated = pairs.is_done and pairs.iterations > 0
    # Given kernel values are the caller's, who may change them.
    has_rows = gram.kernel.name != PRECOMPUTED
    return is_iterated and has_rows and gram.m > PROVED_ROWS and _suits_probes(gram)


def certificate_of_fit(
    gram: CentredGram, subspace: KernelSubspace, pairs: EigenPairs
) -> Certificate:
    """The certificate at the end of a fit that has found these pairs."""
    if pairs.is_interrupted:
        return stopped(pairs.values, pairs.residuals, gram.trace, gram.dtype)
    is_few = gram.m <= PROVED_ROWS and pairs.is_done
    try:
        return _certificate(gram, subspace, pairs, is_few, _cure(gram))
    except TimeLimit:
        return stopped(pairs.values, pairs.residuals, gram.trace, gram.dtype)


def certificate_of_many(gram: CentredGram, subspace: KernelSubspace) -> Certificate:
    """The same of many rows: directions are found anew, and probes show that others keep less."""
    count = max(min(subspace.coef.shape[1], gram.m), 1)
    apart = min(APART * count + APART_AT_LEAST, gram.m // 2)
    limit = max(RESIDUAL[gram.dtype] * 4, 16 * float(np.finfo(gram.dtype).eps))

    def is_enough(values: Array, residuals: Array, beyond: float) -> bool:
        room = max(limit * values[0], gram.rounding)
        return bool(np.all(residuals[:count] <= room))

    pairs = gram.eigenpairs(max(apart, count), False, 0, is_enough, 10_000)
    with single_blas():
        # Vectors of float32 are orthonormal to its digits only.
        W = np.linalg.qr(pairs.vectors.astype(np.float64))[0]
        product = gram.times(W.astype(gram.dtype)).astype(np.float64)
        inner = W.T @ product
        product -= W @ inner
        rest = product.T @ product
    beyond = max(pairs.next_value, 0.0)
    proved = bound_by_probes(
        gram.times, W, inner, rest, count, beyond, gram.trace, np.dtype(gram.dtype)
    )
    return _judged(gram, subspace, proved, _cure(gram))


def _cure(gram: CentredGram) -> str:
    """What helps if the bound is too loose."""
    return ON_REQUEST if gram.m <= PROVED_ON_REQUEST else TOO_MANY


def _suits_probes(gram: CentredGram) -> bool:
    """Whether products are cheap, and no eigenvalue is negative."""
    return gram.is_stored and gram.kernel.is_mercer


def certificate_of_stored(gram: CentredGram, subspace: KernelSubspace) -> Certificate:
    """The same of a stored model: what others could keep is found anew, from the data alone."""
    count = max(min(subspace.coef.shape[1], gram.m), 1)
    if gram.m > PROVED_ON_REQUEST and _suits_probes(gram) and not gram.prefers_dense(count):
        return certificate_of_many(gram, subspace)

    def is_enough(values: Array, residuals: Array, beyond: float) -> bool:
        return bool(np.all(residuals <= max(RESIDUAL[gram.dtype] * values[0], gram.rounding)))

    pairs = gram.eigenpairs(count, gram.prefers_dense(count), 0, is_enough, 10_000)
    is_few = gram.m <= PROVED_ON_REQUEST
    return _certificate(gram, subspace, pairs, is_few, _cure(gram))


def missed_variance(gram: CentredGram, subspace: KernelSubspace) -> tuple[float, Array]:
    """Σ sᵢ‖φ(xᵢ) − φ̄ − Σₖ βᵢₖvₖ‖² with the stored β and v, and ‖Au − λu‖ of its vectors.

    Whatever is stored, the βᵢ are coordinates in some span of k directions, so no model misses less
    than the best one does.
    """
    coef, s = subspace.coef, gram.weights
    product = gram.kernel_times(coef.astype(gram.dtype)).astype(np.float64, copy=False)
    inner = product - gram.shares @ product
    beta = product - subspace.offset
    directions = coef.T @ product
    missed = gram.trace - 2 * float(s @ np.einsum("ik,ik->i", inner, beta))
    missed += float(np.einsum("ik,kl,il,i->", beta, directions, beta, s, optimize=True))
    # For an eigenvector u of A and a = S^½u/√λ: Au = √λ·S^½·(K̃a).
    length = np.sqrt(subspace.values)
    errors = (inner - subspace.training_coordinates) * np.sqrt(s)[:, None] * length
    return missed, np.sqrt(np.sum(errors**2, axis=0))


def _certificate(
    gram: CentredGram, subspace: KernelSubspace, pairs: EigenPairs, is_few: bool, cure: str
) -> Certificate:
    proved = None
    if pairs.iterations == 0:
        # All eigenvalues of a small matrix.
        proved = SumBound(float(np.maximum(pairs.values, 0.0).sum()), "eigenvalues")
    elif is_few and pairs.is_done and gram.is_stored:
        # Vectors of float32 are orthonormal to its digits only.
        W = np.linalg.qr(pairs.vectors.astype(np.float64))[0]
        found = bound_by_matrix(gram.dense(), W, W.shape[1], max(pairs.next_value, 0.0))
        proved = found if found.method == "inertia" else None
    if proved is None:
        is_mercer = gram.kernel.is_mercer
        spectrum = (pairs.values, pairs.residuals, gram.trace, gram.square_sum)
        bound = bound_by_squares(*spectrum, is_semidefinite=is_mercer)
        proved = SumBound(min(bound, gram.trace) if is_mercer else bound, "squares")
    return _judged(gram, subspace, proved, cure, pairs)


def _judged(
    gram: CentredGram,
    subspace: KernelSubspace,
    bound: SumBound,
    cure: str,
    pairs: EigenPairs | None = None,
) -> Certificate:
    """The certificate of stored directions against a bound, and what the solver of a fit found."""
    missed, residuals = missed_variance(gram, subspace)
    count = subspace.coef.shape[1]
    # What rounding of the kernel's values can do to the sum of so many eigenvalues.
    rounding = np.sqrt(count) * gram.rounding
    is_exact = bound.method == "eigenvalues"
    if is_exact:
        rounding += 4 * gram.m * np.finfo(np.float64).eps * gram.trace
    if missed < -rounding - TOL * gram.trace:
        return _indefinite(missed, gram.trace)
    is_done = pairs is None or pairs.is_done
    # Probes and squares leave open whether larger eigenvalues exist that nothing has shown.
    is_proved = bound.method in ("eigenvalues", "inertia") or not is_done
    missed = max(missed, 0.0)
    if bound.attained > 0:
        found_more = bound.attained - (gram.trace - missed)
        is_proved = is_proved or found_more > TOL * gram.trace + 2 * rounding
    if not is_done:
        cure = CURE
    elif rounding > RESOLVED * gram.trace:
        cure = FAR
    return judged_variance(
        missed,
        gram.trace,
        bound.value,
        count=count,
        tol=TOL,
        rounding=rounding,
        residuals=residuals,
        method=bound.method,
        is_exact=is_exact,
        is_proved=is_proved,
        cure=cure,
        is_constant=gram.m == 1,
    )


def stopped(values: Array, residuals: Array, trace: float, dtype: np.dtype) -> Certificate:
    """The same from what the solver knows, in no time: any directions may keep everything."""
    return judged_variance(
        max(trace - float(values.sum()), 0.0),
        trace,
        trace,
        count=len(values),
        tol=TOL,
        rounding=4 * np.sqrt(len(values)) * np.finfo(dtype).eps * trace,
        residuals=residuals,
        method="trace",
        is_exact=False,
        is_proved=True,
        cure=CURE,
    )


def _indefinite(missed: float, trace: float) -> Certificate:
    """Where the components keep more than the variance of all rows."""
    return Certificate(
        kind="none",
        verdict=(
            "no bound is known: the kernel has negative eigenvalues for these rows, so no feature "
            "space has such a variance; see gapless.kernels.mercer_check."
        ),
        primal=missed,
        dual=-np.inf,
        gap=np.inf,
        relative_gap=np.inf,
        tolerance=TOL * trace,
        scale=trace,
    )
