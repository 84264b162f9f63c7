"""How bagging fits its members: any learner, on randomly drawn rows and columns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt
from sklearn.utils.metadata_routing import (
    _raise_for_params,
    _routing_enabled,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter

from ..._ground.columns import NUMBERS, is_table, series_of
from ..._ground.progress import watch, with_callbacks
from ..._ground.shapley import PREDICTION, PROBABILITY, Contributions, Game
from ..._ground.stored import Declaration, Each, FittedModel, Numbers, Unused
from ..._ground.tables import readable
from ..._ground.validation import TEXTS, check_values, naming_text, read_for_learner, read_names
from ...unseen import Population, as_numbers, take_over
from .ensemble import Ensemble, fingerprint
from .out_of_bag import EnsembleData

Array = np.ndarray

# Shared by the docstrings of both classes and their methods.
BAGGED = """
n_estimators : int
    The number of members.
max_samples : int, float or None
    How many rows are drawn for each member: a number, or a share of the total weight. None draws as
    many as there are.
max_features : int or float
    How many columns are drawn for each member: a number, or a share of all.
bootstrap : bool
    Whether rows are drawn with replacement.
bootstrap_features : bool
    Whether columns are drawn with replacement.
oob_score : bool
    Whether the fit computes `oob_score_` and the out-of-bag predictions; `generalization_` has the
    score in any case.
warm_start : bool
    Whether a fit adds members to those of the last one.
n_jobs : int or None
    How many members joblib fits in parallel.
random_state : int, RandomState instance or None
    Seeds the draws and the members.
verbose : int
    How much joblib prints.
time_limit : float or None
    Seconds after which no new member is begun; finished ones are kept.
estimator_ : estimator
    The learner that the members are copies of.
estimators_ : list of estimators
    The members.
estimators_samples_, estimators_features_ : list of ndarray
    The rows and the columns given to each of them.
certificate_ : Certificate
    Of kind "none": no objective is minimised.
generalization_ : Generalization
    The score to expect on unseen rows, out of bag, with its standard error.
"""
ROUTED = """
**params : dict
    Passed on to the learners, by scikit-learn's metadata routing.
"""

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
    """What both kinds of bagging share; comes before scikit-learn's class of the same kind.

    Drawing, predicting, both gaps, time limits and Ctrl-C are here; metadata routing is
    scikit-learn's.
    """

    _guide = "forests"
    _computed = ("estimators_samples_",)

    # The method whose results are averaged over the members.
    _answer = "predict"

    _stored: ClassVar[Declaration] = {
        **Ensemble._stored,
        "estimator_": Unused(),
        "estimators_": Each(FittedModel(), "members", least=1),
        "estimators_features_": Each(Numbers(None, types="iu", below="features"), "members"),
        "_max_features": Unused(),
        "_n_samples": Unused(),
    }
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

    def __init__(
        self,
        estimator=None,
        n_estimators=10,
        *,
        max_samples=None,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        time_limit=None,
    ):
        super().__init__(
            estimator,
            n_estimators,
            max_samples=max_samples,
            max_features=max_features,
            bootstrap=bootstrap,
            bootstrap_features=bootstrap_features,
            oob_score=oob_score,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.time_limit = time_limit

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit the members, each to rows drawn for it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Training rows, of any kind that the learner accepts. A table with more than numbers is
            passed on to the learners as a table, one of numbers only to pipelines.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0, proportional to the chances of being drawn. Weight 2 counts the row
            twice, weight 0 leaves it out.
        **fit_params : dict
            Passed on to the learners, by scikit-learn's metadata routing.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the members fitted so far and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        _raise_for_params(fit_params, self, "fit")
        self._check_combinations()
        data = self._read(X, y, sample_weight)
        # Learned on a copy: a failing fit leaves the estimator unchanged.
        draft = copy.copy(self)
        draft._prepare(data)
        old, new = draft._members_to_keep()
        if new == 0:
            return self
        if old:
            self._check_same(data)
        routed = process_routing(self, "fit", **fit_params).estimator.fit if fit_params else {}
        seeds = self._first_seeds(check_random_state(self.random_state), len(old), new)
        with watch(self, data.X, data.outputs.y) as callback:
            members, ending = self._collect(draft._fit_members(data, seeds, routed), new, callback)
        take_over(self, draft._learned(data, old + members, seeds[: len(members)]))
        self._end(ending, len(self.estimators_), self.n_estimators)
        return self

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        for member, taken in zip(self.estimators_, self.estimators_features_):
            width = getattr(member, "n_features_in_", len(taken))
            if width != len(taken):
                return f"estimators_ has a member of {width} columns, but it is given {len(taken)}"
        return None

    # ---- reading and drawing ---------------------------------------------------------------------

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> EnsembleData:
        """X, y and weights; the learners check the values of X."""
        X, names = self._read_X(X, reset=reset)
        outputs = self._read_targets(y, X, sample_weight)
        if outputs.classes is not None:
            self._refuse_several(outputs)
        return EnsembleData(X, as_numbers(X), outputs, names)

    def _read_X(self, X: Any, *, reset: bool) -> tuple[Any, Array | None]:
        """X for the learners, and its feature names."""
        if isinstance(X, list) and X and isinstance(X[0], str):
            raise ValueError(f"X has {X[0]!r} in row 0, which is not a row of features; {TEXTS}.")
        X = readable(X)
        if self._hands_on_tables(X):
            return X, read_names(self, X, reset=reset)
        return read_for_learner(self, X, reset=reset, ensure_all_finite=False)

    def _hands_on_tables(self, X: Any) -> bool:
        """Whether learners get X as a table: a pipeline may select columns by name."""
        if not is_table(X):
            return False
        is_number = (series_of(X, j).kind.startswith(NUMBERS) for j in range(X.shape[1]))
        return isinstance(self._get_estimator(), Pipeline) or not all(is_number)

    def _check_combinations(self) -> None:
        self._check_out_of_bag()
        if self.oob_score and self.warm_start:
            raise ValueError(
                "Out of bag estimate only available if warm_start=False; generalization_ has it."
            )

    def _prepare(self, data: EnsembleData) -> None:
        """What all members share: the learner, the rows to draw from, and the number of draws."""
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
        """Members of an earlier fit, and how many to add."""
        old = list(self.estimators_) if self.warm_start and hasattr(self, "estimators_") else []
        return old, self._more_members(len(old))

    def _check_same(self, data: EnsembleData) -> None:
        """Refuse to add members to those of other columns or classes."""
        classes = data.outputs.classes
        is_same = self.n_features_in_ == data.X.shape[1]
        if not is_same or (classes and not np.array_equal(self.classes_, classes[0])):
            raise ValueError(
                f"warm_start=True adds members to a {type(self).__name__} fitted with other "
                "features or classes; set warm_start=False to start over."
            )

    def _fit_members(self, data: EnsembleData, seeds: Array, routed: dict) -> Iterator[list[Any]]:
        """Yield members; by joblib if n_jobs requests it."""
        tasks = (delayed(fitted_member)(self, data, seed, routed) for seed in seeds)
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator", verbose=self.verbose)
        for member in parallel(tasks):
            yield [member]

    def _columns(self, seed: int) -> Array:
        """The columns of a member."""
        count, size = self.n_features_in_, self._max_features
        if size == count and not self.bootstrap_features:
            return np.arange(count)
        # A separate stream from that of the rows.
        rng = np.random.default_rng([seed, 1])
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

    @property
    def _ask_member(self) -> Callable:
        """The function that members are called with."""
        raise NotImplementedError

    def _mean_of_members(self, X: Any, **params) -> Array:
        check_is_fitted(self)
        total = sum(self._member_outputs(X, self._ask_member, self._answer, params))
        return np.asarray(total) / len(self.estimators_)

    def _member_outputs(self, X: Any, ask: Callable, caller: str, params: dict) -> Iterator[Any]:
        """The members' results for the caller's rows, one after another."""
        _raise_for_params(params, self, caller)
        X = self._read_X(X, reset=False)[0]
        routed = process_routing(self, caller, **params).estimator if params else {}
        tasks = (
            delayed(ask)(member, columns_of(X, columns), routed)
            for member, columns in zip(self.estimators_, self.estimators_features_)
        )
        yield from Parallel(n_jobs=self.n_jobs, return_as="generator", verbose=self.verbose)(tasks)

    def _contributions(self, X: Any, game: Game) -> Contributions | None:
        """What each column contributes to the mean of the members, exactly.

        None if that is not known of some member, or if not its answers are averaged but its votes.
        """
        check_is_fitted(self)
        if not self._averages_answers():
            return None
        X, G = (self._read_X(rows, reset=False)[0] for rows in (X, game.background))
        found = None
        for member, columns in zip(self.estimators_, self.estimators_features_):
            exact = getattr(member, "_contributions", None)
            own = replace(game, background=columns_of(G, columns), players=game.players[columns])
            one = None if exact is None else exact(columns_of(X, columns), own)
            if one is None or one.scale not in (PREDICTION, PROBABILITY):
                return None
            one = self._with_all_answers(member, one)
            found = one if found is None else found.plus(one)
        return None if found is None else found.over(len(self.estimators_))

    def _averages_answers(self) -> bool:
        """Whether the mean is over what members predict, and not over their votes."""
        return True

    def _with_all_answers(self, member: Any, of_member: Contributions) -> Contributions:
        """A member's contributions, for all answers of the ensemble."""
        return of_member

    def _specifics(self, data: EnsembleData) -> dict[str, Any]:
        """What a kind of bagging adds to the learned attributes."""
        return {}

    def _out_of_bag_attributes(self, data: EnsembleData) -> dict[str, Any]:
        raise NotImplementedError

    def _out_of_bag(self, data: EnsembleData) -> tuple[Array, Array]:
        """Sums of the predictions by members that did not get a row, and their number."""
        outputs = data.outputs
        place = Population.of(data.numbers, outputs.y, outputs.sample_weight).place
        sums, used = None, np.zeros(len(place), dtype=int)
        for member, columns, is_seen in zip(
            self.estimators_, self.estimators_features_, self._seen(place)
        ):
            rows = np.flatnonzero(~is_seen)
            if len(rows) == 0:
                continue
            z = self._ask_member(member, _safe_indexing(columns_of(data.X, columns), rows), {})
            sums = np.zeros((len(place), z.shape[1])) if sums is None else sums
            sums[rows] += z
            used[rows] += 1
        if sums is None:
            sums = np.zeros((len(place), self._by_member(_safe_indexing(data.X, [0])).shape[2]))
        return sums, used

    def _by_member(self, X: Any) -> Array:
        """Each member's predictions for rows as learners get them, (members, n, K)."""
        pairs = zip(self.estimators_, self.estimators_features_)
        return np.stack(
            [self._ask_member(one, columns_of(X, columns), {}) for one, columns in pairs]
        )

    def _tree_parameters(self) -> dict[str, Any]:
        """Those of the learner, or of its last step."""
        _, learner = self._last_step()
        return learner.get_params(deep=False) if hasattr(learner, "min_samples_leaf") else {}

    def _with_trees(self, changes: dict[str, Any]) -> dict[str, Any]:
        prefix, _ = self._last_step()
        changed = {f"{prefix}{name}": value for name, value in changes.items()}
        return {"estimator": clone(self._get_estimator()).set_params(**changed)}

    def _last_step(self) -> tuple[str, Any]:
        """The prefix of its parameters, and the learner itself or the last step of a pipeline."""
        learner = self._get_estimator()
        steps = getattr(learner, "steps", None)
        return (f"{steps[-1][0]}__", steps[-1][1]) if steps else ("", learner)

    def _formula(self) -> None:
        """None: each member minimises its own objective."""


# ---- how one member is fitted to its draw, and how it predicts -----------------------------------


class OnlyClass(ClassifierMixin, BaseEstimator):
    """Predicts the only class it was shown, for learners that need two."""

    def fit(self, X, y):
        """Record the class of the rows."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        """The class, for all rows."""
        return np.full(X.shape[0], self.classes_[0])

    def predict_proba(self, X):
        """Certainty, for all rows."""
        return np.ones((X.shape[0], 1))


def fitted_member(ensemble: Any, data: EnsembleData, seed: int, routed: dict) -> Any:
    """One member, on the rows and columns that its seed draws."""
    member = ensemble._make_estimator(append=False, random_state=seed)
    counts = ensemble._population.draw(seed, ensemble._max_samples, ensemble.bootstrap)
    drawn = np.repeat(ensemble._rows, counts)
    takes_weights = _takes_weights(ensemble.estimator_)
    # Rows not drawn have weight 0, so that learners know all classes.
    rows = ensemble._rows if takes_weights else drawn
    X = _safe_indexing(columns_of(data.X, ensemble._columns(seed)), rows)
    options = _check_method_params(data.X, params=routed, indices=rows)
    if takes_weights:
        options["sample_weight"] = counts.astype(np.float64)
    y = _targets(data)
    try:
        with naming_text(data.X, "X", data.feature_names):
            member.fit(X, y[rows], **options)
    except ValueError:
        if is_classifier(ensemble) and np.all(y[drawn] == y[drawn[0]]):
            return OnlyClass().fit(X, y[drawn])
        # Named by the caller's row, if that is the reason.
        if not is_table(data.X) and data.X.dtype.kind == "f":
            check_values(data.X, "X", data.feature_names)
        raise
    return member


def _targets(data: EnsembleData) -> Array:
    """Numbers, or positions of the classes, (n,) or (n, outputs)."""
    y = data.outputs.y.astype(int) if data.outputs.classes is not None else data.outputs.y
    return y[:, 0] if data.outputs.is_flat else y


def _takes_weights(learner: Any) -> bool:
    if _routing_enabled():
        return bool(get_routing_for_object(learner).consumes("fit", ("sample_weight",)))
    return has_fit_parameter(learner, "sample_weight")


# ---- asking --------------------------------------------------------------------------------------


def columns_of(X: Any, columns: Array) -> Any:
    """Some columns; of a table, those drawn twice appear once, under their name."""
    if np.array_equal(columns, np.arange(X.shape[1])):
        return X
    if is_table(X):
        return _safe_indexing(X, np.unique(columns), axis=1)
    return X[:, columns]


def numbers(member: Any, X: Any, routed: Any) -> Array:
    """A member's predictions, (n, outputs)."""
    z = np.asarray(member.predict(X, **routed.get("predict", {})))
    return z.reshape(len(z), -1)


def probabilities(member: Any, X: Any, routed: Any, count: int) -> Array:
    """Probabilities of all classes, (n, count), or the votes of a member without them."""
    if isinstance(member, OnlyClass) or not hasattr(member, "predict_proba"):
        return votes(member, X, routed, count)
    z = np.zeros((X.shape[0], count))
    z[:, member.classes_] = member.predict_proba(X, **routed.get("predict_proba", {}))
    return z


def votes(member: Any, X: Any, routed: Any, count: int) -> Array:
    """1 for the class that a member predicts, and 0 for all others, (n, count)."""
    z = np.zeros((X.shape[0], count))
    # What is routed is for the learner, not for what stands in for it.
    options = {} if isinstance(member, OnlyClass) else routed.get("predict", {})
    z[np.arange(len(z)), member.predict(X, **options)] = 1.0
    return z


def log_probabilities(member: Any, X: Any, routed: Any, count: int) -> Array:
    """Logarithms of the same; a member's own may be finer than those of probabilities."""
    if not hasattr(member, "predict_log_proba"):
        with np.errstate(divide="ignore"):
            return np.log(probabilities(member, X, routed, count))
    z = np.full((X.shape[0], count), -np.inf)
    z[:, member.classes_] = member.predict_log_proba(X, **routed.get("predict_log_proba", {}))
    return z


def decisions(member: Any, X: Any, routed: Any) -> Array | None:
    """Decision values of a member; None for one that knows a single class."""
    if isinstance(member, OnlyClass):
        return None
    return member.decision_function(X, **routed.get("decision_function", {}))
