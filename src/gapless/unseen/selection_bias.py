"""The honest score of a winner: what remains of its lead when it has to win on other rows.

The best of many models owes part of its score to luck. Bootstrap bias-corrected cross-validation
(Tsamardinos, Greasidou and Borboudakis 2018) measures that part without fitting anything again, on
the held-out scores alone: a winner is chosen on a bag of rows and scored on the rows outside.
Called by searches over strengths and models; knows arrays only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._ground.memory import blocks
from .._ground.threads import single_blas

Array = np.ndarray

# Bags of rows. Their random draw changes the unseen score by about a twentieth of its standard
# error.
BAGS = 300


@dataclass(frozen=True)
class Corrected:
    """The winner of a search, and its expected score on unseen rows.

    Attributes
    ----------
    winner : int
        The chosen configuration.
    unseen : float
        Its score, corrected for the choice.
    standard_error : float
        Of `unseen`, including the variation of the training set.
    optimism : float
        The size of the correction: the mean score of the winner minus `unseen`.
    is_winner : bool
        Whether the configuration that was chosen is the one that wins on all rows; if not, its
        score is corrected by the optimism of that one.
    """

    winner: int
    unseen: float
    standard_error: float
    optimism: float
    is_winner: bool = True

    def __str__(self) -> str:
        return (
            f"configuration {self.winner} scores {self.unseen:.4g} ± {self.standard_error:.2g} on "
            f"unseen rows; selection had inflated it by {self.optimism:.2g}."
        )


def correct(
    held_out: Array,
    weights: Array | None = None,
    *,
    choose_by: Array | None = None,
    within: float = 0.0,
    families: Array | None = None,
    chosen: int | None = None,
    seed: int = 0,
) -> Corrected:
    """Choose the best of m configurations, and estimate its score on unseen rows.

    Parameters
    ----------
    held_out : array-like of shape (n, m)
        The score of each row by each configuration, from predictions that did not use the row;
        larger is better. The reported score is a mean over rows: accuracy, minus an error, or the
        area under the curve as the mean of the rows' placement values.
    weights : array-like of shape (n,), optional
        Weights ≥ 0 of the rows, 1 if None. Rows of weight 0 are ignored.
    choose_by : array-like of shape (n, m), optional
        The scores that choose the winner, if not those that are reported.
    within : float, default=0.0
        The winner is the first configuration within this many standard errors of the best one; the
        configurations are in order, the simplest first. 0 takes the best, 1 is the rule of one
        standard error.
    families : array-like of int, shape (m,), optional
        With `within`, only configurations of the best one's family are considered.
    chosen : int, optional
        The chosen configuration, if it depends on more than these scores, such as means over folds;
        None is the winner on all rows.
    seed : int, default=0
        Seed of the bags.

    Returns
    -------
    Corrected

    Notes
    -----
    The rows must have distinct x, those of one x merged into one with their mean score and the sum
    of their weights. A bag draws n of them, all equally likely and with all their weight, because
    rows of one x are not independent evidence. So weight 2 and a repeated row, merged, are the
    same.

    The squared standard error is 3v + 2o², v the variance of the winner's mean if its rows were
    independent, and o the optimism. They are not independent: row i has trained the model that
    scores row j, and j that of i, so each pair counts twice. For pure noise and margins
    mᵢ = yᵢΣⱼA_ij yⱼ that doubles the variance, cov(mᵢ, mⱼ) = A_ij·A_ji; with signal it is less. The
    third v is for the model: what it truly scores depends on the training set as well, and the
    estimate hardly follows. A winner also keeps some luck that all bags share, up to about o. So
    this is an upper estimate: with many more rows than features, v alone would do.

    Costs two products of size 300·n·m: about a second for n = 100,000 and m = 100.

    References
    ----------
    Tsamardinos, Greasidou and Borboudakis (2018), Machine Learning 107. Efron and Tibshirani
    (1997), J. Am. Stat. Assoc. 92: scores averaged row by row over the bags without the row.
    Bates, Hastie and Tibshirani (2024), J. Am. Stat. Assoc. 119: why naive errors are too small.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless.unseen.selection_bias import correct
    >>> coins = np.random.default_rng(0).integers(0, 2, (100, 50))
    >>> result = correct(coins)
    >>> print(coins.mean(axis=0).max(), round(result.unseen, 2))
    0.59 0.47
    """
    scores, s = _read(held_out, weights)
    choice = scores if choose_by is None else _read(choose_by, weights)[0]
    if choice.shape != scores.shape:
        raise ValueError(f"choose_by has shape {choice.shape}, but held_out {scores.shape}.")
    rule = _Rule(choice, s, within, families)
    winner = int(rule.winners(np.ones((1, len(s))))[0])
    share = s / s.sum()
    optimism = float(share @ (scores[:, winner] - _out_of_bag(scores, rule, winner, seed)))
    is_winner = chosen is None or chosen == winner
    if chosen is not None and not is_winner:
        winner, optimism = chosen, max(optimism, 0.0)
    mean = float(share @ scores[:, winner])
    spread = float(np.sum((share * (scores[:, winner] - mean)) ** 2)) * len(s) / (len(s) - 1)
    error = float(np.sqrt(3 * spread + 2 * optimism**2))
    return Corrected(winner, mean - optimism, error, optimism, is_winner)


def _read(scores: Array, weights: Array | None) -> tuple[Array, Array]:
    """Scores and weights of the rows that have one."""
    scores = np.asarray(scores, dtype=float)
    if scores.ndim != 2 or not scores.shape[1]:
        raise ValueError(
            f"held-out scores must be rows × configurations, got shape {scores.shape}."
        )
    s = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=float)
    if s.shape != scores.shape[:1]:
        raise ValueError(f"weights has shape {s.shape}, but there are {len(scores)} rows.")
    if np.any(s < 0) or not np.all(np.isfinite(s)):
        raise ValueError("weights must be finite and ≥ 0.")
    scores, s = scores[s > 0], s[s > 0]
    if len(s) < 2:
        raise ValueError(f"at least 2 rows must have a positive weight, got {len(s)}.")
    if not np.all(np.isfinite(scores)):
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(
            f"the held-out score of row {row} by configuration {column} is {scores[row, column]}; "
            "leave out rows without a score, and configurations that failed."
        )
    return scores, s


def _out_of_bag(scores: Array, rule: _Rule, winner: int, seed: int) -> Array:
    """The mean score of each row by the winners of the bags that do not contain it."""
    n, m = scores.shape
    if m == 1:
        # It wins every bag.
        return scores[:, 0]
    chosen = np.zeros((m, n))
    for counts in _bags(n, seed):
        is_winner = (rule.winners(counts)[:, None] == np.arange(m)).astype(float)
        with single_blas():
            chosen += is_winner.T @ (counts == 0).astype(float)
    # With very few rows, some may be in all bags.
    chosen[winner, chosen.sum(axis=0) == 0] = 1.0
    return np.einsum("mn,nm->n", chosen, scores) / chosen.sum(axis=0)


def _bags(n: int, seed: int) -> Iterator[Array]:
    """How often each row is in each bag, (bags, n), in blocks of bags."""
    generator = np.random.default_rng(seed)
    for bags in blocks(BAGS, n):
        size = bags.stop - bags.start
        drawn = generator.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(float)


@dataclass(frozen=True, eq=False)
class _Rule:
    """How a winner is chosen from the scores of rows with weights s."""

    choice: Array
    s: Array
    within: float
    families: Array | None

    def winners(self, counts: Array) -> Array:
        """The configuration that wins each bag."""
        choice, s = self.choice, self.s
        with single_blas():
            weighted = counts * s
            total = weighted.sum(axis=1)
            means = weighted @ choice / total[:, None]
            best = means.argmax(axis=1)
            if not self.within:
                return best
            weighted *= s
            # Σω²(q − q̄)², as for the mean of resampled rows
            first, second = weighted @ choice, weighted @ choice**2
        at = np.arange(len(best)), best
        n, top = len(s), means[at]
        spread = second[at] - 2 * top * first[at] + top**2 * weighted.sum(axis=1)
        error = np.sqrt(np.maximum(spread, 0.0) * n / (n - 1)) / total
        is_near = means >= (top - self.within * error)[:, None]
        if self.families is not None:
            families = np.asarray(self.families)
            is_near &= families == families[best][:, None]
        return is_near.argmax(axis=1)
