"""What LassoCV, ElasticNetCV and MultiTaskLassoCV share: a strength by errors of folds."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils._metadata_requests import MetadataRouter, MethodMapping
from sklearn.utils._param_validation import Interval

from ..._ground.stored import Declaration, Unused
from ..._ground.validation import readable_target
from ...problem import Parameters
from ...solvers import ENDS, PathSolution, solve_path_and_folds
from ...unseen import best_of
from .cross_validated import CrossValidated, all_rows, check_strengths, folds_of
from .path import SCORES, ScoredPath
from .path_choice import PathChoice
from .sparse_base import SparseRegressor
from .strengths import largest_strength, scaled

Array = np.ndarray


class SparseSearch(CrossValidated, SparseRegressor):
    """Base of LassoCV, ElasticNetCV and MultiTaskLassoCV: mean squared errors of folds."""

    _stored: ClassVar[Declaration] = {
        **SparseRegressor._stored,
        "alphas_": Unused(),
        "mse_path_": Unused(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **{k: v for k, v in SparseRegressor._parameter_constraints.items() if k != "alpha"},
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    def get_metadata_routing(self):
        """What is passed on to the splitter.

        Returns
        -------
        routing : MetadataRouter
            As scikit-learn has it.
        """
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=splitting)
        )

    def _check_parameters(self):
        """Strengths are checked when they are read; α = 0 among them needs no warning."""

    def _read(self, X, y, sample_weight, *, reset=True):
        if isinstance(sample_weight, Real):  # the same weight for all rows changes nothing
            sample_weight = None
        y = None if y is None else readable_target(y)
        shape = np.shape(y) if isinstance(y, list) else getattr(y, "shape", ())
        if not self._multi_output and len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"For multi-task outputs, use MultiTask{type(self).__name__}; y has shape "
                f"{shape}, and {type(self).__name__} takes one target."
            )
        data = super()._read(X, y, sample_weight, reset=reset)
        if self._multi_output and data.y.ndim == 1:
            raise ValueError(
                f"For mono-task outputs, use {type(self).__name__.removeprefix('MultiTask')}; "
                "y must have shape (n, targets)."
            )
        return data

    def _ratios(self) -> list[float]:
        """The shares of the L1 penalty to try."""
        return [float(r) for r in np.atleast_1d(getattr(self, "l1_ratio", 1.0))]

    def _at(self, **values):
        if isinstance(getattr(self, "precompute", None), str):
            values |= {"precompute": False}
        return super()._at(**values)

    def _unit(self, ratio: float):
        """The plain estimator with α = 1."""
        given = {"l1_ratio": ratio} if "l1_ratio" in self._chosen else {}
        return self._at(alpha=1.0, **given)

    def _choose(self, data, callback):
        folds = folds_of(self.cv, data, classifier=False, params=self._routed[0])
        trails, errors = [], []
        for ratio in self._ratios():
            problem = self._unit(ratio)._problems(data)[0]
            alphas = self._alphas(problem, ratio)
            path, z = self._solve_all(problem, alphas, folds, callback)
            mse = _fold_errors(data, z, folds)
            errors.append(mse)
            trails.append(_trail(problem, alphas, path, all_rows(z, folds, problem.weights), mse))
            if trails[-1].status != "optimal":
                break
        reached = [k for k, trail in enumerate(trails) if np.any(np.isfinite(trail.unseen))]
        if not reached:
            values = self._values(float(trails[0].strengths[0]), self._ratios()[0])
            return PathChoice(values, paths=trails, status=trails[-1].status)
        k = max(reached, key=lambda k: np.nanmax(trails[k].unseen))
        trail = trails[k]
        at = best_of(trail.unseen, trail.standard_errors, self.select)
        alphas = np.array([t.strengths for t in trails])
        same = len(trails) == 1 or not isinstance(self.alphas, Integral)
        extra = {
            "mse_path_": np.squeeze(np.moveaxis(np.array(errors), 1, 2)),
            "alphas_": alphas[0] if same else alphas,
        }
        values = self._values(float(trail.strengths[at]), self._ratios()[k])
        path = trail.shown(trail.strengths, at, SCORES["squared"])
        status = trails[-1].status
        return PathChoice(values, trail.parameters[at], path, trails, k, at, status, extra)

    def _values(self, alpha: float, ratio: float) -> dict[str, float]:
        return dict(zip(self._chosen, (alpha, ratio)))

    def _alphas(self, problem, ratio: float) -> Array:
        """The strengths to try, the largest first."""
        if not isinstance(self.alphas, Integral):
            return np.sort(check_strengths(list(self.alphas), "left"))[::-1]
        if ratio == 0:
            raise ValueError(
                "Automatic alpha grid generation is not supported for l1_ratio=0: no strength "
                "makes all coefficients 0. Please supply a grid by providing `alphas=`."
            )
        largest = largest_strength([problem], nothing=0.0)
        smallest = float(np.finfo(float).resolution)
        if largest <= smallest:
            return np.full(self.alphas, smallest)
        return np.geomspace(largest, largest * self.eps, self.alphas)

    def _solve_all(self, problem, alphas: Array, folds, callback):
        """The path of all rows, and predictions of the test rows of each fold, (rows, m, K)."""
        whole = float(problem.weights.sum())

        def penalties(total: float):
            return [scaled(problem.penalty, alpha * (total / whole)) for alpha in alphas]

        options = {"tol": self.tol, "max_iter": self.max_iter, "callback": callback}
        path, z = solve_path_and_folds(problem, penalties, folds, **options)
        return path, [held.reshape(*held.shape[:2], -1) for held in z]


def _trail(
    problem, alphas: Array, path: PathSolution | None, z: Array | None, mse: Array
) -> ScoredPath:
    """The models of all rows, and the errors of the folds as scores."""
    status, models, gaps = (
        "time_limit",
        [[problem.null]] * len(alphas),
        np.full(len(alphas), np.inf),
    )
    if path is not None and np.all(np.isfinite(mse)):
        models = [[Parameters(w, np.asarray(b))] for w, b in zip(path.w, path.b)]
        gaps, status = path.gaps, path.status if path.status in ENDS else "optimal"
    count = mse.shape[0]
    error = np.zeros(len(alphas))
    if count > 1:
        with np.errstate(over="ignore"):  # huge errors have squares beyond all floats
            error = np.std(mse, axis=0, ddof=1) / np.sqrt(count)
    return ScoredPath(
        strengths=alphas,
        gaps=gaps,
        parameters=models,
        rows=np.arange(problem.n),
        weights=problem.weights,
        z=z,
        unseen=-np.mean(mse, axis=0),
        standard_errors=error,
        method=f"{count}-fold",
        status=status,
    )


def _fold_errors(data, z: list[Array], folds) -> Array:
    """Mean squared errors (folds, m), weighted within a fold."""
    errors = []
    for held, (_, test) in zip(z, folds):
        y = data.y[test].reshape(len(test), 1, -1)
        of_rows = np.mean((held - y) ** 2, axis=2)
        errors.append(np.average(of_rows, axis=0, weights=data.sample_weight[test]))
    return np.array(errors)
