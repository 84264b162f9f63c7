"""What the classes with "CV" in their name share: routing, and the estimator they settle on.

They are in `ridge_cv`, `lasso_cv` and `logistic_cv`. Each chooses from strengths of its own, by
leave-one-out or by folds, and settles on a plain estimator (`_at`), which says what is minimised;
fitting, certificates and generalisation are those of `_base`.
"""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_scalar
from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled, process_routing
from sklearn.utils._param_validation import StrOptions

from ...unseen import Judge, best_of
from .problems import pack
from .trail import Trail

Array = np.ndarray
SCORING = [StrOptions(set(get_scorer_names())), callable, None]


class CrossValidated:
    """What the classes below share: routed parameters, and the estimator that they settle on."""

    _guide = "tuning"

    # The plain estimator, and the parameters whose values are chosen.
    _plain: ClassVar[type]
    _chosen: ClassVar[tuple[str, ...]] = ("alpha",)

    def fit(self, X, y, sample_weight=None, **params):
        """Choose the strength, and fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training data; float32 stays float32, everything else becomes float64. Never written to.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
        **params : dict
            Further parameters for the splitter and the scorer, with metadata routing.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        _raise_for_params(params, self, "fit")
        self._routed = self._route(sample_weight, params)
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._routed

    def _route(self, sample_weight, params) -> tuple[dict, dict]:
        """What the splitter and the scorer are given."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not _routing_enabled():
            return {}, weights
        routed = process_routing(self, "fit", **weights, **params)
        scorer = routed.get("scorer", {"score": {}})
        return routed.splitter.split, scorer["score"]

    def _tuned(self):
        return self._chosen

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        # The last fit begins at the solution of the search, which took steps to find.
        return specifics | {"n_iter_": max(specifics.get("n_iter_", learned["n_iter_"]), 1)}

    def _at(self, **values):
        shared = self._plain().get_params().keys() & self.get_params().keys()
        given = {name: getattr(self, name) for name in shared}
        return self._plain(**(given | {"select": "min"} | values))

    def _settled(self):
        values = {name: getattr(self, f"{name}_") for name in self._chosen}
        return self._at(**{name: _first(value) for name, value in values.items()})


def _first(value):
    """A number out of an array that repeats it for every class."""
    return float(np.ravel(value)[0]) if np.size(value) else value


def check_strengths(values: list, boundaries: str) -> Array:
    """Strengths as an array, if they are numbers ≥ 0; > 0 for boundaries="neither"."""
    for position, value in enumerate(values):
        name = "alphas" if len(values) == 1 else f"alphas[{position}]"
        check_scalar(value, name, target_type=Real, min_val=0.0, include_boundaries=boundaries)
    return np.array(values, dtype=float)


def chosen(trail: Trail, select: str) -> int:
    """The best in the order given, or the strongest within one standard error."""
    if np.all(np.isnan(trail.unseen)):  # as R² of folds with a single row is
        return 0
    if select == "min":
        return int(np.nanargmax(trail.unseen))
    order = np.argsort(-trail.strengths, kind="stable")
    return int(order[best_of(trail.unseen[order], trail.standard_errors[order], select)])


def fitted_twin(model, data, problems, parameters):
    """A copy of an estimator with these parameters, as if it had been fitted."""
    coef, intercept, _ = pack(problems, parameters)
    learned = {
        "coef_": coef,
        "intercept_": intercept,
        "n_features_in_": data.X.shape[1],
        "n_iter_": 0,
    }
    twin = model._at()
    for name, value in (learned | model._specifics(data, learned, [], [])).items():
        setattr(twin, name, value)
    return twin


def all_rows(z: list[Array], folds, weights: Array) -> Array | None:
    """The predictions of the folds as (n, m, K), 0 for rows that are in no test.

    None if a row that has a weight is in two tests, or in none.
    """
    tests = np.concatenate([test for _, test in folds])
    if np.any(np.bincount(tests, minlength=len(weights))[weights > 0] != 1):
        return None
    whole = np.zeros((len(weights), *z[0].shape[1:]))
    whole[tests] = np.concatenate(z)
    return whole


def scored_errors(model, fitted, trail: Trail, scoring) -> Array:
    """Standard errors of the scores of held-out rows by a scorer, for each model of a trail."""
    judge = Judge(model, fitted.y[trail.rows], trail.weights, scoring)
    units = fitted.units[trail.rows]
    return np.array([judge.standard_error(z, units) for z in trail.z.swapaxes(0, 1)])
