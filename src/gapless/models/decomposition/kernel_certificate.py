"""The certificate of kernel PCA: what its components miss, and what any others would miss."""

from __future__ import annotations

import numpy as np

from ..._ground.interrupt import TimeLimit
from ...certificates import Certificate
from .eigenpairs import EigenPairs
from .kernel_subspace import CentredGram, KernelSubspace
from .subspace_bound import bound_by_matrix, bound_by_squares
from .variance_verdict import judged_variance

Array = np.ndarray

# The gap that counts as optimal, relative to the variance of all rows.
TOL = 1e-6
# Up to this many distinct rows a fit proves its bound by a factorisation, and `certify` up to the
# second number: beyond, that takes longer than the fit, or than anyone waits.
PROVED_ROWS, PROVED_ON_REQUEST = 2500, 8_000
# Residuals relative to the largest eigenvalue that leave the bound its digits.
RESIDUAL = {np.dtype(np.float64): 1e-7, np.dtype(np.float32): 4e-6}
CURE = "raise max_iter or time_limit"
ON_REQUEST = "gapless.certify(model, X) proves more, by a factorisation"
FAR = (
    "the kernel's values have no more digits for what the rows differ in; subtract the means of "
    "the columns first, e.g. with StandardScaler()"
)
TOO_MANY = "for so many rows no better bound is known"


def certificate_of_fit(
    gram: CentredGram, subspace: KernelSubspace, pairs: EigenPairs
) -> Certificate:
    """The certificate at the end of a fit that has found these pairs."""
    if pairs.is_interrupted:
        return _stopped(gram, pairs)
    is_few = gram.m <= PROVED_ROWS and pairs.is_done
    try:
        return _certificate(gram, subspace, pairs, is_few, ON_REQUEST)
    except TimeLimit:
        return _stopped(gram, pairs)


def certificate_of_stored(gram: CentredGram, subspace: KernelSubspace) -> Certificate:
    """The same of a stored model: what others could keep is found anew, from the data alone."""
    count = max(min(subspace.coef.shape[1], gram.m), 1)

    def is_enough(values: Array, residuals: Array, beyond: float) -> bool:
        return bool(np.all(residuals <= max(RESIDUAL[gram.dtype] * values[0], gram.rounding)))

    pairs = gram.eigenpairs(count, gram.prefers_dense(count), 0, is_enough, 10_000)
    is_few = gram.m <= PROVED_ON_REQUEST
    return _certificate(gram, subspace, pairs, is_few, ON_REQUEST if is_few else TOO_MANY)


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
    missed, residuals = missed_variance(gram, subspace)
    count = subspace.coef.shape[1]
    # What rounding of the kernel's values can do to the sum of so many eigenvalues.
    rounding = np.sqrt(count) * gram.rounding
    is_exact, bound = pairs.iterations == 0, None
    if is_exact:
        bound = float(np.maximum(pairs.values, 0.0).sum())
        rounding += 4 * gram.m * np.finfo(np.float64).eps * gram.trace
    elif is_few and pairs.is_done and gram.is_stored:
        # Vectors of float32 are orthonormal to its digits only.
        W = np.linalg.qr(pairs.vectors.astype(np.float64))[0]
        proved = bound_by_matrix(gram.dense(), W, W.shape[1], max(pairs.next_value, 0.0))
        bound = proved.value if proved.method == "inertia" else None
    is_proved = bound is not None
    if bound is None:
        is_mercer = gram.kernel.is_mercer
        spectrum = (pairs.values, pairs.residuals, gram.trace, gram.square_sum)
        bound = bound_by_squares(*spectrum, is_semidefinite=is_mercer)
        bound = min(bound, gram.trace) if is_mercer else bound
    if missed < -rounding - TOL * gram.trace:
        return _indefinite(missed, gram.trace)
    missed = max(missed, 0.0)
    if rounding > TOL * gram.trace:
        cure = FAR
    return judged_variance(
        missed,
        gram.trace,
        bound,
        count=count,
        tol=TOL,
        rounding=rounding,
        residuals=residuals,
        method="eigenvalues" if is_proved else "squares",
        is_exact=is_exact,
        is_proved=is_proved or not pairs.is_done,
        cure=cure if pairs.is_done else CURE,
    )


def _stopped(gram: CentredGram, pairs: EigenPairs) -> Certificate:
    """The same from what the solver knows, in no time: any directions may keep everything."""
    return judged_variance(
        max(gram.trace - float(pairs.values.sum()), 0.0),
        gram.trace,
        gram.trace,
        count=len(pairs.values),
        tol=TOL,
        rounding=4 * np.sqrt(len(pairs.values)) * np.finfo(gram.dtype).eps * gram.trace,
        residuals=pairs.residuals,
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
