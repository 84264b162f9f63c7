"""Linear models of rows that are read in parts: one pass for each Newton step, one for the proof.

The objective is the one of the fit in memory: every part becomes the problems that the estimator
would make of its rows, and their sums are those of all rows. The first pass checks the table and
draws a sample, on which the same problems are solved in memory; a step or two from there is enough.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight

from ..._ground.interrupt import TimeLimit, limit_name, time_limit
from ..._ground.progress import ProgressLine
from ..._ground.validation import Training as Memory
from ...certificates import Certificate, judged
from ...penalties import Penalty
from ...problem import (
    Parameters,
    Problem,
    Quadratic,
)
from ...solvers import Descent, Solution, Trace, minimised, newton_on_sums, solve_many
from ...streaming import (
    FOLDS,
    Folds,
    Look,
    Training,
    first_means,
    in_parts,
    look_at,
    opened,
    total,
)
from ...unseen import (
    FIRST_RIVAL,
    LOO,
    Generalization,
    judged_in_parts,
    uncorrected,
)
from .problems import pack, stored_coefficients, unpack
from .proof_in_parts import certified, cure_of, dual_point, is_ridge
from .ridge_in_parts import LeaveOneOut, Spectrum, chosen_path, strengths_below
from .tasks_in_parts import Evaluate, Judge, Listed, OfPart, Prove

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# A Hessian of more unknowns than this is too large to be sent and solved.
MOST_UNKNOWNS = 6000
# Other versions of a fit: their name, whether they are simpler, the factor of their penalty.
VERSIONS = (
    ("a penalty ten times as strong", True, 10.0),
    ("a penalty a tenth as strong", False, 0.1),
)
FURTHER = "fit again with more time"
# The solvers of gapless that are, or end with, Newton steps.
NEWTON = ("auto", "newton", "newton_cholesky", "prox_newton", "lbfgs")


@dataclass(eq=False)
class FitInParts:
    """The fit of a linear model to a table in parts: what it needs, step by step."""

    model: Any
    training: Training
    line: ProgressLine
    # The last sums of each fold, for each problem.
    by_fold: Any = None
    # What moves the null models of each fold; None before the certificate.
    null_slopes: Any = None

    status: str = "optimal"
    # The parameters whose values the fit has chosen.
    tuned: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> FitInParts:
        """The fit of a model to a table."""
        return cls(
            model, opened(X, y, sample_weight), ProgressLine(type(model).__name__, sys.stderr)
        )

    def run(self) -> dict[str, Any]:
        """Look, solve, prove; the attributes that are learned."""
        limit = self.model.time_limit
        try:
            with time_limit(limit):
                return self._run()
        except TimeLimit:
            raise ValueError(
                f"{limit_name(limit)} passed before all rows were seen once, so nothing is known "
                f"of {type(self.model).__name__} yet; increase it, or fit to a part of the rows."
            ) from None
        finally:
            self.line.clear()

    def certify(self, coef: Array, intercept: Array) -> Certificate:
        """The certificate of given coefficients."""
        problems = [self._whole(problem) for problem in self.of_part.problems(self.sample)]
        center, descents = self.center, []
        for problem, q in zip(problems, unpack(problems, coef, intercept, None)):
            at = Parameters(q.w, q.b if center is None else q.b + center @ q.w)
            descents.append(Descent(problem, at, at))
        vars(self)["descents"] = descents
        self.trace = Trace()
        for each, sums in zip(descents, self._evaluate([each.at for each in descents])):
            assert sums is not None
            each.sums = sums
            each.primal = sums.value + each.problem.penalty.value(each.at.w)
            each.end = each.at
        return sum(self._certificates(towards=True))  # type: ignore[return-value]

    def take_columns(self, count: int, names: Array | None) -> None:
        """Take the columns of a fitted model, in its order; an error if some are not there."""
        parts = self.training.parts
        if names is not None and self.training.feature_names is not None:
            parts = in_parts(parts, columns=list(names))
            self.training = replace(self.training, parts=parts)
        if len(parts.columns) != count:
            raise ValueError(
                f"X has {len(parts.columns)} features, but the model was fitted to {count}; pass "
                "the table of the fit."
            )

    def warn_if_stopped(self, certificate: Certificate) -> None:
        """Warn that the gap is too large, and what would help."""
        if certificate.kind in ("stopped", "none"):
            warnings.warn(
                f"{type(self.model).__name__}: {certificate.verdict}",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _run(self) -> dict[str, Any]:
        began = time.monotonic()
        self.trace = Trace()
        chosen = self._choose() if self.model._tuned() else {}
        descents = self.descents
        self._check_size(descents[0].problem)
        status = "optimal"
        try:
            if not all(each.is_done for each in descents):
                newton_on_sums(
                    descents,
                    self._evaluate,
                    [each.problem.scale for each in descents],
                    max_iter=self.model.max_iter if self.model.max_iter is not None else 100,
                    after_pass=lambda _: self._record(began),
                )
            certificates = self._certificates()
        except (TimeLimit, KeyboardInterrupt) as stop:
            if any(each.sums is None for each in descents):
                raise
            status = "interrupted" if isinstance(stop, KeyboardInterrupt) else "time_limit"
            for each in descents:
                each.end = each.at
            certificates = [self._unproved(each) for each in descents]
        self.trace.record(
            sum(c.primal for c in certificates),
            sum(c.gap for c in certificates),
            time.monotonic() - began,
            self.trace.steps,
        )
        self.status = status
        return self._learned(certificates) | chosen

    def _choose(self) -> dict[str, Any]:
        """Choose the strength of a ridge by leaving out each row; what is learned by that."""
        model, fit_bias = self.model, self.model.fit_intercept
        # The sums of the first look do not depend on the strength.
        self.model = model._at(alpha=1.0)
        spectrum = Spectrum.of(self.look.more.whole[0], fit_bias)
        strengths = strengths_below(spectrum)
        task = LeaveOneOut(self.of_part, spectrum, strengths, fit_bias)
        sums = total(self.training, task, line=self.line, what="leave-one-out")
        path = chosen_path(spectrum, strengths, sums, model.select, self.center)
        assert path.chosen is not None
        best = float(strengths[path.chosen])
        self.model = model._at(alpha=best)
        vars(self)["of_part"] = replace(self.of_part, model=clone(self.model))
        self.tuned = ("alpha",)
        return {"alpha_": best, "path_": path}

    # ---- the first pass --------------------------------------------------------------------------

    @cached_property
    def has_classes(self) -> bool:
        """Whether the targets are classes."""
        return is_classifier(self.model)

    @cached_property
    def center(self) -> Array | None:
        """What is subtracted from the columns while a bias can make up for it."""
        return first_means(self.training) if self.model.fit_intercept else None

    @cached_property
    def look(self) -> Look:
        """What the first pass has found; for the squared loss it sums all that is needed."""
        more, model = None, clone(self.model)
        if not self.has_classes and _is_squared(model):
            more = Evaluate(OfPart(model, self.training.parts.rows, self.center))
        return look_at(
            self.training,
            has_classes=self.has_classes,
            center=self.center,
            more=more,
            line=self.line,
        )

    @cached_property
    def of_part(self) -> OfPart:
        """How parts become problems, for all later passes."""
        look = self.look
        classes = factors = None
        if self.has_classes:
            classes = look.classes
            if len(classes) < 2:
                found = f"only one class: {classes.tolist()[0]!r}" if len(classes) else "none"
                raise ValueError(
                    "This solver needs samples of at least 2 classes in the data, but the data "
                    f"contains {found}; add rows of another class."
                )
            factors = _class_factors(self.model.class_weight, classes, look.class_totals)
        model = clone(self.model)
        return OfPart(model, self.training.parts.rows, self.center, classes, factors)

    @cached_property
    def total_weight(self) -> float:
        """Σs, class weights included."""
        if self.of_part.factors is None:
            return self.look.weight
        return float(self.look.class_totals @ self.of_part.factors)

    @cached_property
    def sample(self) -> Memory:
        """The sample as training data, with weights that sum to those of all rows."""
        data = self.of_part.memory(self.look.sample)
        drawn = float(data.weights.sum())
        if not drawn > 0:
            return data
        return replace(data, weights=data.weights * (self.total_weight / drawn))

    @cached_property
    def descents(self) -> list[Descent]:
        """Each problem at its start: the solution on the sample, or by the sums at w = 0."""
        problems = [self._whole(problem) for problem in self.of_part.problems(self.sample)]
        for problem in problems:
            _check_problem(self.model, problem)
        if self.look.more is not None:
            return [self._from_sums(problem, k) for k, problem in enumerate(problems)]
        starts = self._solved_sample(problems)
        return [Descent(problem, start, start) for problem, start in zip(problems, starts)]

    def _whole(self, problem: Problem) -> Problem:
        """The problem of the sample, with targets in the range of all rows checked."""
        if not self.has_classes:
            problem.loss.check_targets(np.array([self.look.smallest, self.look.largest]))
        return problem

    def _from_sums(self, problem: Problem, k: int) -> Descent:
        zero = Parameters(np.zeros(problem.d), np.zeros(()))
        descent = Descent(problem, zero, zero)
        self.by_fold = self.look.more
        descent.take(zero, self.by_fold.whole[k], problem.scale)
        descent.is_done, descent.steps = True, 1  # the loss is its own quadratic
        return descent

    def _solved_sample(self, problems: list[Problem]) -> list[Parameters]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                solutions = solve_many(problems, tol=1e-8)
            except ArithmeticError:
                return [problem.null for problem in problems]
        found = [solution.parameters for solution in solutions]
        bounded = [
            q if np.all(np.isfinite(q.w)) and np.all(np.isfinite(q.b)) else problem.null
            for problem, q in zip(problems, found)
        ]
        return [Parameters(q.w, q.b) for q in bounded]

    def _check_size(self, problem: Problem) -> None:
        unknowns = problem.d * (problem.outputs or 1)
        if unknowns > MOST_UNKNOWNS:
            raise ValueError(
                f"{type(self.model).__name__} in parts takes at most {MOST_UNKNOWNS:,} unknowns, "
                f"got {unknowns:,}; use fewer columns, or SGDClassifier.partial_fit."
            )

    # ---- later passes ----------------------------------------------------------------------------

    def _evaluate(self, points: Sequence[Parameters | None]) -> list[Quadratic | None]:
        self.trace.steps += 1
        task = Evaluate(self.of_part, points)
        what = f"step {self.trace.steps}"
        folds = total(self.training, task, line=self.line, what=what)
        whole = folds.whole
        if self.by_fold is not None:  # problems that are done keep their sums
            folds = Folds(
                None if new is None else Listed(b if a is None else a for a, b in zip(new, old))
                for new, old in zip(folds, self.by_fold)
            )
        self.by_fold = folds
        return list(whole)

    def _record(self, began: float) -> bool:
        primal = sum(each.primal for each in self.descents)
        self.trace.record(primal, np.nan, time.monotonic() - began, self.trace.steps)
        return False

    # ---- the proof -------------------------------------------------------------------------------

    def _certificates(self, towards: bool = False) -> list[Certificate]:
        """P and a lower bound of it, by one more pass.

        With `towards`, the dual point is that of the next step, which is not taken.
        """
        descents = self.descents
        each = [dual_point(descent, towards) for descent in descents]
        task = Prove(self.of_part, each, self.nulls)
        found = total(self.training, task, line=self.line, what="certificate")
        K, norms = len(descents), np.sqrt(self.look.squares)
        self.null_slopes = found[2 * K]
        return [
            certified(
                descent,
                how,
                sums,
                above,
                norms,
                self.training.n,
                self.model.tol,
                is_constant=not self.has_classes and self.look.smallest == self.look.largest,
                cure=cure_of(descent, towards),
            )
            for descent, how, sums, above in zip(descents, each, found[:K], found[K : 2 * K])
        ]

    @cached_property
    def nulls(self) -> list[Parameters]:
        """The model without features of each problem."""
        return [self._null(each.problem) for each in self.descents]

    def _null(self, problem: Problem) -> Parameters:
        """The best model without features: from the sums, by formula, or that of the sample."""
        if self.look.more is not None and problem.fit_bias:
            at_zero = self.look.more.whole[0]
            return Parameters(np.zeros(problem.d), -at_zero.of_b / at_zero.of_bb)
        if not self.has_classes and problem.fit_bias:
            mean = self.look.sum_of_y / self.look.weight
            known = problem.loss.best_constant(np.array([mean]), np.array([self.look.weight]))
            if known is not None:
                return Parameters(np.zeros(problem.d), np.asarray(float(known)))
        return problem.null

    def _unproved(self, descent: Descent) -> Certificate:
        """The certificate of a fit that was cut short: no pass was left for a bound."""
        problem = descent.problem
        least = problem.origin.dual  # of the sample, whose weights are those of all rows
        if problem.loss.targets == "real":
            least = max(least, 0.0) if np.isfinite(least) else 0.0
        return judged(
            descent.primal,
            least,
            scale=problem.scale,
            tol=self.model.tol,
            method="zero",
            cure=FURTHER,
        )

    # ---- unseen rows -----------------------------------------------------------------------------

    def generalization(self) -> Generalization:
        """The score on parts that the models have not seen, by one more pass."""
        metric = "accuracy" if self.has_classes else "R²" if self.is_of_squares else "D²"
        used = self.by_fold.used
        if len(used) < 2:
            nan, why = float("nan"), "the table has one part alone, so none can be left out"
            return Generalization(metric, nan, nan, nan, nan, "none", None, f"unknown: {why}.")
        rivals = VERSIONS if self._has_strength else ()
        task = Judge(
            self.of_part,
            [each.found for each in self.descents],
            self._without_folds(),
            self.nulls,
            [self._without_folds(factor) for _, _, factor in rivals]
            + [self._nulls_without_folds()],
        )
        found = total(self.training, task, line=self.line, what="held-out parts")
        how = "" if self.is_of_squares else ", one Newton step each"
        judged = judged_in_parts(
            found,
            metric,
            self.has_classes,
            [(name, is_simpler) for name, is_simpler, _ in rivals],
            f"{len(used)} folds of parts{how}",
            constant=FIRST_RIVAL + len(rivals),
        )
        return uncorrected(judged, self.tuned)

    @property
    def _has_strength(self) -> bool:
        """Whether the penalties can be made stronger and weaker."""
        penalties = [each.problem.penalty for each in self.descents]
        scaled = [penalty.scaled(2.0) for penalty in penalties]
        return all(new is not None and new is not old for new, old in zip(scaled, penalties))

    @property
    def is_of_squares(self) -> bool:
        """Whether the loss is squared, so that a Newton step is exact."""
        return all(each.problem.loss.name == "squared" for each in self.descents)

    def _without_folds(self, factor: float = 1.0) -> list[list[Parameters]]:
        """The models without each fold, from the sums of the others around the last point.

        With a factor the penalty is that many times as strong.
        """
        # A penalty against the mean of the losses weighs less against fewer rows.
        share = 1 - 1 / FOLDS if self.model._averages else 1.0
        problems = [
            replace(each.problem, penalty=_scaled(each.problem.penalty, share * factor))
            for each in self.descents
        ]
        return [
            [
                minimised(_without(each.sums, own, k), problem, each.at)[0]
                for k, (each, problem) in enumerate(zip(self.descents, problems))
            ]
            for own in self.by_fold
        ]

    def _nulls_without_folds(self) -> list[list[Parameters]]:
        """The models without features that have not seen each fold, by one Newton step."""
        if self.null_slopes is None:
            return [self.nulls] * FOLDS
        whole = self.null_slopes.whole
        return [
            [
                null if not each.problem.fit_bias or own is None else _moved_null(null, all_ - mine)
                for each, null, all_, mine in zip(
                    self.descents, self.nulls, whole, own or [None] * len(whole)
                )
            ]
            for own in self.null_slopes
        ]

    # ---- what is learned -------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> list[Parameters]:
        """The solution in the coordinates of X: the center moves into the bias."""
        center, out = self.of_part.center, []
        for each in self.descents:
            w, b = each.found.w, each.found.b
            out.append(Parameters(w, b if center is None else b - center @ w))
        return out

    def _learned(self, certificates: list[Certificate]) -> dict[str, Any]:
        problems = [each.problem for each in self.descents]
        coef, intercept, _ = pack(problems, self.parameters)
        data, model = self.sample, self.model
        learned: dict[str, Any] = {
            "coef_": stored_coefficients(problems, coef, np.dtype(np.float64)),
            "intercept_": intercept,
            "dual_": None,
            "trace_": self.trace,
            "solver_": "newton_in_parts",
            "n_iter_": max(each.steps for each in self.descents),
            "n_features_in_": self.training.d,
            "certificate_": sum(certificates),
        }
        names = self.training.feature_names
        if names is not None:
            learned["feature_names_in_"] = names
        solutions = [
            Solution(q, self.trace, each.status, c.primal, c.dual, "newton_in_parts")
            for q, each, c in zip(self.parameters, self.descents, certificates)
        ]
        return learned | model._specifics(data, learned, solutions, certificates)


def _without(sums: Quadratic | None, own: Any, k: int) -> Quadratic:
    """The sums of a problem without those of a fold, which may have no parts."""
    assert sums is not None
    return sums if own is None else sums - own[k]


def _moved_null(null: Parameters, slopes: Array) -> Parameters:
    """The model without features after a Newton step in its biases; see `_slopes_at_null`."""
    step = np.linalg.pinv(slopes[:, 1:], rcond=1e-10, hermitian=True) @ slopes[:, 0]
    return Parameters(null.w, null.b - step.reshape(np.shape(null.b)))


def _scaled(penalty: Penalty, factor: float) -> Penalty:
    found = penalty.scaled(factor)
    return penalty if found is None else found


def _is_ridge_of_numbers(model: Any) -> bool:
    """Whether the sums at w = 0 give the model of every strength."""
    plain = model._at(alpha=1.0)
    return not is_classifier(model) and _is_squared(plain) and is_ridge(_probe(plain)[0])


def _is_squared(model: Any) -> bool:
    """Whether the loss is squared, so that its sums at w = 0 say all."""
    return all(problem.loss.name == "squared" for problem in _probe(model))


def _probe(model: Any) -> list[Problem]:
    """The problems of a model for two rows of numbers, to see what they are like."""
    return model._problems(Memory(np.zeros((2, 1)), np.array([1.0, 2.0]), np.ones(2), np.ones(2)))


def _class_factors(class_weight: Any, classes: Array, totals: Array) -> Array | None:
    """The factors by which class weights multiply those of the rows."""
    if class_weight is None:
        return None
    return compute_class_weight(class_weight, classes=classes, y=classes, sample_weight=totals)


def _check_problem(model: Any, problem: Problem) -> None:
    """Refuse what needs all rows at once, and say what does not."""
    name = type(model).__name__
    if not problem.loss.has_curvature:
        raise ValueError(
            f"{name} with the {problem.loss.name} loss cannot be fitted in parts, since its steps "
            "need all rows at once; use a loss with curvature, such as squared hinge or Huber, or "
            "SGDClassifier.partial_fit."
        )
    if not problem.penalty.is_convex or not problem.has_dual:
        raise ValueError(
            f"{name} with the {problem.penalty.name} penalty cannot be fitted in parts; use L1, L2 "
            "or elastic net."
        )


def check_fits_in_parts(model: Any, maps: bool) -> None:
    """Refuse parameters that need all rows in memory, and say what to do."""
    name = type(model).__name__
    tuned = model._tuned()
    # Leaving out each row needs the sums of the first look alone.
    is_left_out = tuned == ("alpha",) and getattr(model, "alpha", None) == LOO
    if tuned and not (is_left_out and _is_ridge_of_numbers(model)):
        raise ValueError(
            f"{name} cannot choose {' and '.join(tuned)} in parts; give a number, such as the one "
            "chosen on a sample of the rows."
        )
    if maps and getattr(model, "kernel", None) is not None:
        raise ValueError(
            f"{name} with a kernel cannot be fitted in parts, since it compares all pairs of rows; "
            "leave kernel out, or fit it to a sample."
        )
    solver = model.solver if isinstance(model.solver, str) else type(model.solver).__name__
    if model._peer_solvers.get(solver, solver) not in NEWTON:
        raise ValueError(
            f'{name} in parts takes Newton steps, got solver={model.solver!r}; use solver="auto".'
        )
