"""Several models on the same rows: which is best, which is simplest among those as good."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.interrupt import TimeLimit, check
from .._ground.notebook import ShownInNotebook
from ..unseen import sentence
from .held_out import (
    HeldOut,
    as_time_allows,
    behind_error,
    by_chance,
    expected,
    folds_in_words,
    is_clearly_behind,
)
from .rows import RESAMPLED, Rows


@dataclass(frozen=True)
class Contender:
    """One model of a comparison.

    Attributes
    ----------
    name : str
        What the caller calls it.
    train, unseen, standard_error : float
        The score of rows that it had learned from, of rows that it had not, and the error of that.
    gap : float
        train − unseen.
    behind, behind_error : float
        How far it is behind the best one on the same rows, and the standard error of that: much
        smaller than the errors of both, because most rows are as hard for one as for the other.
    verdict : str
        "over-fitted", "under-fitted" or "balanced", and why, in words: the verdict of the model's
        `generalization_`, by simpler and richer versions of it. For models without one, and with
        groups or time, the other models take the place of versions: where the best one does clearly
        better, a model is over-fitted if it fits its training rows better than the best does, else
        under-fitted.
    optimality : str
        The verdict of its certificate, fitted to all rows; "" for models that have none.
    seconds : float
        How long all its fits and predictions took.
    """

    name: str
    train: float
    unseen: float
    standard_error: float
    gap: float
    behind: float
    behind_error: float
    verdict: str
    optimality: str
    seconds: float


@dataclass(frozen=True, eq=False)
class ModelComparison(ShownInNotebook):
    """Several models, scored on the same held-out rows. Prints as a table, the best first.

    Attributes
    ----------
    contenders : tuple of Contender
        In the order in which they were given, the simplest first.
    best : str
        The name of the one with the highest unseen score.
    chosen : str
        The first, and so the simplest, that is within one standard error of the best.
    expected : float
        What the best can be expected to score, corrected for having been chosen; NaN for scores
        that are not a mean over rows.
    skipped : tuple of str
        Those for which there was no time.
    metric, method : str
        What was measured, higher being better, and how rows were held out.
    fitted : dict of str to estimator
        The models, fitted to all rows.
    """

    contenders: tuple[Contender, ...]
    best: str
    chosen: str
    expected: float
    skipped: tuple[str, ...]
    metric: str
    method: str
    fitted: dict[str, Any]

    def __getitem__(self, name: str) -> Contender:
        return {one.name: one for one in self.contenders}[name]

    def __str__(self) -> str:
        best, chosen = self[self.best], self[self.chosen]
        lines = [
            f"{self.chosen}: {self.metric} {chosen.unseen:.4g} ± {chosen.standard_error:.2g} on "
            f"unseen rows, by {self.method}"
        ]
        if chosen is not best:
            lines[0] += (
                f"; the simplest within one standard error of {self.best}, {best.unseen:.4g}"
            )
        width = max(len(one.name) for one in self.contenders)
        lines.append(f"{'':<{width}}    train   unseen           behind the best  seconds")
        for one in sorted(self.contenders, key=lambda one: -one.unseen):
            behind = "" if one is best else f"{one.behind:.4f} ± {one.behind_error:.4f}"
            lines.append(
                f"{one.name:<{width}}  {one.train:7.4f}  {one.unseen:7.4f} ± "
                f"{one.standard_error:.4f}  {behind:<15}  {one.seconds:7.2f}"
            )
        if self.skipped:
            lines.append(f"not tried for lack of time: {', '.join(self.skipped)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ModelComparison of {len(self.contenders)} models: {self.chosen} is chosen>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings, without the models."""
        names = ("best", "chosen", "expected", "skipped", "metric", "method")
        plain = {name: getattr(self, name) for name in names}
        return plain | {"contenders": [asdict(one) for one in self.contenders]}

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw both scores of each model, the best on top; returns the axes."""
        plots = pictures()
        names, train, unseen, errors = zip(
            *((c.name, c.train, c.unseen, c.standard_error) for c in self.contenders)
        )
        return plots.comparison(
            names, train, unseen, errors, chosen=self.chosen, metric=self.metric, axes=axes
        )


@described(RESAMPLED)
def compare(
    models: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    k: int = 5,
    sample_weight: Any = None,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    time_limit: float | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
    random_state: int = 0,
) -> ModelComparison:
    """Compare models on the same held-out rows, and choose the simplest of the best.

    Parameters
    ----------
    models : mapping of str to estimator, or sequence of estimators
        Any models with scikit-learn's methods, the simplest first; copies are fitted.
    k : int, default=5
        The number of folds; there are k + 1 fits of each model.
    time_limit : float, default=None
        Seconds for all models; those for which time runs out are named in `skipped`.

    Returns
    -------
    ModelComparison
        Prints as a table; `fitted` holds the models, fitted to all rows.

    Notes
    -----
    All models are scored by the same folds, so that differences between them are known better than
    their scores. The rule of one standard error uses that of the difference from the best.

    Examples
    --------
    >>> import gapless
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {"stump": gapless.DecisionTreeClassifier(max_depth=1)}
    >>> models["forest"] = gapless.RandomForestClassifier(random_state=0)
    >>> result = gapless.compare(models, X, y)
    >>> print(result.chosen)
    forest
    """
    named = _named(models)
    rows = Rows.read(X, y, sample_weight, groups, time)
    folds = rows.folds(next(iter(named.values())), k, random_state)

    def judged(place: int, name: str, model: Any) -> Judged:
        if on_progress is not None:
            on_progress(name, place, len(named))
        began = clock.monotonic()
        try:
            held_out = HeldOut(model, rows, folds, scoring).at_once()
            fitted = rows.fit(model, np.arange(len(rows)))
            check()
        except TimeLimit:
            raise
        except Exception as error:
            error.add_note(f"This happened with the model {name!r}.")
            raise
        seconds = clock.monotonic() - began
        return Judged(held_out, fitted, seconds, _own_verdict(last_step(fitted), rows))

    tasks = (partial(judged, place, *one) for place, one in enumerate(named.items()))
    results = as_time_allows(tasks, time_limit, wanted="any model was fitted")
    found = dict(zip(named, results))
    skipped = tuple(name for name in named if name not in found)
    chance = by_chance(next(iter(named.values())), rows, folds, scoring)
    return _compared(found, chance, rows, folds_in_words(folds, time), skipped)


def _named(models: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """The models by name; those of a sequence by their class, numbered where it occurs again."""
    if isinstance(models, Mapping):
        named = dict(models)
    else:
        named = {}
        for model in models:
            name = type(model).__name__
            again = sum(one == name or one.startswith(f"{name} ") for one in named)
            named[f"{name} {again + 1}" if again else name] = model
    if not named:
        raise ValueError("models is empty; give at least one model.")
    return named


@dataclass(frozen=True, eq=False)
class Judged:
    """A model with its held-out scores, its fit to all rows, and the verdict of that."""

    held_out: HeldOut
    fitted: Any
    seconds: float
    own_verdict: tuple[str, str] | None


def last_step(model: Any) -> Any:
    """The estimator itself, or the last one of a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def _own_verdict(last: Any, rows: Rows) -> tuple[str, str] | None:
    """The kind of gap that a model finds by versions of itself, and why; None if it has none.

    Versions are compared row by row, so they mean nothing for new groups or for the future.
    """
    if rows.groups is not None or rows.time is not None:
        return None
    try:
        found = getattr(last, "generalization_", None)
    except TimeLimit:
        return None
    if found is None or found.kind == "unknown":
        return None
    return found.kind, str(found.verdict).partition("; ")[2].rstrip(".")


def _verdict(
    one: HeldOut,
    best: HeldOut,
    is_behind: bool,
    name_of_best: str,
    own: tuple[str, str] | None,
) -> str:
    """What is wrong with a model: by its own versions, else next to the best on the same rows."""
    kind, advice = "balanced", f"{name_of_best} does not do clearly better on unseen rows"
    if own is not None:
        kind, advice = own
    elif one is best:
        advice = "none of the others does better on unseen rows"
    elif is_behind:
        kind, more = (
            ("under-fitted", "better") if one.train < best.train else ("over-fitted", "worse")
        )
        advice = (
            f"{name_of_best} fits its training rows {more}, and does clearly better on unseen rows"
        )
    if not np.isfinite(one.unseen):
        return one.result("").verdict
    return sentence(kind, one.metric, one.train, one.unseen, one.standard_error, advice)


def _compared(
    found: dict[str, Judged],
    chance: HeldOut,
    rows: Rows,
    method: str,
    skipped: tuple[str, ...],
) -> ModelComparison:
    names = list(found)
    results = [one.held_out for one in found.values()]
    metrics = {result.metric: name for name, result in zip(names, results)}
    if len(metrics) > 1:
        of = ", ".join(f"{metric} of {name!r}" for metric, name in metrics.items())
        raise ValueError(f"{of} cannot be compared; set scoring.")
    unseen = np.array([result.unseen for result in results])
    if not np.any(np.isfinite(unseen)):
        raise ValueError(f"the {results[0].metric} of held-out rows is not defined for any model.")
    best = int(np.nanargmax(unseen))
    errors = [behind_error(result, results[best], rows) for result in results]
    contenders = []
    for (name, one), error in zip(found.items(), errors):
        result = one.held_out
        certificate = getattr(last_step(one.fitted), "certificate_", None)
        is_behind = is_clearly_behind(result, results[best], chance, rows)
        contenders.append(
            Contender(
                name=name,
                train=result.train,
                unseen=result.unseen,
                standard_error=result.standard_error,
                gap=result.train - result.unseen,
                behind=float(unseen[best] - result.unseen),
                behind_error=error,
                verdict=_verdict(result, results[best], is_behind, names[best], one.own_verdict),
                optimality="" if certificate is None else str(certificate.verdict),
                seconds=one.seconds,
            )
        )
    near = [one.name for one in contenders if one.behind <= one.behind_error]
    return ModelComparison(
        contenders=tuple(contenders),
        best=names[best],
        chosen=near[0] if near else names[best],
        expected=expected(results, rows, best),
        skipped=skipped,
        metric=results[0].metric,
        method=method,
        fitted={name: one.fitted for name, one in found.items()},
    )
