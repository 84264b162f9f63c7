"""Choices made by hand, so that the report is tested apart from how models are chosen."""

import numpy as np

from gapless.choosing.choice import Answers, Candidate, Choice
from gapless.choosing.fitted_models import settings_of, tuning_of
from gapless.choosing.metric import metric_of
from gapless.choosing.table_model import TableModel
from gapless.data import Split, describe_columns, find_leaks, prepare, read_target
from gapless.evaluation import hold_out

NASTY = '<script>alert("x")</script>\n\'quoted\' & "long" ' + "name " * 40
CODE = "import gapless\nprint('the same model')\n"


def made_choice(table, target, model, kind="numbers", *, metric="auto", seed=0, **columns_of):
    """The choice of one model, with a null model and a skipped one next to it."""
    columns = describe_columns(table, target, **columns_of)
    wanted = read_target(table, target)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(wanted.rows)
    split = Split(np.sort(rows[len(rows) // 4 :]), np.sort(rows[: len(rows) // 4]))
    fitted = TableModel(prepare(columns, kind, model), target, metric=metric)
    fitted.fit(table, rows=split.train)
    fitted.columns_ = columns
    measure = metric_of(metric, wanted.task, wanted.values)
    y = wanted.values[np.searchsorted(wanted.rows, split.test)]
    frame = table.frame[split.test]
    judged = _judged(fitted, table, wanted, split, measure)
    if wanted.task == "regression":
        own = wanted.values[np.searchsorted(wanted.rows, split.train)]
        fitted.expect(0.5, 0.1, own - fitted.predict(table.frame[split.train]))
    null = _Always(np.full(len(y), _constant(wanted, split)), fitted.classes_)
    return Choice(
        target=target,
        task=wanted.task,
        metric=measure.name,
        higher_is_better=not measure.is_loss,
        method="hold-out",
        candidates=(
            Candidate("null model", "Null", 0, "judged", train=0.5, unseen=0.5, seconds=0.1),
            judged,
            Candidate("giant model", "Giant", 9, "skipped", "it would need about 300 s"),
        ),
        best="tried model",
        chosen="tried model",
        expected=judged.unseen,
        expected_error=judged.standard_error,
        expected_range=(
            judged.unseen - 4 * judged.standard_error,
            judged.unseen + 4 * judged.standard_error,
        ),
        test=measure.score(fitted, frame, y),
        baseline=measure.score(null, frame, y),
        ahead=measure.ahead(fitted, null, frame, y),
        findings=find_leaks(table, columns, wanted, split),
        columns=columns,
        notes=("a test part of a quarter was set aside",),
        source=table.source,
        rows=len(wanted.rows),
        code=CODE,
        seconds=1.25,
        seed=seed,
        model=fitted,
        split=split,
        answers=_answers(fitted, frame, y),
    )


class _Always:
    """Says the same of all rows."""

    def __init__(self, said, classes):
        self.said, self.classes = said, classes

    def predict(self, X):
        return self.said

    def predict_proba(self, X):
        return np.full((len(self.said), len(self.classes)), 1 / len(self.classes))


def _constant(wanted, split):
    values = wanted.values[np.isin(wanted.rows, split.train)]
    if wanted.task == "regression":
        return values.mean()
    labels, counts = np.unique(values, return_counts=True)
    return labels[np.argmax(counts)]


def _judged(fitted, table, wanted, split, measure):
    rows = split.train
    values = wanted.values[np.searchsorted(wanted.rows, rows)]
    found = hold_out(fitted.pipeline_, table.frame[rows], values, scoring=measure)
    return Candidate(
        "tried model",
        type(fitted.pipeline_[-1]).__name__,
        3,
        "judged",
        rows=len(rows),
        train=measure.with_own_sign(found.train),
        unseen=measure.with_own_sign(found.unseen),
        standard_error=found.standard_error,
        gap=found.gap,
        behind=0.0,
        behind_error=0.0,
        optimality=_certified(fitted.pipeline_[-1]),
        generalization=found.verdict,
        seconds=0.5,
        settings=settings_of(fitted.pipeline_),
        tuning=tuning_of(fitted.pipeline_),
    )


def _certified(model):
    certificate = getattr(model, "certificate_", None)
    return "" if certificate is None else str(certificate.verdict)


def _answers(fitted, frame, y):
    said = fitted.predict(frame)
    if fitted.classes_ is None:
        found = fitted.predict_interval(frame)
        return Answers(y, said, None, found.lower, found.upper, 0.9)
    has = hasattr(fitted, "predict_proba")
    return Answers(y, said, fitted.predict_proba(frame) if has else None)
