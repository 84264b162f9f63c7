"""The perceptron: steps on mistakes alone, counted, traced, and bounded if a plane separates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ... import losses
from ..._ground.about import Example, Examples, Formula, bias_term
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.drawing import pictures
from ..._ground.stored import Declaration, Number, Unused
from ..._ground.validation import read_part_of_classes
from ...certificates import Certificate, judged
from ...solvers import Trace
from ..linear import (
    DATA,
    OF_CLASSES,
    SOLVED,
    LinearClassifier,
    classification_problems,
    dense,
)
from ._base import STOCHASTIC, StochasticModel
from .descent import Descent, State
from .novikoff import mistake_bound
from .passes import Visits
from .sgd import accuracy_of
from .steps import Schedule

Array = np.ndarray

RANDOM, ZEROS = "random", "zeros"
ROWS_TOO, EPOCHS = "rows", "epochs"


@dataclass(repr=False)
class PerceptronTrace(Trace):
    """What a perceptron did, beside the perceptron loss, gap and seconds after each epoch.

    Attributes
    ----------
    weights : list of ndarray
        The bias and the coefficients, (w₀, w₁, …), at the start and after each epoch, or after each
        row with record="rows"; for several classes one row of them for each.
    mistakes : list of float
        The weight of the rows that were mistakes when their turn came, in each epoch.
    """

    weights: list[Array] = field(default_factory=list)
    mistakes: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.mistakes:
            return "no epochs"
        epochs = "1 epoch" if len(self.mistakes) == 1 else f"{len(self.mistakes)} epochs"
        total, last = sum(self.mistakes), self.mistakes[-1]
        return f"{epochs} with {total:g} mistakes, {last:g} of them in the last"

    def plot(self, *, names=None, axes=None):
        """Draw the weights and, below them, the mistakes.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the features.
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : tuple of matplotlib Axes
            The panel of the weights and that of the mistakes.
        """
        rows = max((len(self.weights) - 1) // max(len(self.mistakes), 1), 1)
        weights = np.stack(self.weights)
        return pictures().perceptron(weights, self.mistakes, rows=rows, names=names, axes=axes)


class PerceptronDescent(Descent):
    """Steps of the perceptron, in units of its rate, with their record."""

    def __init__(self, *parts: Any, rate: float, by_rows: bool, **options: Any):
        super().__init__(*parts, **options)
        self.rate, self.by_rows = rate, by_rows
        self.weights_seen: list[Array] = []
        self.mistakes: list[float] = []

    def begin(self, w: Array, b: Array, steps: float = 1.0) -> State:
        """The start in units of the rate."""
        return replace(super().begin(w / self.rate, b / self.rate, steps), unit=self.rate)

    def epoch(self, state: State, order: Array) -> None:
        """One pass, row by row if each is recorded."""
        if not self.weights_seen:
            self._record(state)
        for rows in order[:, None] if self.by_rows else [order]:
            super().epoch(state, rows)
            if self.by_rows:
                self._record(state)
        if not self.by_rows:
            self._record(state)
        is_mistake = self.slopes[order] != 0
        self.mistakes.append(float(np.sum(self.weights[order] @ is_mistake)))

    def _record(self, state: State) -> None:
        weights = state.unit * np.column_stack([state.b, state.w])
        self.weights_seen.append(weights[0] if len(weights) == 1 else weights)


@described(STOCHASTIC, OF_CLASSES, SOLVED)
class Perceptron(StochasticModel, LinearClassifier):
    """Linear classifier that moves its plane whenever a row is on the wrong side of it.

    For each row in turn, if t(xᵀw + b) ≤ 0 for its class t = ±1, then w ← w + η₀tx and b ← b + η₀t.
    With a `learning_rate` λ it is the textbook's rule w ← w + λ(t − s)x, where s = sign(xᵀw + b)
    and sign(0) = +1. If some plane separates the classes, mistakes come to an end. One class
    against the rest if there are more than two.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None, default=None
        A penalty on w, which also shrinks it with each row. With one, w = 0 is the minimiser, and
        the bound on the mistakes does not hold.
    alpha : float, default=0.0001
        Weight of the penalty.
    l1_ratio : float, default=0.15
        The share of ‖w‖₁ in "elasticnet", from 0 to 1.
    tol : float, default=1e-3
        Stop when the share of mistakes falls by less than this for `n_iter_no_change` epochs in a
        row; None makes up to `max_iter` epochs. An epoch without mistakes is always the last.
    eta0 : float, default=1.0
        Length of a step. It changes no prediction if the start is 0 and there is no penalty.
    learning_rate : float, default=None
        The rate λ of the textbook's rule, in place of `eta0`: a mistake moves w by 2λ.
    threshold : float, default=None
        Stop after an epoch whose mean mistake, Σᵢ|tᵢ − sᵢ|/n, is less than this γ; a mistake
        counts 2.
    start : {"zeros", "random"}, default="zeros"
        The first weights: all 0, or each between −1 and 1. `fit` also takes given ones.
    record : {"epochs", "rows"}, default="epochs"
        Whether `trace_` has the weights after each epoch or after each row, which is slow.

    Attributes
    ----------
    rate_ : float
        The length of a step: `eta0`, or 2λ. Where X holds whole numbers, weights are whole
        multiples of it, and the scores are computed from these: a 0 is exactly 0.
    geometric_margin_ : float or ndarray of shape (n_classes,)
        The smallest distance of a training row to the plane, on one side of it; negative if the row
        is on the wrong side. The `margin_` of a support vector machine is the width of both sides.
    mistakes_ : float
        The number of mistakes in all epochs, each counted by the weight of its row.
    trace_ : PerceptronTrace
        Weights and mistakes of each epoch; `trace_.plot()` draws them.

    Notes
    -----
    An epoch costs n·d. `mistake_bound` says how many mistakes there can be at most. Which plane is
    found depends on the order of the rows; a support vector machine finds the one with the largest
    margin. If no plane separates the classes the steps never end, and finding the plane with the
    fewest mistakes is NP-hard: use LogisticRegression or LinearSVC.

    References
    ----------
    Rosenblatt (1958), The perceptron, Psychological Review 65. Novikoff (1962), On convergence
    proofs for perceptrons.

    Examples
    --------
    >>> from gapless import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [-1, -1, -1, 1]
    >>> model = Perceptron(learning_rate=0.5, shuffle=False).fit(X, y)
    >>> model.coef_, model.intercept_
    (array([[2., 1.]]), array([-3.]))
    >>> model.trace_.mistakes
    [2.0, 3.0, 3.0, 2.0, 1.0, 0.0]
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer"), Example("iris"))
    _is_certified_at_once = True
    _no_errors = "the plane depends on the order of the rows, which theory does not account for"
    _stored: ClassVar[Declaration] = {
        **LinearClassifier._stored,
        **StochasticModel._stored,
        "coef_": LinearClassifier._stored["coef_"],
        "intercept_": LinearClassifier._stored["intercept_"],
        "rate_": Number(),
        "geometric_margin_": Unused(),
        "mistakes_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **StochasticModel._parameter_constraints,
        "class_weight": LinearClassifier._parameter_constraints["class_weight"],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "threshold": [Interval(Real, 0, None, closed="neither"), None],
        "start": [StrOptions({ZEROS, RANDOM})],
        "record": [StrOptions({EPOCHS, ROWS_TOO})],
        "n_jobs": [Integral, None],
    }
    solver = "perceptron"

    def __init__(
        self,
        *,
        penalty=None,
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        eta0=1.0,
        n_jobs=None,
        random_state=0,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        class_weight=None,
        warm_start=False,
        learning_rate=None,
        threshold=None,
        start=ZEROS,
        record=EPOCHS,
        time_limit=None,
    ):
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.learning_rate = learning_rate
        self.threshold = threshold
        self.start = start
        self.record = record
        self.time_limit = time_limit

    # ---- steps -----------------------------------------------------------------------------------

    @property
    def _rate(self) -> float:
        return float(self.eta0) if self.learning_rate is None else 2 * float(self.learning_rate)

    def _check_parameters(self, is_part: bool = False) -> None:
        self._check_penalty(is_part)

    def _loss(self):
        return losses.Perceptron()

    def _problems(self, data):
        penalty = self._whole_penalty(data)
        return classification_problems(data, self._loss(), penalty, self.fit_intercept)

    def _start(self, problems, coef, intercept):
        w, b = super()._start(problems, coef, intercept)
        if self.start == RANDOM and coef is None and not np.any(w):
            random = check_random_state(self.random_state)
            w = random.uniform(-1, 1, size=w.shape)
            if intercept is None and self.fit_intercept:
                b = random.uniform(-1, 1, size=b.shape)
        return w, b

    def _descent(self, problems, data, weights):
        # Without a penalty the rate is a unit: it is left out of the sums and of their rounding.
        rate = self._rate if self.penalty is None else 1.0
        return PerceptronDescent(
            problems,
            self._penalty(),
            weights,
            Schedule("constant", 1.0 if self.penalty is None else self._rate),
            upper_at_ties=self.learning_rate is not None,
            rate=rate,
            by_rows=self.record == ROWS_TOO,
        )

    @property
    def _has_relative_weights(self) -> bool:
        return self.penalty is not None

    def _level(self, descent, state):
        return descent.mistakes[-1] / (float(np.sum(descent.weights)) * descent.outputs)

    def _better_theta(self, problems):
        return None

    def _is_done(self, descent):
        last = descent.mistakes[-1]
        if last == 0 and self.penalty is None:
            return True
        total = float(np.sum(descent.weights)) * descent.outputs
        return self.threshold is not None and 2 * last / total < self.threshold

    def _validation_score(self, data, rows, scores):
        return accuracy_of(data, rows, scores)

    # ---- what is learned -------------------------------------------------------------------------

    def _attributes(self, data, problems, run, theta):
        learned = super()._attributes(data, problems, run, theta)
        trace, descent = run.trace, run.descent
        learned["trace_"] = PerceptronTrace(
            **vars(trace), weights=descent.weights_seen, mistakes=descent.mistakes
        )
        learned |= {"dual_": None, "rate_": self._rate, "mistakes_": sum(descent.mistakes)}
        margins = self._margins(problems, learned)
        learned["geometric_margin_"] = margins[0] if len(margins) == 1 else margins
        return learned

    def _margins(self, problems, learned) -> Array:
        """The smallest distance to the plane among the rows with a weight, for each class."""
        scores = self._scores_of(problems[0].design, learned)
        targets = np.column_stack([problem.y for problem in problems])
        signed = (targets * scores)[problems[0].weights > 0]
        norms = np.linalg.norm(np.atleast_2d(learned["coef_"]).astype(float), axis=1)
        return np.min(signed, axis=0) / np.where(norms > 0, norms, 1.0)

    def _scores_of(self, design: Design, learned: dict[str, Any]) -> Array:
        """Xw + b, from whole multiples of the rate if the weights are such."""
        coef, bias = dense(learned["coef_"]), np.atleast_1d(learned["intercept_"])
        w, b = (_multiples(part, learned["rate_"]) for part in (coef, bias))
        if w is None or b is None:
            dtype = np.result_type(coef, design.dtype)
            return design.times(np.ascontiguousarray(coef.T, dtype=dtype)) + bias
        scores = design.times(np.ascontiguousarray(w.T)) + b
        return (learned["rate_"] * scores).astype(np.result_type(coef, design.dtype), copy=False)

    def _scores(self, X):
        check_is_fitted(self)
        return self._scores_of(self._design(X), vars(self))

    def _classes_of(self, scores):
        position = (scores >= 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[position]

    # ---- how good it is --------------------------------------------------------------------------

    def _certificate(self, problems, learned, seconds) -> Certificate:
        return self._certificate_of(problems, learned)

    def _certificate_of(self, problems, learned) -> Certificate:
        wrong, largest = self._wrong(problems, learned)
        total = float(np.sum(problems[0].weights)) * len(problems)
        certificate = judged(
            wrong, 0.0, scale=largest, tol=0.0, cure="see LogisticRegression or LinearSVC"
        )
        each = "" if len(problems) == 1 else ", over all classes against the rest"
        if wrong == 0:
            verdict = f"optimal: no mistakes among the training rows{each}; none can make fewer."
        else:
            verdict = (
                f"stopped: {wrong:g} of {total:g} training rows are on the wrong side{each}; the "
                "fewest possible is at least 0, and NP-hard to find. If a plane separates the "
                "classes, raise max_iter or set tol=None; if not, use LogisticRegression or "
                "LinearSVC."
            )
        return replace(certificate, verdict=verdict)

    def _wrong(self, problems, learned) -> tuple[float, float]:
        """The weight of the rows on the wrong side, and of those if all are on the better side."""
        scores = self._scores_of(problems[0].design, learned)
        wrong = smallest = 0.0
        for problem, z in zip(problems, scores.T):
            is_wrong = (z >= 0) != (problem.y > 0)
            wrong += float(np.sum(problem.weights[is_wrong]))
            positive = float(np.sum(problem.weights[problem.y > 0]))
            smallest += min(positive, float(np.sum(problem.weights)) - positive)
        return wrong, smallest

    def _objective(self, problems) -> float:
        return self._wrong(problems, vars(self))[0]

    @described(DATA)
    def mistake_bound(self, X=None, y=None, sample_weight=None):
        """How many mistakes the perceptron can make at most on these rows, from a start at 0.

        If a plane through the origin of (x, 1) separates the classes with margin γ, and all rows
        are within R of the origin, then there are at most (R/γ)² mistakes, in any number of epochs
        (Novikoff 1962). Rows with weights, and equal rows, which are one row with their joint
        weight unless shuffle=False, multiply the bound by the largest weight.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), default=None
            The rows; None for those of the fit.

        Returns
        -------
        bound : MistakeBound or list of MistakeBound
            R, γ, the bound, and whether γ is that of the best plane or of the one found; for more
            than two classes one for each.
        """
        if X is None:
            self._remembered("mistake_bound(X, y)")
            data = vars(self)["_training"][0]
        else:
            data = self._reread(X, y, sample_weight)
        problems, in_order = self._problems(data), not self.shuffle
        # Equal rows are one row with their joint weight, as in the fit.
        visits = Visits.of(problems[0], data.y, in_order=in_order, is_relative=False)
        largest = float(np.max(visits.weights))
        triples = zip(problems, *self._stored_parameters())
        found = [mistake_bound(problem, *plane, largest) for problem, *plane in triples]
        return found[0] if len(found) == 1 else found

    @described(DATA)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Make one epoch on these rows, from where the last call has ended.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes, including those of later parts; needed in the first call.

        Returns
        -------
        self : object
            The fitted estimator. It keeps no reference to its data: pass them to
            `gapless.certify` and `gapless.generalize`.
        """
        self._check_parameters(is_part=True)
        self._learn_part(read_part_of_classes(self, X, y, classes, sample_weight))
        return self

    def _formula(self) -> Formula:
        return Formula(f"Σᵢ 1(tᵢ ≠ sign(xᵢᵀw{bias_term(self)}))", {"η": self.rate_})


def _multiples(weights: Array, rate: float) -> Array | None:
    """The whole numbers whose multiples of the rate the weights are; None if they are not."""
    eps = np.finfo(weights.dtype).eps
    quotients = weights.astype(float) / rate
    whole = np.rint(quotients)
    largest = float(np.max(np.abs(whole), initial=1.0))
    error = float(np.max(np.abs(quotients - whole), initial=0.0))
    return whole if largest < 0.01 / eps and error < 8 * eps * largest else None
