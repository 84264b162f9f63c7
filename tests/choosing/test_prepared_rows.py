"""What families share: prepared rows, folds, and the rows of smaller fits."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from gapless.choosing import Folds, choose, rows_of, set_aside
from gapless.choosing.families import CLASSIFIERS
from gapless.choosing.prepared_rows import ByRow, Preparation
from gapless.data import TableFeatures, describe_columns, prepare, read_target, table_of
from gapless.models.bayes import LinearDiscriminantAnalysis
from gapless.models.trees import DecisionTreeClassifier


def mixed(n=240):
    """Numbers with gaps, levels, and classes that depend on both."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    level = rng.choice(["a", "b", "c"], n)
    y = np.where(x + (level == "a") + rng.normal(size=n) > 0.3, "yes", "no")
    gaps = [None if k % 9 == 0 else float(v) for k, v in enumerate(x)]
    return table_of(pl.DataFrame({"x": gaps, "z": rng.normal(size=n), "level": level, "y": y}))


@pytest.mark.parametrize(
    ("kind", "model"),
    [("numbers", LinearDiscriminantAnalysis()), ("table", DecisionTreeClassifier(max_depth=3))],
)
def test_a_shared_preparation_gives_the_same_model_as_its_own(kind, model):
    table = mixed()
    columns, target = describe_columns(table, "y"), read_target(table, "y")
    train, test = np.arange(0, 200), np.arange(200, 240)
    alone = prepare(columns, kind, model).fit(table.frame[train], target.values[train])
    preparation = Preparation(table.frame)
    for _ in range(2):  # the second time from memory
        one = ByRow(prepare(columns, kind, model), preparation, (kind,))
        one.fit(train[:, None], target.values[train])
        assert_array_equal(one.predict_proba(test[:, None]), alone.predict_proba(table.frame[test]))
        assert_array_equal(one.pipeline.predict(table.frame), alone.predict(table.frame))


def test_rows_are_prepared_once_for_all_families_of_a_kind(monkeypatch):
    fits = []
    learn = TableFeatures._learn

    def counted(self, frame):
        fits.append(len(self.columns))
        learn(self, frame)

    monkeypatch.setattr(TableFeatures, "_learn", counted)
    models = "linear discriminants, linear SVM, logistic regression"
    choose(mixed(), "y", models=models, time_limit=None)
    # Five folds for the three of them, five of one column for the null model, and the last fit.
    assert len(fits) == 11


def test_the_code_learns_from_the_same_fewer_rows(monkeypatch):
    lda = next(family for family in CLASSIFIERS if family.name == "linear discriminants")
    monkeypatch.setattr("gapless.choosing.family.Family.most_rows", lambda self, facts: 80)
    table = mixed()
    choice = choose(table, "y", models=lda.name, time_limit=None)
    assert choice.chosen == lda.name
    assert choice.model.rows_ == 80
    assert "folds.first(80)" in choice.code
    space = {"frame": table.frame}
    exec(choice.code, space)
    assert space["model"].rows_ == 80
    assert_array_equal(space["model"].predict_proba(table), choice.model.predict_proba(table.frame))


def test_in_time_the_first_training_part_has_the_longest_past():
    table = mixed()
    table = table_of(table.frame.with_columns(day=pl.int_range(table.frame.height)))
    columns = describe_columns(table, "y", time="day")
    target = read_target(table, "y")
    split = set_aside(table, columns, target)
    folds = Folds(rows_of(table, columns, target, split.train), target.task)
    sizes = [len(train) for train, _ in folds.splits]
    assert sizes == sorted(sizes, reverse=True)
    assert all(train.max() < test.min() for train, test in folds.splits)
    assert_array_equal(folds.of_all(10), np.arange(len(folds.rows))[-10:])
