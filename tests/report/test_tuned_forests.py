"""The report of a forest whose leaves were chosen out of bag."""

import numpy as np
import pytest

import gapless
from gapless.choosing.report.curves import validation_of
from gapless.data import load_builtin, table_of


def test_forests_score_their_own_rows_by_the_error_of_probabilities():
    table = load_builtin("breast_cancer")
    table = table_of(table.frame.select(*table.frame.columns[:4], "diagnosis"))
    choice = gapless.choose(table, "diagnosis", models="random forest")
    found = validation_of(choice, table, None, {})
    frame = table.frame[choice.split.train]
    is_second = frame["diagnosis"].to_numpy() == choice.model.classes_[1]
    errors = (choice.model.pipeline_.predict_proba(frame)[:, 1] - is_second) ** 2
    assert found.parameter == "min_samples_leaf"
    assert found.values == (1.0, 3.0, 10.0)
    assert found.train[found.chosen] == pytest.approx(np.mean(errors))
    assert found.train == tuple(sorted(found.train)), (
        "small leaves are nearer to their training rows"
    )
