"""`gapless predict`: the table unchanged, with a prediction for each row."""

import io
import sys

import numpy as np
import polars as pl
import pytest
from table_models import HOUSES, houses

import gapless
from gapless.cli import predicting
from gapless.data import describe_columns, load_builtin, prepare, table_of


def predicted(run, *words):
    code, out, err = run("predict", *words)
    assert code == 0, err
    return pl.read_csv(io.StringIO(out)), err


def test_the_table_stays_as_it_is_and_predictions_are_added(run, files):
    text = files.table.read_text()
    code, out, err = run("predict", files.houses, files.table)
    assert (code, err) == (0, "")
    assert [line.rpartition(",")[0].rpartition(",")[0].rpartition(",")[0] for line in
            out.splitlines()] == text.splitlines()  # fmt: skip
    frame = pl.read_csv(io.StringIO(out))
    assert frame.columns[-3:] == ["prediction", "lower", "upper"]
    expected = gapless.load(files.houses).predict(HOUSES)
    assert frame["prediction"].to_numpy() == pytest.approx(expected)


def test_intervals_hold_the_share_that_is_asked_for(run, files):
    wide, _ = predicted(run, files.houses, files.table, "--coverage", "0.95")
    narrow, _ = predicted(run, files.houses, files.table, "--coverage", "0.5")
    price = HOUSES["price"]
    for frame, share in ((wide, 0.95), (narrow, 0.5)):
        inside = ((frame["lower"] <= price) & (price <= frame["upper"])).mean()
        # Three standard errors of a share of 300 rows.
        assert abs(inside - share) < 3 * np.sqrt(share * (1 - share) / len(price)) + 0.01
    assert (wide["upper"] - wide["lower"]).max() > (narrow["upper"] - narrow["lower"]).max()


def test_probabilities_of_the_classes(run, files):
    frame, _ = predicted(run, files.iris, "iris")
    names = ["probability_setosa", "probability_versicolor", "probability_virginica"]
    assert frame.columns[5:] == ["prediction", *names]
    assert frame.select(pl.sum_horizontal(names)).to_series().to_numpy() == pytest.approx(1)
    without, _ = predicted(run, files.iris, "iris", "--no-proba")
    assert without.columns[5:] == ["prediction"]
    assert without["prediction"].equals(frame["prediction"])


def test_reasons_in_words_and_numbers(run, files):
    frame, said = predicted(run, files.houses, files.table, "--explain")
    assert frame.columns[-3:] == ["reason_1", "reason_2", "reason_3"]
    assert "reasons are contributions to the prediction, compared with 100 rows like" in said
    size = [text.split(": ")[0] for text in frame["reason_1"] if text.startswith("size")]
    assert len(size) > 100 and all(word == "size missing" or word[5:6].isdigit() for word in size)
    all_of_them, _ = predicted(run, files.houses, files.table, "--explain", "all")
    effects = [name for name in all_of_them.columns if name.startswith("effect_")]
    assert {"effect_size", "effect_city"} <= set(effects)
    total = all_of_them.select(pl.sum_horizontal(["average", *effects])).to_series()
    assert total.to_numpy() == pytest.approx(all_of_them["prediction"].to_numpy(), rel=1e-8)
    strongest = np.abs(all_of_them.select(effects).to_numpy()).argmax(axis=1)
    names = [effects[k].removeprefix("effect_") for k in strongest]
    assert [text.split(" ")[0] for text in frame["reason_1"]] == names


def test_reasons_of_several_classes_are_those_of_the_predicted_one(run, files):
    frame, said = predicted(run, files.iris, "iris", "--explain", "1", "--no-proba")
    assert frame.columns[5:] == ["prediction", "reason_1"]
    assert "of the class with the largest one" in said
    code, _, said = run("predict", files.iris, "iris", "--explain", "none")
    assert code == 2 and "needs a number from 1 on, or all; got 'none'" in said


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_files_by_their_suffix(run, files, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    code, said, err = run("predict", files.houses, files.table, "-o", out)
    assert (code, said, err) == (0, f"300 predictions in {out}\n", "")
    readers = {
        "csv": pl.read_csv,
        "tsv": lambda path: pl.read_csv(path, separator="\t"),
        "parquet": pl.read_parquet,
        "jsonl": pl.read_ndjson,
    }
    frame = readers[suffix](out)
    expected = gapless.load(files.houses).predict(HOUSES)
    assert frame["prediction"].to_numpy() == pytest.approx(expected)
    assert list(tmp_path.iterdir()) == [out]
    if suffix == "parquet":
        assert frame.schema["size"] == pl.Float64 and frame.schema["sold"] == pl.Date


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_long_tables_come_in_pieces(run, files, tmp_path, monkeypatch, form):
    whole = tmp_path / f"whole.{form}"
    run("predict", files.houses, files.table, "-o", whole)
    monkeypatch.setattr(predicting, "ROWS", 7)
    monkeypatch.setattr("gapless.data.reading.BLOCK", 1000)
    pieces = tmp_path / f"pieces.{form}"
    assert run("predict", files.houses, files.table, "-o", pieces)[0] == 0
    read = pl.read_csv if form == "csv" else pl.read_parquet
    whole, pieces = read(whole), read(pieces)
    assert pieces.drop("prediction", "lower", "upper").equals(
        whole.drop("prediction", "lower", "upper")
    )
    assert pieces["prediction"].to_numpy() == pytest.approx(whole["prediction"].to_numpy())


def test_standard_input_and_a_folder(run, files, tmp_path, monkeypatch):
    (tmp_path / "model.gapless").write_bytes(files.iris.read_bytes())
    text = load_builtin("iris").frame.write_csv().encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
    frame, _ = predicted(run, tmp_path, "-")
    assert frame.height == 150


def test_a_column_that_is_not_there_is_named_with_what_to_do(run, files, tmp_path):
    path = tmp_path / "new.csv"
    HOUSES.rename({"size": "Size"}).drop("price").write_csv(path)
    code, out, err = run("predict", files.houses, path)
    assert (code, out) == (2, "")
    assert "lacks 1 column of the model: 'size' (is 'Size' the same as 'size'?)" in err
    assert "--missing-columns fill" in err
    frame, err = predicted(run, files.houses, path, "--missing-columns", "fill")
    assert "absent columns, treated as missing: 'size'" in err
    assert "does not use: 'Size'" in err
    assert frame.height == HOUSES.height and "size" not in frame.columns
    empty = HOUSES.with_columns(size=pl.lit(None, pl.Float64))
    expected = gapless.load(files.houses).predict(empty)
    assert frame["prediction"].to_numpy() == pytest.approx(expected)


def test_nothing_is_written_when_it_fails(run, files, tmp_path):
    table = tmp_path / "new.csv"
    HOUSES.drop("size").write_csv(table)
    out = tmp_path / "deep" / "out.parquet"
    assert run("predict", files.houses, table, "-o", out)[0] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_new_levels_and_unreadable_values_are_counted(run, files, tmp_path):
    path = tmp_path / "new.csv"
    rows = HOUSES[:6].with_columns(
        city=pl.Series(["Paris", "Lyon", "Paris", "Rome", None, "Oslo"]),
        size=pl.Series(["big", "12.5", "?", "", "7", "8"]),
    )
    rows.write_csv(path)
    frame, err = predicted(run, files.houses, path)
    assert frame["prediction"].is_not_null().all()
    assert "column 'city': 3 rows with categories not seen in training ('Paris', 'Lyon')" in err
    assert "column 'size': 1 value ('big') could not be read, treated as missing" in err


def test_names_that_are_taken_get_a_number(run, files, tmp_path):
    path = tmp_path / "again.csv"
    run("predict", files.houses, files.table, "-o", path)
    frame, _ = predicted(run, files.houses, path)
    assert frame.columns[-6:] == [
        *("prediction", "lower", "upper"),
        *("prediction_2", "lower_2", "upper_2"),
    ]


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("model", ["houses", "iris"])
def test_a_table_without_rows_keeps_its_header(run, files, tmp_path, model, form):
    frame = HOUSES.clear() if model == "houses" else load_builtin("iris").frame.clear()
    path = tmp_path / f"empty.{form}"
    frame.write_csv(path) if form == "csv" else frame.write_parquet(path)
    code, out, _ = run("predict", getattr(files, model), path)
    assert code == 0
    [header] = out.splitlines()
    assert header.startswith(",".join(frame.columns) + ",prediction,")
    out = tmp_path / f"out.{form}"
    assert run("predict", getattr(files, model), path, "-o", out)[1].startswith("0 predictions")


def test_what_texts_mean_is_as_in_training(run, files, tmp_path):
    """1.250 is a thousand and more where training rows had decimal commas."""
    table = tmp_path / "train.csv"
    rows = [f"{k}.{k % 10}50,5;{k % 7}" for k in range(1, 60)]
    table.write_text("\n".join(["x;y", *rows]))
    data = gapless.data.read_table(table)
    pipeline = prepare(describe_columns(data, "y"), "numbers", gapless.Ridge())
    model = gapless.choosing.TableModel(pipeline, "y", task="regression").fit(data)
    path = gapless.save(model, tmp_path / "m.gapless")
    new = tmp_path / "new.csv"
    new.write_text("x\n1.250\n2.350\n")
    frame, err = predicted(run, path, new)
    assert "no intervals" in err
    expected = model.predict(pl.DataFrame({"x": [1250.0, 2350.0]}))
    assert frame["prediction"].to_numpy() == pytest.approx(expected)


def test_a_model_of_arrays_takes_columns_by_position_or_name(run, tmp_path):
    frame = load_builtin("diabetes").frame
    X, y = frame[:, :4], frame[:, -1].to_numpy()
    table = tmp_path / "table.csv"
    frame.write_csv(table)
    by_position = gapless.Ridge().fit(X.to_numpy(), y)
    by_name = gapless.Ridge().fit(X, y)
    for model, order in ((by_position, frame.columns), (by_name, frame.columns[::-1])):
        frame.select(order).write_csv(table)
        path = gapless.save(model, tmp_path / "ridge.gapless")
        found, err = predicted(run, path, table)
        assert found["prediction"].to_numpy() == pytest.approx(by_position.predict(X.to_numpy()))
        assert "does not use" in err
    table.write_text("a,b\n1,2\n")
    path = gapless.save(by_position, tmp_path / "ridge.gapless")
    code, _, err = run("predict", path, table)
    assert code == 2 and "has 2 columns, but the model needs 4, in order" in err


def test_a_pipeline_of_a_table_takes_tables(run, tmp_path, files):
    table = table_of(houses(5))
    model = prepare(describe_columns(table, "price"), "table", gapless.RandomForestRegressor(5))
    path = gapless.save(model.fit(table, table.frame["price"].to_numpy()), tmp_path / "m.gapless")
    frame, _ = predicted(run, path, files.table)
    assert frame["prediction"].to_numpy() == pytest.approx(model.predict(HOUSES))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{houses}", "{table}", "--proba"], "this model predicts numbers; drop --proba"),
        (["{houses}", "{table}", "-o", "out.xyz"], "should end in .csv, .tsv, .parquet"),
        (["{houses}", "{table}", "--format", "parquet"], "Parquet needs a file"),
        (["{houses}", "{table}", "--coverage", "2"], "'2' is not a share between 0 and 1"),
        (
            ["{iris}", "iris", "--coverage", "0.5"],
            "this model predicts classes; --coverage applies to regression",
        ),
        (["{houses}", "{table}", "-o", "{folder}.csv"], "is a folder; name a file in it"),
        (["nowhere", "{table}"], "nowhere does not exist"),
        (["{table}", "{table}"], "is not a complete model file"),
        (["{houses}", "nowhere.csv"], "nowhere.csv does not exist"),
    ],
)
def test_what_cannot_be_done_is_said(run, files, words, said, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    named = {"houses": files.houses, "iris": files.iris, "table": files.table}
    named["folder"] = tmp_path / "folder"
    code, out, err = run("predict", *(word.format(**named) for word in words))
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_numbers_of_identity_are_kept_to_the_last_digit(run, files, tmp_path, suffix):
    frame = HOUSES[:3].with_columns(id=pl.Series([2**60 + 1, 7, 8]))
    table, out = tmp_path / "table.csv", tmp_path / f"out.{suffix}"
    frame.write_csv(table)
    assert run("predict", files.houses, table, "-o", out)[0] == 0
    again = pl.read_ndjson(out) if suffix == "jsonl" else pl.read_parquet(out)
    assert again["id"].to_list() == [2**60 + 1, 7, 8]
    frame.with_columns(id=pl.Series(["A7", "8", "NA"])).write_csv(table)
    assert run("predict", files.houses, table, "-o", out)[0] == 0
    again = pl.read_ndjson(out) if suffix == "jsonl" else pl.read_parquet(out)
    assert again["id"].to_list() == ["A7", "8", "NA"]
