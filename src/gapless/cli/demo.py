"""A demo: `python -m gapless.cli.demo` fits every model on built-in data, and prints how well.

Prints one line per model with its score on held-out rows, the model's own estimate, and its
certificate, and draws how fast several solvers approach the best possible objective.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from sklearn import datasets
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..model_io import MODELS as KNOWN
from ..models.linear import Lasso
from ..plots import convergence


def load_digit_halves(return_X_y: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The upper half of each digit, and as targets the pixels of its lower half."""
    pixels, _ = datasets.load_digits(return_X_y=True)
    return pixels[:, :32], pixels[:, 32:]


def load_descriptions(return_X_y: bool = True) -> tuple[list[str], np.ndarray]:
    """Lines of scikit-learn's descriptions of its data, and which data they describe as targets."""
    lines = [
        (line, load.__name__.removeprefix("load_"))
        for load in (datasets.load_breast_cancer, datasets.load_iris, datasets.load_wine)
        for line in load().DESCR.splitlines()
        if line.strip(" -=:|")
    ]
    return [line for line, _ in lines], np.array([name for _, name in lines])


# The data for the models, none of which needs a download; models of the same data are adjacent.
DATA: dict[str, Callable] = {
    "diabetes": datasets.load_diabetes,
    "digit_halves": load_digit_halves,
    "linnerud": datasets.load_linnerud,
    "breast_cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "digits": datasets.load_digits,
    "descriptions": load_descriptions,
}
# Each model with its data, from the classes' `_examples`.
MODELS = [
    (cls(**example.parameters), load)
    for data, load in DATA.items()
    for cls in KNOWN.values()
    for example in getattr(cls, "_examples", ())
    if example.data == data
]

SOLVERS = {
    "prox-Newton on a working set": "prox_newton",
    "accelerated proximal gradient": "proximal_gradient",
    "iterative soft-thresholding": "ista",
}
TOL = 1e-8
FOLDS = 4


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    model: str
    data: str
    score: str
    estimate: str
    fitted: str
    milliseconds: float
    certificate: str


def fit_models() -> list[Row]:
    """Fit every model to all its data; its score on unseen rows is that of folds."""
    return [_fit(model, load) for model, load in MODELS]


def _fit(model, load: Callable) -> Row:
    X, y = load(return_X_y=True)
    tags = model.__sklearn_tags__().input_tags
    # Texts and counts have no scale.
    is_plain = tags.string or tags.positive_only
    scaled = model if is_plain else make_pipeline(StandardScaler(), model)
    score = np.mean(cross_val_score(scaled, X, y, cv=KFold(FOLDS, shuffle=True, random_state=0)))
    began = time.perf_counter()
    scaled.fit(X, y)
    spent = time.perf_counter() - began
    unseen = model.generalization_
    return Row(
        model=type(model).__name__,
        data=load.__name__.removeprefix("load_").replace("_", " "),
        score=f"{unseen.metric} {score:.3f}",
        estimate=f"{unseen.unseen:.3f} ± {unseen.standard_error:.3f}",
        fitted=unseen.kind,
        milliseconds=1e3 * spent,
        # The part after a semicolon explains.
        certificate=model.certificate_.verdict.partition(";")[0],
    )


def table(rows: list[Row]) -> str:
    """The rows as aligned text: the score on unseen rows next to the model's estimate."""
    header = ("model", "data", "unseen rows", "expected", "fit", "ms", "certificate")
    cells = [
        (r.model, r.data, r.score, r.estimate, r.fitted, f"{r.milliseconds:.0f}", r.certificate)
        for r in rows
    ]
    widths = [max(len(row[k]) for row in [header, *cells]) for k in range(6)]
    lines = []
    for row in [header, *cells]:
        columns = [text.ljust(width) for text, width in zip(row, widths)]
        columns[5] = row[5].rjust(widths[5])
        lines.append("  ".join([*columns, row[6]]))
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def race() -> tuple[dict[str, tuple[list[float], list[float]]], str]:
    """How far several solvers are above the best lasso, against time, and what they prove."""
    X, y = datasets.load_diabetes(return_X_y=True)
    noise = np.random.default_rng(0).standard_normal((len(X), 1000))
    X = StandardScaler().fit_transform(np.hstack([X, noise]))
    models = {
        label: Lasso(alpha=2.0, solver=solver, tol=TOL, max_iter=5000).fit(X, y)
        for label, solver in SOLVERS.items()
    }
    best = max(models.values(), key=lambda model: model.certificate_.dual).certificate_
    excess = {
        label: (model.trace_.seconds, [p / best.dual - 1 for p in model.trace_.primal])
        for label, model in models.items()
    }
    return excess, best.verdict


def draw(path: str) -> None:
    """Save the picture of the race."""
    excess, verdict = race()
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.add_subplot()
    convergence(excess, tol=TOL, axes=ax)
    ax.set_title("One lasso, three solvers, one answer", loc="left", fontweight="bold")
    figure.supxlabel(f"certificate_: “{verdict}”", fontsize="medium", style="italic")
    figure.savefig(path, dpi=150)


def main(arguments: list[str] | None = None) -> None:
    """Print the table and save the picture."""
    parser = argparse.ArgumentParser(prog="python -m gapless.cli.demo", description=__doc__)
    parser.add_argument("picture", nargs="?", default="demo.png", help="where to save the picture")
    options = parser.parse_args(arguments)
    print(table(fit_models()))
    draw(options.picture)
    print(f"\n{options.picture} shows how fast three solvers get there.")


if __name__ == "__main__":
    main()
