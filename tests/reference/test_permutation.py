"""Shuffles predicted together give the same as single ones, in fewer calls."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gapless import LinearDiscriminantAnalysis
from gapless.evaluation import permutation, permutation_importance


class Counted(LinearDiscriminantAnalysis):
    """Counts how often it is called."""

    def predict(self, X):
        self.calls_ = getattr(self, "calls_", 0) + 1
        return super().predict(X)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_few_rows_are_predicted_together_with_the_same_result(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    y = (X[:, 0] - X[:, 3] + rng.normal(size=40) > 0).astype(int)
    named = {f"x{j}": X[:, j] for j in range(6)}
    X = X if kind is np.asarray else kind(named)
    model = Counted().fit(X, y)
    together = permutation_importance(model, X, y, columns=[0, 3, 5])
    assert model.calls_ == 2, "the rows as they are, and fifteen shuffles of 40 rows"
    monkeypatch.setattr(permutation, "ROWS_AT_ONCE", 1)
    alone = permutation_importance(model, X, y, columns=[0, 3, 5])
    assert model.calls_ == 2 + 16
    np.testing.assert_array_equal(together.repeats, alone.repeats)
    np.testing.assert_array_equal(together.standard_errors, alone.standard_errors)
    assert together.names == alone.names == ["x0", "x3", "x5"]
