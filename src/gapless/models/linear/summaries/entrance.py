"""`summarise`: from a fitted linear model and its data to a Summary."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from ...._ground.about import Formula
from ....problem import Problem
from ....unseen import Fitted, Generalization, NotAvailable
from .findings import collinearity_in_words, may_be_separated, separating, separation_in_words
from .inference import Inference, inferred
from .refits import Refits, bootstrapped
from .result import BIAS, CoefficientEstimate, Summary

Array = np.ndarray

BOOTSTRAP = "summary(bootstrap=200) refits the model to draws of the rows"
# A fit farther from the best one than this has coefficients of its own.
FAR = 1e-3
# Entries of a linear programme that takes a few hundredths of a second.
QUICK = 20_000


def summarise(
    model: Any,
    fitted: Fitted,
    generalization: Generalization,
    *,
    level: float,
    bootstrap: int | None,
    random_state: int,
    callback: Callable,
) -> Summary:
    """A fitted linear model on one page; see `LinearModel.summary`."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")
    if bootstrap is not None and not (isinstance(bootstrap, Integral) and bootstrap >= 2):
        raise ValueError(f"bootstrap must be a number of refits, 2 or more; got {bootstrap!r}.")
    names = _names(model)
    if fitted.columns is not None:  # empty columns of a sparse X are not in the fit
        names = [names[j] for j in fitted.columns]
    found: Inference | Refits | None = None
    separation = _separation(model, fitted, names)
    is_endless = _recedes(model) or bool(separation)
    try:
        if bootstrap is not None:
            found = bootstrapped(model, fitted, bootstrap, random_state, callback)
            words = _refits_in_words(model, bootstrap)
        else:
            _check_fit(model, is_endless)
            found = inferred(fitted)
            words = found.how
    except NotAvailable as reason:
        words = f"none, because {reason}."
        if bootstrap is None and not is_endless:
            words = f"none, because {reason}; {BOOTSTRAP}."
    formula: Formula | None = model._formula()
    return Summary(
        model=type(model).__name__,
        objective="" if formula is None else str(formula),
        rows=float(fitted.weights[fitted.is_counted].sum()),
        columns=int(model.n_features_in_),
        weights=_weights_in_words(model, fitted),
        coefficients=_estimates(model, fitted, names, found, level),
        level=level,
        inference=words,
        findings=(*collinearity_in_words(fitted.problems[0], names), *separation),
        certificate=model.certificate_,
        generalization=generalization,
    )


def _names(model: Any) -> list[str]:
    """The columns of the fit, x0, x1, … if they have no names."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(names)


def _recedes(model: Any) -> bool:
    return bool(model.certificate_.no_minimiser)


def _check_fit(model: Any, is_endless: bool) -> None:
    """Refuse standard errors of coefficients that are no minimiser, or were chosen by scores."""
    if is_endless:
        raise NotAvailable("no minimiser exists, and the coefficients have no limit")
    if model._no_errors:
        raise NotAvailable(model._no_errors)
    certificate = model.certificate_
    if certificate.kind == "stopped" and certificate.relative_gap > FAR:
        raise NotAvailable("the fit stopped early")
    if model._tuned():
        raise NotAvailable(
            f"{' and '.join(model._tuned())} came from scores of the same rows, which the usual "
            "theory does not account for"
        )


def _refits_in_words(model: Any, refits: int) -> str:
    again = (
        f", each of which chooses {' and '.join(model._tuned())} again" if model._tuned() else ""
    )
    return (
        f"by the bootstrap: {refits} refits to rows drawn with replacement{again}; intervals are "
        "percentiles, and share the bias of the penalty if there is one."
    )


def _weights_in_words(model: Any, fitted: Fitted) -> str:
    weights = fitted.weights
    if np.all(weights == 1):
        return ""
    total = float(weights.sum())
    words = f"count as repeated rows (weight 2 is the row twice), {total:g} in all"
    if np.any(weights != np.floor(weights)):
        words += (
            "; some are not whole numbers: if they are precisions, proportional to 1/σᵢ², divide "
            "them by their mean, and the standard errors are right too"
        )
        if getattr(model, "_takes_offset", False):
            words += (
                "; an offset makes them exposures, whose units count as rows: that is right for "
                "Poisson, but not for an estimated √φ or the bootstrap"
            )
    return f"{words}."


def endless_columns(model: Any, problem: Problem) -> str:
    """Which columns make the objective fall for ever, in words; how to learn it if that is slow."""
    columns = separating(problem, most_entries=QUICK)
    if columns is None:
        return "summary() looks for these features."
    return separation_in_words([_names(model)[j] for j in columns], problem.loss.task)


def _separation(model: Any, fitted: Fitted, names: list[str]) -> list[str]:
    """Which columns separate the data, in words; nothing if none do, as far as is known."""
    sentences = []
    for problem, at in zip(fitted.problems, fitted.parameters):
        # A solver may also stop, or be content, before it is clear that no minimiser exists.
        if _recedes(model) or may_be_separated(problem, at):
            columns = separating(problem)
            if columns is not None:
                named = [names[j] for j in columns]
                sentences.append(separation_in_words(named, problem.loss.task))
    return list(dict.fromkeys(sentences))


def _estimates(
    model: Any,
    fitted: Fitted,
    names: list[str],
    found: Inference | Refits | None,
    level: float,
) -> tuple[CoefficientEstimate, ...]:
    """All coefficients with what is known of them, biases first."""
    w = np.concatenate([q.w.reshape(len(q.w), -1).T for q in fitted.parameters])
    b = np.concatenate([np.atleast_1d(q.b) for q in fitted.parameters])
    of_w, of_b = (_columns_of(found, part, values, level) for part, values in (("w", w), ("b", b)))
    outputs = _outputs(model, len(w))
    spread = _spread(fitted)
    rows = []
    if fitted.problems[0].fit_bias:
        rows += [
            CoefficientEstimate(BIAS, outputs[k], float(b[k]), float(b[k]), **of_b((k,)))
            for k in range(len(b))
        ]
    rows += [
        CoefficientEstimate(
            str(names[j]), outputs[k], float(w[k, j]), float(w[k, j] * spread[j]), **of_w((k, j))
        )
        for k in range(len(w))
        for j in range(w.shape[1])
    ]
    return tuple(rows)


def _outputs(model: Any, K: int) -> list[str]:
    """The class, or the target, that each row of coefficients belongs to; "" for only one."""
    classes = getattr(model, "classes_", None)
    if K == 1:
        return ["" if classes is None else str(classes[-1])]
    return [f"y{k}" for k in range(K)] if classes is None else [str(label) for label in classes]


def _spread(fitted: Fitted) -> Array:
    """The standard deviation of each column."""
    s, design = fitted.weights, fitted.design
    mean = design.transposed_times(s) / s.sum()
    return np.sqrt(np.maximum(design.shifted(mean).column_square_sums(s) / s.sum(), 0.0))


def _columns_of(
    found: Inference | Refits | None, part: str, values: Array, level: float
) -> Callable[[tuple[int, ...]], dict[str, float | None]]:
    """For coefficients or biases: what the table says about the one at a position."""
    if found is None:
        return lambda at: {}
    extra: dict[str, Array]
    if isinstance(found, Inference):
        error = found.of_w if part == "w" else found.of_b
        low, high = found.interval(values, error, level)
        extra = {"p_value": found.p_values(values, error)}
    else:
        draws = found.w if part == "w" else found.b
        error = draws.std(axis=0, ddof=1)
        low, high = found.ends(draws, level)
        extra = {"selected": np.mean(draws != 0, axis=0)}
    columns = {"standard_error": error, "low": low, "high": high, **extra}

    def at_position(at: tuple[int, ...]) -> dict[str, float | None]:
        return {
            name: float(array[at]) if np.isfinite(array[at]) else None
            for name, array in columns.items()
        }

    return at_position
