"""The demo does what the README says: every model with a score and a certificate, and a picture."""

import functools

import pytest
from sklearn.base import clone

import gapless
from gapless.cli import demo
from gapless.plots import convergence


def some_rows(load):
    """The data of the demo, less most of it: what is said of a model does not hang on its size."""

    @functools.wraps(load)
    def part(return_X_y):
        X, y = load(return_X_y=return_X_y)
        step = max(1, len(X) // 30)
        return X[::step], y[::step]

    return part


def quicker(model):
    """The model with fewer members or epochs, on which it does not hang either."""
    few = {"n_estimators": 10} if model.get_params().get("n_estimators", 0) > 10 else {}
    if type(model).__module__.startswith("gapless.models.networks"):
        few = {"max_iter": 20}
    return clone(model).set_params(**few)


@pytest.fixture(scope="module")
def race():
    """The race of the picture, run once."""
    return demo.race()


@pytest.mark.usefixtures("no_verdict")
def test_every_model_is_shown_and_certified(capsys, tmp_path, monkeypatch, race):
    models = [(quicker(model), some_rows(load)) for model, load in demo.MODELS]
    monkeypatch.setattr(demo, "MODELS", models)
    monkeypatch.setattr(demo, "race", lambda: race)
    monkeypatch.setattr(demo, "FOLDS", 2)
    picture = tmp_path / "demo.png"
    demo.main([str(picture)])
    printed = capsys.readouterr().out
    models = {name for name in gapless.__all__ if hasattr(getattr(gapless, name), "score")}
    assert models and all(f"\n{name} " in printed for name in models)
    lines = [line for line in printed.splitlines() if line.split(" ")[0] in models]
    verdicts = ("optimal: ", "exact: ", "optimal among its subtrees: ", "bound: ")
    # These end near the optimum, and say how near.
    near = ("Perceptron ", "SGD", "MLP", "CNNClassifier ", "MiniBatchKMeans ")
    others = [line for line in lines if not (line.startswith(near) and "stopped: " in line)]
    assert all(any(verdict in line for verdict in verdicts) for line in others)
    assert all(" ± " in line and ("balanced" in line or "fitted" in line) for line in lines)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_solvers_of_the_picture_reach_the_tolerance(race):
    excess, verdict = race
    assert verdict.startswith("optimal")
    for seconds, values in excess.values():
        assert len(seconds) == len(values)
        assert 0 <= min(values) <= 10 * demo.TOL


def test_convergence_draws_the_smallest_excess_so_far():
    ax = convergence({"a": ([0.1, 0.2, 0.3], [4.0, float("nan"), 8.0])})
    (line,) = ax.get_lines()
    assert line.get_xdata().tolist() == [100.0, 300.0]
    assert line.get_ydata().tolist() == [4.0, 4.0]
