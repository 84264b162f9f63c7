"""What pictures of descent show: traces, landscapes with paths, and the crossover."""

import matplotlib as mpl
import numpy as np
import pytest

import gapless
from gapless import plots
from gapless.solvers import GradientDescent, Momentum, Named, Trace

mpl.use("Agg")

X = np.array([[3.0, 0.2], [0.0, 1.0], [1.0, -1.0], [2.0, 0.5]])
y = X @ [1.0, 2.0] + [0.1, -0.2, 0.3, 0.0]


def fitted(solver, **options):
    return gapless.Ridge(alpha=0.1, fit_intercept=False, solver=solver, **options).fit(X, y)


def objective(w):
    return 0.5 * np.sum((y - X @ w) ** 2) + 0.05 * np.sum(np.square(w))


def lines_of(axes):
    return {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}


def test_a_landscape_has_the_objective_its_minimiser_and_the_paths():
    solvers = {
        "plain": GradientDescent(step=0.1, keep_iterates=True),
        "momentum": GradientDescent(step=0.1, update=Momentum(0.8), keep_iterates=True),
        "newton": Named("newton"),
    }
    models = {name: fitted(solver) for name, solver in solvers.items()}
    found = gapless.landscape(models, X, y, size=7)
    expected = [[objective(np.array([a, b])) for a in found.x] for b in found.y]
    np.testing.assert_allclose(found.values, expected, rtol=1e-9)
    best = np.linalg.solve(X.T @ X + 0.1 * np.eye(2), X.T @ y)
    np.testing.assert_allclose(found.best, best, rtol=1e-6)
    assert found.x[0] < 0 < best[0] < found.x[-1] and found.y[0] < 0 < best[1] < found.y[-1]
    for name, model in models.items():
        np.testing.assert_array_equal(found.paths[name][-1], model.trace_.iterates[-1][0])
        np.testing.assert_array_equal(found.paths[name][0], 0.0)
    assert "momentum took" in str(found)
    drawn = lines_of(found.plot())
    for name, path in found.paths.items():
        np.testing.assert_array_equal(drawn[name].T, path)


def test_a_landscape_needs_iterates_and_two_coefficients():
    with pytest.raises(ValueError, match="did not keep its iterates; fit it with"):
        gapless.landscape(fitted("gradient_descent"), X, y)
    with pytest.raises(ValueError, match="must be two of the 2 coefficients"):
        gapless.landscape(fitted(Named("newton")), X, y, features=(1, 1))
    with pytest.raises(ValueError, match="models is empty"):
        gapless.landscape({}, X, y)


def test_convergence_takes_traces_and_draws_them_above_the_best_lower_bound():
    slow = fitted(GradientDescent(step=0.05), tol=1e-3).trace_
    fast = fitted("newton").trace_
    bound = max(slow.lower_bound, fast.lower_bound)
    drawn = lines_of(plots.convergence({"a": slow, "b": fast}, against="iterations"))
    np.testing.assert_array_equal(drawn["a"][0], slow.iterations)
    expected = np.minimum.accumulate(np.array(slow.primal) - bound)
    np.testing.assert_allclose(drawn["a"][1], expected, rtol=1e-12)
    seconds = lines_of(plots.convergence({"a": slow}))
    np.testing.assert_allclose(seconds["a"][0], 1e3 * np.array(slow.seconds))
    plain = lines_of(
        plots.convergence({"c": ([0, 1, 2], [4.0, np.nan, 1.0])}, against="iterations")
    )
    np.testing.assert_array_equal(plain["c"], [[0, 2], [4, 1]])
    with pytest.raises(ValueError, match='must be "seconds" or "iterations"'):
        plots.convergence({"a": slow}, against="steps")


def test_a_trace_draws_itself():
    trace = fitted("gradient_descent").trace_
    drawn = lines_of(trace.plot())["objective"]
    np.testing.assert_array_equal(drawn[0], trace.iterations)
    assert np.all(np.diff(drawn[1]) <= 0)


def test_a_trace_prints_as_a_sentence_however_long_it_is():
    trace = Trace()
    assert str(trace) == "no steps"
    for k in range(1000):
        trace.record(1000.0 - k, 999.0 - k, 0.002 * k, k)
        trace.steps = k
    assert repr(trace) == "<Trace: 999 steps in 2 s, objective from 1000 to 1, gap 0>"
    assert trace.plot().get_lines()[0].get_marker() == "None"


def test_a_trace_without_a_bound_is_drawn_above_its_lowest_value():
    trace = Trace()
    for k, value in enumerate([3.0, 2.0, 1.5]):
        trace.record(value, np.nan, 0.1 * k, k)
    assert trace.lower_bound == -np.inf
    drawn = lines_of(trace.plot())["objective"]
    np.testing.assert_allclose(drawn[1], [1.5, 0.5, np.finfo(float).eps])


def test_crossover_measures_all_solvers_and_says_from_where_on_descent_is_faster():
    found = gapless.crossover(50, [3, 8], solvers=["cg"], repeats=1)
    assert found.features.tolist() == [3, 8] and set(found.seconds) == {"cholesky", "cg"}
    assert all(np.all(times > 0) for times in found.seconds.values())
    assert "with 50 rows" in str(found)
    drawn = lines_of(found.plot())
    np.testing.assert_allclose(drawn["cg"][1], 1e3 * found.seconds["cg"])
    with pytest.raises(ValueError, match="n must be at least 2"):
        gapless.crossover(1, [3])


def test_crossover_is_where_descent_stays_faster():
    seconds = {"cholesky": np.array([1.0, 2.0, 8.0, 30.0]), "cg": np.array([0.5, 3.0, 4.0, 5.0])}
    known = gapless.evaluation.Crossover(np.array([1, 10, 100, 1000]), seconds, 9, 1e-6)
    assert known.first_faster("cg") == 100
    assert "cg from 100 features on" in str(known)
    never = {"cholesky": np.ones(2), "cg": np.array([0.5, np.nan])}
    assert gapless.evaluation.Crossover(np.array([1, 2]), never, 9, 1e-6).first_faster("cg") is None


def test_a_solver_that_misses_the_tolerance_has_no_time():
    found = gapless.crossover(30, 4, solvers=["online"], tol=1e-12, repeats=1)
    assert np.isnan(found.seconds["online"][0]) and found.seconds["cholesky"][0] > 0


@pytest.mark.parametrize(
    "model",
    [
        gapless.SVC(C=2.0),
        gapless.SVC(C=2.0, multi_class="crammer_singer"),
        gapless.SVC(C=2.0, approximation="nystroem", n_components=5),
        gapless.SVR(),
        gapless.NuSVC(nu=0.2),
        gapless.OneClassSVM(nu=0.3),
    ],
    ids=repr,
)
def test_support_vector_machines_trace_their_objective_and_gap(model, rng):
    rows, labels = rng.normal(size=(40, 3)), np.arange(40) % 3
    model.fit(rows) if isinstance(model, gapless.OneClassSVM) else model.fit(rows, labels)
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    certificate = model.certificate_
    reached = sum(min(trace.primal) for trace in traces)
    bound = sum(trace.lower_bound for trace in traces)
    size = certificate.gap + 1e-9 * abs(certificate.primal)
    assert reached == pytest.approx(certificate.primal, abs=size)
    assert bound == pytest.approx(certificate.dual, abs=size)
    assert max(trace.steps for trace in traces) == np.max(model.n_iter_)
    for trace in traces:
        assert trace.iterations == sorted(trace.iterations)
        assert len(trace.gap) == len(trace.seconds) == len(trace.primal)
        assert np.all(np.diff(trace.gap) <= 1e-9 * (1 + abs(trace.primal[0])))
        trace.plot()


def test_a_gaussian_process_traces_the_likelihood_of_the_kernels_it_tried(rng):
    rows = rng.uniform(0, 5, size=(20, 1))
    heights = np.sin(rows[:, 0]) + 0.2 * rng.normal(size=20)
    kernel = 1.0 * gapless.kernels.Gaussian(0.5) + gapless.kernels.White(0.1)
    model = gapless.GaussianProcessRegressor(kernel).fit(rows, heights)
    trace = model.trace_
    assert trace.steps == len(trace.primal) > 1 and np.all(np.isnan(trace.gap))
    assert min(trace.primal) == pytest.approx(-model.log_marginal_likelihood_value_, rel=1e-6)
    trace.plot()
