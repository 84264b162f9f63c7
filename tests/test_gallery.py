"""The gallery: every script runs without a warning, draws, says what one sees, and has its page."""

import ast
import itertools
import json
import warnings

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text

from gapless.cli import main
from gapless.plots.gallery import Script, draw, index_page, scripts

SCRIPTS = scripts()
WIDEST, HIGHEST = 1200, 1400  # pixels: what fits a printed page


@pytest.fixture
def hidden(monkeypatch):
    """What cannot be read in the figures that are written while a test runs."""
    found, texts = [], {}
    draw_text, save = Text.draw, Figure.savefig

    def drawn(text, renderer):
        if text.get_visible() and text.get_text().strip():
            texts[text] = text.get_window_extent(renderer)
        draw_text(text, renderer)

    def saved(figure, *args, **options):
        texts.clear()
        save(figure, *args, **options)
        found.extend(overlapping(texts))
        found.extend(covered(figure))

    monkeypatch.setattr(Text, "draw", drawn)
    monkeypatch.setattr(Figure, "savefig", saved)
    return found


def overlapping(texts):
    """Pairs of texts on top of each other, from where each of them is, in pixels."""
    for (one, a), (other, b) in itertools.combinations(texts.items(), 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > 0 and height > 3:  # the extent of a text has some room above its letters
            yield f"{one.get_text()!r} and {other.get_text()!r} overlap"


def covered(figure):
    """Lines that pass below a legend."""
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()] + figure.legends
    for axes, legend in itertools.product(figure.axes, legends):
        box, clip = legend.get_window_extent(), axes.get_window_extent()
        for line in axes.lines:
            path = (
                line.get_path()
                if line.get_linestyle() == "None"
                else line.get_path().interpolated(8)
            )
            at = line.get_transform().transform_path(path).vertices
            if any(box.contains(*point) and clip.contains(*point) for point in at):
                yield f"a legend covers {line.get_label()!r}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_draws_a_picture(name, tmp_path, hidden):
    backend = mpl.get_backend()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = draw(SCRIPTS[name], tmp_path)
    assert drawn.pictures and len(drawn.printed.splitlines()) <= 30
    assert hidden == []
    for path in drawn.pictures:
        picture = imread(path)
        assert picture.shape[0] <= HIGHEST and picture.shape[1] <= WIDEST
        assert picture[..., :3].std() > 0.01  # more than an empty sheet
    assert mpl.get_backend() == backend


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_says_what_one_sees(name):
    script = SCRIPTS[name]
    first, line, *_ = ast.get_docstring(ast.parse(script.path.read_text())).split("\n")
    assert line == "=" * len(first) and len(first) <= 80 and not first.endswith(".")
    assert script.paragraphs and all(p[-1] in ".:;)?" for p in script.paragraphs)
    assert "plt.show()" in script.code and "savefig" not in script.code
    assert "import gapless" in script.code or "from gapless" in script.code


def test_titles_differ():
    assert len({script.title for script in SCRIPTS.values()}) == len(SCRIPTS)


def example(folder, name="two_figures", code="print('a < b')\nplt.figure()\nplt.figure()"):
    path = folder / f"plot_{name}.py"
    path.write_text(f"import matplotlib.pyplot as plt\n{code}\nplt.show()\n")
    return Script(name, path, "Two figures", ("The first of `two` <figures>.",), code)


@pytest.mark.parametrize(
    "code, complaint",
    [
        ("plt.text(0.5, 0.5, 'one')\nplt.text(0.52, 0.5, 'two')", "'one' and 'two' overlap"),
        ("plt.plot([0, 1], label='line')\nplt.legend(loc='center')", "a legend covers 'line'"),
    ],
)
def test_what_cannot_be_read_is_found(code, complaint, tmp_path, hidden):
    draw(example(tmp_path, code=code), tmp_path)
    assert hidden == [complaint]


def test_the_page_has_every_figure_and_escapes_what_was_written(tmp_path):
    drawn = draw(example(tmp_path), tmp_path)
    assert [path.name for path in drawn.pictures] == ["two_figures.png", "two_figures_2.png"]
    page = index_page([drawn])
    assert 'src="two_figures_2.png"' in page
    assert "<code>two</code> &lt;figures&gt;" in page and "a &lt; b" in page


def test_an_error_in_a_script_leaves_no_figure_open(tmp_path):
    import matplotlib.pyplot as plt

    with pytest.raises(ZeroDivisionError):
        draw(example(tmp_path, code="plt.figure()\n1 / 0"), tmp_path)
    assert plt.get_fignums() == []


def test_the_command_draws_what_it_is_asked_for(tmp_path, capsys, monkeypatch):
    cheap = example(tmp_path)
    monkeypatch.setattr("gapless.plots.gallery.scripts", lambda: {cheap.name: cheap})
    out = tmp_path / "pictures"
    assert main(["gallery", "two_figures", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"2 pictures: open {out / 'index.html'}.\n"
    assert {path.name for path in out.iterdir()} == {
        "index.html",
        "two_figures.png",
        "two_figures_2.png",
    }
    assert main(["gallery", "--json", "--out", str(out)]) == 0
    assert len(json.loads(capsys.readouterr().out)["pictures"]["two_figures"]) == 2
    assert main(["gallery", "--list"]) == 0
    assert "two_figures  Two figures" in capsys.readouterr().out
    (out / "index.html").write_text("somebody's own page")
    assert main(["gallery", "--out", str(out)]) == 2
    assert "is not a page of the gallery" in capsys.readouterr().err
    assert (out / "index.html").read_text() == "somebody's own page"
    assert main(["gallery", "two_figuers"]) == 2
    assert "did you mean 'two_figures'?" in capsys.readouterr().err
