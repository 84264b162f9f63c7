"""`gapless fit` as a user runs it: what it prints, writes and returns; `gapless report` too."""

import contextlib
import io
import json
import sys
import time

import polars as pl
import pytest
from safetensors import SafetensorError

import gapless
from gapless._ground.threads import threads
from gapless.cli.__main__ import main
from gapless.cli.commands import fit
from gapless.cli.printer import Printer
from gapless.cli.results import default_folder

QUICK = ("--models", "pruned tree", "naive Bayes", "--time-limit", "600")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(*words, err=None):
    """The exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), err or io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """The folder and the text of one fit."""
    folder = tmp_path_factory.mktemp("fit") / "iris"
    code, out, err = run("fit", "iris", *QUICK, "--out", folder)
    assert (code, err) == (0, "")
    return folder, out


def leaking(path):
    """A table in which one column gives the target away."""
    pl.DataFrame(
        {
            "x": [(k * 37) % 101 for k in range(80)],
            "told": [float(k % 2) * 10 + (k % 3) for k in range(80)],
            "y": ["no", "yes"] * 40,
        }
    ).write_csv(path)
    return path


def test_the_first_line_is_the_answer_and_the_rest_explains_it(fitted):
    folder, out = fitted
    first = out.splitlines()[0]
    assert "'species'" in first and "%" in first
    assert first.lower().startswith(("naive bayes", "pruned tree"))
    for word in (
        "accuracy",
        "majority class",
        "naive Bayes",
        "pruned tree",
        "train",
        "unseen",
        "±",
        "test",
    ):
        assert word in out
    assert "import gapless" in out or "from gapless" in out
    assert str(folder / "model.gapless") in out and str(folder / "report.html") in out
    assert "\x1b" not in out


def test_model_and_report_are_written_whole(fitted):
    folder, _ = fitted
    assert sorted(path.name for path in folder.iterdir()) == ["model.gapless", "report.html"]
    model = gapless.load(folder / "model.gapless")
    assert model.measure(gapless.data.load_builtin("iris")).value > 0.9
    page = (folder / "report.html").read_text()
    assert page.lower().startswith("<!doctype html>") and page.rstrip().endswith("</html>")


def test_the_report_comes_from_the_model_file_alone(fitted, tmp_path):
    folder, out = fitted
    alone = tmp_path / "copy.gapless"
    alone.write_bytes((folder / "model.gapless").read_bytes())
    for source in (folder, alone):
        code, again, _ = run("report", source)
        assert code == 0
        assert out.startswith(again.rstrip("\n"))
    page = tmp_path / "new" / "page.html"
    assert run("report", alone, "-o", page) == (0, f"The report is in {page}.\n", "")
    assert page.read_text() == (folder / "report.html").read_text()
    code, text, _ = run("report", alone, "--json")
    assert code == 0 and json.loads(text)
    code, _, err = run("report", alone, "-o", tmp_path / "page.pdf")
    assert code == 2 and "must end in .html, .json or .txt" in err


def test_a_report_that_fails_does_not_lose_the_model(tmp_path, monkeypatch):
    def failing(*args, **options):
        raise ZeroDivisionError("in the report")

    monkeypatch.setattr("gapless.choosing.report.to_html", failing)
    (tmp_path / "report.html").write_text("of an earlier model")
    code, out, err = run("fit", "iris", *QUICK, "--out", tmp_path)
    assert code == 2 and "ZeroDivisionError: in the report" in err
    assert "its report could not be written" in err and str(tmp_path / "model.gapless") in out
    assert not (tmp_path / "report.html").exists()
    assert gapless.load(tmp_path / "model.gapless").record_ == ""
    code, _, err = run("report", tmp_path)
    assert code == 2 and "or the report failed" in err


def test_a_model_that_fit_did_not_write_has_no_report(tmp_path):
    path = gapless.save(gapless.Ridge(), tmp_path / "ridge.gapless")
    code, _, err = run("report", path)
    assert code == 2
    assert "contains no report" in err and f"gapless show {path}" in err


@pytest.mark.usefixtures("plain_reports")
def test_quiet_is_one_line_and_json_is_the_same_data(fitted, tmp_path):
    code, out, err = run("fit", "iris", *QUICK, "--out", tmp_path / "a", "-q")
    assert (code, err) == (0, "")
    assert out == fitted[1].splitlines()[0] + "\n"
    code, out, err = run("fit", "iris", *QUICK, "--out", tmp_path / "b", "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["files"]["model"] == str(tmp_path / "b" / "model.gapless")
    assert "naive Bayes" in out


@pytest.mark.usefixtures("plain_reports")
def test_progress_is_recorded_as_lines_with_verbose(tmp_path):
    code, out, err = run("fit", "iris", *QUICK, "--out", tmp_path / "a", "-v")
    assert code == 0
    first, second, third, *_ = err.splitlines()
    # The limit is for what comes after reading, so that all is loaded before.
    assert first.endswith(" s  loading models") and second.endswith(" s  reading iris")
    assert third == "iris: 150 rows, 5 columns"
    for stage in ("looking at the columns", "preparing", "report: pages"):
        assert stage in err
    seconds = [float(line.split()[0]) for line in err.splitlines() if line[7:].startswith(" s  ")]
    assert seconds == sorted(seconds) and len(seconds) >= 4
    for name in ("majority class", "naive Bayes", "pruned tree"):
        assert name in err
    assert " s  " not in out.splitlines()[0]


@pytest.mark.usefixtures("plain_reports")
def test_progress_is_one_line_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    code, _, err = run("fit", "tennis", *QUICK, "--out", tmp_path / "a", err=Terminal())
    assert code == 0
    assert "\n" not in err
    assert " of " in err and " s [" in err and "naive Bayes" in err
    assert err.rsplit("\r", 2)[1].strip() == "" and err.endswith("\r")


@pytest.mark.usefixtures("plain_reports")
def test_strict_ends_with_1_when_the_table_leaks(tmp_path):
    table = leaking(tmp_path / "t.csv")
    words = ("fit", table, "--target", "y", *QUICK, "--out", tmp_path / "out")
    code, out, _ = run(*words)
    assert code == 0 and "L101" in out and "told" in out
    assert run(*words, "--strict", "-q")[0] == 1
    assert run(*words, "--strict", "-q", "--drop", "told")[0] == 0


@pytest.mark.usefixtures("plain_reports")
def test_standard_input_is_a_table(tmp_path, monkeypatch):
    data = leaking(tmp_path / "t.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    monkeypatch.chdir(tmp_path)
    assert run("fit", "-", "--target", "y", *QUICK)[0] == 0
    assert (tmp_path / "table.gapless" / "model.gapless").is_file()


@pytest.mark.usefixtures("plain_reports")
def test_groups_times_costs_and_metrics_are_passed_on(tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame(
        {
            "who": [k // 4 for k in range(120)],
            "when": [f"2024-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(120)],
            "x": [(k * 37) % 101 for k in range(120)],
            "y": ["yes" if (k * 37) % 101 > 50 else "no" for k in range(120)],
        }
    ).write_csv(path)
    costs = tmp_path / "costs.csv"
    costs.write_text(",no,yes\nno,0,1\nyes,5,0\n")
    words = ("fit", path, "--target", "y", "--models", "naive Bayes", "--out", tmp_path / "out")
    code, out, err = run(*words, "--group", "who", "--metric", "log_loss", "--test", 0.3)
    assert code == 0, err
    assert "log loss" in out
    code, out, err = run(*words, "--time", "when", "--costs", costs, "--drop", "who")
    assert code == 0, err
    assert "cost" in out.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--models", "boosted tree"), "Did you mean 'boosted trees'?"),
        (("--models", "zzz"), "choose from majority class, "),
        (("--metric", "acuracy"), "accuracy"),
        (("--metric", "r2"), "r2"),
        (("--target", "specie"), "did you mean 'species'?"),
        (("--drop", "petal_lenght"), "did you mean 'petal_length'?"),
        (("--group", "who"), "'who'"),
        (("--group", "species"), "species"),
        (("--costs", "nowhere.csv"), "nowhere.csv"),
        (("--task", "regression"), "contains text such as"),
    ],
)
def test_what_does_not_fit_the_table_is_refused_before_any_fit(tmp_path, options, said):
    code, out, err = run("fit", "iris", *options, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.startswith("gapless: ") and said in err and "bug in gapless" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_refused_before_any_fit(tmp_path):
    (tmp_path / "out").write_text("")
    code, _, err = run("fit", "iris", "--out", tmp_path / "out")
    assert code == 2 and "is a file, not a folder" in err


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*args, **options):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("gapless.model_io.container.save_file", full)
    code, out, err = run("fit", "tennis", *QUICK, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "No space left on device" in err and "bug in gapless" not in err
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_called_after_the_table():
    assert str(default_folder("/some/where/houses.csv.gz")) == "houses.gapless"
    assert str(default_folder("iris")) == "iris.gapless"
    assert str(default_folder(".hidden.csv")) == ".hidden.gapless"
    assert str(default_folder("-")) == "table.gapless"
    assert str(default_folder("sales.2023.csv")) == "sales.2023.gapless"
    assert str(default_folder("v1.2")) == "v1.2.gapless"


@pytest.mark.parametrize("name", ["", " ", "\n", "a\nb", "\t"])
@pytest.mark.parametrize("command", [("fit", "iris"), ("data", "iris"), ("predict", "m", "t")])
def test_a_folder_or_file_needs_a_name(tmp_path, monkeypatch, command, name):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*command, "--out", name)
    assert (code, out) == (2, "") and "--out" in err and "bug in gapless" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("plain_reports")
def test_results_of_another_table_are_replaced_only_when_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["a,y", *(f"{k % 7},{k % 7 > 3}" for k in range(40))]
    tables = {}
    for name in ("one.csv", "other.csv"):
        tables[name] = tmp_path / name
        tables[name].write_text("\n".join(rows))
        rows.append("9,True")
    fitted = ("--target", "y", "--models", "pruned tree", "--time-limit", 600, "--out", "out")
    assert run("fit", "one.csv", *fitted)[0] == 0
    before = (tmp_path / "out" / "model.gapless").read_bytes()
    code, out, err = run("fit", "other.csv", *fitted)
    assert (code, out) == (2, "")
    assert "out already contains a model of one.csv, another table" in err and "--overwrite" in err
    assert (tmp_path / "out" / "model.gapless").read_bytes() == before
    # The same rows under another name, and more rows under the same name, are the same table.
    (tmp_path / "copy.csv").write_bytes(tables["one.csv"].read_bytes())
    assert run("fit", "copy.csv", *fitted)[0] == 0
    tables["one.csv"].rename(tmp_path / "copy.csv")
    (tmp_path / "copy.csv").write_bytes(tables["other.csv"].read_bytes())
    assert run("fit", "copy.csv", *fitted)[0] == 0
    assert run("fit", "iris", *fitted[2:])[0] == 2
    assert run("fit", "iris", *fitted[2:], "--overwrite")[0] == 0


def test_a_model_that_cannot_be_read_is_not_replaced_unasked(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.gapless").write_text("mine")
    code, _, err = run("fit", "iris", *QUICK, "--out", tmp_path / "out")
    assert code == 2 and "already contains another model" in err
    assert (tmp_path / "out" / "model.gapless").read_text() == "mine"


def test_a_report_leaves_time_for_its_pages(monkeypatch):
    given = []

    def summarize(choice, table, *, time_limit, on_progress):
        given.append(time_limit)
        raise RuntimeError("enough")

    monkeypatch.setattr("gapless.choosing.report.summarize", summarize)
    with pytest.raises(RuntimeError, match="enough"):
        fit._pages(None, None, 1.0, time.monotonic(), Printer(io.StringIO(), io.StringIO()))
    assert 0.0 < given[0] <= fit.FOR_ALL - fit.PAGES


def test_the_time_limit_is_kept(tmp_path):
    """With slack for the pages: what would take much longer is not begun or is stopped."""
    began = time.process_time()
    with threads(2):
        code, out, err = run("fit", "digits", "--time-limit", 3, "--out", tmp_path / "out")
    assert code == 0, err
    # By the clock of the process, on two threads, which stops while others have the processor.
    assert time.process_time() - began < 2 * (3 * 1.1 + 3)
    assert "skipped" in out or "seconds" in out
