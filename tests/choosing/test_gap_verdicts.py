"""The words for a gap: they follow its size against its error, and against what is gained."""

from dataclasses import replace

import pytest

from gapless.choosing.choice import Candidate
from gapless.choosing.gap_verdicts import with_gap_verdicts
from gapless.choosing.metric import Metric

ACCURACY, LOSS = Metric("accuracy"), Metric("mae")
NULL = Candidate(
    *("null model", "Null", 0, "judged"),
    train=0.5,
    unseen=0.5,
    gap=0.0,
    behind=0.3,
    is_clearly_behind=True,
)


def judged(family, complexity, train, unseen, *, error=0.01, behind=0.0, behind_error=0.01):
    """A family with scores for which higher is better."""
    return Candidate(
        *(family, "Model", complexity, "judged"),
        train=train,
        unseen=unseen,
        standard_error=error,
        gap=train - unseen,
        behind=behind,
        behind_error=behind_error,
        is_clearly_behind=behind > 2 * behind_error,
    )


def words(*candidates, best="best", metric=ACCURACY):
    found = with_gap_verdicts(candidates, best, metric)
    return {one.family: one.generalization for one in found}


@pytest.mark.parametrize(
    ("train", "unseen", "error", "kind", "why"),
    [
        (0.815, 0.80, 0.01, "balanced", "at most 2 standard errors apart"),
        # Many rows make a gap sure that is too small to matter: 0.9 % of what is gained.
        (0.8027, 0.80, 0.001, "balanced", "the gap is 0.9 % of what it gains"),
        (0.86, 0.80, 0.01, "balanced", "but nothing simpler does clearly better"),
        (0.86, 0.49, 0.01, "over-fitted", "no better than a baseline that ignores the columns"),
        (0.50, 0.49, 0.01, "balanced", "no better than a baseline that ignores the columns"),
    ],
)
def test_gaps_count_by_their_error_and_by_what_is_gained(train, unseen, error, kind, why):
    found = words(NULL, judged("best", 3, train, unseen, error=error))["best"]
    assert found.startswith(f"{kind}: accuracy") and why in found


def test_only_a_simpler_model_that_does_better_makes_it_over_fitted():
    simple, rich = judged("best", 2, 0.82, 0.81), judged("rich", 5, 1.0, 0.75, behind=0.06)
    found = words(NULL, simple, rich)
    assert found["rich"].startswith("over-fitted")
    assert "best, which is simpler, does clearly better" in found["rich"]
    near = judged("rich", 5, 1.0, 0.805, behind=0.005)
    assert words(NULL, simple, near)["rich"].startswith("balanced")
    poor = judged("poor", 1, 0.9, 0.7, behind=0.1)
    assert words(NULL, simple, poor)["poor"].startswith("balanced")


def test_models_that_a_richer_one_beats_are_under_fitted():
    found = words(NULL, judged("line", 1, 0.71, 0.70, behind=0.1), judged("best", 4, 0.82, 0.80))
    assert found["line"].startswith("under-fitted")
    assert found["null model"].startswith("under-fitted")
    assert found["best"].startswith("balanced")


def test_a_model_without_columns_cannot_follow_its_own_rows():
    null = judged("null model", 0, 0.0, -0.01, error=0.003, behind=0.5)
    best = judged("best", 4, 0.55, 0.49)
    assert words(null, best)["null model"].startswith("under-fitted")
    poor = judged("poor", 4, 0.0, -0.02, behind=0.01)
    assert words(replace(null, behind=0.0, is_clearly_behind=False), poor, best="null model")[
        "null model"
    ].endswith("it ignores the columns, so it cannot memorise its training rows.")


def test_losses_are_told_in_their_own_sense():
    null = Candidate("null", "Null", 0, "judged", train=9.0, unseen=9.0, gap=0.0)
    best = Candidate(
        *("best", "Model", 2, "judged"), train=1.0, unseen=3.0, standard_error=0.1, gap=2.0
    )
    found = words(null, best, metric=LOSS)["best"]
    assert found.startswith("balanced: mae 3.00 ± 0.10 on unseen rows, 1.00 on training rows")
    assert "the gap is 33 % of what it gains" in found


def test_families_without_a_score_have_no_words():
    skipped = Candidate("giant", "Giant", 9, "skipped", "it would need about 300 s")
    found = words(skipped, judged("best", 2, 0.9, 0.8))
    assert found["giant"] == "" and "more than 2 standard errors apart" in found["best"]
