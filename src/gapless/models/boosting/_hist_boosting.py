"""What HistGradientBoosting… share: boosting by gradient and curvature."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, is_classifier
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from ..._ground.stored import Declaration, Unused
from ...losses import Loss
from ...unseen import CV
from ._boosting import GradientBoosting, Validation
from .constraints import read_groups, read_monotone, table_of
from .data import BoostingData
from .folds import BRIER, LOSS, choose_rounds
from .judge import Fitted
from .nodes import BinMapper, Predictor, Preprocessor
from .plan import GrowthPlan, is_second_order
from .run import Run

Array = np.ndarray

AUTO = "auto"
# early_stopping="auto" holds rows out if there are more than so many.
MANY_ROWS = 10_000


class HistGradientBoosting(GradientBoosting):
    """Base of both."""

    _stored: ClassVar[Declaration] = {
        **GradientBoosting._stored,
        "train_score_": Unused(),
        "validation_score_": Unused(),
        "do_early_stopping_": Unused(),
        "is_categorical_": Unused(),
        "search_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        "loss": [str, Loss, HasMethods("loss_gradient")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({CV})],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "warm_start": ["boolean"],
        "early_stopping": ["boolean", StrOptions({AUTO})],
        "scoring": [str, callable, None],
        "validation_fraction": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    # As users of scikit-learn's classes know it.
    _negative_is_missing: ClassVar[bool] = True
    _takes_infinity: ClassVar[bool] = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, *, X_val=None, y_val=None, sample_weight_val=None):
        """Boost.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data. NaN is a missing value, ±∞ are the ends of the line. Columns of a table
            that hold categories or text are taken as they are. Never written to.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        X_val, y_val, sample_weight_val : array-like, default=None
            Rows to judge rounds by, in place of a part of the training rows.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the rounds so far and raises KeyboardInterrupt; an
            error, or Ctrl-C while folds choose the number of rounds, leaves the estimator as it
            was.
        """
        self._check_one_way(X_val)
        return self._fit(X, y, sample_weight, self._validation(X_val, y_val, sample_weight_val))

    def _check_one_way(self, X_val: Any) -> None:
        """Refuse a second way to say how many rounds there are, beside folds."""
        if self.max_iter != CV:
            return
        others = {
            "warm_start=True": self.warm_start,
            "early_stopping=True": self.early_stopping is True,
            "X_val": X_val is not None,
        }
        for other, is_there in others.items():
            if is_there:
                raise ValueError(
                    'max_iter="cv" chooses the number of rounds by folds, which contradicts '
                    f"{other}; leave it out, or give a number as max_iter."
                )
        known = (LOSS, BRIER) if is_classifier(self) else (LOSS,)
        if self.scoring not in known:
            raise ValueError(
                f'max_iter="cv" judges rounds by scoring={" or ".join(map(repr, known))}, got '
                f"{self.scoring!r}; set one of these, or give a number as max_iter."
            )

    def _validation(self, X_val: Any, y_val: Any, weights: Any) -> Validation | None:
        """The rows to judge rounds by, where they were given."""
        if X_val is None and y_val is None:
            return None
        for name, part, other in (("X_val", X_val, "y_val"), ("y_val", y_val, "X_val")):
            if part is None:
                raise ValueError(f"{other} is provided, but {name} was not provided; pass both.")
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False; "
                "set early_stopping=True, or leave them out."
            )
        return Validation(X_val, y_val, weights)

    # ---- what is said to the base ----------------------------------------------------------------

    def _check_classes(self, outputs: Any) -> None:
        """A single class will do: it is then predicted for all rows."""

    def _plan(self, data: BoostingData) -> GrowthPlan:
        d = len(data.columns)
        is_smooth = is_second_order(data.loss)
        return GrowthPlan(
            learning_rate=self.learning_rate,
            max_leaves=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_leaf_rows=self.min_samples_leaf,
            max_columns=None if self.max_features == 1.0 else max(1, int(self.max_features * d)),
            l2=self.l2_regularization,
            second_order=is_smooth,
            leaves="model" if is_smooth else "search",
            groups=table_of(self._check_interaction_cst(d), d),
        )

    def _monotone(self, data: BoostingData) -> Array:
        return read_monotone(self._reader(data), data.columns, data.scores)

    def _check_interaction_cst(self, n_features: int) -> list[set[int]] | None:
        """Columns that may meet on the way to a leaf, by groups."""
        return read_groups(self.interaction_cst, n_features)

    def _boost(self, data: BoostingData, seed: int, **options: Any) -> Fitted:
        """All rounds; where folds choose their number, these come first, on the same rows."""
        if self.max_iter != CV:
            return super()._boost(data, seed, **options)
        weights = options.get("weights")
        own = data.of(np.flatnonzero((data.weights if weights is None else weights) > 0))
        choice = choose_rounds(self, own, seed, options.get("watchers", (None,))[0])
        settled = self._at(max_iter=choice.rounds, early_stopping=False, scoring=LOSS)
        fitted = settled._boost(data, seed, **options)
        fitted.learned["search_"] = choice.search
        if not choice.is_finished:
            fitted.run.ending = fitted.run.ending or "folds"
        return fitted

    _rounds_parameter = "max_iter"

    def _wanted(self) -> int:
        return int(self.max_iter)

    def _unfinished(self, run: Run) -> str:
        if run.ending == "folds":
            return (
                "before the folds that choose the number of rounds had finished, and used "
                f"{run.wanted} rounds; raise time_limit, or give a number as max_iter"
            )
        words = super()._unfinished(run)
        return f"{words} and max_iter={run.wanted}" if self.max_iter == CV else words

    def _stops_early(self, data: BoostingData) -> bool:
        if self.max_iter == CV:
            return False
        if self.early_stopping == AUTO:
            return float(np.ceil(data.repeats).sum()) > MANY_ROWS
        return bool(self.early_stopping)

    def _held_out_share(self, data: BoostingData) -> float | int | None:
        return self.validation_fraction if self._stops_early(data) else None

    def _ending(self, data: BoostingData, run: Run, scores: list[float]) -> str:
        return "early" if self._stops_early(data) and self._should_stop(scores) else ""

    def _should_stop(self, scores: list[float]) -> bool:
        """Whether none of the last rounds is better by `tol` than the one before them."""
        place = self.n_iter_no_change + 1
        if len(scores) < place:
            return False
        return not any(score > scores[-place] + self.tol for score in scores[1 - place :])

    def _check_more_rounds(self) -> None:
        if self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={self.n_iter_} "
                "when warm_start==True; raise it, or set warm_start=False."
            )

    def _learned(self, data: BoostingData, fitted: Fitted) -> dict[str, Any]:
        trace = fitted.run.trace
        is_early = self._stops_early(data)
        train = np.array(fitted.train_scores) if fitted.train_scores else -trace.training
        held = np.zeros(0) if trace.validation is None else -trace.validation
        if fitted.scores and trace.validation is not None:
            held = np.array(fitted.scores)
        return super()._learned(data, fitted) | {
            "do_early_stopping_": is_early,
            "train_score_": train if is_early else np.zeros(0),
            "validation_score_": held,
            "is_categorical_": data.columns.is_category if data.columns.is_category.any() else None,
        }

    @property
    def _predictors(self) -> list[list[Predictor]]:
        """The trees for tools that read those of scikit-learn, such as SHAP."""
        return [[Predictor(tree) for tree in trees] for trees in self.trees_]

    @property
    def _bin_mapper(self) -> BinMapper:
        """Where such tools look for the bins of the training rows."""
        return BinMapper(self._edges, self.encoding_)

    @property
    def _preprocessor(self) -> Preprocessor | None:
        """Where they look for the names of categories; None without categories."""
        return Preprocessor(self.encoding_) if self.encoding_.is_category.any() else None

    @property
    def _baseline_prediction(self) -> Array:
        """Where such tools look for `start_`."""
        return self.start_.reshape(1, -1)

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        return len(self.trees_)

    @property
    def n_trees_per_iteration_(self) -> int:
        """The number of trees of a round: one, or one for each class."""
        return len(self.start_)
