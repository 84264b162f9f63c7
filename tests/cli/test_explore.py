"""`gapless explore` as a user runs it, and what the other commands make of its model file."""

import contextlib
import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import gapless
from gapless.cli.__main__ import main
from gapless.cli.results import default_folder


def flowers(seed=0, n=150):
    """Two kinds of flowers."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "length": 8.0 * kind + rng.normal(size=n),
            "width": 3.0 - 5.0 * kind + rng.normal(size=n),
            "colour": np.where(kind == 1, "white", "blue"),
        }
    )


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """A table in a file, the folder of its map, and what was printed."""
    folder = tmp_path_factory.mktemp("explored")
    flowers().write_csv(folder / "flowers.csv")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["explore", str(folder / "flowers.csv"), "--out", str(folder / "map")])
    assert code == 0
    return SimpleNamespace(table=folder / "flowers.csv", folder=folder / "map", out=out.getvalue())


def test_it_prints_the_answer_first_and_writes_two_files(explored):
    assert explored.out.startswith("2 groups among 150 rows (A ")
    assert sorted(path.name for path in explored.folder.iterdir()) == [
        "model.gapless",
        "report.html",
    ]
    page = (explored.folder / "report.html").read_text()
    assert "<script" not in page and len(page.encode()) < 2e6


def test_json_has_what_the_text_says(explored, run, tmp_path):
    code, out, _ = run("explore", explored.table, "--json", "--out", tmp_path / "map")
    data = json.loads(out)
    assert code == 0
    assert data["answer"] == explored.out.partition("\n")[0]
    for group in data["groups"]["shown"]:
        assert " ".join(group["words"].split()) in " ".join(explored.out.split())
    assert data["files"]["model"] == str(tmp_path / "map" / "model.gapless")


def test_quiet_is_one_line(explored, run, tmp_path):
    _, out, err = run("explore", explored.table, "-q", "--out", tmp_path / "map")
    assert (out, err) == (explored.out.partition("\n")[0] + "\n", "")


def test_predict_writes_group_coordinates_and_how_unusual_a_row_is(explored, run):
    code, out, err = run("predict", explored.folder, explored.table)
    frame = pl.read_csv(io.StringIO(out))
    assert code == 0, err
    assert frame.columns[:4] == ["length", "width", "colour", "group"]
    assert frame.columns[-1] == "unusual"
    model = gapless.load(explored.folder / "model.gapless")
    assert frame["group"].to_list() == model.predict(flowers()).tolist()
    groups = frame.group_by("colour").agg(pl.col("group").n_unique())
    assert groups["group"].to_list() == [1, 1]
    scores = model.transform(flowers())
    assert np.allclose(frame["component_1"].to_numpy(), scores[:, 0])
    assert frame["unusual"].is_between(0.0, 1.0).all()


def test_predict_takes_no_rows_and_no_options_of_targets(explored, run, tmp_path):
    (tmp_path / "none.csv").write_text("length,width,colour\n")
    code, out, _ = run("predict", explored.folder, tmp_path / "none.csv")
    assert code == 0
    assert out.startswith("length,width,colour,group,component_1")
    for option in ("--proba", "--coverage=0.8"):
        code, _, err = run("predict", explored.folder, explored.table, option)
        assert (code, "predicts no target" in err) == (2, True)


def test_report_show_and_check_know_the_map(explored, run, tmp_path):
    code, out, err = run("report", explored.folder)
    assert code == 0, err
    assert explored.out.startswith(out.rstrip("\n"))
    code, _, _ = run("report", explored.folder, "-o", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == (explored.folder / "report.html").read_text()
    code, out, _ = run("show", explored.folder)
    assert code == 0
    assert out.startswith("Map with ")
    assert "group A: " in out and "component 1: " in out
    code, out, _ = run("check", explored.folder, explored.table)
    assert code == 0
    assert out.startswith("Fine: ") and "training rows, as expected; the table" in out
    page, shown = " ".join(explored.out.split()), " ".join(out.split())
    for name in ("components", "groups"):
        after = page.partition(f"optimality of the {name}: ")[2]
        verdict = after.partition(f" {name} on unseen")[0]
        assert verdict and f"{name}: {verdict}" in shown


def test_check_notices_rows_that_fit_nowhere(explored, run, tmp_path):
    mixed = flowers(1).with_columns(colour=pl.col("colour").reverse(), width=pl.col("width") * 3)
    mixed.write_csv(tmp_path / "mixed.csv")
    code, out, _ = run("check", explored.folder, tmp_path / "mixed.csv")
    assert code == 1
    assert "S313 more rows are far out" in out


def test_results_of_fit_and_explore_do_not_replace_each_other(explored, run):
    assert str(default_folder("houses.csv.gz", ".explore")) == "houses.explore"
    code, _, err = run(
        *("fit", explored.table, "--target", "colour", "--models", "pruned tree"),
        *("--time-limit", "600", "--out", explored.folder),
    )
    assert (code, "another command" in err) == (2, True)


def test_a_built_in_table_needs_no_target(run, tmp_path):
    code, out, err = run("explore", "iris", "--drop", "species", "-q", "--out", tmp_path / "map")
    assert (code, err) == (0, "")
    assert out.startswith("2 groups among 150 rows")


def test_too_little_time_leaves_groups_out_and_says_so(explored, run, tmp_path):
    code, out, _ = run(
        "explore", explored.table, "--time-limit", "0.001", "--out", tmp_path / "map"
    )
    assert code == 0
    assert "too little time" in out


@pytest.mark.parametrize("option", [("--clusters", "0"), ("--components", "x"), ("--seed", "-1")])
def test_wrong_numbers_are_refused(explored, run, option):
    code, _, err = run("explore", explored.table, *option)
    assert (code, option[1] in err) == (2, True)


def test_whoever_stops_reading_does_not_lose_the_files(explored, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    words = ["explore", explored.table, "--out", tmp_path / "map", "--clusters", "2"]
    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run([sys.executable, "-m", "gapless.cli", *words], stdout=nobody)
    assert done.returncode == 0
    assert (tmp_path / "map" / "model.gapless").exists()
