"""The generalisation gap: the score of a fitted model on unseen rows.

`entrance` has `generalize` and `measure`. A fit comes as `fitted` (problems and their solution) or
`refittable` (anything else); `held_out` predicts its rows by `leave_one_out` or by `folds`,
`population` out of bag; `trial` checks the formula, `scores` scores, `verdict` compares with
`versions` of less and more freedom, `result` puts it in words. A fit `without_targets` describes
unseen rows in place of predicting them; `resampled_clusters` says how stable clusters are.
`conformal` and `predicting` make intervals and sets, `class_probabilities` probabilities of
classes; `search` and `selection_bias` choose and correct a score for having been chosen, and
`remembering` is what estimators inherit.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .class_probabilities import (
        KEPT_ROWS,
        LaterProbabilities,
        Probabilities,
        fit_slopes,
        with_largest,
    )
    from .conformal import (
        MOST_ROWS,
        Calibration,
        Intervals,
        check_coverage,
        intervals,
        leads,
        prediction_sets,
        quantiles,
    )
    from .entrance import generalize, measure
    from .fitted import LARGE_ROWS, LARGE_WORK, Fitted, asymmetric, row_scores
    from .folds import FOLDS, dealt, drawn, mean_losses, splits
    from .held_out import LARGE_SAMPLE, METHODS, Estimate, by_formula, by_refits
    from .in_parts import (
        FIRST_RIVAL,
        ScoreSums,
        described_in_parts,
        judged_in_parts,
        share_in_parts,
    )
    from .leave_one_out import NotAvailable, keep_shares, leave_out, ridge_path_leave_out
    from .leave_one_out._base import LARGEST_SYSTEM, members, squares_of
    from .leave_one_out.distinct import (
        MergedRows,
        by_appearance,
        counted_labels,
        left_together,
        mean_and_error,
        sums_by,
        units_of,
    )
    from .leave_one_out.forward import time_windows
    from .leave_one_out.rows import Answer
    from .paired import SURE, lead
    from .population import Population, as_numbers, cumulated, draw_rows, equal_rows
    from .predicting import intervals_of, predict_set, predict_with_intervals, sets_of
    from .refittable import Model, OnlyRefittable, Refittable
    from .remembering import (
        GIVEN,
        JUDGED,
        Remembering,
        as_fitted,
        given_to_fit,
        refuse_other_data,
        take_over,
    )
    from .resampled_clusters import ResampledClusters, Stability, judge_stability, stability
    from .result import Disagreement, Generalization, chosen_among, sentence, uncorrected
    from .scores import ExplainedLoss, Judge, metric_name
    from .search import CV, LOO, ScoredChoice, Search, best_of
    from .selection_bias import Corrected, correct
    from .stand_in import Part, StandIn
    from .trial import Trial
    from .versions import (
        ChangeDial,
        Changes,
        Dial,
        Version,
        changing,
        fewer_rounds,
        kernel_dial,
        more_rounds,
        multiple,
        named,
    )
    from .without_targets import WithoutTargets, unknown

__getattr__, __dir__, __all__ = on_first_use(__name__)
