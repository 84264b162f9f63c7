"""The scripts of the gallery: where they are, what they say of themselves, and running one."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import runpy
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOTS_PER_INCH = 120


@dataclass(frozen=True, slots=True)
class Script:
    """A script that draws a picture.

    Attributes
    ----------
    name : str
        Its name: `plot_NAME.py` without what is common to all.
    path : Path
        The file.
    title : str
        What one sees, in a line.
    paragraphs : tuple of str
        What its docstring says below the title.
    code : str
        What follows the docstring.
    """

    name: str
    path: Path
    title: str
    paragraphs: tuple[str, ...]
    code: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """What came of running a script.

    Attributes
    ----------
    script : Script
        The script.
    pictures : tuple of Path
        The files it was drawn to, one for each figure.
    printed : str
        What it printed.
    seconds : float
        How long it took.
    """

    script: Script
    pictures: tuple[Path, ...]
    printed: str
    seconds: float


def scripts() -> dict[str, Script]:
    """All scripts, by name.

    Returns
    -------
    dict of str to Script
        In alphabetical order.

    Examples
    --------
    >>> from gapless.plots.gallery import scripts
    >>> "kernel_pca_denoising" in scripts()
    True
    """
    found = sorted(_folder().glob("plot_*.py"))
    return {script.name: script for script in map(_read, found)}


def draw(script: Script, folder: str | os.PathLike) -> Drawn:
    """Run a script and write its figures as PNG.

    Parameters
    ----------
    script : Script
        What to run, in this process.
    folder : path
        Where the pictures go; it must exist.

    Returns
    -------
    Drawn
    """
    import matplotlib.pyplot as plt

    said, began = io.StringIO(), time.monotonic()
    with _without_windows(), contextlib.redirect_stdout(said):
        runpy.run_path(str(script.path), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        names = [script.name, *(f"{script.name}_{k}" for k in range(2, len(figures) + 1))]
        pictures = tuple(Path(folder) / f"{name}.png" for name in names[: len(figures)])
        for figure, path in zip(figures, pictures):
            figure.savefig(path, dpi=DOTS_PER_INCH)
    return Drawn(script, pictures, said.getvalue(), time.monotonic() - began)


def _folder() -> Path:
    """Where the scripts are: inside an installed package, else beside its source."""
    package = Path(__file__).parent
    for folder in (package / "examples", package.parents[3] / "examples"):
        if any(folder.glob("plot_*.py")):
            return folder
    raise FileNotFoundError(
        "the scripts of the gallery are missing from this installation of gapless; install it "
        "again, or get the folder `examples` of its source."
    )


def _read(path: Path) -> Script:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, _, rest = (ast.get_docstring(tree) or path.stem).partition("\n")
    # The line below the title is drawn with "=".
    paragraphs = rest.strip("=\n").split("\n\n")
    code = "\n".join(source.split("\n")[tree.body[0].end_lineno or 0 :])
    return Script(
        path.stem.removeprefix("plot_"),
        path,
        title,
        tuple(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()),
        code.strip() + "\n",
    )


@contextlib.contextmanager
def _without_windows() -> Iterator[None]:
    """Figures that are drawn in memory and closed at the end; the look of matplotlib's defaults."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    before = mpl.get_backend()
    plt.close("all")
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        plt.switch_backend("agg")
        warnings.filterwarnings("ignore", message=".*non-interactive, and thus cannot be shown")
        try:
            yield
        finally:
            plt.close("all")
            plt.switch_backend(before)
