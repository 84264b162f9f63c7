"""Unexpected errors: who may be to blame."""

from gapless.cli.__main__ import main
from gapless.cli.commands import show


def test_of_a_command_with_a_model_the_file_may_be_damaged(capsys, monkeypatch):
    def broken(*_):
        raise RuntimeError("no luck")

    monkeypatch.setattr(show, "run", broken)
    assert main(["show", "m.gapless"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gapless: RuntimeError: no luck\nEither m.gapless is damaged (")
    assert "bug in gapless; --debug" in said
