"""Notebooks: results show themselves as HTML, light and dark, and the example notebooks run."""

import inspect
import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from sklearn.datasets import load_iris

import gapless
from gapless import evaluation, metrics
from gapless._ground.notebook import ShownInNotebook, as_html, table
from public_estimators import public_estimators

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "examples" / "notebooks").glob("*.ipynb"))
X, Y = load_iris(return_X_y=True)
IS_FIRST = Y == 0


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_is_about(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "save it without outputs"
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert any("text/html" in output.get("data", {}) for output in outputs)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


class Balanced(HTMLParser):
    """Complains about tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    without = re.sub(r'src="data:image/png;base64,[^"]+"', "", html)
    # Nothing is loaded, nothing runs, and the page decides its colours.
    assert not re.search(r"https?:|<script|[; \"]color:", without)
    return without


RESULTS = {
    "certificate": lambda: gapless.Ridge().fit(X, Y).certificate_,
    "generalization": lambda: gapless.Ridge().fit(X, Y).generalization_,
    "learning curve": lambda: gapless.learning_curve(gapless.Ridge(), X, Y),
    "validation curve": lambda: gapless.validation_curve(gapless.Ridge(), X, Y, "alpha", [0.1, 1]),
    "comparison": lambda: gapless.compare({"a": gapless.Ridge(), "b": gapless.Lasso()}, X, Y),
    "roc": lambda: metrics.roc_curve(IS_FIRST, X[:, 1]),
    "precision and recall": lambda: metrics.precision_recall_curve(IS_FIRST, X[:, 1]),
    "confusion": lambda: metrics.confusion_matrix(Y, np.roll(Y, 3)),
    "score": lambda: metrics.accuracy(Y, np.roll(Y, 3)),
    "path": lambda: gapless.Lasso(alpha="loo").fit(X, Y).path_,
    "trace": lambda: gapless.Lasso(alpha=0.1, solver="ista").fit(X, Y).trace_,
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shows_what_it_prints_and_draws(name):
    result = RESULTS[name]()
    html = checked(result._repr_html_())
    words = re.sub(r"<[^>]+>", "", html)
    first = str(result).splitlines()[0].removeprefix("<").removesuffix(">")
    assert first in words.replace("&lt;", "<").replace("&gt;", ">")
    assert ("<img" in html) == hasattr(result, "plot")


def test_a_choice_is_a_table_of_what_was_compared():
    iris = gapless.data.load_builtin("iris")
    choice = gapless.choose(iris, "species", models="linear discriminants, naive Bayes")
    html = checked(choice._repr_html_())
    assert f"{choice.chosen} (chosen)" in html and "majority class" in html
    assert html.count("<tr>") == 1 + len(choice.judged)
    assert "setosa" in iris._repr_html_()


def test_whatever_draws_itself_is_shown():
    shown = [
        thing
        for module in (metrics, evaluation)
        for thing in (getattr(module, name) for name in module.__all__)
        if inspect.isclass(thing) and hasattr(thing, "plot")
    ]
    # A grid of predictions has nothing to say but its picture, which `plot()` draws.
    others = [thing.__name__ for thing in shown if not issubclass(thing, ShownInNotebook)]
    assert len(shown) > 10 and others == ["DecisionGrid"]


@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_every_estimator_has_a_diagram(cls):
    assert hasattr(cls, "_repr_html_")


def test_text_is_escaped_and_verdicts_stand_out():
    assert "<b>a &lt;b&gt;</b>: c" in as_html("a <b>: c")
    assert "<pre" in as_html("name   1.5\nother  2.5")
    assert "<small>gap 1</small>" in as_html("exact: so\n(gap 1)")
    assert "&lt;td&gt;" in table(["<td>"], [["<td>"]])
