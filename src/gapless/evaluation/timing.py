"""Lazy against eager: how long models take to learn, and how long to predict."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sklearn.base import clone

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.interrupt import check
from .._ground.notebook import ShownInNotebook

LAZY, EAGER = "lazy", "eager"


@dataclass(frozen=True)
class Timing:
    """How long one model takes.

    Attributes
    ----------
    name : str
        What the caller calls it.
    fit_seconds, predict_seconds : float
        Processor time to learn from all training rows, and to predict as many rows; the least of
        some repeats.
    """

    name: str
    fit_seconds: float
    predict_seconds: float

    @property
    def kind(self) -> str:
        """ "lazy" if predicting takes longer than learning, as for neighbours; else "eager"."""
        return LAZY if self.predict_seconds > self.fit_seconds else EAGER


@dataclass(frozen=True)
class Timings(ShownInNotebook):
    """Learning and predicting times of several models. Prints as a table."""

    rows: int
    models: tuple[Timing, ...]

    def __getitem__(self, name: str) -> Timing:
        return {one.name: one for one in self.models}[name]

    def __str__(self) -> str:
        width = max(len("model"), *(len(one.name) for one in self.models))
        lines = [f"{'model':<{width}}  learn {self.rows} rows  predict as many"]
        learn = len(lines[0]) - len("  predict as many") - width - 2
        for one in self.models:
            fit, predict = f"{one.fit_seconds:.4f} s", f"{one.predict_seconds:.4f} s"
            lines.append(
                f"{one.name:<{width}}  {fit:>{learn}}  {predict:>{len('predict as many')}}  "
                f"{one.kind}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw both times of each model; returns the axes."""
        return pictures().timings(
            [one.name for one in self.models],
            [one.fit_seconds for one in self.models],
            [one.predict_seconds for one in self.models],
            rows=self.rows,
            axes=axes,
        )


def timed(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    repeats: int = 3,
    timer: Callable[[], float] = clock.process_time,
) -> Timings:
    """Time how long models take to learn and to predict.

    Parameters
    ----------
    models : mapping from names to estimators
        Copies of them are fitted.
    X, y : array-like
        The rows to learn from, and then to predict.
    repeats : int, default=3
        How often each is timed; the least time counts, since a busy machine only adds to it.
    timer : callable, default=time.process_time
        Returns seconds. Processor time counts that of all threads.

    Returns
    -------
    Timings

    Notes
    -----
    A lazy learner, such as nearest neighbours, keeps the rows and works when it is asked; an eager
    one, such as a tree or naive Bayes, commits itself to one model while it learns.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gapless import GaussianNB, KNeighborsClassifier
    >>> from gapless.evaluation import timed
    >>> X, y = load_digits(return_X_y=True)
    >>> models = {"neighbours": KNeighborsClassifier(algorithm="brute"), "Bayes": GaussianNB()}
    >>> found = timed(models, X, y)
    >>> found["neighbours"].kind
    'lazy'
    """
    if not models:
        raise ValueError("models is empty; give a dictionary from names to estimators.")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats!r}.")
    found, rows = [], X.shape[0] if hasattr(X, "shape") else len(X)
    for name, model in models.items():
        learned, predicted = [], []
        for _ in range(repeats):
            check()
            twin = clone(model)
            began = timer()
            twin.fit(X, y)
            middle = timer()
            twin.predict(X)
            learned.append(middle - began)
            predicted.append(timer() - middle)
        found.append(Timing(name, min(learned), min(predicted)))
    return Timings(rows, tuple(found))
