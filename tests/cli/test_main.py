"""The door: help, versions, exit codes, and errors that say what to do."""

import io
import json
import signal
import subprocess
import sys

import pytest

from gapless.cli.__main__ import main
from gapless.cli.args import COMMANDS
from gapless.cli.commands import data
from gapless.cli.files import whole_files


def run(capsys, *words):
    """The exit code, standard output and standard error of a command."""
    try:
        code = main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    return code, said.out, said.err


def test_help_names_every_command(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(f"\n    {name} " in out for name in COMMANDS)
    assert run(capsys)[1] == out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"usage: gapless {command} " in out
    assert "--debug" in out


def test_version(capsys):
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out.startswith("gapless ")
    words = [sys.executable, "-m", "gapless", "--version"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fti", "iris"], "unknown command 'fti'; did you mean 'fit'?"),
        (["xyzzy"], "unknown command 'xyzzy'; choose from fit, "),
        (["fit", "iris", "--tagret", "y"], "fit has no option --tagret; did you mean --target?"),
        (["fit", "iris", "--zzz=1"], "fit has no option --zzz; see gapless fit --help."),
        (["fit", "iris", "wine"], "unexpected argument 'wine'; quote names that contain spaces"),
        (["fit"], "TABLE is missing; it must come first: gapless fit TABLE"),
        (["fit", "--drop", "a", "iris"], "TABLE is missing; it must come first"),
        (["fit", "iris", "--task", "guess"], "invalid choice: 'guess'"),
        (["fit", "iris", "--test", "20"], "'20' is not a share between 0 and 1"),
        (["fit", "iris", "--time-limit", "0"], "'0' is not a number of seconds above 0"),
        (["fit", "iris", "--time-limit", "soon"], "'soon' is not a number of seconds"),
        (["fit", "iris", "--seed", "-1"], "seed"),
        (["fit", "iris", "-q", "-v"], "not allowed with argument"),
        (["fit", "irsi"], "irsi does not exist; did you mean iris?"),
        (["report", "nowhere"], "nowhere does not exist; name a model file, or the folder"),
        (["data", "irsi"], "unknown built-in table 'irsi'; choose from "),
    ],
)
def test_what_is_mistyped_is_named_with_its_cure(capsys, monkeypatch, tmp_path, words, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("gapless: ") and said in err
    assert "Traceback" not in err and err.count("\n") == 1


def test_a_file_in_place_of_a_command_says_how_to_fit_it(capsys, tmp_path):
    table = tmp_path / "houses.csv"
    table.write_text("a,b\n")
    assert f"gapless fit {table} --target COLUMN" in run(capsys, table)[2]


def test_the_target_is_asked_for_with_the_names_of_the_columns(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("size,price\n1,2\n2,3\n")
    code, _, err = run(capsys, "fit", "t.csv")
    assert code == 2
    assert "--target COL. The columns are 'size', 'price'." in err
    (tmp_path / "t.csv").write_text("x" * 100_000 + "\n1\n")
    assert len(run(capsys, "fit", "t.csv", "--target", "y")[2]) < 300
    assert len(run(capsys, "fit", "t.csv")[2]) < 300


def broken(*args):
    raise RuntimeError("no\nluck")


def test_unexpected_errors_are_called_defects_without_a_traceback(capsys, monkeypatch):
    monkeypatch.setattr(data, "run", broken)
    code, _, err = run(capsys, "data")
    assert code == 2
    assert err.startswith("gapless: RuntimeError: no\nluck\nThis is a bug in gapless")
    code, _, err = run(capsys, "data", "--debug")
    assert code == 2
    assert err.startswith("Traceback") and err.endswith("RuntimeError: no\nluck\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory"),
        (PermissionError(13, "Permission denied", "x.csv"), "gapless: x.csv: Permission denied.\n"),
        (KeyboardInterrupt(), None),
    ],
    ids=["memory", "permission", "not ours"],
)
def test_errors_of_the_system_are_named(capsys, monkeypatch, error, said):
    def fail(*args):
        raise error

    monkeypatch.setattr(data, "run", fail)
    if said is None:
        # Only Ctrl-C itself ends with 130; raised elsewhere it means something else.
        with pytest.raises(KeyboardInterrupt):
            main(["data"])
    else:
        code, _, err = run(capsys, "data")
        assert code == 2 and said in err


def test_built_in_tables_are_listed_and_written(capsys, tmp_path):
    code, out, _ = run(capsys, "data")
    assert code == 0
    assert out.startswith("14 built-in tables; to fit one: gapless fit breast_cancer\n")
    assert "\ntennis            14        5  play  " in out
    assert run(capsys, "data", "-q")[1].count("\n") == 1
    assert '"name": "tennis"' in run(capsys, "data", "--json")[1]
    code, out, _ = run(capsys, "data", "tennis")
    assert out.startswith("outlook,temperature,humidity,wind,play\nsunny,hot,high,weak,no\n")
    path = tmp_path / "tennis.csv"
    assert run(capsys, "data", "tennis", "-o", path)[1] == f"tennis: 14 rows written to {path}.\n"
    assert path.read_text() == out
    code, out, _ = run(capsys, "data", "tennis", "--json")
    assert (json.loads(out)["target"], json.loads(out)["data"][0]["outlook"]) == ("play", "sunny")
    for words in (["-o", path], ["tennis", "-o", path, "--json"], ["tennis", "-o", tmp_path]):
        assert run(capsys, "data", *words)[:2] == (2, "")


def test_letters_that_the_terminal_lacks_are_replaced(monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    monkeypatch.setattr(data, "run", lambda args, printer: printer.answer("0.9 ± 0.1") or 0)
    assert main(["data"]) == 0
    assert narrow.buffer.getvalue() == b"0.9 ? 0.1\n"


def test_a_reader_that_has_enough_is_no_error():
    code = (
        "import sys; from gapless.cli.__main__ import main; from gapless.cli.commands import data;"
        "data.run = lambda args, printer: [printer.answer('x' * 9999) for k in range(99)] and 0;"
        "sys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(600) == 0


def test_an_error_after_ctrl_c_is_an_interruption(capsys, monkeypatch):
    """An import that Ctrl-C has cut short may end in any error."""

    def interrupted(*args):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr(data, "run", interrupted)
    assert run(capsys, "data") == (130, "", "gapless: interrupted; no file was written.\n")


def test_an_interruption_after_the_files_names_them(capsys, monkeypatch, tmp_path):
    def interrupted(args, printer):
        with whole_files(tmp_path) as new:
            for name in ("model.gapless", "report.html"):
                new(name).write_text("whole")
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(data, "run", interrupted)
    said = "gapless: interrupted after model.gapless and report.html were written.\n"
    assert run(capsys, "data") == (130, "", said)
