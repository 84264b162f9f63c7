"""Why single test rows were predicted as they were: typical ones, and the most wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit
from ...data import Table
from ...evaluation import Explanation, in_words, signed
from .. import Choice
from .sections import Contribution, ExplainedRow, Reasons
from .words import is_baseline

Array = np.ndarray

# Rows of each kind, reasons of a row, and training rows of which some are compared with.
MOST_ROWS, MOST_REASONS, BACKGROUND = 3, 5, 1000


def reasons_of(
    choice: Choice, table: Table, seconds: float | None, left_out: dict[str, str]
) -> Reasons | None:
    """The reasons for a few test rows, found in about `seconds`; None if they are left out."""
    if is_baseline(choice):
        left_out["reasons"] = "the model uses no columns"
        return None
    typical, wrong = _typical(choice), _wrong(choice)
    train = choice.split.train
    if len(train) > BACKGROUND:
        rng = np.random.default_rng(choice.seed)
        train = np.sort(rng.choice(train, BACKGROUND, replace=False))
    rows = [*typical, *wrong]
    try:
        found = choice.model.explain(
            table.frame[choice.split.test[rows]],
            table.frame[train],
            time_limit=seconds,
            random_state=choice.seed,
        )
    except TimeLimit:
        left_out["reasons"] = "there was no time to explain single rows"
        return None
    explained = [_explained(choice, found, i, row) for i, row in enumerate(rows)]
    return Reasons(
        scale=found.scale,
        background_rows=found.background_rows,
        is_sampled=found.standard_errors is not None,
        typical=tuple(explained[: len(typical)]),
        wrong=tuple(explained[len(typical) :]),
    )


def _typical(choice: Choice) -> list[int]:
    """Places of test rows: the middles of the thirds of predictions, or of the largest classes."""
    said, y = choice.answers.predicted, choice.answers.y
    if choice.model.classes_ is None:
        return _middles(np.argsort(said, kind="stable"), MOST_ROWS)
    right = np.flatnonzero(said == y)
    classes, counts = np.unique(said[right], return_counts=True)
    sure = _sureness(choice)
    found: list[int] = []
    for label in classes[np.argsort(-counts, kind="stable")][:MOST_ROWS]:
        own = right[said[right] == label]
        found += _middles(own[np.argsort(sure[own], kind="stable")], 1)
    return found


def _middles(order: Array, parts: int) -> list[int]:
    """The middle of each of some equal parts of an order, each once."""
    places = ((np.arange(parts) + 0.5) * len(order) / parts).astype(int)
    return list(dict.fromkeys(order[places].tolist())) if len(order) else []


def _wrong(choice: Choice) -> list[int]:
    """Places of the test rows with the largest errors, or of the surest mistakes."""
    said, y = choice.answers.predicted, choice.answers.y
    if choice.model.classes_ is None:
        size = np.abs(np.asarray(said, dtype=float) - y)
        order = np.argsort(-size, kind="stable")
        return [int(k) for k in order[:MOST_ROWS] if size[k] > 0]
    mistakes = np.flatnonzero(said != y)
    order = np.argsort(-_sureness(choice)[mistakes], kind="stable")
    return mistakes[order][:MOST_ROWS].tolist()


def _sureness(choice: Choice) -> Array:
    """How probable the predicted class of each test row was; 0 if that is unknown."""
    p = choice.answers.probabilities
    return np.zeros(len(choice.answers.y)) if p is None else p.max(axis=1)


def _explained(choice: Choice, found: Explanation, i: int, row: int) -> ExplainedRow:
    said, true = choice.answers.predicted[row], choice.answers.y[row]
    values, base, of = _for_prediction(found, i, said)
    every = found.reasons(i, said if _has_several(found) else None)
    shown = every[:MOST_REASONS]
    sign = -1.0 if _speaks_against(found, said) else 1.0
    own = tuple(
        Contribution(one.what, sign * one.contribution, signed(sign * one.contribution))
        for one in shown
    )
    rest = float(values.sum() - sum(one.value for one in own))
    return ExplainedRow(
        row=int(choice.split.test[row]) + 1,
        true=_said(true),
        predicted=_said(said),
        of=of,
        average=in_words(base),
        answer=in_words(base + float(values.sum())),
        reasons=own,
        others=len(every) - len(shown),
        rest=signed(rest) if len(every) > len(shown) else "",
    )


def _has_several(found: Explanation) -> bool:
    return found.values.ndim == 3


def _speaks_against(found: Explanation, said: Any) -> bool:
    """Whether contributions are to the second of two classes, and the first is predicted."""
    return len(found.outputs) == 1 and found.outputs[0] != said


def _for_prediction(found: Explanation, i: int, said: Any) -> tuple[Array, float, str]:
    """Contributions to what was predicted for a row, the average, and the class it is."""
    if _has_several(found):
        k = found.outputs.index(said)
        return found.values[i, :, k], float(found.base[k]), str(said)
    if not found.outputs:
        return found.values[i], float(found.base), ""
    if not _speaks_against(found, said):
        return found.values[i], float(found.base), str(said)
    # What speaks for one of two classes speaks as much against the other.
    whole = 1.0 if found.scale in ("probability", "share predicted") else 0.0
    return -found.values[i], whole - float(found.base), str(said)


def _said(value: Any) -> str:
    return in_words(value.item() if isinstance(value, np.generic) else value)
