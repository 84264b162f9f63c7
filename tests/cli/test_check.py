"""`gapless check`: the certificate again, the score against what was expected, and drift."""

import json

import numpy as np
import polars as pl
import pytest
from table_models import HOUSES, fitted, houses

import gapless
from gapless.choosing import facts_of, families_for
from gapless.cli.checking import check, scan_table
from gapless.cli.showing import shown_of
from gapless.data import describe_columns, load_builtin, read_target, table_of


def written(folder, frame):
    path = folder / "table.csv"
    frame.write_csv(path)
    return path


def test_the_table_of_the_fit_is_certified_again(run, files):
    code, out, err = run("check", files.houses, files.table)
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert first.startswith("Fine: the model scores ")
    assert "as expected; it is optimal (recomputed); the table contains the training rows." in first
    assert "table       150 training rows, 150 others" in rest
    assert "recomputed from the training rows" in out
    assert "the rows that are not training rows" in out


@pytest.mark.parametrize(("model", "table"), [("iris", "iris"), ("tree", "wine")])
def test_built_in_tables_and_other_models(run, files, model, table):
    code, out, _ = run("check", getattr(files, model), table)
    assert code == 0 and out.startswith("Fine: ")


@pytest.mark.parametrize("name", ["iris", "diabetes"])
def test_every_family_is_checked_and_shown(tmp_path, name):
    table = table_of(load_builtin(name).frame[::3])
    target = table.frame.columns[-1]
    facts = facts_of(describe_columns(table, target), read_target(table, target))
    for family in families_for(facts):
        model = fitted(table, target, family.kind, family.build(facts, 0))
        path = gapless.save(model, tmp_path / "model.gapless")
        checked = check(gapless.load(path), written(tmp_path, table.frame))
        assert checked.is_training and not {"S310", "S312"} & {f.code for f in checked.findings}
        assert json.dumps(checked.to_dict(), allow_nan=False)
        assert type(model.pipeline_[-1]).__name__ in shown_of(path).answer


def test_rows_in_another_order_are_the_same_table(run, files, tmp_path):
    order = np.random.default_rng(1).permutation(HOUSES.height)
    shuffled = written(tmp_path, HOUSES[order].select(reversed(HOUSES.columns)))
    answer = run("check", files.houses, files.table)[1]
    assert run("check", files.houses, shuffled)[1] == answer


def test_the_training_rows_alone_say_nothing_of_others(run, files, tmp_path):
    code, out, _ = run("check", files.houses, written(tmp_path, HOUSES[::2]))
    assert code == 0
    assert "150 training rows, 0 others" in out
    assert "the training rows themselves, so the score is too optimistic" in out


def test_new_rows_of_the_same_source_are_fine(run, files, tmp_path):
    code, out, _ = run("check", files.houses, written(tmp_path, houses(1)))
    assert code == 0
    assert out.startswith("Fine: the model scores ")
    assert "the table resembles the training rows." in out.splitlines()[0]
    assert "300 rows, not those of training" in out
    assert "recomputing it requires the training rows" in out


def test_drift_is_a_finding(run, files, tmp_path):
    code, out, _ = run("check", files.houses, written(tmp_path, houses(1, shift=30)))
    assert code == 1
    assert out.startswith("Needs attention: ")
    assert "the table differs from the training rows." in out.splitlines()[0]
    assert "warning: S303 values are distributed differently: values in column 'size'" in out


def test_a_worse_score_is_a_finding(run, files, tmp_path):
    price = np.random.default_rng(1).permutation(HOUSES["price"].to_numpy())
    path = written(tmp_path, houses(1).with_columns(price=pl.Series(price)))
    code, out, _ = run("check", files.houses, path)
    assert code == 1
    assert "standard errors worse than expected" in out.splitlines()[0]
    assert "warning: S311 the score is not as expected: R" in out


def test_a_table_without_the_target_is_compared_all_the_same(run, files, tmp_path):
    code, out, _ = run("check", files.houses, written(tmp_path, houses(1).drop("price")))
    assert code == 0
    assert out.startswith("Fine: the model was not scored; the table resembles")
    assert "score       none: the table has no column 'price'" in out


def test_some_training_rows_among_others_are_a_note(run, files, tmp_path):
    path = written(tmp_path, pl.concat([HOUSES[:60], houses(1)]))
    code, out, _ = run("check", files.houses, path)
    assert code == 0
    # 30 of the 60 rows are for training, of 360 in all.
    assert "note: S310" in out and "about 8 % of the rows equal training rows" in out
    assert "but 8 % of the rows equal training rows" in out.splitlines()[0]
    assert run("check", files.houses, path, "--strict")[0] == 1


def test_a_model_that_was_changed_is_no_longer_optimal(run, files, tmp_path):
    model = gapless.load(files.iris)
    model.pipeline_[-1].coef_ *= 2
    path = gapless.save(model, tmp_path / "changed.gapless")
    code, out, _ = run("check", path, "iris")
    assert code == 1
    assert "it is not optimal for its objective" in out.splitlines()[0]
    assert "warning: S312" in out


def test_what_cannot_be_certified_again_is_said(run, files, monkeypatch):
    def refuse(*args):
        raise ValueError("this is not the data of the fit.")

    monkeypatch.setattr("gapless.cli.checking.certify_model", refuse)
    code, out, _ = run("check", files.iris, "iris")
    assert code == 0 and "recomputed)" not in out
    assert "(from the fit; not recomputed: this is not the data of the fit.)" in out


def test_the_same_as_data(run, files, tmp_path):
    code, out, _ = run("check", files.houses, written(tmp_path, houses(1, shift=30)), "--json")
    data = json.loads(out)
    assert (code, data["is_training"], data["rows"]) == (1, False, 300)
    assert data["answer"].startswith("Needs attention")
    assert data["warnings"] == sum(f["severity"] == "warning" for f in data["findings"])
    assert data["score"]["name"] and data["certificate"] is None


def test_quiet_is_one_line(run, files):
    code, out, err = run("check", files.houses, files.table, "-q")
    assert (code, out.count("\n"), err) == (0, 1, "")


def test_one_class_alone_is_not_scored_but_compared(run, files, tmp_path):
    frame = load_builtin("iris").frame
    path = written(tmp_path, frame.filter(frame["species"] == "setosa"))
    code, out, _ = run("check", files.iris, path)
    assert code == 1
    assert "S305" in out


@pytest.mark.parametrize("rows", [0, 3])
def test_tables_of_few_or_no_rows(run, files, tmp_path, rows):
    code, out, _ = run("check", files.houses, written(tmp_path, houses(1)[:rows]))
    assert code == 0
    assert "note: S309" in out
    assert out.startswith("Too few rows to judge: the model")
    assert "as expected" not in out and "resembles" not in out


def test_columns_that_are_not_there(run, files, tmp_path):
    code, out, _ = run("check", files.houses, written(tmp_path, houses(1).drop("size")))
    assert code == 1
    assert "warning: S301" in out and "'size'" in out


def test_a_model_without_its_table_cannot_be_checked(run, files, tmp_path):
    X = HOUSES.select("id", "price").to_numpy()
    path = gapless.save(gapless.Ridge().fit(X, X[:, 1]), tmp_path / "ridge.gapless")
    code, out, err = run("check", path, files.table)
    assert (code, out) == (2, "")
    assert "contains a Ridge without columns, target" in err and "gapless.certify" in err


def test_long_tables_are_scored_by_some_of_their_rows(run, files, tmp_path, monkeypatch):
    monkeypatch.setattr("gapless.cli.checking.MOST_SCORED", 100)
    path = written(tmp_path, houses(1))
    code, out, _ = run("check", files.houses, path)
    assert code == 0 and "100 of the 300 rows with a target, drawn at random" in out
    # The rows are those of the smallest hashes, whatever their order.
    again = written(tmp_path, houses(1)[::-1])
    assert run("check", files.houses, again)[1] == out


def test_tables_are_looked_at_piece_by_piece(files):
    frame, model = houses(1), gapless.load(files.houses)
    pieces = [(frame[first : first + 50], frame[first : first + 50]) for first in range(0, 300, 50)]
    scan = scan_table(model, pieces, "pieces")
    assert (scan.tally.rows, scan.known, scan.training) == (300, 300, None)
    assert scan.table.frame.equals(frame) and not scan.search.may_be_it
    same = [(HOUSES[first : first + 50], HOUSES[first : first + 50]) for first in range(0, 300, 50)]
    assert scan_table(model, same, "pieces").training.tolist() == list(range(0, 300, 2))


def test_rows_at_the_end_are_not_drawn_more_often(files, monkeypatch):
    monkeypatch.setattr("gapless.cli.checking.MOST_SCORED", 120)
    frame, model = houses(1), gapless.load(files.houses)
    pieces = [(frame[first : first + 50], frame[first : first + 50]) for first in range(0, 300, 50)]
    drawn = scan_table(model, pieces, "pieces").table.frame
    assert drawn.height == 120
    assert drawn.equals(scan_table(model, [(frame, frame)], "whole").table.frame)


def test_values_that_cannot_be_read_are_a_finding(run, files, tmp_path):
    size = pl.Series([f"{x} m²" if k % 5 else str(x) for k, x in enumerate(houses(1)["size"])])
    code, out, _ = run("check", files.houses, written(tmp_path, houses(1).with_columns(size=size)))
    assert code == 1 and "warning: S307" in out


def test_columns_that_are_not_there_are_why_nothing_is_scored(run, files, tmp_path):
    _, out, _ = run("check", files.houses, written(tmp_path, houses(1).drop("city")))
    assert "score       none: the table lacks 'city'" in out


@pytest.mark.parametrize("model", [gapless.KNeighborsClassifier(3), gapless.SVC(gamma=0.5)])
def test_models_that_keep_texts_know_them_again(run, tmp_path, model):
    """Weights of words are rounded otherwise when the vectoriser is used than when it is fitted."""
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(80)]
    frame = pl.DataFrame(
        {
            "text": [" ".join(rng.choice(words, 15)) + f" number {k}" for k in range(60)],
            "y": ["yes", "yes", "no", "no"] * 15,
        }
    )
    path = gapless.save(fitted(frame, "y", "numbers", model), tmp_path / "model.gapless")
    _, out, _ = run("check", path, written(tmp_path, frame))
    assert "(recomputed from the training rows)" in out


def test_levels_written_otherwise_than_in_training_are_named(run, files, tmp_path):
    frame = pl.read_csv(files.table)
    changed = pl.Series("city", ["rome", "Olso", *frame["city"][2:]])
    frame.with_columns(changed).write_csv(tmp_path / "new.csv")
    _, out, err = run("check", files.houses, tmp_path / "new.csv")
    assert err == ""
    assert "note: D208" in out and "'Rome' and 'rome'" in out and "'Oslo' and 'Olso'" in out
    _, out, _ = run("check", files.houses, files.table)
    assert "D208" not in out
