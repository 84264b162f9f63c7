"""KMeans of rows that are read in parts: a pass for each of Lloyd's steps, for all starts at once.

The first pass draws a sample. If it has all rows, each start begins at its first centres there;
else where Lloyd's algorithm ends on the sample, so that few steps on all rows are left. No bounds
of distances are kept for the rows: each pass compares them with all centres.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit, limit_name, seconds_left, time_limit
from ..._ground.progress import ProgressLine
from ..._ground.threads import single_blas
from ...certificates import Certificate
from ...streaming import (
    FOLDS,
    ByFold,
    Folds,
    Look,
    Rows,
    Spread,
    SpreadOf,
    Training,
    checked_weights,
    each_part,
    first_means,
    fold_of,
    in_parts,
    look_at,
    opened,
    total,
)
from ...unseen import Generalization, ScoreSums, share_in_parts, unknown
from .kmeans_bound import REFIT, Starts, bound_of, certificate_of
from .kmeans_held_out import METRIC
from .kmeans_runs import Plan
from .lloyd import (
    MOST_KEPT,
    ClusterRows,
    LloydTrace,
    center_sums,
    nearest,
    partition_sum,
    with_rows_for_empty,
)
from .seeding import check_centers

Array = np.ndarray

# The scatter matrix of up to so many columns is summed by the first pass, of more for the
# certificate alone, when that is read.
FEW_COLUMNS, MOST_COLUMNS = 32, 5000
# Labels of more rows than this are not kept.
MOST_LABELS = 1 << 27


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sums (k, d) of the rows of clusters, less an origin, and their weights; and squares.

    `squares` is the sum of squared distances to the centres, and `labels` are the clusters of the
    rows, part by part; neither is known after a step.
    """

    sums: Array
    totals: Array
    squares: float = 0.0
    labels: list[Array] = field(default_factory=list)

    def __add__(self, other: Clusters) -> Clusters:
        return Clusters(
            self.sums + other.sums,
            self.totals + other.totals,
            self.squares + other.squares,
            [*self.labels, *other.labels],
        )


class Runs(tuple[Any, ...]):
    """What a pass says of each start; None for those that have ended."""

    def __add__(self, other: Any) -> Runs:
        return Runs(None if a is None else a + b for a, b in zip(self, other))


@dataclass(frozen=True, eq=False)
class Assign:
    """The task of a step: rows to their nearest centre, for each of several starts.

    The `last` one also tells the distances and, with `keeps`, the labels.
    """

    centers: Sequence[Array | None]
    origin: Array
    last: bool = False
    keeps: bool = False

    def __call__(self, rows: Rows) -> Runs:
        """The clusters of one part."""
        weights = checked_weights(rows)
        return Runs(
            None if centers is None else self._clusters(Design(rows.X), weights, centers)
            for centers in self.centers
        )

    def _clusters(self, design: Design, weights: Array, centers: Array) -> Clusters:
        own = np.ascontiguousarray(centers, dtype=design.dtype)
        labels, squares = nearest(design, own, self.origin, self.last)
        sums, totals = center_sums(design, self.origin, weights, labels, len(own))
        apart = 0.0 if squares is None else float(weights @ squares)
        return Clusters(sums, totals, apart, [labels] if self.keeps else [])


@dataclass(frozen=True, eq=False)
class Far:
    """The rows farthest from their centres, the farthest first; equal ones are one.

    X (m, d), their squared distances, their weights and their clusters.
    """

    most: int
    X: Array
    squares: Array
    weights: Array
    labels: Array

    def __add__(self, other: Far) -> Far:
        pairs = (
            (getattr(self, name), getattr(other, name))
            for name in ("X", "squares", "weights", "labels")
        )
        return farthest(self.most, *(np.concatenate(pair) for pair in pairs))


def farthest(most: int, X: Array, squares: Array, weights: Array, labels: Array) -> Far:
    """The `most` distinct rows of weight that are farthest; of equally far ones by content."""
    kept = np.flatnonzero((weights > 0) & (squares > 0))
    if len(kept):
        least = np.unique(squares[kept])[-most:][0]
        kept = kept[squares[kept] >= least]
    rows, first, which = np.unique(X[kept], axis=0, return_index=True, return_inverse=True)
    summed = np.bincount(which.ravel(), weights[kept], len(rows))
    order = np.argsort(-squares[kept][first], kind="stable")[:most]
    at = kept[first[order]]
    return Far(most, rows[order], squares[at], summed[order], labels[at])


@dataclass(frozen=True, eq=False)
class FindFar:
    """The task that finds rows for empty clusters."""

    centers: Array
    origin: Array
    most: int

    def __call__(self, rows: Rows) -> Far:
        """The rows of one part."""
        design, weights = Design(rows.X), checked_weights(rows)
        own = np.ascontiguousarray(self.centers, dtype=design.dtype)
        labels, squares = nearest(design, own, self.origin, True)
        assert squares is not None
        return farthest(self.most, rows.X, squares, weights, labels)


@dataclass(frozen=True, eq=False)
class SummedRows:
    """What the certificate needs to know of rows that are not there, as of ClusterRows."""

    n: int
    d: int
    dtype: np.dtype
    total: float
    mean: Array
    variances: Array

    @property
    def origin(self) -> Array:
        """Where sums start."""
        return self.mean

    @property
    def scatter(self) -> float:
        """The sum of squared distances to the mean."""
        return float(self.variances.sum() * self.total)

    def partition_sum(self, sums: Array, totals: Array) -> float:
        """The sum of squares around the means of clusters, from their sums."""
        return partition_sum(self.scatter, sums, totals)


@dataclass(eq=False)
class Run:
    """One start: the centres it is at, and what it has seen so far."""

    centers: Array
    objective: list[float] = field(default_factory=list)
    shifts: list[float] = field(default_factory=list)
    passed: list[Array] = field(default_factory=list)
    last: tuple[Array, Clusters] | None = None
    status: str | None = None

    def take(self, found: Clusters, objective: float) -> bool:
        """Record a step; returns whether the centres move on."""
        before = None if self.last is None else self.last[1]
        is_level = bool(self.objective) and not objective < self.objective[-1]
        self.last = self.centers, found
        self.objective.append(objective)
        if len(self.objective) * self.centers.size <= MOST_KEPT:
            self.passed.append(self.centers)
        is_settled = (
            before is not None
            and np.array_equal(before.sums, found.sums)
            and np.array_equal(before.totals, found.totals)
        )
        if is_settled or (is_level and np.all(found.totals > 0)):
            self.status = "converged"
        return self.status is None

    def move_to(self, centers: Array, tol: float, max_iter: int) -> None:
        """Go on from other centres, unless that is not worth it."""
        self.shifts.append(float(np.sum((centers - self.centers) ** 2)))
        self.centers = centers
        if self.shifts[-1] <= tol:
            self.status = "converged"
        elif len(self.objective) >= max_iter:
            self.status = "max_iter"

    def trace(self) -> LloydTrace:
        """What the steps did; which rows moved is not known."""
        is_whole = len(self.passed) == len(self.objective)
        centers = np.stack(self.passed) if is_whole else None
        shifts = np.array([*self.shifts, 0.0][: len(self.objective)])
        return LloydTrace(np.array(self.objective), None, shifts, centers)


@dataclass(eq=False)
class KMeansInParts:
    """The fit of KMeans to a table in parts."""

    model: Any
    training: Training
    line: ProgressLine
    # At the end: the clusters of each fold, the best start, labels, and how the fit ended.
    by_fold: Folds | None = None
    best: int = 0
    labels: Array | None = None
    status: str = "converged"
    # The centres that are kept, their clusters, and the objectives of all starts.
    end: tuple[Array, Clusters, Array] | None = None

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> KMeansInParts:
        """The fit of a model; a column that is named as y is not among the features."""
        parts = in_parts(X)
        if isinstance(y, str):
            parts = in_parts(parts, columns=[name for name in parts.columns if name != y])
        training = opened(parts, None, sample_weight, needs_y=False)
        return cls(model, training, ProgressLine(type(model).__name__, sys.stderr))

    @cached_property
    def look(self) -> Look:
        """What the first pass has found; `more` is the spread of few columns."""
        more = SpreadOf() if self.training.d <= FEW_COLUMNS else None
        try:
            return look_at(self.training, center=self._center, more=more, line=self.line)
        finally:
            self.line.clear()

    @cached_property
    def _center(self) -> Array:
        """A point among the rows."""
        return first_means(self.training)

    @cached_property
    def rows(self) -> SummedRows:
        """In place of all rows."""
        look, training = self.look, self.training
        mean = look.sums / look.weight
        variances = np.maximum(look.squares / look.weight - (mean - self._center) ** 2, 0.0)
        dtype = training.source.dtype
        return SummedRows(training.n, training.d, dtype, look.weight, mean, variances)

    @cached_property
    def sample(self) -> ClusterRows:
        """The rows drawn that have weight; should none of them have any, all count alike."""
        sample = self.look.sample
        assert sample.weights is not None
        kept = sample.weights > 0
        if not kept.any():
            return ClusterRows(Design(sample.X), np.ones(len(sample)))
        return ClusterRows(Design(sample.X[kept]), sample.weights[kept])

    @property
    def _keeps_labels(self) -> bool:
        return self.training.n <= MOST_LABELS

    # ---- steps -----------------------------------------------------------------------------------

    def run(self, k: int, plan: Plan, began: float) -> dict[str, Any]:
        """What is learned."""
        runs: list[Run] = []
        try:
            with single_blas(), time_limit(seconds_left(self.model.time_limit, began)):
                runs += self._started(k, plan)
                self._steps(runs, plan)
                self._end(runs)
        except (TimeLimit, KeyboardInterrupt) as stop:
            is_limit = isinstance(stop, TimeLimit)
            if not any(run.last for run in runs):
                if not is_limit:
                    raise
                raise TimeLimit(
                    f"{type(self.model).__name__} has reached {limit_name(self.model.time_limit)} "
                    "before there were any centres; raise it, or choose fewer clusters."
                ) from None
            self.status = "time_limit" if is_limit else "interrupted"
            self.by_fold = None
        finally:
            self.line.clear()
        return self._learned([run for run in runs if run.last is not None])

    def _started(self, k: int, plan: Plan) -> list[Run]:
        """The first centres of all starts."""
        d = self.training.d
        if isinstance(plan.init, np.ndarray):
            check_centers(plan.init, d, k)
            return [Run(plan.init.astype(float))]
        random = check_random_state(self.model.random_state)
        is_whole = len(self.look.sample) == self.training.n
        if self.sample.n < k:
            raise ValueError(
                f"n_samples={self.sample.n} should be >= n_clusters={k}; choose fewer clusters."
            )
        starts = []
        for _ in range(plan.starts):
            begun = plan.first_centers(self.sample, k, random)
            if not is_whole:
                begun = plan.from_centers(self.sample, begun).centers
            starts.append(Run(begun.astype(float)))
        return starts

    def _steps(self, runs: list[Run], plan: Plan) -> None:
        tol = plan.tol * float(self.rows.variances.mean()) if plan.tol else 0.0
        while any(run.status is None for run in runs):
            step = 1 + max(len(run.objective) for run in runs)
            centers = [run.centers if run.status is None else None for run in runs]
            task = Assign(centers, self.rows.origin)
            answers = total(self.training, task, line=self.line, what=f"step {step}")
            for run, found in zip(runs, answers):
                if found is not None and run.take(found, self._objective(found)):
                    run.move_to(self._means(run.centers, found), tol, plan.max_iter)

    def _objective(self, found: Clusters) -> float:
        return self.rows.partition_sum(found.sums, found.totals)

    def _means(self, centers: Array, found: Clusters) -> Array:
        """The means of the clusters; an empty one gets the row farthest from its centre."""
        sums, totals, origin = found.sums, found.totals, self.rows.origin
        empty = np.flatnonzero(totals == 0)
        if len(empty):
            task = FindFar(centers, origin, len(empty))
            far = total(self.training, task, line=self.line, what="rows for empty clusters")
            sums, totals = with_rows_for_empty(
                sums, totals, empty, far.X - origin, far.weights, far.labels, self.rows.total
            )
        means, filled = centers.astype(float), totals > 0
        means[filled] = origin + sums[filled] / totals[filled, None]
        return means.astype(self.rows.dtype).astype(float)

    def _end(self, runs: list[Run]) -> None:
        """The clusters of the last centres, with their distances."""
        keeps = self._keeps_labels and len(runs) == 1
        task = Assign([run.centers for run in runs], self.rows.origin, True, keeps)
        self.by_fold = self._by_fold(task)
        for k, run in enumerate(runs):
            run.last = run.centers, self.by_fold.whole[k]
        self.best = int(np.argmin([clusters.squares for clusters in self.by_fold.whole]))
        if keeps:
            self.labels = each_label(self.by_fold, self.training)
        elif self._keeps_labels:
            own = Assign([runs[self.best].centers], self.rows.origin, False, True)
            found = each_part(self.training, own, line=self.line, what="labels")
            self.labels = np.concatenate([answer[0].labels[0] for answer in found])

    def _by_fold(self, task: Assign) -> Folds:
        ending = ByFold(task, self.training.parts.rows)
        return total(self.training, ending, line=self.line, what="last step")

    def _learned(self, runs: list[Run]) -> dict[str, Any]:
        is_whole = self.by_fold is not None
        ends = [run.last[1] for run in runs if run.last is not None]
        inertias = np.array([e.squares if is_whole else self._objective(e) for e in ends])
        best = int(np.argmin(inertias))
        run = runs[best]
        assert run.last is not None
        centers, end = run.last
        centers = centers.astype(self.rows.dtype)
        learned: dict[str, Any] = {
            "cluster_centers_": centers,
            "inertia_": float(inertias[best]),
            "n_iter_": len(run.objective),
            "n_clusters_": len(centers),
            "inertias_": inertias,
            "trace_": run.trace(),
            "solver_": "none",
            "n_features_in_": self.training.d,
            "_n_features_out": len(centers),
            "_n_init": len(inertias),
        }
        if is_whole and self.labels is not None:
            learned["labels_"] = self.labels
        if self.training.feature_names is not None:
            learned["feature_names_in_"] = self.training.feature_names
        if self.look.more is not None or not is_whole:
            learned["certificate_"] = self._certificate(centers, end, inertias, is_whole)
        self.end = centers, end, inertias
        return learned

    @property
    def totals(self) -> Array:
        """The weights of the clusters at the end."""
        return self._ended[1].totals

    @property
    def _ended(self) -> tuple[Array, Clusters, Array]:
        assert self.end is not None
        return self.end

    def _total(self, task: Any, what: str) -> Any:
        """The sum of a pass outside the fit."""
        try:
            return total(self.training, task, line=self.line, what=what)
        finally:
            self.line.clear()

    # ---- both gaps -------------------------------------------------------------------------------

    def certificate(self) -> Certificate:
        """The certificate of the fit, with the scatter matrix from one more pass."""
        return self._certificate(*self._ended)

    def certify(self) -> Certificate:
        """The certificate of the model as it is, for these rows."""
        model = self.model
        centers = np.asarray(model.cluster_centers_)
        task = Assign([centers], self.rows.origin, last=True)
        end = self._total(task, "certificate")[0]
        is_own = abs(end.squares - model.inertia_) <= 1e-6 * model.inertia_
        return self._certificate(
            centers, end, model.inertias_, cure=model._cure if is_own else REFIT
        )

    def _certificate(
        self,
        centers: Array,
        end: Clusters,
        inertias: Array,
        is_whole: bool = True,
        cure: str | None = None,
    ) -> Certificate:
        bound = (0.0, 0.0)
        if is_whole and len(centers) > 1 and self.training.d <= MOST_COLUMNS:
            bound = bound_of(self._spread.products, self.rows, len(centers))
        return certificate_of(
            self.rows,
            centers,
            end.sums,
            end.totals,
            tol=max(self.model.tol, 1e-9),
            starts=Starts(inertias),
            is_whole=is_whole,
            cure=cure or self.model._cure,
            bound=bound,
        )

    @cached_property
    def _spread(self) -> Spread:
        if self.look.more is not None:
            return self.look.more
        return self._total(SpreadOf(), "certificate")

    def generalization(self) -> Generalization:
        """The explained variance of parts that the centres were not fitted to, by one more pass.

        The centres without a fold are the means of the other rows of each cluster; whether there
        are too many or too few is seen on the sample.
        """
        if self.by_fold is None or len(self.by_fold.used) < 2:
            why = "the table has one part alone, so none can be left out"
            if self.by_fold is None:
                why = "the fit was told to stop before its end"
            return unknown(METRIC, float("nan"), why)
        centers = np.asarray(self._ended[0], dtype=float)
        held, means = {}, {}
        for fold in self.by_fold.used:
            rest = self.by_fold.without(fold)[self.best]
            filled, moved = rest.totals > 0, centers.copy()
            origin = self.rows.origin
            moved[filled] = origin + rest.sums[filled] / rest.totals[filled, None]
            held[fold] = moved
            means[fold] = origin + rest.sums.sum(axis=0) / rest.totals.sum()
        task = Judge(centers, held, means, self.rows.origin, self.training.parts.rows)
        found = self._total(task, "held-out parts")
        how = f"{len(held)} folds of parts, one step each"
        return share_in_parts(found, METRIC, self.rows.scatter, self._judgement, how)

    def _judgement(self) -> tuple[str, str]:
        """Whether there are too many or too few clusters, as the rows drawn show."""
        found = self.model._judged_on(self.sample)
        if not np.isfinite(found.unseen):
            return found.kind, f"{found.verdict.partition(': ')[2].rstrip('.')}, in the sample"
        advice = found.verdict.partition("; ")[2].rstrip(".")
        return found.kind, f"{advice}, as a sample of {self.sample.n:,} rows shows"


def each_label(by_fold: Folds, training: Training) -> Array:
    """The labels of all rows in their order, from those of the parts of each fold."""
    of_folds = [iter([] if runs is None else runs[0].labels) for runs in by_fold]
    parts = range(len(training.parts))
    return np.concatenate([next(of_folds[part % FOLDS]) for part in parts])


@dataclass(frozen=True, eq=False)
class Judge:
    """The task that scores rows: by the centres, by those without their fold, by the mean."""

    centers: Array
    held: dict[int, Array]
    means: dict[int, Array]
    origin: Array
    rows: int

    def __call__(self, rows: Rows) -> ScoreSums:
        """The sums of one part."""
        design, fold = Design(rows.X), fold_of(rows, self.rows)
        values = np.empty((len(rows), 3))
        for k, own in enumerate((self.centers, self.held[fold], self.means[fold][None])):
            centers = np.ascontiguousarray(own, design.dtype)
            values[:, k] = nearest(design, centers, self.origin, True)[1]
        return ScoreSums.of_rows(values, checked_weights(rows))
