"""`gapless show`: what is in a model file, in words and as data."""

import json

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from table_models import HOUSES, fitted

import gapless
from gapless.choosing.fitted_models import coefficients_of
from gapless.cli.showing import objective_of
from gapless.model_io import MODELS


def test_the_first_line_says_what_the_model_is(run, files):
    code, out, err = run("show", files.houses)
    assert (code, err) == (0, "")
    first = out.splitlines()[0]
    assert first.startswith("Ridge for 'price' (a number), from 3 columns and 150 rows; expected")
    assert "R²" in first and " ± " in first


def test_intervals_are_told(run, files, tmp_path):
    model = gapless.load(files.houses)
    reach = f"{model.reach(0.9):.4g}"
    line = f"intervals    90 % of unseen targets are within {reach} of"
    assert line in run("show", files.houses)[1]
    model.spread_ = model.pipeline_
    path = gapless.save(model, tmp_path / "model.gapless")
    assert "on average, more where errors are larger" in run("show", path)[1]
    assert "intervals" not in run("show", files.iris)[1]


def test_kernels_have_few_digits():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = gapless.SVC(kernel=gapless.kernels.Gaussian(1 / 3)).fit(X, X[:, 0] > 0)
    assert objective_of(model).endswith("kernel = Gaussian(gamma=0.3333)")


def test_the_objective_has_its_numbers_and_a_certificate(run, files):
    out = run("show", files.iris)[1]
    assert "minimises    Σᵢ −log softmax(Wᵀxᵢ + b)_yᵢ + ‖W‖²/(2C)   with C = 10" in out
    assert "optimality   optimal: at most " in out and "gap" in out


def test_columns_with_their_levels_and_ranges(run, files):
    lines = run("show", files.houses)[1].splitlines()
    [size] = [line for line in lines if line.startswith("  size ")]
    assert "number" in size and " to " in size and "% missing" in size
    [city] = [line for line in lines if line.startswith("  city ")]
    assert city.split()[1] == "category" and {"Rome,", "Oslo", "Bern,"} & set(city.split())
    [sold] = [line for line in lines if line.startswith("  sold ")]
    assert f"{HOUSES['sold'][::2].min()} to {HOUSES['sold'][::2].max()}" in sold


def test_coefficients_are_also_in_units_of_the_table(files):
    model = gapless.load(files.houses)
    found = {each.name: each for each in coefficients_of(model.pipeline_)}
    low, high = (
        model.predict({"size": [size], "city": ["Rome"], "sold": ["2024-02-03"]})[0]
        for size in (100.0, 101.0)
    )
    assert found["size"].per_unit == pytest.approx(high - low)
    assert found["city_Oslo"].per_unit == found["city_Oslo"].value
    sizes = [abs(each.value) for each in coefficients_of(model.pipeline_)]
    assert sizes == sorted(sizes, reverse=True)


def test_rules_of_a_tree_and_what_its_columns_are_worth(run, files):
    out = run("show", files.tree)[1]
    assert "minimises    Gini impurity of the leaves + α · leaves   with α = 0, leaves = " in out
    assert "\nrules\n" in out and "\nimportance of columns (share of" in out


def test_training_rows_in_the_file_are_named(run, tmp_path):
    model = fitted(HOUSES, "price", "numbers", gapless.KNeighborsRegressor())
    path = gapless.save(model, tmp_path / "near.gapless")
    assert (
        "contains     from the training data: 150 training rows, 150 targets of training rows"
        in run("show", path)[1]
    )


def test_no_training_rows_is_said_too(run, files):
    assert "contains     no training rows" in run("show", files.houses)[1]


def test_the_same_as_data(run, files):
    data = json.loads(run("show", files.iris, "--json")[1])
    assert len(data["coefficients"]) == 12
    assert {each["of"] for each in data["coefficients"]} == {"setosa", "versicolor", "virginica"}
    assert [column["name"] for column in data["columns"]][-1] == "species"
    assert data["columns"][-1]["levels"] == ["setosa", "versicolor", "virginica"]
    assert data["file"]["written_by"]["gapless"]


def test_a_report_of_another_version_hides_nothing_else(run, files, tmp_path):
    model = gapless.load(files.houses)
    model.record_ = '{"format": 99}'
    code, out, _ = run("show", gapless.save(model, tmp_path / "model.gapless"))
    assert code == 0 and out.splitlines()[0] == run("show", files.houses)[1].splitlines()[0]


def test_long_lists_are_cut(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 40))
    path = gapless.save(gapless.Ridge().fit(X, X[:, 0]), tmp_path / "ridge.gapless")
    out = run("show", path)[1]
    assert "and 20 more; --json lists all" in out
    assert out.startswith("Ridge with 40 features; its table is unknown.")


def test_a_pipeline_of_arrays_and_an_unfitted_model(run, tmp_path):
    X = np.random.default_rng(0).normal(5, 2, size=(60, 2))
    model = make_pipeline(StandardScaler(), gapless.Lasso(0.1)).fit(X, X[:, 0])
    assert coefficients_of(model)[0].per_unit == pytest.approx(model[-1].coef_[0] / X[:, 0].std())
    out = run("show", gapless.save(model, tmp_path / "m.gapless"))[1]
    assert "½ Σᵢ (yᵢ − xᵢᵀw − b)² + nα‖w‖₁   with α = 0.1" in out
    out = run("show", gapless.save(gapless.SVC(), tmp_path / "m.gapless"))[1]
    assert out.startswith("SVC, not fitted.")


def test_names_that_command_a_terminal_are_shown_as_text(run, tmp_path):
    strange = "a\x1b[31m\n<script>"
    frame = HOUSES.rename({"size": strange})
    model = fitted(frame, "price", "numbers", gapless.Ridge())
    out = run("show", gapless.save(model, tmp_path / "m.gapless"))[1]
    assert "\x1b" not in out and repr(strange) in out


COUNTED = (gapless.BernoulliNB, gapless.CategoricalNB, gapless.MultinomialNB)
POSITIVE = (gapless.GammaRegressor, gapless.PoissonRegressor)
SAYING = [
    cls
    for cls in MODELS.values()
    if hasattr(cls, "_formula") and cls._formula.__annotations__.get("return") != "None"
]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("cls", SAYING, ids=lambda cls: cls.__name__)
def test_every_objective_is_told_after_a_fit(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    X = np.floor(np.abs(X)) if cls in COUNTED else X
    small = {"n_estimators": 3, "max_iter": 30} if "Boost" in cls.__name__ else {}
    model = cls(**{name: v for name, v in small.items() if name in cls._get_param_names()})
    y = np.exp(y) if cls in POSITIVE else y
    if "MultiTask" in cls.__name__:
        y = np.stack([y, -y], axis=1)
    said = objective_of(model.fit(X, y > 0 if is_classifier(model) else y))
    assert said and "None" not in said and "nan" not in said
