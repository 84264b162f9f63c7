"""The score of a winner is honest: at chance without signal, and right with it."""

from dataclasses import replace

import numpy as np
import pytest

from gapless import LogisticRegression, LogisticRegressionCV, RidgeClassifier, RidgeClassifierCV
from gapless._ground.design import Design
from gapless.losses import Logistic, Softmax, Squared, SquaredHinge
from gapless.penalties import L2
from gapless.problem.problem import Problem
from gapless.solvers import solve
from gapless.solvers.newton_along_path import newton_path
from gapless.unseen.leave_one_out import keep_shares, leave_out, ridge_path_leave_out
from gapless.unseen.result import Disagreement, Generalization
from gapless.unseen.search import ScoredChoice, Search
from gapless.unseen.selection_bias import Corrected, correct

STRENGTHS = np.geomspace(1e5, 1e-1, 15)
COLUMNS, RUNS = 200, 40


@pytest.fixture
def rng():
    """Fixed, because simulated frequencies are compared with what is expected of them."""
    return np.random.default_rng(0)


def problem_of(X, y, loss, strength=1.0, weights=None, outputs=None):
    weights = np.ones(len(y)) if weights is None else weights
    return Problem(Design(X), y, loss, L2(strength), weights, True, outputs)


# ---- the promise ---------------------------------------------------------------------------------


def ridge_tuning(X, y):
    """Held-out predictions (n, m), scores to choose by, and the models, for all strengths."""
    path = ridge_path_leave_out(Design(X), y, np.ones(len(y)), STRENGTHS, keep=True)
    return path.z, -((path.z - y[:, None]) ** 2), path.coefficients, path.intercepts, Squared()


def logistic_tuning(X, y):
    """The same for logistic regression, solved in the space of its rows, of which there are fewer.

    Choosing is by the log loss of one Newton step without the row.
    """
    L = np.linalg.cholesky(X @ X.T)
    basis = np.linalg.solve(L, X).T
    problem = problem_of(L, y, Logistic())
    stations = list(newton_path(problem, STRENGTHS, tol=1e-4))
    held, w, b = [], [], []
    for strength, station in zip(STRENGTHS, stations, strict=True):
        part = replace(problem, penalty=L2(strength))
        held.append(leave_out(part, station.parameters).z)
        w.append(basis @ station.parameters.w)
        b.append(float(station.parameters.b))
    z = np.stack(held, axis=1)
    return z, -Logistic().value(y[:, None], z), np.array(w), np.array(b), Logistic()


def reported(tuning, X, y, by_accuracy):
    """The corrected accuracy of the tuned model, and the model."""
    z, proper, w, b, loss = tuning(X, y)
    problem = problem_of(X, y, loss)
    classes = (y > 0).astype(int)
    kept = np.stack([keep_shares(problem, column, classes) for column in z.T], axis=1)
    hits = ((kept > 0) == (y > 0)[:, None]).astype(float)
    result = correct(hits, choose_by=None if by_accuracy else proper)
    return result, w[result.winner], b[result.winner]


CASES = [(ridge_tuning, True, 80), (ridge_tuning, False, 80), (logistic_tuning, False, 50)]


@pytest.mark.parametrize(
    ("tuning", "by_accuracy", "n", "are_balanced"),
    [(*case, True) for case in CASES] + [(*case, False) for case in CASES[:2]],
)
def test_shuffled_labels_stay_at_chance(tuning, by_accuracy, n, are_balanced, rng):
    """Within 2 standard errors in 95 % of the runs, also where leave-one-out alone says 0."""
    inside = 0
    for _ in range(RUNS):
        X = rng.standard_normal((n, COLUMNS))
        drawn = rng.permutation(np.arange(n) % 2) if are_balanced else rng.integers(0, 2, n)
        result, _, _ = reported(tuning, X, 2.0 * drawn - 1, by_accuracy)
        inside += abs(result.unseen - 0.5) <= 2 * result.standard_error
    assert inside >= 0.95 * RUNS


@pytest.mark.parametrize(("tuning", "by_accuracy", "n"), CASES)
def test_real_signal_is_what_a_large_test_set_says(tuning, by_accuracy, n, rng):
    beta = np.where(np.arange(COLUMNS) < 10, 1.0, 0.0)

    def sample(size):
        X = rng.standard_normal((size, COLUMNS))
        return X, np.sign(X @ beta + rng.logistic(size=size))

    inside, errors = 0, []
    unseen, truth = sample(10_000)
    for _ in range(RUNS):
        X, y = sample(n)
        result, w, b = reported(tuning, X, y, by_accuracy)
        accuracy = np.mean(np.sign(unseen @ w + b) == truth)
        inside += abs(result.unseen - accuracy) <= 2 * result.standard_error
        errors.append((result.unseen - accuracy) / result.standard_error)
    assert inside >= 0.95 * RUNS
    assert abs(np.mean(errors)) < 0.5


BY_FOLDS = {"cv": 3, "l1_ratios": (0,), "scoring": "accuracy", "use_legacy_attributes": False}
TUNED = [
    (RidgeClassifierCV(STRENGTHS[::3]), 20),
    (RidgeClassifierCV(STRENGTHS[::3], cv=3), 20),
    (LogisticRegression(C="loo", tol=1e-4), 10),
    (LogisticRegressionCV(Cs=[1e-2, 1.0], **BY_FOLDS), 10),
]


@pytest.mark.parametrize(
    ("model", "runs", "signal"),
    [(*case, 0.0) for case in TUNED] + [(*case, 1.0) for case in TUNED[1::2]],
)
@pytest.mark.usefixtures("no_verdict")
def test_tuned_models_keep_the_promise(model, runs, signal, rng):
    """The same through the estimators, by leave-one-out and by folds."""
    beta, inside = np.where(np.arange(80) < 10, signal, 0.0), 0
    unseen = rng.standard_normal((2000, 80))
    truth = unseen @ beta + rng.logistic(size=2000) > 0
    for _ in range(runs):
        X = rng.standard_normal((50, 80))
        y = X @ beta + rng.logistic(size=50) > 0
        result = model.fit(X, y if signal else rng.permutation(np.arange(50) % 2)).generalization_
        expected = np.mean(model.predict(unseen) == truth) if signal else 0.5
        inside += abs(result.unseen - expected) <= 2 * result.standard_error
    assert inside >= 0.95 * runs


# ---- shares of classes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss", [Squared(), Logistic(), SquaredHinge()], ids=lambda loss: loss.name
)
@pytest.mark.parametrize("strength", [1e4, 1e9])
def test_balanced_noise_is_at_chance_where_leave_one_out_says_none_is_right(loss, strength, rng):
    plain, kept = [], []
    for _ in range(10):
        X, classes = rng.standard_normal((40, 50)), rng.permutation(np.arange(40) % 2)
        problem = problem_of(X, 2.0 * classes - 1, loss, strength)
        z = leave_out(problem, solve(problem, tol=1e-8).parameters).z
        plain.append(np.mean((z > 0) == classes))
        kept.append(np.mean((keep_shares(problem, z, classes) > 0) == classes))
    assert np.mean(plain) < 0.1
    assert abs(np.mean(kept) - 0.5) < 0.1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("n", [30, 60])
@pytest.mark.parametrize("model", [LogisticRegression(C=1e-6), RidgeClassifier(1e7)])
@pytest.mark.usefixtures("no_verdict")
def test_models_that_learned_nothing_of_balanced_classes_say_chance(model, n, classes, rng):
    X, y = rng.standard_normal((n, 20)), rng.permutation(np.arange(n) % classes)
    result = model.fit(X, y).generalization_
    assert abs(result.unseen - 1 / classes) <= 2 * result.standard_error
    assert "stratified by class" in result.method


def test_shares_are_kept_for_several_classes(rng):
    X, y = rng.standard_normal((45, 60)), rng.permutation(np.arange(45) % 3)
    problem = problem_of(X, y, Softmax(), 1e7, outputs=3)
    z = leave_out(problem, solve(problem, tol=1e-8).parameters).z
    assert np.all(z.argmax(axis=1) != y)
    assert np.mean(keep_shares(problem, z, y).argmax(axis=1) == y) == pytest.approx(1 / 3)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("are_weighted", [False, True])
def test_shares_are_kept_as_by_a_refit_with_the_class_weighted_up(loss, are_weighted, rng):
    """Without features this is the refit in which the rest of class k weighs S_k/(S_k − sᵢ)."""
    n, classes = 12, np.arange(12) % 3 % 2
    X, y = 1e-9 * rng.standard_normal((n, 1)), 2.0 * classes - 1
    weights = rng.uniform(0.5, 2, n) if are_weighted else np.ones(n)
    problem = problem_of(X, y, loss, 1.0, weights)
    z = leave_out(problem, solve(problem, tol=1e-12).parameters).z
    kept = keep_shares(problem, z, classes)
    for i in range(n):
        s, mine = weights.copy(), classes == classes[i]
        s[i] = 0.0
        s[mine] *= weights[mine].sum() / s[mine].sum()
        real = float(solve(replace(problem, weights=s), tol=1e-12).parameters.b)
        # What is left is of second order, and nothing for least squares without weights.
        room = 0.3 if are_weighted or loss.name != "squared" else 1e-6
        assert abs(kept[i] - real) < room * abs(z[i] - real)


def test_shares_obey_the_law_of_weights(rng):
    X, classes = rng.standard_normal((20, 3)), np.arange(20) % 2
    y, weights = 2.0 * classes - 1, rng.integers(0, 3, 20).astype(float)
    rows = np.repeat(np.arange(20), weights.astype(int))
    held = []
    for part, s in ((np.arange(20), weights), (rows, np.ones(len(rows)))):
        problem = problem_of(X[part], y[part], Logistic(), 5.0, s)
        z = leave_out(problem, solve(problem, tol=1e-10).parameters).z
        held.append(keep_shares(problem, z, classes[part]))
    np.testing.assert_allclose(held[1], held[0][rows], atol=1e-6)


def test_nothing_moves_without_a_bias_or_when_a_class_has_one_row(rng):
    X, y = rng.standard_normal((10, 2)), np.array([1.0] + [-1.0] * 9)
    problem = problem_of(X, y, Logistic())
    z, classes = rng.standard_normal(10), (y > 0).astype(int)
    assert keep_shares(problem, z, classes)[0] == z[0]
    free = replace(problem, fit_bias=False)
    np.testing.assert_array_equal(keep_shares(free, z, classes), z)


# ---- the correction itself -----------------------------------------------------------------------


def test_the_best_of_many_coins_is_a_coin(rng):
    means = [correct(rng.integers(0, 2, (100, 40))).unseen for _ in range(30)]
    assert abs(np.mean(means) - 0.5) < 0.02


def test_a_clear_winner_keeps_its_score(rng):
    scores = rng.standard_normal((200, 10))
    scores[:, 4] += 2
    result = correct(scores)
    assert result.winner == 4
    assert result.unseen == pytest.approx(scores[:, 4].mean(), abs=1e-12)
    assert result.optimism == pytest.approx(0.0, abs=1e-12)
    assert result.standard_error == pytest.approx(np.sqrt(3 / 200) * scores[:, 4].std(ddof=1))


def test_one_configuration_needs_no_correction(rng):
    scores = rng.standard_normal((30, 1))
    assert correct(scores).optimism == pytest.approx(0.0, abs=1e-12)


def test_optimism_is_what_the_correction_took_away(rng):
    scores, weights = rng.standard_normal((50, 20)), rng.uniform(0.5, 2, 50)
    result = correct(scores, weights)
    means = np.average(scores, axis=0, weights=weights)
    assert result.winner == means.argmax()
    assert result.optimism > 0
    assert result.unseen + result.optimism == pytest.approx(means.max())


def test_weight_0_is_no_row_and_the_unit_of_weights_does_not_matter(rng):
    scores, weights = rng.standard_normal((40, 8)), rng.integers(0, 3, 40).astype(float)
    result = correct(scores, weights)
    assert correct(scores[weights > 0], weights[weights > 0]) == result
    other = correct(scores, 10 * weights)
    assert other.unseen == pytest.approx(result.unseen)
    assert other.standard_error == pytest.approx(result.standard_error)


def test_more_weight_on_a_row_draws_the_score_to_it(rng):
    scores = rng.standard_normal((40, 3)) + np.array([0.0, 0.0, 3.0])
    scores[0] += 50
    heavy = np.ones(40)
    heavy[0] = 5.0
    assert correct(scores, heavy).unseen > correct(scores).unseen + 2


def test_the_seed_decides_and_nothing_else(rng, monkeypatch):
    scores = rng.standard_normal((60, 20))
    result = correct(scores)
    assert correct(scores) == result
    assert correct(scores, seed=1).unseen != result.unseen
    assert abs(correct(scores, seed=1).unseen - result.unseen) < result.standard_error / 5
    assert correct(scores[:, ::-1]).unseen == pytest.approx(result.unseen)


def test_the_winner_may_be_chosen_by_other_scores(rng):
    scores, others = rng.standard_normal((50, 6)), rng.standard_normal((50, 6))
    others[:, 2] += 3
    result = correct(scores, choose_by=others)
    assert result.winner == 2
    assert result.unseen == pytest.approx(scores[:, 2].mean())


def test_the_simplest_within_a_standard_error_wins(rng):
    noise = rng.standard_normal((400, 1))
    steps = np.array([0.0, 0.9, 0.98, 1.0, 0.5])  # one standard error is 0.05
    scores = noise + steps + 1e-3 * rng.standard_normal((400, 5))
    assert correct(scores).winner == 3
    assert correct(scores, within=1.0).winner == 2
    assert correct(scores, within=3.0).winner == 1


def test_the_simplest_is_sought_in_the_family_of_the_best(rng):
    noise = rng.standard_normal((400, 1))
    scores = noise + np.array([0.98, 0.0, 0.99, 1.0]) + 1e-3 * rng.standard_normal((400, 4))
    assert correct(scores, within=1.0).winner == 0
    assert correct(scores, within=1.0, families=[0, 1, 1, 1]).winner == 2


def test_another_choice_is_corrected_by_the_optimism_of_the_winner(rng):
    scores = rng.standard_normal((50, 20))
    best = correct(scores)
    other = (best.winner + 1) % 20
    result = correct(scores, chosen=other)
    assert best.is_winner and not result.is_winner
    assert result.winner == other
    assert result.optimism == best.optimism
    assert result.unseen == pytest.approx(scores[:, other].mean() - best.optimism)
    assert correct(scores, chosen=best.winner) == best


def test_ties_go_to_the_first():
    assert correct(np.ones((5, 3))) == Corrected(0, 1.0, 0.0, 0.0)


def test_two_rows_are_enough():
    result = correct([[0.0, 1.0], [1.0, 0.0]])
    assert np.isfinite(result.unseen) and np.isfinite(result.standard_error)


def test_it_prints_as_a_sentence():
    assert str(Corrected(3, 0.8123, 0.021, 0.013)) == (
        "configuration 3 scores 0.8123 ± 0.021 on unseen rows; selection had inflated it by 0.013."
    )


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (np.ones(5), {}, "rows × configurations"),
        (np.ones((5, 0)), {}, "rows × configurations"),
        (np.ones((1, 2)), {}, "at least 2 rows"),
        (np.ones((5, 2)), {"weights": np.ones(4)}, "there are 5 rows"),
        (np.ones((5, 2)), {"weights": -np.ones(5)}, "≥ 0"),
        (np.ones((5, 2)), {"choose_by": np.ones((5, 3))}, "choose_by has shape"),
        (np.array([[1.0, 2.0], [np.nan, 1.0]]), {}, "row 1 by configuration 0 is nan"),
    ],
)
def test_bad_input_is_refused(scores, options, message):
    with pytest.raises(ValueError, match=message):
        correct(scores, **options)


def test_one_configuration_owes_nothing_to_a_choice(monkeypatch, rng):
    """It wins every bag, so that none has to be drawn."""
    scores = rng.random((50, 1))
    monkeypatch.setattr("gapless.unseen.selection_bias._bags", lambda n, seed: pytest.fail("drawn"))
    found = correct(scores)
    assert (found.optimism, found.unseen) == (0.0, pytest.approx(scores.mean()))


def _choice_of_coins(*, is_whole):
    """The best of 50 coins by 100 tosses, after two that were tried before, and an estimate."""
    tosses = np.random.default_rng(0).integers(0, 2, (100, 50)).astype(float)
    best = int(tosses.mean(axis=0).argmax())
    numbers = np.arange(52.0)
    search = Search({"coin": numbers}, numbers, numbers, np.full(52, 100), 2 + best, "accuracy")
    weights = np.ones(100)
    choice = ScoredChoice(search, tosses, tosses, weights, is_whole=is_whole, is_rough=True)
    verdict = "balanced: as it is."
    return choice, Generalization("accuracy", 0.7, 0.6, 0.01, 0.1, "span", None, verdict)


def test_scores_that_are_rough_only_tell_how_much_selection_inflates_an_estimate():
    choice, plain = _choice_of_coins(is_whole=True)
    honest = choice.honest()
    assert honest.is_winner and honest.optimism > 0.05
    found = choice.corrected(plain)
    assert found.unseen == plain.unseen - honest.optimism
    assert found.standard_error == honest.standard_error > plain.standard_error
    assert found.method == "span, corrected for selection among 50 models"


def test_a_sample_that_has_chosen_is_said_to_be_one_and_leaves_the_error_of_all_rows():
    choice, plain = _choice_of_coins(is_whole=False)
    found = choice.corrected(plain)
    assert found.unseen == plain.unseen - choice.honest().optimism
    assert found.standard_error == plain.standard_error
    assert found.method == "span, corrected for selection among 50 models on 100 rows"


@pytest.mark.parametrize(
    "method, refuted, kind, is_checked",
    [("loo", (), "over-fitted", True), ("5-fold", ("over-fitted",), "balanced", False)],
)
def test_a_search_by_folds_answers_for_its_winner(method, refuted, kind, is_checked):
    """What was tried and lost is not advised, and no refits are needed to check real folds."""
    choice, plain = _choice_of_coins(is_whole=True)
    choice = replace(choice, is_rough=False, method=method, refuted=refuted)
    check = Disagreement(20, 0.01, 0.001, 0.1, 0.0)
    plain = replace(plain, disagreement=check, verdict="over-fitted: by much.")
    found = choice.corrected(plain)
    assert found.kind == kind
    assert found.disagreement == (check if is_checked else None)
    assert found.method == f"{method}, corrected for selection among 50 models"


def test_a_choice_is_scored_when_its_estimate_is_wanted_and_then_forgotten():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    model = LogisticRegression(C="loo").fit(X, y)
    scored = model._choice.scored(model, model._remembered(""))
    assert isinstance(scored, ScoredChoice) and scored.weights.sum() == 60
    count = scored.by.shape[1]
    assert model.generalization_.method.endswith(f"selection among {count} models")
    assert "_choice" not in vars(model)
