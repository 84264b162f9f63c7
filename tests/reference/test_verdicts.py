"""What is over-fitted, under-fitted or balanced is called so, on data whose truth is clear."""

import pytest
from verdict_cases import CASES, OVER, UNDER, verdict

OPPOSITE = {OVER: UNDER, UNDER: OVER}
# The part of the cases that may be missed. The suite looks at one seed of each;
# `python tests/reference/verdict_cases.py` counts over ten.
MISSED = 0.05


@pytest.fixture(scope="module")
def verdicts():
    return {name: verdict(name, 0) for name in CASES}


def test_clear_cases_are_called_by_their_names(verdicts):
    wrong = {
        name: verdicts[name].kind
        for name, (truth, _) in CASES.items()
        if verdicts[name].kind != truth
    }
    assert len(wrong) <= MISSED * len(CASES), wrong


def test_no_verdict_is_the_opposite_of_the_truth(verdicts):
    wrong = [
        name for name, (truth, _) in CASES.items() if verdicts[name].kind == OPPOSITE.get(truth)
    ]
    assert not wrong


def test_a_version_that_does_better_is_named_with_its_score(verdicts):
    assert "would give" in verdicts["line_through_parabola"].verdict
    assert "penalty would give" in verdicts["ridge_far_too_strong"].verdict
    assert "n_neighbors=" in verdicts["one_neighbour_with_noise"].verdict
