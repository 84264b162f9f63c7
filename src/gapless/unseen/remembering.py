"""What an estimator keeps of its fit, so that it can later estimate its score on unseen rows.

Estimators inherit `Remembering` and keep `_training`, from which their method `_fitted` rebuilds
the fit. It refers to the data and does not copy them; a copy of the model, or a file, has none of
it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._ground.stored import Declaration, Maybe, Value, is_fitted
from ..certificates import Certificate
from .conformal import Calibration, calibrate
from .entrance import measure
from .result import Generalization, uncorrected

Array = np.ndarray

# Holds the parameters of the fit that predictions depend on.
GIVEN = "_given"
# A model's statements about itself; predictions do not use them.
JUDGED: Declaration = {
    "certificate_": Maybe(Value(Certificate)),
    "generalization_": Maybe(Value(Generalization)),
}
PRIVATE = ("_training", "_choice", "_calibration", "_deferred", "_in_parts")
# The objective of a fit, recomputed from its data, differs by rounding alone, at most this part.
SAME_OBJECTIVE = 1e-6


def take_over(estimator: Any, learned: dict[str, Any]) -> None:
    """Replace what an earlier fit has left, which `_stored` lists, by what this one has learned.

    One assignment, so that a second Ctrl-C leaves either the old model or the new one.
    """
    gone = {*estimator._stored, *PRIVATE}
    kept = {k: v for k, v in vars(estimator).items() if k not in gone}
    estimator.__dict__ = kept | learned


def given_to_fit(estimator: Any, names: Iterable[str]) -> dict[str, Any]:
    """The parameters at the fit, kept for `as_fitted`."""
    return {GIVEN: {name: getattr(estimator, name) for name in names}}


def as_fitted(estimator: Any) -> Any:
    """The model with the parameters of its fit; later changes apply to the next fit."""
    given: dict[str, Any] = vars(estimator).get(GIVEN) or {}
    if all(getattr(estimator, name) is value for name, value in given.items()):
        return estimator
    twin = object.__new__(type(estimator))
    vars(twin).update(vars(estimator) | given)
    return twin


def refuse_other_data(
    name: str, found: float, expected: float, scale: float, rounding: float = 0.0
) -> None:
    """An error if the objective of a fit, recomputed from its data, is not what it was."""
    room = SAME_OBJECTIVE * (abs(expected) + scale) + rounding
    if np.isfinite(expected) and not abs(found - expected) <= room:
        raise ValueError(
            f"the model does not match these data: the objective is {found:.9g}, and was "
            f"{expected:.9g} when {name} was fitted; X, y, the weights or what the model has "
            "learned have changed since. Fit again."
        )


class Remembering:
    """Base class of estimators with a `generalization_` that is computed on first access."""

    # Attributes computed on demand, from the data of the fit.
    _on_demand: ClassVar[tuple[str, ...]] = ("generalization_",)
    # Whether the certificate is computed when it is read, and part of files and pickles even so.
    _keeps_certificate: ClassVar[bool] = False
    # Attributes that every fitted model has, and computes when they are read.
    _computed: ClassVar[tuple[str, ...]] = ()
    # The method that scores rows, on which all predictions of the model rest.
    _answering: ClassVar[str] = "_scores"
    # X, y and weights, validated; with reset=False the features must be those of the fit.
    _read: Callable[..., Any]
    certificate_: Certificate
    classes_: Array

    @classmethod
    def _get_param_names(cls):
        # The signature of a class is fixed. Reading it at every access to the parameters, as
        # scikit-learn does, takes a tenth of the time to bag small models.
        if "_names_of_parameters" not in cls.__dict__:
            cls._names_of_parameters = tuple(super()._get_param_names())
        return list(cls._names_of_parameters)

    @functools.cached_property
    def generalization_(self) -> Generalization:
        """The model's estimated score on unseen data; computed on first access.

        The fit keeps a reference to its data. A copy of the model has none: call
        `gapless.generalize(model, X, y, sample_weight)`.
        """
        if "_in_parts" in vars(self):
            return vars(self)["_in_parts"].generalization()
        fitted = self._remembered("gapless.generalize(model, X, y, sample_weight)")
        return self._corrected(fitted, measure(self, fitted))

    def _fitted_to(self, X, y, sample_weight=None) -> Any:
        """The fit, rebuilt from its data."""
        return self._fitted(self._reread(X, y, sample_weight))

    def _reread(self, X, y, sample_weight) -> Any:
        """The data of the fit, read again; an error if their classes differ."""
        check_is_fitted(self)
        data = self._read(X, y, sample_weight, reset=False)
        classes = getattr(data, "classes", None)
        if isinstance(classes, np.ndarray) and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"y has the classes {classes.tolist()}, but {type(self).__name__} was fitted with "
                f"{self.classes_.tolist()}; pass the training data."
            )
        return data

    def _check_objective(self, found: float, rounding: float = 0.0) -> None:
        """Refuse data on which the objective of the model differs from that of its fit."""
        known: Certificate = self.certificate_
        refuse_other_data(type(self).__name__, found, known.primal, known.scale, rounding)

    def _standing_in(self, z: Array) -> Any:
        """A copy of the model that returns the scores z[i] for row i, requested by X = [[i]]."""
        twin = copy.copy(self)
        scores = self._shaped(z)
        setattr(twin, self._answering, lambda X: scores[X[:, 0]])
        return twin

    def _shaped(self, z: Array) -> Array:
        """Scores (n, K) in the model's own shape."""
        return z

    def _fitted(self, *training: Any) -> Any:
        """The fit, as far as held-out predictions need it."""
        raise NotImplementedError

    def _tuned(self) -> tuple[str, ...]:
        """The parameters whose values the fit chooses."""
        return ()

    def _at(self, **values) -> Any:
        """A copy with these values of its parameters."""
        twin = copy.copy(self)
        for name, value in values.items():
            setattr(twin, name, value)
        return twin

    def _settled(self) -> Any:
        """The estimator with the values that the fit has chosen."""
        return self._at(**{name: getattr(self, f"{name}_") for name in self._tuned()})

    def _corrected(self, fitted: Any, plain: Generalization) -> Generalization:
        """The estimate, corrected for the choice of parameters."""
        # What was tried is not needed again.
        choice = vars(self).pop("_choice", None)
        if choice is None or plain.kind == "unknown":
            return plain
        scored = choice.scored(self, fitted)
        return uncorrected(plain, self._tuned()) if scored is None else scored.corrected(plain)

    def _calibrated(self, cure: str) -> Calibration:
        """The fit's calibration by its errors on unseen rows; computed on first use."""
        calibration: Calibration | None = vars(self).get("_calibration")
        if calibration is None:
            calibration = self._calibration = calibrate(self._remembered(cure))
        return calibration

    def _remembered(self, cure: str) -> Any:
        """The fit with its data, while the model refers to them."""
        return self._fitted(*self._kept_training(f"call {cure}"))

    def _kept_training(self, cure: str) -> tuple[Any, ...]:
        """What the fit keeps, its data first, while the model refers to them."""
        check_is_fitted(self)
        if "_in_parts" in vars(self):
            raise ValueError(
                f"this {type(self).__name__} was fitted to a table in parts, and this needs all "
                "rows in memory; fit it to a sample of them for that."
            )
        if not self._holds_training:
            raise AttributeError(
                f"this {type(self).__name__} no longer holds its training data; {cure}."
            )
        return vars(self)["_training"]

    @property
    def _holds_training(self) -> bool:
        """Whether the model still refers to the data of its fit."""
        return "_training" in vars(self) or "_in_parts" in vars(self)

    def __getstate__(self):
        # A file or a pickle has no data from which a certificate could be computed later.
        if self._keeps_certificate and self._holds_training:
            _ = self.certificate_
        return self._without_data()

    def __copy__(self):
        # A copy is for use at once, and computes nothing.
        state = self._without_data() if self._keeps_certificate else self.__getstate__()
        twin = object.__new__(type(self))
        vars(twin).update(state)
        return twin

    def _without_data(self) -> dict[str, Any]:
        """The attributes; neither a copy nor a file includes the training data."""
        state: Any = super().__getstate__()
        return {k: v for k, v in state.items() if k not in PRIVATE}

    def __dir__(self):
        # Attributes on demand are listed while they are available, but not read: that would compute
        # them, or warn.
        known = vars(self)
        is_there = dict.fromkeys(self._on_demand, self._holds_training)
        is_there |= dict.fromkeys(self._computed, is_fitted(self))
        return [
            name
            for name in object.__dir__(self)
            if name in known or (is_there[name] if name in is_there else hasattr(self, name))
        ]

    def _get_fitted_attr_html(self, *options, **more):
        # A notebook shows all members, which must not compute anything: a copy has no data for it.
        return BaseEstimator._get_fitted_attr_html(copy.copy(self), *options, **more)
