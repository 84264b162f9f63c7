"""How bagging fits its members: any learner, on rows and columns that are drawn at random."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import _fit_context, clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt
from sklearn.utils.metadata_routing import (
    _raise_for_params,
    _routing_enabled,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import _check_method_params, has_fit_parameter, validate_data

from .._validation import TEXTS, check_values, naming_text
from ..progress import watch, with_callbacks
from ..remembering import take_over
from ._base import Ensemble, fingerprint
from .draws import Population, as_numbers
from .out_of_bag import EnsembleData

Array = np.ndarray


# What a fit knows before its first member.
PREPARED = (
    "_seeds",
    "_rows",
    "_row_weights",
    "_fingerprint",
    "_max_samples",
    "_max_features",
    "_n_samples",
)


class Bagging(Ensemble):
    """What both kinds of bagging share; stands before scikit-learn's class of the same kind.

    The drawing, both gaps, limits of time and Ctrl-C are here; predictions from the members and the
    routing of metadata are scikit-learn's.
    """

    _strength = "min_samples_leaf"
    # The method whose answers are the mean of the members.
    _answer = "predict"

    _stored: ClassVar[tuple[str, ...]] = (
        *Ensemble._stored,
        "estimator_",
        "estimators_",
        "estimators_features_",
        "_max_features",
        "_n_samples",
    )
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean"],
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the members, each to rows that are drawn for it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data, of any kind that the learner takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0: how often a row is drawn is in proportion. Weight 2 means the row twice,
            weight 0 means the row is not there.
        **fit_params : dict
            What is handed on to the learners, with scikit-learn's metadata routing.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the members fitted so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        _raise_for_params(fit_params, self, "fit")
        self._check_combinations()
        data = self._read(X, y, sample_weight)
        # Learned on a copy: a fit that fails leaves the estimator as it was.
        draft = copy.copy(self)
        draft._prepare(data)
        old, new = draft._members_to_keep()
        if new == 0:
            return self
        routed = process_routing(self, "fit", **fit_params).estimator.fit if fit_params else {}
        seeds = self._first_seeds(check_random_state(self.random_state), len(old), new)
        with watch(self, data.X, data.outputs.y) as callback:
            members, ending = self._collect(draft._fit_members(data, seeds, routed), new, callback)
        take_over(self, draft._learned(data, old + members, seeds[: len(members)]))
        self._end(ending, len(self.estimators_), self.n_estimators)
        return self

    # ---- reading and drawing ---------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> EnsembleData:
        """X, y and weights; the learners check the values of X."""
        if isinstance(X, list) and X and isinstance(X[0], str):
            raise ValueError(f"X has {X[0]!r} in row 0, which is no row of features; {TEXTS}.")
        reader = copy.copy(self)
        X = validate_data(
            reader,
            X,
            reset=reset,
            accept_sparse=["csr", "csc"],
            dtype=None,
            ensure_all_finite=False,
        )
        outputs = self._read_targets(y, X, sample_weight)
        names = getattr(reader, "feature_names_in_", None)
        return EnsembleData(X, as_numbers(X), outputs, names, X.dtype.kind in "biuf")

    def _check_combinations(self) -> None:
        self._check_out_of_bag()
        if self.oob_score and self.warm_start:
            raise ValueError(
                "Out of bag estimate only available if warm_start=False; generalization_ has it."
            )

    def _prepare(self, data: EnsembleData) -> None:
        """What all members share: the learner, the rows to draw from, and how many are drawn."""
        columns = data.X.shape[1]
        size = self.max_features
        chosen = size if isinstance(size, Integral) else int(size * columns)
        if chosen > columns:
            raise ValueError(f"max_features must be <= n_features, got {chosen} > {columns}.")
        outputs = data.outputs
        population = Population.of(data.numbers, outputs.y, outputs.sample_weight)
        self._validate_estimator(self._get_estimator())
        self._rows, self._row_weights = population.first, population.weights
        self._fingerprint = fingerprint(population, outputs.y)
        self._max_samples = population.size_of(self.max_samples)
        self._max_features = max(1, int(chosen))
        self._n_samples = data.X.shape[0]
        if not self.bootstrap:
            population.draw(0, self._max_samples, replace=False)
        self.n_features_in_ = columns

    def _members_to_keep(self) -> tuple[list[Any], int]:
        """Members of an earlier fit, and how many are to be added."""
        old = list(self.estimators_) if self.warm_start and hasattr(self, "estimators_") else []
        return old, self._more_members(len(old))

    def _fit_members(self, data: EnsembleData, seeds: Array, routed: dict) -> Iterator[list[Any]]:
        """Members one by one; by joblib where n_jobs asks for it."""
        tasks = (delayed(_fitted_member)(self, data, seed, routed) for seed in seeds)
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", verbose=self.verbose)
        for member in parallel(tasks):
            yield [member]

    def _columns(self, seed: int) -> Array:
        """The columns of a member."""
        # Another stream than that of the rows.
        rng = np.random.default_rng([seed, 1])
        count, size = self.n_features_in_, self._max_features
        if self.bootstrap_features:
            return rng.integers(0, count, size)
        return np.sort(rng.choice(count, size, replace=False))

    # ---- what is learned -------------------------------------------------------------------------

    def _learned(self, data: EnsembleData, members: list[Any], seeds: Array) -> dict[str, Any]:
        """Every attribute in `_stored` that this fit has, by name."""
        before = vars(self).get("_seeds", seeds[:0])[: len(members) - len(seeds)]
        self._seeds = np.concatenate([before, seeds])
        learned = {
            "estimator_": self.estimator_,
            "estimators_": members,
            "estimators_features_": [self._columns(seed) for seed in self._seeds],
            "n_features_in_": data.X.shape[1],
            "certificate_": self._certificate(len(members), self.n_estimators),
            "_training": (data,),
            "_calibration": None,
        }
        learned |= {name: value for name, value in vars(self).items() if name in PREPARED}
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        learned |= self._specifics(data)
        if self.oob_score:
            self.__dict__.update(learned)
            learned |= self._out_of_bag_attributes(data)
        return learned

    def _mean_of_members(self, X: Any) -> Array:
        answer = getattr(self, self._answer)(X)
        return answer.reshape(len(answer), -1)

    def _of_its_size(self) -> Any:
        """The ensemble with n_estimators as it has members, by which scikit-learn divides sums."""
        if len(self.estimators_) == self.n_estimators:
            return self
        return self._at(n_estimators=len(self.estimators_))

    def _mean_of_numbers(self, X: Any) -> Array:
        pairs = zip(self.estimators_, self.estimators_features_)
        sums = sum(self._of_member(member, X[:, columns]) for member, columns in pairs)
        return np.asarray(sums) / len(self.estimators_)

    def _standing_in(self, z: Array) -> Any:
        """A copy of the model that gives row i, asked for by X = [[i]], the prediction z[i]."""
        twin: Any = copy.copy(self)
        answers = z if self._answer != "predict" or z.shape[1] > 1 else z[:, 0]

        def answer(X):
            return answers[X[:, 0]]

        # scikit-learn's scorers ask for the name.
        answer.__name__ = self._answer
        setattr(twin, self._answer, answer)
        return twin

    def _specifics(self, data: EnsembleData) -> dict[str, Any]:
        """What a kind of bagging adds to the learned attributes."""
        return {}

    def _out_of_bag_attributes(self, data: EnsembleData) -> dict[str, Any]:
        raise NotImplementedError

    def _out_of_bag(self, data: EnsembleData) -> tuple[Array, Array]:
        """Sums of the predictions by members that were not given a row, and how many they were."""
        outputs = data.outputs
        place = Population.of(data.numbers, outputs.y, outputs.sample_weight).place
        sums, used = None, np.zeros(len(place), dtype=int)
        for member, columns, is_seen in zip(
            self.estimators_, self.estimators_features_, self._seen(place)
        ):
            rows = np.flatnonzero(~is_seen)
            if len(rows) == 0:
                continue
            z = self._of_member(member, _safe_indexing(data.X, rows)[:, columns])
            sums = np.zeros((len(place), z.shape[1])) if sums is None else sums
            sums[rows] += z
            used[rows] += 1
        if sums is None:
            sums = np.zeros((len(place), self._mean_of_members(data.X[:1]).shape[1]))
        return sums, used

    def _of_member(self, member: Any, X: Any) -> Array:
        """What one member predicts, (n, K)."""
        raise NotImplementedError

    def _smoother(self, factor: float) -> Any:
        """The learner's leaves, or the leaves of its last step, so many times as large."""
        name = next(
            (k for k in self.estimator_.get_params() if k.split("__")[-1] == "min_samples_leaf"),
            None,
        )
        if name is None:
            return None
        size = self.estimator_.get_params()[name]
        if not isinstance(size, Integral):
            return None
        larger = max(1, round(int(size) * factor))
        if larger == size:
            return self
        return self._unfitted().set_params(estimator=_with(self._get_estimator(), name, larger))


def _with(estimator: Any, name: str, value: Any) -> Any:
    return clone(estimator).set_params(**{name: value})


def _fitted_member(ensemble: Bagging, data: EnsembleData, seed: int, routed: dict) -> Any:
    """One member, on the rows and columns that its seed draws."""
    member = ensemble._make_estimator(append=False, random_state=seed)
    counts = ensemble._population.draw(seed, ensemble._max_samples, ensemble.bootstrap)
    takes_weights = _takes_weights(ensemble.estimator_)
    # Rows that were not drawn have weight 0, so that learners know of all classes.
    rows = ensemble._rows if takes_weights else np.repeat(ensemble._rows, counts)
    X = _safe_indexing(data.X, rows)[:, ensemble._columns(seed)]
    y = data.outputs.y.astype(int) if data.outputs.classes is not None else data.outputs.y
    y = (y[:, 0] if data.outputs.is_flat else y)[rows]
    options = _check_method_params(data.X, params=routed, indices=rows)
    if takes_weights:
        options["sample_weight"] = counts.astype(np.float64)
    try:
        with naming_text(data.X, "X", data.feature_names):
            member.fit(X, y, **options)
    except ValueError:
        # Said with the row of the caller, where that is the reason.
        if data.X.dtype.kind == "f":
            check_values(data.X, "X", data.feature_names)
        raise
    return member


def _takes_weights(learner: Any) -> bool:
    if _routing_enabled():
        return bool(get_routing_for_object(learner).consumes("fit", ("sample_weight",)))
    return has_fit_parameter(learner, "sample_weight")
