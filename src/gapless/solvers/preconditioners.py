"""Approximations of the Hessian for conjugate gradients: a block for each output, or one for all.

A factor of a sample of the rows, a factor of the features with most curvature plus the diagonal of
the others, or the diagonal alone, depending on their costs. Called by `conjugate_gradients`.

References
----------
Böhning (1992), Multinomial logistic regression algorithm, Annals of the Institute of Statistical
Mathematics 44.
Roosta-Khorasani and Mahoney (2019), Sub-sampled Newton methods, Mathematical Programming 174.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..problem import Problem
from .newton_steps import NOTHING, Block, Change, bias_step, columns, is_answered

Array = np.ndarray

# With at most this many features, the preconditioner is a factor of the Hessian of a sample of
# rows.
MOST_FACTORED = 2000
ROWS_PER_FEATURE = 3
# A block shared by all classes may cost as much as this many products with the Hessian.
CHEAP_PRODUCTS = 2
# Factorise this many features, those with most curvature, if a factor of all is too expensive.
LEADING = 200
# Outputs share a preconditioner if the curvature of no row differs by more than this part.
ALIKE = 0.3


def cost_of_factors(problem: Problem) -> float:
    """The cost of factors for all features, in products with the Hessian: r·d² against 4·n·d·K.

    A sparse X has products of 4·entries·K, but a factor as dense as any: d³.
    """
    n, d = problem.n, problem.d
    if problem.design.is_sparse:
        products = d**3 / (4 * max(problem.design.density * n * d, 1.0))
    else:
        products = d / (4 * max(n, 1)) * min(_rows_of_sample(problem), n)
    return products / _sharing(problem)


def make_preconditioner(
    problem: Problem, curvature: Array, l2: Array, *, is_whole: bool
) -> SharedBlock | PerOutput | None:
    """One block per output, or one for classes coupled by the loss; diagonal for many features.

    Factorised for all features if `is_whole`, else for those with most curvature. None if a bias is
    undetermined.
    """
    if problem.d > MOST_FACTORED:
        diagonal = DiagonalBlock.make(problem, l2, curvature)
        return None if diagonal is None else SharedBlock(diagonal)
    make: Any = _sampled_block if is_whole or problem.d <= LEADING else LeadingBlock.make
    if _sharing(problem) > 1:
        # The Hessian of all classes is at most ½(I − 11ᵀ/K) ⊗ XᵀX (Böhning 1992), the same block
        # for each; their mean curvature replaces the ½.
        block = make(problem, columns(l2).mean(axis=1), columns(curvature).mean(axis=1))
        return None if block is None else SharedBlock(block)
    blocks: list[Any] = []
    last = np.full(problem.n, np.inf)
    curvatures = columns(curvature).T
    strengths = np.broadcast_to(columns(l2), (problem.d, len(curvatures))).T
    for l2, curvature in zip(strengths, curvatures):
        if blocks and np.all(np.abs(curvature - last) <= ALIKE * last):
            blocks.append(blocks[-1])
            continue
        block = make(problem, l2, curvature)
        if block is None:
            return None
        blocks.append(block)
        last = curvature
    return PerOutput(blocks)


def _sharing(problem: Problem) -> int:
    """How many outputs share a block: all classes coupled by the loss, else one."""
    return (problem.outputs or 1) if problem.loss.task == "multiclass" else 1


class SharedBlock:
    """One block for all outputs; the coupling of softmax classes is left to conjugate gradients."""

    def __init__(self, block: Any):
        self.block = block

    def solve(self, g: Change) -> Change:
        """The block's solutions side by side."""
        w, b = self.block.solve(g.w, g.b)
        return Change(w, np.asarray(b))

    def answers(self, g: Change) -> bool:
        """Whether the block, if singular, still determines a step for the gradient."""
        return is_answered([(self.block, g.w, g.b)])


class PerOutput:
    """A block for each output."""

    def __init__(self, blocks: list[Any]):
        self.blocks = blocks

    def solve(self, g: Change) -> Change:
        """The blocks' solutions side by side."""
        pairs = zip(self.blocks, columns(g.w).T, np.ravel(g.b))
        solved = [block.solve(g_w, float(g_b)) for block, g_w, g_b in pairs]
        w = np.stack([w for w, _ in solved], axis=1).reshape(g.w.shape)
        return Change(w, np.array([b for _, b in solved]).reshape(g.b.shape))

    def answers(self, g: Change) -> bool:
        """Whether the blocks, if singular, still determine a step for the gradient."""
        return is_answered(zip(self.blocks, columns(g.w).T, np.ravel(g.b)))


def _rows_of_sample(problem: Problem) -> int:
    """The number of rows that is enough for a block, or more if they cost only some products."""
    enough = ROWS_PER_FEATURE * (problem.d + 1)
    if _sharing(problem) == 1:
        return enough
    return max(enough, int(CHEAP_PRODUCTS * 4 * problem.n * _sharing(problem) / problem.d))


def _sampled_block(problem: Problem, l2: Array, curvature: Array) -> Block | None:
    """The block of rows drawn at even steps of the summed curvature: likely where it is large."""
    size = _rows_of_sample(problem)
    if np.count_nonzero(curvature) <= size:
        return Block.make(problem, l2, curvature, single=True)
    sums = np.cumsum(curvature)
    drawn = np.searchsorted(sums, (np.arange(size) + 0.5) * (sums[-1] / size))
    index, count = np.unique(np.minimum(drawn, problem.n - 1), return_counts=True)
    sample = replace(problem, design=problem.design.rows(index), y=problem.y[index])
    return Block.make(sample, l2, count * (sums[-1] / size), single=True)


class DiagonalBlock:
    """The diagonal of the Hessian, in the coordinates in which the bias is eliminated.

    For one output, or with a column for each of several.
    """

    def __init__(self, diagonal: Array, mean: Array, total: Array):
        self.diagonal, self.mean, self.total = diagonal, mean, total

    @classmethod
    def make(cls, problem: Problem, l2: Array, curvature: Array) -> DiagonalBlock | None:
        """The block for given curvatures; None if a bias is undetermined."""
        squares = [problem.design.column_square_sums(c) for c in columns(curvature).T]
        diagonal = np.stack(squares, axis=1).reshape(problem.d, *curvature.shape[1:])
        mean, total = np.zeros(diagonal.shape), np.zeros(curvature.shape[1:])
        if problem.fit_bias:
            total = curvature.sum(axis=0)
            if not np.all(total > NOTHING * float(problem.weights.sum())):
                return None
            mean = problem.design.transposed_times(curvature) / total
            diagonal = np.maximum(diagonal - total * mean**2, 0.0)
        diagonal = diagonal + l2
        return cls(np.where(diagonal > 0, diagonal, 1.0), mean, total)

    def solve(self, g_w: Array, g_b: Array | float) -> tuple[Array, Array]:
        """The (w, b) with H(w, b) = g for the diagonal H."""
        w = (g_w - g_b * self.mean) / self.diagonal
        return w, bias_step(g_b, self.total, self.mean * w)

    def unanswered(self, g_w: Array, g_b: Array | float) -> tuple[float, float]:
        """‖·‖² of the part of g outside the range of H (nothing), and of g."""
        return 0.0, float(np.sum((g_w - g_b * self.mean) ** 2 / self.diagonal))


class LeadingBlock:
    """A factor for the features with most curvature, and the diagonal for all others.

    This is enough for kernel features: a pivoted Cholesky factor has them in the order of what they
    add, and the last ones hardly interact.
    """

    def __init__(self, lead: Array, block: Block, diagonal: DiagonalBlock):
        self.lead, self.block, self.diagonal = lead, block, diagonal
        self.mean = diagonal.mean.copy()
        self.mean[lead] = 0.0

    @classmethod
    def make(cls, problem: Problem, l2: Array, curvature: Array) -> LeadingBlock | None:
        """The block for given curvatures; None if the bias is undetermined."""
        diagonal = DiagonalBlock.make(problem, l2, curvature)
        if diagonal is None:
            return None
        lead = np.sort(np.argsort(-diagonal.diagonal, kind="stable")[:LEADING])
        part = replace(problem, design=problem.design.columns(lead))
        block = _sampled_block(part, l2[lead], curvature)
        return None if block is None else cls(lead, block, diagonal)

    def solve(self, g_w: Array, g_b: Array | float) -> tuple[Array, Array]:
        """The (w, b) with H(w, b) = g if leading and other features do not interact in H."""
        w = g_w - np.multiply.outer(self.diagonal.mean, g_b)
        w /= self.diagonal.diagonal if w.ndim == 1 else self.diagonal.diagonal[:, None]
        w[self.lead], b = self.block.solve(g_w[self.lead], g_b)
        return w, b - np.einsum("j,j...->...", self.mean, w)

    def unanswered(self, g_w: Array, g_b: Array | float) -> tuple[float, float]:
        """‖·‖² of the part of g outside the range of H, and of g."""
        return self.block.unanswered(g_w[self.lead], g_b)
