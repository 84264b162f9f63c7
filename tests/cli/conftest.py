"""Commands run as a user runs them, and a few fitted models as files."""

from types import SimpleNamespace

import pytest
from markupsafe import Markup
from table_models import HOUSES, write_models

from gapless.cli.__main__ import main


@pytest.fixture
def run(capsys):
    """Run a command; its exit code, standard output and standard error."""

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def plain_reports(monkeypatch):
    """Reports without what takes longest, for tests of other things: learning curves, pictures."""
    monkeypatch.setattr("gapless.choosing.report.summary.learning_of", lambda *given: None)
    monkeypatch.setattr(
        "gapless.choosing.report.figures.draw_picture", lambda *given, **named: Markup()
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Paths of model files and of a table."""
    folder = tmp_path_factory.mktemp("models")
    HOUSES.write_csv(folder / "houses.csv")
    return SimpleNamespace(table=folder / "houses.csv", **write_models(folder))
