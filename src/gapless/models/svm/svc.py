"""Support vector classification with the hinge loss: SVC."""

from __future__ import annotations

import warnings
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples, Formula, chosen
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Labels, Unused, Value, Word
from ..._ground.threads import single_blas
from ..._ground.validation import Training, read_classification
from ...losses import Loss
from ...unseen import (
    KEPT_ROWS,
    Calibration,
    LaterProbabilities,
    Probabilities,
    predict_set,
    sets_of,
    with_largest,
)
from ._base import MACHINE, OPEN, TRAINING, SupportVectorMachine
from .all_in_one import HINGES, ClassHinge, JointCandidates, JointFit, JointMachine
from .machine import Machine, Solved
from .multiclass import ARRANGEMENTS, Arrangement, arrange
from .objectives import HardMargin, Objective, SoftMargin
from .on_features import APPROXIMATED, CONSTRAINTS, WithApproximation
from .support_vectors import SUPPORT, multipliers
from .training_rows import TrainingRows, check_precomputed, counted_weights, read_any
from .tuning import TUNED

Array = np.ndarray


# What the classifiers share, for `described`.
CLASSIFIER = """
probability : bool
    Deprecated in scikit-learn 1.9: `predict_proba` is there without it, unless it is False.
decision_function_shape : {"ovr", "ovo"}
    Whether `decision_function` has a column for each class or for each pair of classes.
break_ties : bool
    How `predict` decides where classes have equally many votes: by the sum of their scores (None,
    True), or for the first of them, as LIBSVM does (False).
random_state : int, RandomState instance or None
    Accepted for scikit-learn's sake; nothing here is random.
multi_class : {"ovo", "ovr"}
    One problem for each pair of classes, or for each class against the rest.
n_support_ : ndarray of shape (n_classes,)
    How many support vectors each class has.
dual_coef_ : {ndarray, sparse matrix} of shape (n_classes - 1, n_SV)
    Signed multipliers: ⟨w, φ(x)⟩ is their sum over kernel values. In the layout of LIBSVM for pairs
    of classes; (n_classes, n_SV) for more than two classes that are not in pairs, those of a
    support vector summing to 0 where there is one problem for all.
intercept_ : ndarray of shape (n_problems,)
    Biases b.
coef_ : ndarray of shape (n_problems, n_features)
    Coefficients w, for a linear kernel.
classes_ : ndarray of shape (n_classes,)
    The classes.
class_weight_ : ndarray of shape (n_classes,)
    Weights of the classes.
multi_class_ : str
    How several classes were arranged, by which the other attributes are to be read.
probabilities_ : LaterProbabilities
    How scores become probabilities; fitted when `predict_proba` is first called.
margin_ : float or ndarray of shape (n_problems,)
    Width 2/‖w‖ of the margin, from one side of the plane to the other, twice the geometric margin;
    of each class alone where there is one problem for all.
alpha_ : ndarray of shape (n_samples,) or (n_samples, n_problems)
    Multipliers α of the training rows, for two classes one each; for more a column for each
    problem, in the order of `intercept_`, 0 where a row is not in the problem. A row of weight s
    has α from 0 to C·s: that of weight 2 is the sum of those of a row given twice. With one problem
    for all classes the columns are the rivals of the row's own class, which has 0 in its own.
slack_ : ndarray of shape (n_samples,) or (n_samples, n_problems)
    Slacks ξ = max(0, 1 − t·score) of the training rows, by how much each is short of the margin,
    whatever its weight; columns as for `alpha_`. One for each row where there is one problem for
    all classes: its loss. Computed on first access, from the data that the fit refers to.
n_iter_ : ndarray of shape (n_problems,)
    Number of steps for each problem.
trace_ : Trace or list of Trace
    Objective and gap at θ = 0 and after each round of steps, with the seconds; one per problem.
"""
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows to classify; kernel values with the training rows if kernel="precomputed".
"""


class SupportVectorClassifier(ClassifierMixin, SupportVectorMachine):
    """Base of the classifiers."""

    _stored: ClassVar[Declaration] = {
        **SupportVectorMachine._stored,
        "classes_": Labels(least=2),
        "class_weight_": Unused(),
        "margin_": Unused(),
        "slack_": Unused(),
        "multi_class_": Word(*ARRANGEMENTS),
        "probabilities_": Value(LaterProbabilities),
    }
    _on_demand = (*SupportVectorMachine._on_demand, "slack_", "probA_", "probB_")
    _parameter_constraints: ClassVar[dict] = {
        **SupportVectorMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean", None],
        "multi_class": [StrOptions(set(ARRANGEMENTS))],
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "random_state": ["random_state"],
    }

    # The message if the weights leave one class.
    _one_class: ClassVar[str] = (
        "Invalid input - all samples with positive weights belong to the same class"
    )

    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Fit the machines.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best solution found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        if self.probability != "deprecated":
            warnings.warn(
                "The `probability` parameter was deprecated in scikit-learn 1.9: predict_proba "
                f"of {type(self).__name__} works without it, and needs no second fit. Leave it "
                "out.",
                FutureWarning,
                stacklevel=2,
            )
        super().fit(X, y, sample_weight)
        if self.probability is True:
            self._probabilities()
        return self

    def _read(self, X, y, sample_weight, *, reset=True) -> Training:
        if self._is_precomputed:
            check_precomputed(X)
        sample_weight = counted_weights(sample_weight)
        _check_two_classes(y, sample_weight, self._one_class)
        return read_any(
            read_classification, self, X, y, sample_weight, self.class_weight, reset=reset
        )

    def _misfit(self) -> str | None:
        fault = super()._misfit()
        if fault is None:
            sides: Any = self._fitted_arrangement(len(self.classes_)).sides
            later = self.probabilities_
            own = [later.sides] if later.found is None else [later.sides, later.found.pairs]
            if not all(np.array_equal(found, sides) for found in own):
                fault = "probabilities_ belong to other pairs of classes"
        return fault

    def _arrangement(self, count: int) -> Arrangement:
        return arrange(self.multi_class, count)

    def _as_fitted(self) -> Any:
        return self._at(multi_class=self.multi_class_)

    def _fitted_arrangement(self, count: int) -> Arrangement:
        return arrange(self.multi_class_, count)

    def _specifics(
        self, data: Training, rows: TrainingRows, machine: Machine, solved: list[Solved]
    ) -> dict[str, Any]:
        assert data.classes is not None
        labels, wanted = data.classes[data.y], self.class_weight
        if isinstance(wanted, dict):
            # Classes of weight 0 do not exist, like rows of weight 0.
            wanted = {k: v for k, v in wanted.items() if k in set(data.classes.tolist())}
        weight = compute_class_weight(
            wanted,
            classes=data.classes,
            y=labels[data.weights > 0],
            sample_weight=data.sample_weight[data.weights > 0],
        )
        margins = [
            2
            * (one.point.width if machine.objective.divides else 1.0)
            / np.sqrt(one.judgement.square)
            if one.point.theta.any() and one.judgement.square > 0
            else np.inf
            for one in solved
        ]
        fitted = None
        if machine.matrix.n <= KEPT_ROWS:
            fitted = self._fitted(data, [one.point for one in solved], machine, rows)
        sides = self._arrangement(len(data.classes)).sides
        return {
            "probabilities_": LaterProbabilities(sides, self.probability is not False, fitted),
            "classes_": data.classes,
            "class_weight_": weight,
            "multi_class_": self.multi_class,
            "margin_": float(margins[0]) if len(margins) == 1 else np.array(margins),
        }

    # ---- the multipliers and slacks of the training rows -----------------------------------------

    @property
    def alpha_(self):
        """Multipliers α of the training rows, (n_samples,) or (n_samples, n_problems)."""
        check_is_fitted(self)
        found = multipliers(self)
        if self.multi_class_ in HINGES and len(self.classes_) > 2:
            # θ of the own class is the sum of those of its rivals: no multiplier of a constraint.
            of_support = np.repeat(np.arange(len(self.classes_)), self.n_support_)
            found[self.support_, of_support] = 0.0
        return found[:, 0] if found.shape[1] == 1 else found

    @cached_property
    def slack_(self):
        """Slacks ξ of the training rows, (n_samples,) or (n_samples, n_problems)."""
        data: Training = self._kept_training(
            "slacks are max(0, 1 − t·score) of the scores of decision_function, with t = ±1"
        )[0]
        scores = self._problem_scores(data.X)
        found = self._slacks(data.y, scores)
        found[data.weights == 0] = 0.0
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found

    def _slacks(self, y: Array, scores: Array) -> Array:
        """By how much rows of classes y are short of the margin, from their scores."""
        signs = self._fitted_arrangement(len(self.classes_)).signs(y)
        return np.where(signs != 0, np.maximum(1 - signs * scores, 0.0), 0.0)

    # ---- predicting ------------------------------------------------------------------------------

    @described(ROWS)
    def decision_function(self, X):
        """Scores of the classes, or of the pairs of classes.

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes one score, positive where `classes_[1]` is predicted. For more, one per
            class; with decision_function_shape="ovo" one per pair i < j, positive for class i.
        """
        scores = self._scores(X)
        arrangement = self._fitted_arrangement(len(self.classes_))
        if self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            return scores
        return arrangement.by_class(scores).astype(scores.dtype)

    @described(ROWS)
    def predict(self, X):
        """Predict classes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class with the largest score.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'; leave it at None, "
                "which breaks ties for every shape."
            )
        with single_blas():
            return self.classes_[self._positions(self._scores(X))]

    def _positions(self, scores: Array) -> Array:
        """Positions of the predicted classes, from the scores of all problems."""
        arrangement = self._fitted_arrangement(len(self.classes_))
        if len(self.classes_) > 2 and (self.break_ties is None or self.break_ties):
            return arrangement.by_class(scores).argmax(axis=1)
        return arrangement.decide(scores)

    def _has_probabilities(self) -> bool:
        """Whether probability=False was not set, which scikit-learn takes for "none"."""
        return self.probability is not False

    @available_if(_has_probabilities)
    @described(ROWS)
    def predict_proba(self, X):
        """Probabilities of the classes; there unless probability=False.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            The predicted class has the largest. They come from sigmoids on held-out scores, which
            are computed on the first call, or when a model of few rows is saved; call it once
            before saving a model of many rows.
        """
        check_is_fitted(self)
        if not self.probabilities_.is_offered:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False; leave the "
                "parameter out and fit again."
            )
        scores = self._scores(X)
        chosen = self._positions(scores)
        p = self._probabilities().of(scores.astype(float), chosen)
        # Rounding may make two classes equal, and the first would pass for the prediction.
        return p if p.dtype == scores.dtype else with_largest(p.astype(scores.dtype), chosen)

    @available_if(_has_probabilities)
    @described(ROWS)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes; there unless probability=False.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Logarithms of what `predict_proba` returns, −∞ for a probability that is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    predict_set = predict_set

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        return sets_of(self, calibration, X, coverage, self._conformity)

    def _conformity(self, scores: Array) -> Array:
        """How well each class fits rows with these scores (n, problems): its probability."""
        return self._probabilities().of(scores, self._positions(scores))

    def _probabilities(self) -> Probabilities:
        """How scores become probabilities; fitted on first use."""
        cure = "predict_proba once before a model of many rows is saved or copied, or fit it again"
        return self.probabilities_.get(lambda: self._remembered(cure))

    @property
    def probA_(self):
        """Slopes A of probabilities 1/(1 + exp(A·score + B)), for each pair of classes."""
        _warn_of_sigmoids("probA_")
        return -self._probabilities().slopes

    @property
    def probB_(self):
        """Shifts B of the same: all 0, so that probabilities agree with predictions."""
        _warn_of_sigmoids("probB_")
        return np.zeros_like(self._probabilities().slopes)


def _warn_of_sigmoids(name: str) -> None:
    warnings.warn(
        f"Attribute `{name}` was deprecated in scikit-learn 1.9; call predict_proba.",
        FutureWarning,
        stacklevel=3,
    )


def _check_two_classes(y: Any, sample_weight: Any, words: str) -> None:
    """Refuse weights that leave one class, in scikit-learn's words."""
    if sample_weight is None:
        return
    weights, labels = np.asarray(sample_weight), np.asarray(y)
    if weights.dtype.kind not in "fiub" or weights.shape != labels.shape or labels.ndim != 1:
        return
    counted = labels[weights > 0]
    if len(set(labels.tolist())) > 1 and len(set(counted.tolist())) == 1:
        raise ValueError(
            f"{words}. There is only one class: {counted.tolist()[0]!r}; add rows of another "
            "class, or give them weight."
        )


@described(TUNED, APPROXIMATED, CLASSIFIER, MACHINE, SUPPORT, FEATURES)
class SVC(WithApproximation, SupportVectorClassifier):
    """Support vector classification.

    Minimises  ½‖w‖² + C Σᵢ sᵢ max(0, 1 − tᵢ(⟨w, φ(xᵢ)⟩ + b))  with t = ±1, where ⟨φ(x), φ(z)⟩ is
    the kernel: for two classes once, for more once for each pair of them.

    Parameters
    ----------
    C : float, "loo" or array-like, default=1.0
        Weight C > 0 of the errors; np.inf allows none, which needs separable classes. "loo" chooses
        it by scores on held-out rows; a list chooses among its values in the same way.
    tol : float, default=1e-3
        Stop when no optimality condition is violated by more, as LIBSVM does, and when the duality
        gap is at most `tol` times the objective at w = 0.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by which C is multiplied; "balanced" gives all classes the same
        total weight.
    multi_class : {"ovo", "ovr", "crammer_singer", "weston_watkins"}, default="ovo"
        One problem for each pair of classes, for each class against the rest, or one for all
        classes, ½Σₖ‖wₖ‖² + C Σᵢ sᵢ ℓᵢ, where ℓ is the largest (Crammer and Singer) or the sum
        (Weston and Watkins) of what rivals lack of the margin, max(0, Δ + zₖ − z_y) for k ≠ y. Two
        classes are one problem in any case.
    margin : float, default=1.0
        Δ > 0, by which the score of a row's own class is to lead, where there is one problem for
        all classes. Scores are then those of margin 1 with C/Δ, times Δ.

    Notes
    -----
    Time grows with n²·d for the kernel values and with the number of support vectors; memory with
    n² as long as it is there, else with the block at hand. Equal rows are merged, so repeated rows
    cost nothing. For a linear kernel and many rows LinearSVC is faster. With r landmarks in place
    of the kernel a fit takes 8·n·r bytes (4·n·r for float32 data), and every step of it n·r²
    operations.

    References
    ----------
    Cortes and Vapnik (1995), Support-vector networks. Fan, Chen and Lin (2005), Working set
    selection using second order information.

    Examples
    --------
    >>> import numpy as np
    >>> from gapless import SVC
    >>> model = SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [3.0]], ["no", "no", "yes"])
    >>> print(model.margin_, model.support_)
    2.0 [1 2]
    """

    _examples: ClassVar[Examples] = (
        Example("wine", {"C": "loo", "gamma": "loo"}),
        Example("digits"),
    )

    _tunable = ("C", "gamma")
    _stored: ClassVar[Declaration] = {
        **SupportVectorClassifier._stored,
        **WithApproximation._feature_attributes,
        "multi_class_": Word(*ARRANGEMENTS, *HINGES),
        "C_": Unused(),
        "gamma_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **SupportVectorClassifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), *OPEN],
        "multi_class": [StrOptions({*ARRANGEMENTS, *HINGES})],
        "margin": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [*SupportVectorMachine._parameter_constraints["gamma"], *OPEN],
        "select": [StrOptions({"min", "1se"})],
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=None,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=None,
        random_state=None,
        multi_class="ovo",
        margin=1.0,
        time_limit=None,
        select="min",
        approximation="auto",
        n_components=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.margin = margin
        self.time_limit = time_limit
        self.select = select
        self.approximation = approximation
        self.n_components = n_components

    def _objective(self) -> Objective:
        return SoftMargin(float(self.C)) if np.isfinite(self.C) else HardMargin()

    def _is_joint(self, data: Training) -> bool:
        """Whether there is one problem for all classes."""
        assert data.classes is not None
        return self.multi_class in HINGES and len(data.classes) > 2

    def _read(self, X, y, sample_weight, *, reset=True) -> Training:
        data = super()._read(X, y, sample_weight, reset=reset)
        assert data.classes is not None
        if self.margin != 1 and not self._is_joint(data):
            why = "two classes" if len(data.classes) == 2 else f'multi_class="{self.multi_class}"'
            raise ValueError(
                f"margin={self.margin:g} concerns one problem for more than two classes, "
                f'multi_class="crammer_singer" or "weston_watkins", and there is {why}; leave it '
                f"at 1: scores with margin Δ are those of C/Δ, times Δ."
            )
        return data

    def _machine(self, data, rows, kernel=None) -> Machine:
        machine = super()._machine(data, rows, kernel)
        if not self._is_joint(data):
            return machine
        if np.isinf(self.C):
            raise ValueError(
                f'C=inf is not available for multi_class="{self.multi_class}"; set a large C, or '
                'use multi_class="ovo".'
            )
        objective = ClassHinge(float(self.C), self._hinge(), float(self.margin))
        return JointMachine(
            machine.matrix, objective, machine.parts, machine.weights, machine.blocks
        )

    def _hinge(self) -> Loss:
        """The loss of one problem for all classes."""
        return HINGES[self.multi_class](float(self.margin))

    def _slacks(self, y: Array, scores: Array) -> Array:
        if self.multi_class_ not in HINGES or len(self.classes_) == 2:
            return super()._slacks(y, scores)
        return self._as_fitted()._hinge().value(y, scores)

    def _candidates_type(self, machine):
        return (
            JointCandidates
            if isinstance(machine, JointMachine)
            else super()._candidates_type(machine)
        )

    def _fit_type(self, machine):
        return JointFit if isinstance(machine, JointMachine) else super()._fit_type(machine)

    def _formula(self) -> Formula:
        known = {"C": chosen(self, "C"), "kernel": chosen(self, "kernel")}
        if len(self.classes_) > 2 and self.multi_class_ in HINGES:
            sign = "maxₖ" if self.multi_class_ == "crammer_singer" else "Σₖ"
            loss = f"{sign} max(0, Δ + zᵢₖ − zᵢ_y), k ≠ yᵢ, zᵢₖ = ⟨wₖ, φ(xᵢ)⟩ + bₖ"
            return Formula(f"½Σₖ‖wₖ‖² + C Σᵢ {loss}", known | {"Δ": self.margin})
        each = {"ovo": "for each pair of classes", "ovr": "for each class against the others"}
        pairs = f", {each[self.multi_class_]}" if len(self.classes_) > 2 else ""
        return Formula(f"½‖w‖² + C Σᵢ max(0, 1 − tᵢ(⟨w, φ(xᵢ)⟩ + b)){pairs}", known)
