"""What all ensembles of independent members share: both gaps, time limits, and Ctrl-C."""

from __future__ import annotations

import copy
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from ..._ground.columns import is_table
from ..._ground.interrupt import TimeLimit, limit_name
from ..._ground.progress import CallbackSupport
from ..._ground.stored import INPUT, Declaration, Unused
from ..._ground.validation import Outputs, check_given, read_outputs, readable_target
from ...certificates import Certificate
from ...unseen import JUDGED, Population, Remembering
from ..trees import LARGEST_SEED
from .out_of_bag import BagFit, EnsembleData, EnsembleFit, Rows

Array = np.ndarray

NO_BOUND = (
    "no bound: the members are grown greedily on random samples and averaged, which minimises no "
    "objective; see the out-of-bag score in generalization_."
)


@dataclass(frozen=True)
class Members:
    """The progress of a fit, as shown on the progress line."""

    done: int
    wanted: int

    def __str__(self) -> str:
        return f"{self.done} of {self.wanted} members"


class Ensemble(Remembering, CallbackSupport):
    """Base class of bagging and forests.

    A subclass has `_read` for the data of a fit, `_mean_of_members` for predictions (n, K) of the
    caller's rows, and `_out_of_bag` for sums over the members that did not get a row.
    """

    _stored: ClassVar[Declaration] = {
        **JUDGED,
        **INPUT,
        "oob_score_": Unused(),
        "_seeds": Unused(),
        "_rows": Unused(),
        "_row_weights": Unused(),
        "_max_samples": Unused(),
        "_fingerprint": Unused(),
    }
    _answering: ClassVar[str] = "_mean_of_members"

    # ---- what a subclass defines -----------------------------------------------------------------

    def _read(self, X, y, sample_weight, *, reset: bool = True) -> EnsembleData:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        raise NotImplementedError

    def _read_X(self, X: Any, *, reset: bool) -> tuple[Any, Array | None]:
        """X alone, as members read it, and its feature names."""
        raise NotImplementedError

    def _mean_of_members(self, X: Any) -> Array:
        """The mean prediction of all members, (n, K), with classes of all outputs side by side."""
        raise NotImplementedError

    def _scores(self, X: Any) -> Array:
        """The same: classes and numbers are predicted from it."""
        return self._mean_of_members(X)

    def _mean_of_rows(self, X: Any) -> Array:
        """The same for rows in the form of `EnsembleData.X`."""
        reader: Any = copy.copy(self)
        if not is_table(X):
            # The names of the columns were checked when the rows were read.
            vars(reader).pop("feature_names_in_", None)
        return reader._mean_of_members(X)

    def _by_member(self, X: Any) -> Array:
        """Each member's predictions for such rows, (members, n, K)."""
        raise NotImplementedError

    def _out_of_bag(self, data: EnsembleData) -> tuple[Array, Array]:
        """Sums of the predictions by members that did not get a row, (n, K), and their number."""
        raise NotImplementedError

    def _tree_parameters(self) -> dict[str, Any]:
        """The parameters of its trees."""
        return {}

    def _with_trees(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Changes of the parameters of its trees as changes of its own."""
        return changes

    def _read_targets(self, y, X, sample_weight, class_weight=None) -> Outputs:
        """Targets and weights; raises an error if y is missing, or a column."""
        check_given(self, y)
        if sp.issparse(y):
            raise ValueError(
                "sparse multilabel-indicator for y is not supported. Pass y.toarray()."
            )
        y = readable_target(y)
        y = y if hasattr(y, "shape") else np.asarray(y)
        if len(y.shape) == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=5,
            )
        return read_outputs(y, X, sample_weight, class_weight, has_classes=is_classifier(self))

    def _refuse_several(self, outputs: Outputs) -> None:
        """Raise an error if there are several targets, since the model has one."""
        if not outputs.is_flat:
            raise ValueError(
                f"y should be a 1d array, got {outputs.y.shape[1]} columns; {type(self).__name__} "
                "has one output; fit one model for each."
            )

    # ---- fitting ---------------------------------------------------------------------------------

    def _collect(
        self,
        members: Iterator[list[Any]],
        wanted: int,
        callback: Callable,
        first: Sequence[Any] = (),
    ) -> tuple[list[Any], str]:
        """Members in batches as they come, and what ended it: "", "time_limit", "interrupted".

        They follow the first ones. What was grown before Ctrl-C or the limit is kept, if there is
        any.
        """
        kept = list(first)
        began = time.monotonic()
        try:
            for batch in members:
                kept += batch
                if callback(Members(len(kept), wanted), 0.0):
                    return kept, "callback"
                limit = self.time_limit
                if limit is not None and time.monotonic() - began > limit and len(kept) < wanted:
                    return kept, "time_limit"
        except TimeLimit:
            return kept, "time_limit"
        except KeyboardInterrupt:
            if not kept:
                raise
            return kept, "interrupted"
        return kept, ""

    def _check_out_of_bag(self) -> None:
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True; set it, or leave "
                "oob_score=False."
            )

    def _more_members(self, old: int) -> int:
        """How many members to add to those of an earlier fit."""
        new = int(self.n_estimators) - old
        if new < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={old} when warm_start==True; raise it, or set warm_start=False."
            )
        if new == 0:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=4,
            )
        return new

    def _end(self, ending: str, grown: int, wanted: int) -> None:
        """Report what ended a fit early."""
        if ending == "interrupted":
            raise KeyboardInterrupt
        if ending == "time_limit":
            warnings.warn(
                f"{type(self).__name__} stopped at {limit_name(self.time_limit)} with {grown} "
                f"of {wanted} members; raise time_limit, or add members with warm_start=True.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _first_seeds(self, random_state: np.random.RandomState, old: int, new: int) -> Array:
        """Seeds of the new members: those that a single fit of all would have had."""
        return random_state.randint(LARGEST_SEED, size=old + new)[old:]

    def _certificate(self, grown: int, wanted: int) -> Certificate:
        nan = float("nan")
        verdict = NO_BOUND
        if grown < wanted:
            verdict = f"stopped with {grown} of {wanted} members. {NO_BOUND.capitalize()}"
        return Certificate("none", verdict, nan, -np.inf, np.inf, np.inf, 0.0, 1.0)

    # ---- both gaps -------------------------------------------------------------------------------

    def _unfitted(self) -> Any:
        """An unfitted copy for other rows, without a time limit."""
        twin = clone(self)
        twin.set_params(warm_start=False, oob_score=False, time_limit=None)
        return twin

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate: no bound is known, whatever the data."""
        self._check_same_data(self._reread(X, y, sample_weight))
        return self.certificate_

    def _fitted(self, data: EnsembleData) -> EnsembleFit:
        self._check_same_data(data)
        return BagFit(self, data)

    def _check_same_data(self, data: EnsembleData) -> None:
        """Refuse data other than that of the fit."""
        outputs = data.outputs
        population = Population.of(data.numbers, outputs.y, outputs.sample_weight)
        if fingerprint(population, outputs.y) != self._fingerprint:
            raise ValueError(
                f"these are not the training data of this {type(self).__name__}; X, y or the "
                "weights have changed since. Fit again, or pass the training data."
            )

    def _calibration_rows(self, X: Any) -> Rows:
        """New rows for the models of a calibration."""
        return Rows(self._read_X(X, reset=False)[0])

    @property
    def _population(self) -> Population:
        return Population(self._rows, np.empty(0, dtype=int), self._row_weights)

    @property
    def estimators_samples_(self) -> list[Array]:
        """The rows given to each member, with repeats; drawn again on demand."""
        check_is_fitted(self)
        return [
            self._population.first[np.repeat(np.arange(len(counts)), counts)].astype(np.int32)
            for counts in self._counts()
        ]

    def _counts(self, seeds: Array | None = None) -> Iterator[Array]:
        """How often each member, or each with one of `seeds`, drew each distinct row."""
        population = self._population
        for seed in self._seeds if seeds is None else seeds:
            yield population.draw(seed, self._max_samples, self.bootstrap)

    def _seen(self, place: Array, seeds: Array | None = None) -> Iterator[Array]:
        """Which of the caller's rows each member has seen; `place` numbers their distinct rows."""
        population, seeds = self._population, self._seeds if seeds is None else seeds
        for seed, counts in zip(seeds, self._counts(seeds)):
            yield (place >= 0) & population.is_seen(counts, seed, self.bootstrap)[place]


def fingerprint(population: Population, y: Array) -> int:
    """A number that changes with the targets and weights of the distinct rows, by content."""
    part = zlib.crc32(np.ascontiguousarray(population.weights).tobytes())
    return zlib.crc32(np.ascontiguousarray(y[population.first]).tobytes(), part)
