"""skore's reports take our estimators as they take scikit-learn's."""

import warnings

import matplotlib as mpl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gapless

mpl.use("agg")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    skore = pytest.importorskip("skore", reason="skore is not installed")

CLASSES = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
NUMBERS = load_diabetes(return_X_y=True)
MODELS = {
    "coefficients": make_pipeline(StandardScaler(), gapless.LogisticRegression()),
    "impurity_decrease": gapless.RandomForestClassifier(10, random_state=0),
    "permutation_importance": make_pipeline(StandardScaler(), gapless.SVC()),
}
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("explained", MODELS)
def test_a_report_of_one_estimator(explained):
    X, X_test, y, y_test = CLASSES
    report = skore.EstimatorReport(
        MODELS[explained], X_train=X, X_test=X_test, y_train=y, y_test=y_test
    )
    found = report.metrics.summarize().frame()
    expected = accuracy_score(y_test, report.estimator_.predict(X_test))
    assert found["accuracy"] == pytest.approx(expected)
    assert 0 < found["log_loss"] < 0.5
    report.metrics.roc().plot()
    assert len(getattr(report.inspection, explained)().frame()) >= X.shape[1]


def test_a_comparison_of_cross_validations():
    models = {"ridge": gapless.Ridge(alpha="loo"), "lasso": gapless.Lasso(alpha=0.1)}
    reports = {
        name: skore.CrossValidationReport(model, *NUMBERS, splitter=KFold(3))
        for name, model in models.items()
    }
    found = skore.ComparisonReport(reports).metrics.summarize().frame()
    for name, model in models.items():
        expected = cross_val_score(model, *NUMBERS, cv=KFold(3), scoring="r2")
        assert found.loc["r2", f"mean_{name}"] == pytest.approx(expected.mean())
