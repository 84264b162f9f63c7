"""What models tuned inside their fits, as plain data."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapless import (
    SVC,
    DecisionTreeRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    KernelRidge,
    KNeighborsClassifier,
    Lasso,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    RandomForestClassifier,
    Ridge,
)
from gapless.choosing import settings_of, tuning_of
from gapless.choosing.fitted_models import MOST_VALUES

TUNED = [
    (LogisticRegression(C="loo"), "C", {"C", "features_used", "features"}),
    (LogisticRegression(C="loo", l1_ratio=1.0, select="1se"), "C", {"C", "features_used"}),
    (
        LogisticRegressionCV(
            Cs=(0.01, 0.1, 1.0),
            l1_ratios=(0.0,),
            cv="loo",
            scoring="neg_log_loss",
            use_legacy_attributes=False,
        ),
        "C",
        {"C"},
    ),
    (LinearSVC(C="loo"), "C", {"C"}),
    (SVC(C="loo", gamma="loo"), "C", {"C", "gamma", "support_vectors"}),
    (KNeighborsClassifier("loo"), "n_neighbors", {"n_neighbors"}),
    (Ridge(alpha="loo"), "alpha", {"alpha"}),
    (Lasso(alpha="loo"), "alpha", {"alpha", "features_used"}),
    (KernelRidge("loo", kernel="rbf", gamma="loo"), "alpha", {"alpha", "gamma"}),
    (DecisionTreeRegressor(ccp_alpha="cv"), "ccp_alpha", {"ccp_alpha", "leaves", "depth"}),
    (
        HistGradientBoostingClassifier(early_stopping=True, max_iter=20, min_samples_leaf=5),
        "rounds",
        {"rounds", "max_leaf_nodes"},
    ),
    (HistGradientBoostingRegressor(max_iter="cv"), "rounds", {"rounds", "max_leaf_nodes"}),
]


def data(rows=80):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 3))
    z = X[:, 0] - X[:, 1] ** 2 + 0.5 * rng.normal(size=rows)
    return X, z


@pytest.mark.parametrize(
    "model, parameter, settings", TUNED, ids=[str(one[0])[:40] for one in TUNED]
)
def test_every_search_is_read_from_the_fitted_model(model, parameter, settings):
    X, z = data()
    y = z > 0 if is_classifier(model) else z
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), model).fit(X, y)
    tuning, chosen = tuning_of(model), settings_of(model)
    assert tuning.parameter == parameter
    assert list(tuning.values) == sorted(set(tuning.values))
    assert len(tuning.values) == len(tuning.unseen) == len(tuning.standard_errors)
    assert len(tuning.values) <= MOST_VALUES + 2
    assert tuning.unseen[tuning.best] == np.nanmax(tuning.unseen)
    assert settings <= set(chosen)
    assert tuning.values[tuning.chosen] == pytest.approx(chosen[parameter], rel=1e-6)
    assert json.loads(json.dumps(tuning.to_dict(), allow_nan=False))["metric"] == tuning.metric
    assert json.loads(json.dumps(chosen)) == chosen


def test_what_was_given_is_no_setting_that_was_chosen():
    X, z = data(40)
    model = LogisticRegression(C=2.0).fit(X, z > 0)
    assert tuning_of(model) is None and "C" not in settings_of(model)
    assert tuning_of(LinearDiscriminantAnalysis().fit(X, z > 0)) is None
    forest = RandomForestClassifier(7, random_state=0).fit(X, z > 0)
    assert tuning_of(forest) is None and settings_of(forest) == {"trees": 7}


def test_of_two_parameters_the_curve_is_the_best_over_the_other():
    X, z = data(60)
    model = SVC(C="loo", gamma="loo").fit(X, z > 0)
    search, tuning = model.search_, tuning_of(model)
    whole = search.rows == search.rows.max()
    for value, score in zip(tuning.values, tuning.unseen):
        if value != tuning.values[tuning.chosen]:
            assert score == search.unseen[whole & (search.values["C"] == value)].max()
