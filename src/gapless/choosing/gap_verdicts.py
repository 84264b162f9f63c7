"""Over-fitted, under-fitted or balanced: the gap of a family between training and unseen rows.

The rule is that of `unseen.verdict`, with the other families in place of a model's simpler and
richer versions: "clearly" is `evaluation.is_clearly_behind`. The size of a gap is compared with two
things: how well it is known, and how much the model gains by using the columns at all. And it is a
fault only if another model does better on unseen rows: forests and boosting memorise their training
rows, and are often the best on unseen ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..unseen import sentence
from .choice import Candidate
from .metric import Metric

# A gap is certain from this many standard errors of the unseen score on. `unseen.paired.SURE` is
# larger, since it guards the clearest of several leads; a gap is a single number, and does not make
# a model over-fitted by itself.
SURE_GAP = 2.0
# And wide, if it is also more than this part of the model's gain over the baseline.
WIDE = 0.1
NOTHING_BETTER = "nothing simpler does clearly better"
NO_GAIN = "on unseen rows it is no better than a baseline that ignores the columns"


def with_gap_verdicts(
    candidates: Sequence[Candidate], best: str, metric: Metric
) -> tuple[Candidate, ...]:
    """The same candidates, with the gap of each scored one in words.

    Parameters
    ----------
    candidates : sequence of Candidate
        All families, with their scores.
    best : str
        The family with the best score.
    metric : Metric
        What is measured.

    Returns
    -------
    tuple of Candidate
        `generalization` begins with one of these words:

        - "over-fitted": the gap is wide, and the best family, a simpler one, does clearly better on
          the same unseen rows, by the rule of `generalization_`;
        - "under-fitted": the gap is not wide, and the best family, a richer one, does;
        - "balanced": neither.

        A gap is wide if it is more than two standard errors, and more than a tenth of the model's
        gain over the baseline. It is not a fault in itself.
    """
    named = {one.family: one for one in candidates}
    baseline = next((one for one in candidates if one.complexity == 0 and one.is_judged), None)
    return tuple(
        replace(one, generalization=_in_words(one, named[best], baseline, metric))
        if one.is_judged
        else one
        for one in candidates
    )


def _in_words(one: Candidate, best: Candidate, baseline: Candidate | None, metric: Metric) -> str:
    assert one.train is not None and one.unseen is not None
    error = one.standard_error or 0.0
    kind, why = _judged(one, best, _gained(one, baseline, metric))
    return sentence(kind, metric.title, one.train, one.unseen, error, why)


def _gained(one: Candidate, baseline: Candidate | None, metric: Metric) -> float | None:
    """How much better it is on unseen rows than the baseline, if known."""
    if baseline is None or baseline.unseen is None or one.unseen is None or one is baseline:
        return None
    return float(metric.with_own_sign(one.unseen) - metric.with_own_sign(baseline.unseen))


def _judged(one: Candidate, best: Candidate, gained: float | None) -> tuple[str, str]:
    """The kind of a gap, and the reason."""
    gap, error = one.gap or 0.0, one.standard_error or 0.0
    # The baseline cannot follow its training rows.
    is_sure = gap > SURE_GAP * error and one.complexity > 0
    is_wide = is_sure and (gained is None or gap > WIDE * gained)
    if one.is_clearly_behind and is_wide and best.complexity < one.complexity:
        return "over-fitted", f"{best.family}, which is simpler, does clearly better on unseen rows"
    if one.is_clearly_behind and not is_wide and best.complexity > one.complexity:
        return "under-fitted", f"{best.family}, which is richer, does clearly better on unseen rows"
    if one.complexity == 0:
        return "balanced", "it ignores the columns, so it cannot memorise its training rows"
    if not is_sure and gained is not None and gained <= 0:
        return "balanced", NO_GAIN
    if not is_sure:
        return "balanced", f"at most {SURE_GAP:g} standard errors apart"
    if gained is None:
        return "balanced", f"more than {SURE_GAP:g} standard errors apart, but {NOTHING_BETTER}"
    if gained <= 0:
        return "over-fitted", NO_GAIN
    share = f"{100 * gap / gained:.2g} % of what it gains over a baseline that ignores the columns"
    return "balanced", f"the gap is {share}" + (f", but {NOTHING_BETTER}" if is_wide else "")
