"""The time limit: what is judged, on how many rows, and what is skipped, by a clock that is set."""

import functools
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from gapless import GaussianNB
from gapless._ground import interrupt
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless._ground.threads import threads
from gapless.choosing import choose
from gapless.choosing.budget import Budget, OwnTime
from gapless.choosing.families import FAMILIES, families_for
from gapless.choosing.family import FitSeconds, facts_of
from gapless.choosing.judging import Judging, seconds_in_words
from gapless.choosing.metric import metric_of
from gapless.choosing.prepared_rows import ByRow
from gapless.choosing.schedule import Schedule
from gapless.choosing.splitting import held_out_part, rows_of
from gapless.data import describe_columns, load_builtin, read_target, table_of


class Clock:
    """Tells the time that is set."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def judging_of(limit, seconds, n=2000, factor=1.0, load=1.0, stand_in=None):
    """Families with the given seconds per fit and 1,000 rows.

    By the clock it takes `load` times as long: a number, or a function of the seconds worked. All
    but the baseline may have a model that stands in for theirs.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, n))
    y = np.where(x[0] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    table = table_of({"x": x[0], "z": x[1], "y": y})
    columns, target = describe_columns(table, "y"), read_target(table, "y")
    facts, clock, work = facts_of(columns, target), Clock(), Clock()
    said = []

    def price(family, times):
        return FitSeconds(0.0, times * 10 * seconds.get(family.name, 1e-6), width=0.0)

    families = [
        replace(
            family,
            seconds=price(family, 1),
            # Folds inside a fit make it five times as expensive.
            folds_seconds=None if family.folds_seconds is None else price(family, 5),
        )
        for family in families_for(facts, list(seconds))
    ]
    if stand_in is not None:
        families = [
            replace(family, make=lambda facts, seed: stand_in()) if family.complexity else family
            for family in families
        ]

    class Slow(Judging):
        def _scored(self, family, rows, on_fit, limit):
            found = super()._scored(family, rows, on_fit, limit)
            each = factor * seconds.get(family.name, 0.0) * rows / 1000
            each *= 1 if family.folds_seconds is None else 5
            took = each * len(self.folds.splits)
            clock.now += took * (load(work.now) if callable(load) else load)
            work.now += took
            return found[0], each, 0.0

    budget = Budget(limit, facts, clock, work)
    metric = metric_of("auto", target.task, target.values)
    rows = rows_of(table, columns, target)
    return Slow(
        rows, columns, metric, budget, 0, 0, lambda *a, text: said.append((*a, text))
    ), families


def run(limit, seconds, **more):
    judging, families = judging_of(limit, seconds, **more)
    return {trial.family.name: trial for trial in Schedule(judging).run(families)}, judging


def test_all_are_judged_on_all_rows_if_there_is_time():
    trials, judging = run(1000.0, {"naive Bayes": 0.1, "linear discriminants": 0.2})
    assert {trial.rows for trial in trials.values()} == {judging.folds.largest}
    assert all(trial.held is not None and not trial.reason for trial in trials.values())


def test_a_dear_family_is_judged_on_some_rows_or_skipped_and_says_what_it_needs():
    some, judging = run(20.0, {"linear discriminants": 3.0})
    assert 500 <= some["linear discriminants"].rows < judging.folds.largest
    assert "all rows would have taken about" in some["linear discriminants"].reason
    none, _ = run(20.0, {"linear discriminants": 300.0})
    assert none["linear discriminants"].held is None
    assert none["linear discriminants"].reason.startswith("needed about 27")
    assert none["majority class"].held is not None


def test_the_budget_is_kept_and_leaves_time_for_the_last_fit():
    for cost in (0.5, 1.0, 3.0, 8.0):
        _, judging = run(20.0, {"linear discriminants": cost, "naive Bayes": 0.2})
        assert judging.budget.seconds <= 20.0
        if judging.best.rows == judging.folds.largest:
            assert judging.budget.left >= judging.test_seconds(judging.best)


def test_time_is_kept_for_preparing_the_rows_of_the_test():
    """Of long texts it takes longer than to predict them; a run went beyond its limit by it."""
    _, judging = run(1000.0, {"linear discriminants": 0.1})
    best = judging.best
    judging.test_rows = 400
    before, kept = judging.test_seconds(best), judging.end_seconds(best)
    # Of 100 rows to learn from and 300 to be asked, each took 0.125 s.
    judging.budget.learn_preparing(best.family.kind, 100, 300, 50.0)
    assert judging.test_seconds(best) == before + 2 * 400 * 0.125
    assert judging.end_seconds(best) >= kept + 2 * 400 * 0.125


def test_no_part_is_prepared_that_would_end_after_the_limit(monkeypatch):
    """Preparing long texts cannot be stopped, so that it must not begin."""
    judging, [_, family] = judging_of(20.0, {"linear discriminants": 1e-6})
    clock, prepared = judging.budget.clock, []
    prepare = ByRow.prepare

    def slow(self, rows):
        clock.now += 6.0
        prepared.append(clock.now)
        return prepare(self, rows)

    monkeypatch.setattr(ByRow, "prepare", slow)
    trial = judging.judge(family, judging.folds.largest, 19.0)
    assert trial.held is None and trial.reason.startswith("after")
    assert prepared == [6.0, 12.0, 18.0]


def test_every_family_is_looked_at_before_one_has_all_the_time():
    names = ("naive Bayes", "linear discriminants", "pruned tree", "logistic regression")
    trials, _ = run(20.0, {name: 0.5 + 0.1 * k for k, name in enumerate(names)}, n=7000)
    assert all(trial.rows >= 500 and trial.held is not None for trial in trials.values())


def test_the_best_is_judged_on_all_rows_though_there_may_be_no_time_for_the_last_fit():
    trials, judging = run(20.0, {"linear discriminants": 0.36}, n=8000)
    best = trials["linear discriminants"]
    assert best.rows == judging.folds.largest
    first = replace(best, rows=2500)
    kept = judging.need_again(first, best.rows) + judging.end_seconds(best)
    assert kept > 20.0 - (best.seconds - judging.need(best.family, best.rows))


def test_guesses_are_corrected_by_what_fits_took():
    _, judging = run(1000.0, {"linear discriminants": 0.1}, factor=7.0)
    family = families_for(judging.budget.facts, ["linear discriminants"])[-1]
    slow = replace(family, seconds=FitSeconds(0.0, 1.0, width=0.0))
    # Measured times are rounded to half a doubling: 7 to 8.
    assert judging.budget.fit_seconds(slow, 1000) == pytest.approx(0.8)


def test_rows_for_a_number_of_seconds_are_the_most_that_fit_in():
    judging, families = judging_of(10.0, {"linear discriminants": 1.0})
    family = families[-1]
    rows = judging.budget.rows_for(family, 0.5, 2000, 2000)
    assert judging.budget.fit_seconds(family, rows) <= 0.5
    assert judging.budget.fit_seconds(family, rows + 1) > 0.5
    assert judging.budget.rows_for(family, -1.0, 2000, 1) == 0


def test_smaller_fits_have_a_fair_share_of_classes_and_are_held_in_larger_ones():
    judging, _ = judging_of(10.0, {"linear discriminants": 1.0})
    train = judging.folds.splits[0][0]
    few, more = judging.folds.some(train, 100), judging.folds.some(train, 400)
    assert set(few) < set(more) < set(train)
    share = np.mean(judging.rows.y[train] == "yes")
    assert abs(np.mean(judging.rows.y[few] == "yes") - share) <= 0.02


def test_a_tiny_limit_still_gives_an_answer():
    choice = choose(load_builtin("iris"), "species", time_limit=1e-6)
    assert choice.chosen == "majority class"
    assert all(one.status == "skipped" for one in choice.candidates if one.complexity)
    assert any("there was no time" in note for note in choice.notes)


def test_a_limit_around_it_holds():
    with time_limit(0), pytest.raises(TimeLimit, match="no time for any model"):
        choose(load_builtin("iris"), "species", time_limit=None)


def test_ctrl_c_ends_it_at_once():
    def stop(event):
        if event.stage == "judged":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose(load_builtin("iris"), "species", on_progress=stop)


def test_seconds_in_words():
    assert [seconds_in_words(x) for x in (0.04, 3.21, 12.6)] == ["0.0 s", "3.2 s", "13 s"]


def test_a_family_that_was_stopped_says_on_what_and_one_that_was_skipped_what_is_kept(monkeypatch):
    judging, (_, family) = judging_of(20.0, {"linear discriminants": 0.1})

    def too_slow(*args):
        judging.budget.clock.now += 2.0
        judging.budget.work.now += 2.0
        raise TimeLimit("over")

    judging.judge(families_for(judging.budget.facts)[0], 1600, None)
    monkeypatch.setattr(judging, "_scored", too_slow)
    stopped = judging.judge(family, 800, 1.0)
    assert stopped.held is None
    assert stopped.reason.startswith("after 2.0 s on 800 rows; needed about")
    judging.skip(family, 30.0)
    assert judging.trials[family.name].reason == "needed about 30 s, with 18 s left"
    monkeypatch.setattr(judging, "end_seconds", lambda best: 5.0)
    judging.skip(family, 30.0)
    assert judging.trials[family.name].reason.endswith("reserved for the last fit and the test)")


def test_predicting_many_held_out_rows_counts_before_the_first_fit():
    judging, (_, family) = judging_of(20.0, {"linear discriminants": 1.0})
    assert judging.need(replace(family, asking=1.0), 500) > judging.need(family, 500) + 1.0


def test_guesses_from_few_rows_are_doubted():
    judging, (_, family) = judging_of(20.0, {"linear discriminants": 1.0})
    few, many = (replace(judging.untried(family), rows=rows) for rows in (100, 1600))
    assert judging.need_again(many, 1600) == judging.need(family, 1600)
    assert judging.need_again(few, 1600) == pytest.approx(16**0.15 * judging.need(family, 1600))
    rows = judging.rows_within(few, 8.0)
    assert judging.need_again(few, rows) <= 8.0 < judging.need_again(few, rows + 1)
    assert rows < judging.rows_within(many, 8.0)
    fit = judging.budget.rows_for
    assert 0 < fit(family, 1.0, 2000, 100) < fit(family, 1.0, 2000, 2000)


def test_what_is_kept_for_the_end_counts_the_rows_that_are_held_out():
    """Of long tables a fifth is, and no more than 20,000."""
    facts = judging_of(20.0, {"naive Bayes": 1.0})[0].budget.facts
    keeps = {rows: Budget(1.0, replace(facts, rows=rows)).closing for rows in (19_999, 20_000)}
    assert keeps[20_000] < keeps[19_999] - 0.1
    assert [held_out_part(rows) for rows in (500, 20_000, 1_000_000)] == [1.0, 0.2, 0.02]


class Sleeper(ClassifierMixin, BaseEstimator):
    """Takes a tenth of a second by the given clocks, and always says the first class."""

    clocks = ()

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        for clock in self.clocks:
            clock.now += 0.1
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    "seconds, together, is_judged",
    [(0.3, 60.0, True), (0.3, None, False), (0.3, 0.4, False), (0.05, 60.0, False)],
)
def test_folds_go_on_if_the_first_was_in_time(seconds, together, is_judged, monkeypatch):
    judging, families = judging_of(1000.0, {"naive Bayes": 0.1}, n=100)
    clock = judging.budget.clock
    monkeypatch.setattr(Sleeper, "clocks", (clock, judging.budget.work))
    # Limits go by the same clock; in the core, which has its own, they never end.
    far = time.monotonic() + 1e6
    monkeypatch.setattr(interrupt, "time", SimpleNamespace(monotonic=lambda: far + clock.now))
    family = replace(families[-1], make=lambda facts, seed: Sleeper())
    trial = judging.judge(family, 80, seconds, together)
    assert (trial.held is not None) == is_judged
    if not is_judged:
        assert trial.reason.startswith("after ")


# ---- the load of the machine ---------------------------------------------------------------------

SLOW = {"linear discriminants": 0.4, "naive Bayes": 0.2, "pruned tree": 0.7, "boosted trees": 0.3}


@functools.cache
def looks_of(load, limit=60.0, seconds=SLOW, n=2000):
    """Which families were judged on how many rows, and in which form, at a load."""
    trials, judging = run(limit, seconds, n=n, load=load, stand_in=GaussianNB)
    assert judging.budget.seconds <= limit
    return {name: (trial.rows, trial.family.form) for name, trial in trials.items()}


def test_the_load_of_the_machine_does_not_change_what_is_judged():
    """A load that the limit does not allow costs rows, and not time."""
    idle = looks_of(1.0)
    assert looks_of(2.0) == looks_of(lambda worked: 1.0 + worked % 3.0) == idle
    busy = looks_of(6.0)
    assert busy != idle and all(busy[name][0] <= idle[name][0] for name in idle)


def test_no_fit_may_take_longer_than_the_clock_allows():
    judging, _ = judging_of(20.0, {"naive Bayes": 1.0})
    budget = judging.budget
    budget.clock.now, budget.work.now = 15.0, 3.0
    assert budget.load == 5.0
    assert budget.on_clock(0.1) == pytest.approx(0.1 * 5 * 1.5)
    assert budget.on_clock(10.0) == budget.clock_left < 5.0
    assert budget.left == budget.clock_left / 5 and budget.shared == budget.clock_left


def test_own_time_counts_work_and_not_waiting(monkeypatch):
    """Of this thread, or of all threads shared among the cores; by clocks that stop in sleep."""
    thread, process = Clock(), Clock()
    monkeypatch.setattr(time, "thread_time", thread)
    monkeypatch.setattr(time, "process_time", process)
    with threads(4):
        own = OwnTime()
        time.sleep(1e-3)
        assert own() == 0.0
        thread.now, process.now = 1.0, 1.5
        assert own() == 1.0
        process.now += 8.0  # of other threads, while this one waits
        assert own() == 3.0


def test_boosting_without_folds_and_a_linear_model_go_first_on_all_rows():
    """However expensive folds are, and whatever else there is to try."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 300))
    table = table_of({"a": x[0], "b": x[1], "c": x[2], "y": x[0] * x[1] + rng.normal(size=300)})
    models, said = ["ridge regression", "boosted trees", "kernel ridge"], []
    choice = choose(table, "y", models=models, time_limit=60.0, on_progress=said.append)
    judged = list(dict.fromkeys(event.model for event in said if event.stage == "judging"))
    assert judged[:3] == ["mean", "ridge regression", "boosted trees"]
    assert choice["boosted trees"].rows == choice["mean"].rows


def test_quick_forms_give_way_to_folds_if_there_is_time():
    family = next(f for f in FAMILIES if f.name == "boosted trees" and f.task == "regression")
    facts = judging_of(10.0, {})[0].budget.facts
    quick = family.quicker(facts)
    assert quick.full is family and quick.form == ("boosted trees", True)
    assert family.build(facts, 0).max_iter == "cv" and quick.build(facts, 0).max_iter != "cv"
    assert quick.guess_seconds(facts, 1000) < family.guess_seconds(facts, 1000)
    assert quick.quicker(facts) is None
    assert family.quicker(replace(facts, rows=100_000)) is None
