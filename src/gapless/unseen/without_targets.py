"""Fits without targets: how well they describe rows that they have not seen.

Such a fit describes a row by another point: its reconstruction from a few components, the centre of
its cluster. The *distortion* is what it minimises, the squared distance between both. It falls with
every component or cluster, on unseen rows too, so it scores a fit and cannot judge its freedom. The
verdict compares the *surprise* instead: a loss of unseen rows that has a minimum in the freedom,
such as that of entries predicted from the others of their row, or a negative log-density.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtri, stdtr

from .._ground.design import Design
from .fitted import LARGE_ROWS, Array
from .folds import FEW_UNITS, Fold
from .held_out import folds_of
from .leave_one_out import NotAvailable
from .leave_one_out.distinct import counted_labels, mean_and_error
from .leave_one_out.forward import growing, time_windows
from .paired import PART, SURE
from .result import Generalization, sentence
from .versions import Dial

# What a model says of rows: their distortion and their surprise, (rows, 2).
Description = Callable[[Design], Array]

# The most turns of a dial, and for large tables.
MOST_TURNS, TURNS_OF_LARGE = 6, 3
NEITHER = "no simpler or richer version describes unseen rows clearly better"


class WithoutTargets(ABC):
    """A fit to rows without targets that can be repeated on some of the rows.

    Parameters
    ----------
    design : Design
        The n rows.
    weights : ndarray of shape (n,)
        Weights ≥ 0; rows of weight 0 are ignored.
    """

    # The score: the share of the distortion around the mean that the fit removes.
    metric: ClassVar[str] = "explained variance"
    # Why the surprise is not known (then NaN), in words.
    why_unknown: ClassVar[str] = "no loss of unseen rows is known that tells too much freedom"
    # What a version does whose surprise is smaller, in words.
    advantage: ClassVar[str] = "would describe them better"
    has_classes = False
    # Up to so many units are left out one at a time.
    few_units = FEW_UNITS

    def __init__(self, design: Design, weights: Array):
        self.design, self.weights = design, weights

    @property
    @abstractmethod
    def model(self) -> Description:
        """The model of all rows."""

    @abstractmethod
    def fit_to(self, rows: Array) -> Description:
        """The model of some of the rows alone; all have weight."""

    @abstractmethod
    def constant(self, rows: Array) -> Description:
        """The model without freedom, such as the mean of these rows."""

    def smallest_gain(self, before: float) -> float:
        """The smallest fall of the mean surprise, from `before`, that is worth mentioning."""
        return PART * before

    def simpler(self) -> list[Dial]:
        """The ways to give the fit less freedom."""
        return []

    def richer(self) -> list[Dial]:
        """The ways to give it more."""
        return []

    @property
    def is_large(self) -> bool:
        """Whether refits are expensive: then a single part is held out."""
        return self.design.n > LARGE_ROWS

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight."""
        return self.weights > 0

    @cached_property
    def units(self) -> Array:
        """The rows of each x, numbered 0, 1, … by content; −1 without weight."""
        return counted_labels(self.design.equal_x, self.is_counted)


def describe_unseen(
    fitted: WithoutTargets, groups: Array | None = None, time: Array | None = None
) -> Generalization:
    """How well a fit describes rows that it has not seen, with a verdict on its freedom.

    Groups and times are numbers 0, 1, …; a group is held out as a whole, and with times each row is
    described by a model of earlier rows.
    """
    counted = np.flatnonzero(fitted.is_counted)
    trial = _Trial(fitted, groups, time)
    plain = fitted.constant(counted)(fitted.design)[:, 0]
    train, _ = trial.share(fitted.model(fitted.design)[:, 0], plain)
    if trial.units.max(initial=-1) < 1:
        return unknown(fitted.metric, train, "all rows are equal, so none can be left out")
    try:
        _, method = trial.splits
    except NotAvailable as reason:
        return unknown(fitted.metric, train, str(reason))
    unseen, error = trial.share(trial.own[:, 0], trial.constant[:, 0])
    if not np.isfinite(unseen):
        return unknown(fitted.metric, train, f"the {fitted.metric} of unseen rows is not defined")
    kind, advice = _judgement(trial)
    return Generalization(
        metric=fitted.metric,
        train=train,
        unseen=unseen,
        standard_error=error,
        gap=train - unseen,
        method=method,
        disagreement=None,
        verdict=sentence(kind, fitted.metric, train, unseen, error, advice),
    )


def unknown(metric: str, train: float, reason: str) -> Generalization:
    """The result where nothing can be held out, and why."""
    nan = float("nan")
    return Generalization(metric, train, nan, nan, nan, "none", None, f"unknown: {reason}.")


@dataclass(frozen=True, eq=False)
class _Rival:
    """Another version: its name, how far its mean surprise is lower, and how surely."""

    name: str
    gain: float
    surprise: float

    def is_clear(self, enough: float) -> bool:
        return self.gain > enough and self.surprise > SURE


@dataclass(frozen=True, eq=False)
class _Trial:
    """Which rows are held out together, and what fits without them say of them."""

    fitted: WithoutTargets
    groups: Array | None
    time: Array | None

    @cached_property
    def units(self) -> Array:
        if self.groups is None:
            return self.fitted.units
        return counted_labels(self.groups, self.fitted.is_counted)

    @cached_property
    def splits(self) -> tuple[list[Fold], str]:
        """Pairs (train, test) of rows, and the method in words."""
        if self.time is None:
            return folds_of(self.fitted, self.units, "row" if self.groups is None else "group")
        window = time_windows(self.time, self.fitted.weights)
        if window.max() == 0:
            raise NotAvailable("all rows have the same time, so none comes before another")
        return list(growing(window)), "forward (each row described by a model of earlier ones)"

    @cached_property
    def own(self) -> Array:
        """Distortion and surprise of each row under the fit without it; NaN if not held out."""
        return self.held_out(self.fitted.fit_to)

    @cached_property
    def constant(self) -> Array:
        """The same of the model without freedom."""
        return self.held_out(self.fitted.constant)

    @cached_property
    def weights(self) -> Array:
        return np.where(self.fitted.is_counted & (self.units >= 0), self.fitted.weights, 0.0)

    def held_out(self, fit_to: Callable[[Array], Description]) -> Array:
        fitted = self.fitted
        found = np.full((fitted.design.n, 2), np.nan)
        for train, test in self.splits[0]:
            describe = fit_to(train[fitted.is_counted[train]])
            found[test] = describe(fitted.design.rows(test))
        return found

    def share(self, distortion: Array, plain: Array) -> tuple[float, float]:
        """1 − A/B for the sums A of the distortions and B of the constant's; and its error.

        To first order in the weights, d(A/B) = (dA − (A/B)·dB)/B.
        """
        weights = np.where(np.isfinite(distortion) & np.isfinite(plain), self.weights, 0.0)
        kept = weights > 0
        if not kept.any():
            return np.nan, np.nan
        B = float(np.average(plain[kept], weights=weights[kept]))
        if B <= 0:
            return np.nan, np.nan
        ratio = float(np.average(distortion[kept], weights=weights[kept])) / B
        change = np.where(kept, distortion - ratio * plain, 0.0) / B
        return 1 - ratio, float(mean_and_error(change, weights, self._labels(kept))[1])

    def rival(self, name: str, others: Array) -> _Rival:
        """How far another version is ahead on the same rows, unit by unit."""
        fall = self.own[:, 1] - others[:, 1]
        weights = np.where(np.isfinite(fall), self.weights, 0.0)
        kept = weights > 0
        count = len(np.unique(self.units[kept]))
        if count < 2:
            return _Rival(name, 0.0, 0.0)
        gain, error = mean_and_error(np.where(kept, fall, 0.0), weights, self._labels(kept))
        # The standard normal number as surprising as Student's t.
        chance = stdtr(count - 1, gain / error) if error > 0 else 0.5
        return _Rival(name, float(gain), float(np.clip(ndtri(chance), -40.0, 40.0)))

    def best(self, dial: Dial) -> _Rival | None:
        """The best version of a dial, turned as long as unseen rows become less surprising."""
        best: _Rival | None = None
        for step in range(1, 1 + (TURNS_OF_LARGE if self.fitted.is_large else MOST_TURNS)):
            version = dial(step)
            if version is None:
                break
            rival = self.rival(version.name, self.held_out(version.fit.fit_to))
            if best is not None and rival.gain < best.gain:
                break
            best = rival
        return best

    def simpler(self) -> Iterator[_Rival]:
        yield self.rival("the mean alone", self.constant)
        yield from self._turned(self.fitted.simpler())

    def richer(self) -> Iterator[_Rival]:
        yield from self._turned(self.fitted.richer())

    def _turned(self, dials: Iterable[Dial]) -> Iterator[_Rival]:
        found = (self.best(dial) for dial in dials)
        return (rival for rival in found if rival is not None)

    def _labels(self, kept: Array) -> Array:
        """The units of the kept rows, 0, 1, …; any number elsewhere."""
        labels = np.zeros(len(kept), dtype=np.intp)
        labels[kept] = np.unique(self.units[kept], return_inverse=True)[1]
        return labels


def _judgement(trial: _Trial) -> tuple[str, str]:
    """Over-fitted, under-fitted, balanced or unknown, and the advice."""
    own, weights = trial.own[:, 1], trial.weights
    kept = (weights > 0) & np.isfinite(own)
    if not kept.any():
        return "unknown", trial.fitted.why_unknown
    enough = trial.fitted.smallest_gain(float(np.average(own[kept], weights=weights[kept])))
    found = [
        (kind, rival)
        for kind, rivals in (("over-fitted", trial.simpler()), ("under-fitted", trial.richer()))
        for rival in rivals
        if rival.is_clear(enough)
    ]
    if not found:
        return "balanced", NEITHER
    kind, rival = max(found, key=lambda pair: pair[1].gain)
    return kind, f"{rival.name} {trial.fitted.advantage}"
