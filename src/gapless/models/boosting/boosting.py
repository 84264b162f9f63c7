"""What all gradient boosting shares: fit = read → rounds → attributes, predictions, both gaps.

An estimator defines what is minimised (`_loss_of`), how trees are grown (`_plan`), the number of
rounds and when they end; the rest is here. `rounds` grows trees, `run` continues until it ends.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from ... import losses
from ..._ground.about import Formula
from ..._ground.columns import MOST_CODES, Columns, read_features, read_levels, read_new
from ..._ground.design import Design
from ..._ground.interrupt import limit_name, time_limit
from ..._ground.parts import PartKind, get_params, set_params
from ..._ground.progress import CallbackSupport, watch
from ..._ground.shapley import (
    LOG_ODDS,
    LOGARITHM,
    PREDICTION,
    SCORE,
    Contributions,
    Game,
)
from ..._ground.stored import (
    INPUT,
    Declaration,
    Each,
    Labels,
    Maybe,
    Nothing,
    Numbers,
    Unused,
    Value,
    score_count,
)
from ..._ground.tables import readable
from ..._ground.threads import single_blas
from ..._ground.validation import check_given, read_outputs, readable_target
from ...certificates import Certificate
from ...losses import Logistic, Loss
from ...unseen import JUDGED, Remembering, take_over
from ..trees import (
    LARGEST_SEED,
    PackedTrees,
    Tree,
    constraints_of_trees,
    contributions_of,
    mean_of_model,
)
from .data import BoostingData, check_levels, with_weight
from .losses import best_start, check_targets, targets_of
from .refits import BoostingFit, check_finished
from .rounds import GrowthPlan, Rounds
from .run import (
    BoostedRun,
    Drawing,
    HeldOutRows,
    RoundScores,
    Run,
    add_rounds,
    boost,
    mean_loss,
    stages,
)

Array = np.ndarray

# Shared by the docstrings of all gradient boosting.
BOOSTED = """
learning_rate : float
    The factor of the leaf values; smaller ones need more rounds.
warm_start : bool
    Whether a fit continues from the trees of the last one.
max_bins : int
    The maximum number of bins for a column of numbers, at quantiles, and of categories in a column.
random_state : int, RandomState instance or None
    Seeds which rows are held out or drawn, and which columns are drawn.
time_limit : float or None
    Seconds after which the rounds so far are kept.
trees_ : list of lists of Tree
    The trees of each round.
start_ : ndarray
    The scores before the first round, where they are constant.
trace_ : BoostingTrace
    The loss of training and held-out rows after each round.
loss_ : Loss
    The loss that was minimised.
classes_ : ndarray of shape (n_classes,)
    The classes, in order, in classification.
encoding_ : Columns
    How X was read: the categories, and which columns had missing values.
certificate_ : Certificate
    The loss of the training rows; no bound is known for sums of trees.
generalization_ : Generalization
    The score to expect on unseen rows, by boosting again without some of the rows.
"""


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows that the caller gave to judge rounds by."""

    X: Any
    y: Any
    sample_weight: Any = None


class GradientBoosting(Remembering, CallbackSupport, BaseEstimator):
    """Base of gradient boosting."""

    _guide = "boosting"

    _part_kinds: ClassVar[dict] = {"loss": PartKind(losses.by_name)}
    get_params = get_params
    set_params = set_params
    _answering: ClassVar[str] = "_raw_predict"
    _stored: ClassVar[Declaration] = {
        "loss_": Value(Loss),
        "start_": Numbers("outputs"),
        "trees_": Each(
            Each(Value(Tree, features=lambda tree: tree.n_features), "outputs"), "rounds"
        ),
        "encoding_": Value(Columns, features=len),
        "trace_": Unused(),
        **JUDGED,
        **INPUT,
        "classes_": Maybe(Labels()),
        "_random_seed": Unused(),
        "_has_validation": Unused(),
        "_edges": Unused(),
        "_packed": Value(PackedTrees, outputs=lambda trees: trees.groups) | Nothing(),
    }

    _parameter_constraints: ClassVar[dict] = {
        **constraints_of_trees(
            "max_depth", "max_leaf_nodes", "categorical_features", "random_state", "time_limit"
        ),
        # A code of a column is one byte, and one code is for missing values.
        "max_bins": [Interval(Integral, 2, MOST_CODES - 1, closed="both")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        classes = vars(self).get("classes_")
        outputs = len(self.start_)
        if is_classifier(self) != (classes is not None):
            return "classes_ and the task contradict each other"
        if classes is not None and outputs != score_count({"classes": len(classes)}):
            return f"start_ has {outputs} scores, which does not fit {len(classes)} classes"
        packed = 0 if self._packed is None else len(self._packed)
        if packed != len(self.trees_) * outputs:
            return "_packed and trees_ have different trees"
        return None

    # The parameter for the number of rounds.
    _rounds_parameter: ClassVar[str]

    # ---- what a subclass defines -----------------------------------------------------------------

    def _loss_of(self, outputs: Any) -> Loss:
        """What is minimised."""
        raise NotImplementedError

    def _plan(self, data: BoostingData) -> GrowthPlan:
        """How trees are grown."""
        raise NotImplementedError

    def _wanted(self) -> int:
        """The number of rounds."""
        raise NotImplementedError

    def _held_out_share(self, data: BoostingData) -> float | int | None:
        """The part of the rows by which rounds are judged; None for none."""
        raise NotImplementedError

    def _ending(self, data: BoostingData, run: Run, scores: list[float]) -> str:
        """What ends the run after a round: "" for nothing."""
        raise NotImplementedError

    def _monotone(self, data: BoostingData) -> Array:
        """Whether predictions must rise or fall with each column."""
        return np.zeros(len(data.columns), dtype=int)

    def _start_scores(self, data: BoostingData) -> tuple[Array, dict[str, Any]]:
        """Initial scores (n, K), and what of them is learned."""
        start = best_start(data.loss, data.y, data.weights, data.scores)
        return np.tile(start, (len(data.y), 1)), {"start_": start}

    def _starts(self, F: Any, X: Any, learned: Any) -> Array:
        """The initial scores of rows, (n, K)."""
        return np.tile(learned["start_"], (F.shape[0], 1))

    def _drawing(self, data: BoostingData) -> Drawing | None:
        """How rows are drawn for each round; None for all of them."""
        return None

    def _adapt(self, rounds: Rounds) -> None:
        """Change the loss before a round, if it depends on the errors so far."""

    # ---- fitting ---------------------------------------------------------------------------------

    def _fit(self, X, y, sample_weight, validation: Validation | None = None, monitor=None):
        data = self._read(X, y, sample_weight)
        earlier = self._earlier(data)
        seed = earlier["_random_seed"] if earlier else self._new_seed()
        with single_blas(), watch(self, data.F, data.y) as callback, time_limit(self.time_limit):
            fitted = self._boost(
                data, seed, earlier=earlier, validation=validation, watchers=(callback, monitor)
            )
        learned = fitted.learned | self._learned(data, fitted)
        take_over(self, learned)
        self._end(fitted.run)
        return self

    def _new_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(LARGEST_SEED))

    def _earlier(self, data: BoostingData) -> dict[str, Any] | None:
        """The state that a warm start begins with."""
        if not (self.warm_start and hasattr(self, "trees_")):
            return None
        self._check_more_rounds()
        self._check_same(data)
        return dict(vars(self))

    def _check_same(self, data: BoostingData) -> None:
        """Refuse a warm start from trees of other columns or classes."""
        name, d = type(self).__name__, self.n_features_in_
        if len(data.columns) != d:
            raise ValueError(
                f"X has {len(data.columns)} features, but {name} is expecting {d} features as "
                "input to continue with warm_start=True; start over with warm_start=False."
            )
        classes = data.classes
        what = "" if classes is None or np.array_equal(classes, self.classes_) else "classes"
        for own, new in zip(self.encoding_.levels, data.columns.levels):
            is_same = own is new if own is None or new is None else own.tolist() == new.tolist()
            if not is_same:
                what = what or "categories"
        if what:
            raise ValueError(
                f"warm_start=True continues trees that were grown with other {what}; start over "
                "with warm_start=False, or give rows of all of them."
            )

    def _check_more_rounds(self) -> None:
        """Refuse a warm start with fewer rounds than there are."""
        raise NotImplementedError

    def _boost(
        self,
        data: BoostingData,
        seed: int,
        *,
        weights: Array | None = None,
        earlier: dict[str, Any] | None = None,
        validation: Validation | None = None,
        watchers: tuple[Any, Any] = (None, None),
    ) -> BoostedRun:
        """All rounds, on all rows or on those with a weight."""
        weights = data.weights if weights is None else weights
        share = self._held_out_share(data)
        is_aside = np.zeros(len(weights), dtype=bool)
        if validation is None and share is not None:
            is_aside = data.aside(share, seed, weights)
            data.check_parts(weights, is_aside, share)
        own = data.of(np.flatnonzero((weights > 0) & ~is_aside))
        z, learned = self._start_scores(own)
        learned |= {"loss_": own.loss, "_random_seed": seed}
        run = Run()
        if earlier is not None:
            run = self._resumed(earlier)
            learned |= {name: earlier[name] for name in learned if name in earlier}
            z = self._starts(own.F, own.X, learned)
            add_rounds(run.trees, own.F, z)
        rounds = Rounds(own.table, own.loss, own.y, own.weights, own.repeats, z)
        held = self._held_out(data, validation, is_aside, learned, run)

        def so_far(X: Any) -> Array:
            F = read_new(self._reader(data), data.columns, X)
            scores = self._starts(F, X, learned)
            add_rounds(run.trees, F, scores)
            return scores

        scores = RoundScores(self, own, rounds, held, so_far, earlier, watchers)
        boost(
            rounds,
            self._plan(own),
            run,
            self._wanted(),
            seed,
            held_out=held,
            drawing=self._drawing(own),
            adapt=self._adapt,
            after_round=lambda now: (
                scores.ending(now) or self._ending(data, now, scores.so_far(now))
            ),
        )
        learned |= {"loss_": rounds.loss, "_has_validation": validation is not None}
        learned |= {"_edges": own.table.edges}
        return BoostedRun(run, learned, scores.scores, scores.train_scores)

    def _resumed(self, earlier: dict[str, Any]) -> Run:
        trace = earlier["trace_"]
        validation = [] if trace.validation is None else trace.validation.tolist()
        return Run(
            list(earlier["trees_"]), trace.training.tolist(), validation, trace.seconds.tolist()
        )

    def _held_out(
        self,
        data: BoostingData,
        validation: Validation | None,
        is_aside: Array,
        learned: dict[str, Any],
        run: Run,
    ) -> HeldOutRows | None:
        """The rows by which rounds are judged, with their scores so far."""
        if validation is not None:
            F, X, y, w = self._read_validation(data, validation)
        elif is_aside.any():
            aside = data.of(np.flatnonzero(is_aside))
            F, X, y, w = aside.F, aside.X, aside.y, aside.weights
        else:
            return None
        z = self._starts(F, X, learned)
        add_rounds(run.trees, F, z)
        return HeldOutRows(F, X, y, w, z)

    def _read_validation(
        self, data: BoostingData, validation: Validation
    ) -> tuple[Any, Any, Array, Array]:
        reader = self._reader(data)
        F = read_new(reader, data.columns, validation.X)
        outputs = read_outputs(
            validation.y, F, validation.sample_weight, has_classes=is_classifier(self)
        )
        y = outputs.y[:, 0]
        own = data.classes
        if outputs.classes is not None and own is not None:
            labels = outputs.classes[0][y.astype(int)]
            unknown = np.setdiff1d(labels, own)
            if len(unknown):
                raise ValueError(
                    f"y_val has the classes {unknown.tolist()}, which y does not have; drop their "
                    "rows."
                )
            y = np.searchsorted(own, labels).astype(float)
        return (
            F,
            validation.X,
            targets_of(data.loss, y, outputs.classes is not None),
            outputs.weights,
        )

    def _reader(self, data: BoostingData) -> Any:
        """A copy that knows the features of the current fit."""
        reader: Any = copy.copy(self)
        reader.n_features_in_ = len(data.columns)
        vars(reader).pop("feature_names_in_", None)
        if data.names is not None:
            reader.feature_names_in_ = data.names
        return reader

    def _learned(self, data: BoostingData, fitted: BoostedRun) -> dict[str, Any]:
        """Every attribute in `_stored` that all kinds have, by name."""
        run = fitted.run
        learned: dict[str, Any] = {
            "trees_": run.trees,
            "encoding_": data.columns,
            "trace_": run.trace,
            "certificate_": self._certificate(data, run.training[-1], run),
            "n_features_in_": len(data.columns),
            "_packed": packed(run.trees, data.scores),
            "_training": (data,),
            "_calibration": None,
        }
        if data.names is not None:
            learned["feature_names_in_"] = data.names
        if data.classes is not None:
            learned["classes_"] = data.classes
        return learned

    def _end(self, run: Run) -> None:
        """Report what ended the fit early."""
        if run.ending == "interrupted":
            raise KeyboardInterrupt
        if run.ending in ("time_limit", "folds"):
            warnings.warn(
                f"{type(self).__name__} stopped at {limit_name(self.time_limit)} "
                f"{self._unfinished(run)}.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _unfinished(self, run: Run) -> str:
        """What there was no time for, and what to do about it."""
        return (
            f"after {len(run.trees)} of {run.wanted} rounds; raise time_limit, or continue with "
            "warm_start=True"
        )

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> BoostingData:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        check_given(self, y)
        X, y = readable(X, lambda: True), readable_target(y)
        y = column_or_1d(y, warn=True, input_name="y")
        has_weights = sample_weight is not None
        X, y, sample_weight = with_weight(X, y, sample_weight)
        reader = copy.copy(self)
        if _num_samples(X) == 0:
            read_features(reader, X, reset=reset)  # reports that there are no rows
        outputs = read_outputs(
            y,
            X if hasattr(X, "shape") else np.asarray(X, dtype=object),
            sample_weight,
            getattr(self, "class_weight", None),
            has_classes=is_classifier(self),
        )
        columns, F, names = read_levels(reader, X, reset=reset)
        self._check_classes(outputs)
        loss = self._loss_of(outputs)
        if outputs.classes is None:
            check_targets(loss, self.loss, outputs.y[:, 0])
        none = np.zeros(len(columns), dtype=int)
        data = BoostingData(
            F, columns, outputs, loss, none, names, X, int(self.max_bins), has_weights
        )
        check_levels(columns, self.max_bins, names)
        return replace(data, monotone=self._monotone(data))

    def _check_classes(self, outputs: Any) -> None:
        """Refuse a single class."""
        if outputs.classes is not None and len(outputs.classes[0]) < 2:
            raise ValueError(
                "y contains 1 class after sample_weight trimmed classes with zero weights, while a "
                "minimum of 2 classes are required. There must be at least 2 classes, and the data "
                f"contains only one class: {outputs.classes[0].tolist()[0]!r}; add rows of another "
                "class, or check sample_weight and class_weight."
            )

    # ---- predicting ------------------------------------------------------------------------------

    def _raw_predict(self, X: Any) -> Array:
        """Scores (n, K) of the caller's rows."""
        check_is_fitted(self)
        F = read_new(self, self.encoding_, X)
        return self._raw_of(F, X)

    def _raw_of(self, F: Any, X: Any) -> Array:
        """Scores (n, K) of validated rows."""
        z = self._starts(F, X, vars(self))
        return z if self._packed is None else z + self._packed.sum(F)

    def _respond(self, scores: Array) -> Array:
        """The predictions for the scores of a regression."""
        return self.loss_.inverse_link(scores)

    def _mean_predictions(self, X: Any, weights: Array, columns: Any, donors: Any) -> Array | None:
        """Means over rows whose columns have the values of donors, as for partial dependence.

        None for classes, if rows start from the scores of another model, and if the mean prediction
        is not the prediction for the mean score.
        """
        if (
            is_classifier(self)
            or self.loss_.has_link
            or hasattr(vars(self).get("init_"), "predict")
        ):
            return None
        trees = [tree for of_round in self.trees_ for tree in of_round]
        read = partial(read_new, self, self.encoding_)
        found = mean_of_model(read, trees, X, weights, columns, donors)
        return None if found is None else self.start_ + found

    def _contributions(self, X: Any, game: Game) -> Contributions | None:
        """What each column contributes to the scores of each row, exactly.

        None if rows start from the scores of another model.
        """
        check_is_fitted(self)
        if hasattr(vars(self).get("init_"), "predict"):
            return None
        scale = PREDICTION if not self.loss_.has_link else LOGARITHM
        if is_classifier(self):
            scale = LOG_ODDS if self.loss_ == Logistic() else SCORE
        if self._packed is None:
            shape = len(X), game.player_count, len(self.start_)
            return Contributions(np.zeros(shape), self.start_, scale)
        read = partial(read_new, self, self.encoding_)
        found = contributions_of(self._packed, read, X, game, scale)
        return replace(found, base=found.base + self.start_)

    def _staged_raw(self, X: Any) -> Iterator[Array]:
        """The scores after each round."""
        check_is_fitted(self)
        F = read_new(self, self.encoding_, X)
        z = self._starts(F, X, vars(self))
        for scores in stages(self.trees_, self._leaves_of(F), z):
            yield scores.copy()

    def _leaves_of(self, F: Any) -> Array:
        """The leaf of each row in the trees of each round, (n, rounds, K)."""
        shape = F.shape[0], len(self.trees_), len(self.start_)
        return np.zeros(shape) if self._packed is None else self._packed.apply(F).reshape(shape)

    @property
    def n_trees_per_iteration_(self) -> int:
        """The number of trees of a round: one, or one for each class."""
        return len(self.start_)

    # ---- both gaps -------------------------------------------------------------------------------

    def _certificate(self, data: BoostingData, loss: float, run: Run | None = None) -> Certificate:
        """The training loss reached: no bound is known for the best sum of trees."""
        total = float(data.weights.sum())
        least = float(data.weights @ data.loss.smallest(data.y)) / total
        rounds = len(self.trees_ if run is None else run.trees)
        verdict = (
            f"no bound: trees are grown greedily, and how good the best sum of trees is, is not "
            f"known; {rounds} rounds brought the mean loss of the training rows to {loss:.6g}, and "
            f"no model can go below {least:.3g}."
        )
        if run is not None and run.ending in ("time_limit", "interrupted", "callback"):
            verdict = f"stopped after {rounds} of {run.wanted} rounds. {verdict.capitalize()}"
        return Certificate(
            "none", verdict, loss * total, -np.inf, np.inf, np.inf, 0.0, max(total, 1e-300)
        )

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, with the loss recomputed from the data."""
        data = self._reread(X, y, sample_weight)
        return self._certificate(data, self._objective(data) / float(data.weights.sum()))

    def _fitted(self, data: BoostingData) -> BoostingFit:
        """The fit, or an error if its data has changed."""
        found = self._objective(data)
        expected = self.certificate_.primal
        if np.isfinite(expected) and not abs(found - expected) <= 1e-6 * (1e-3 + abs(expected)):
            raise ValueError(
                f"the model does not match these data: the loss is {found:.9g}, and was "
                f"{expected:.9g} when {type(self).__name__} was fitted; X, y or the weights have "
                "changed since. Fit again."
            )
        return BoostingFit(self, data)

    def _objective(self, data: BoostingData) -> float:
        """The loss of the rows that the trees were grown on."""
        weights = data.weights
        share = None if self._has_validation else self._held_out_share(data)
        if share is not None:
            weights = np.where(data.aside(share, self._random_seed), 0.0, weights)
        z = self._raw_of(data.F, data.X)
        return mean_loss(self.loss_, data.y, z, weights) * float(data.weights.sum())

    def _refitted(self, data: BoostingData, weights: Array) -> Any:
        """The model of the rows that have a weight."""
        fitted = self._boost(data, self._random_seed, weights=weights)
        check_finished(fitted.run.ending)
        twin: Any = copy.copy(self)
        twin.__dict__.update(fitted.learned, _packed=packed(fitted.run.trees, data.scores))
        return twin

    def _calibration_rows(self, X: Any) -> Design:
        """New rows for the models of a calibration."""
        return Design(read_new(self, self.encoding_, X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _formula(self) -> Formula:
        return Formula(
            "Σᵢ ℓ(yᵢ, F(xᵢ)), F a sum of trees",
            {"ℓ": self.loss, "rounds": len(self.trees_), "learning rate": self.learning_rate},
        )


def packed(trees: list[Any], scores: int) -> PackedTrees | None:
    """All trees, as prediction needs them; None without rounds."""
    if not trees:
        return None
    return PackedTrees.of([tree for each in trees for tree in each], groups=scores)
