"""Models that need all rows in memory say so when they are given a table that is not."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gapless
from gapless import in_parts
from gapless._ground.tables import FILES
from gapless.streaming.sources import ENDINGS
from in_one_test import for_each

NEED_ALL = (
    gapless.SVC,
    gapless.KNeighborsClassifier,
    gapless.KernelRidge,
    gapless.RandomForestClassifier,
    gapless.GradientBoostingClassifier,
    gapless.DecisionTreeClassifier,
    gapless.MLPClassifier,
    gapless.AdaBoostClassifier,
    gapless.BaggingClassifier,
    gapless.Nystroem,
    gapless.KernelPCA,
    gapless.AgglomerativeClustering,
    gapless.CategoricalNB,
    gapless.SGDClassifier,
)
NEEDED = "needs all rows in memory; .* sample of the rows; .* can be fitted to tables in parts"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "rows.parquet"
    pl.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1]}).write_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["path", "text", "parts", "paths"])
def test_tables_that_are_not_in_memory_are_refused(path, kind):
    X = {"path": path, "text": str(path), "parts": in_parts(path), "paths": [str(path)] * 2}[kind]

    # A list of texts may be the rows of what is bagged.
    models = [model for model in NEED_ALL if kind != "paths" or model != gapless.BaggingClassifier]

    @for_each(models)
    def refused(model):
        with pytest.raises(TypeError, match=NEEDED):
            model().fit(X, [0, 1] if kind == "paths" else "y")

    refused()


def test_queries_and_collections_of_dask_are_refused(path):
    with pytest.raises(TypeError, match=r"call \.collect\(\) first, or a sample"):
        gapless.SVC().fit(pl.scan_parquet(path), "y")
    array = pytest.importorskip("dask.array", reason="dask is not installed")
    with pytest.raises(TypeError, match=r"Dask Array, .* call \.compute\(\) first"):
        gapless.SVC().fit(array.ones((3, 2)), [0, 1, 1])


def test_predictions_need_rows_in_memory_too(path):
    model = gapless.KNeighborsClassifier(1).fit(np.ones((2, 1)), [0, 1])
    with pytest.raises(TypeError, match=NEEDED):
        model.predict(Path(path))


def test_other_texts_are_no_paths():
    with pytest.raises(ValueError, match="could not convert string to float"):
        gapless.SVC().fit(["some", "words"], [0, 1])


def test_files_have_the_same_endings_at_both_doors():
    assert set(FILES) == set(ENDINGS)
