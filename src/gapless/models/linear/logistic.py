"""Logistic regression, for two classes or by softmax for more."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Hidden, Interval, StrOptions

from ..._ground.about import Example, Examples, Formula, bias_term, chosen
from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Unused
from ...losses import Logistic, Loss, Softmax
from ...penalties import L1, L2, ElasticNet, NoPenalty
from ...unseen import CV, LOO
from ._base import SELECT
from .parameters import OF_CLASSES, SOLVED, WITH_C
from .problems import classification_problems
from .tasks import LinearClassifier


@described(OF_CLASSES, WITH_C, SOLVED)
class LogisticRegression(LinearClassifier):
    """Logistic regression, for two classes or, by softmax, for more.

    Minimises  C Σᵢ sᵢ log(1 + exp(−tᵢ(xᵢᵀw + b))) + ρ‖w‖₁ + ½(1−ρ)‖w‖²  with t = ±1; for more
    classes the loss is −log softmax(Wᵀxᵢ + b)_y.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, default="deprecated"
        Deprecated in scikit-learn 1.8: use `l1_ratio`, and C=np.inf for no penalty.
    C : float, "loo" or "cv", default=1.0
        Weight C > 0 of the errors against the penalty; np.inf for no penalty, "loo" chooses it by
        leave-one-out, "cv" by folds, which is cheaper where features are many and sparse.
    l1_ratio : float, list of float, "loo" or "cv", default=0.0
        Share ρ of the L1 penalty, between 0 (ridge) and 1 (lasso). With C="loo" or "cv" also a list
        to choose from, or the same word for seven values from 0.1 to 1.
    dual : bool, default=False
        Accepted for scikit-learn's sake; see `solver`.
    solver : str or Solver, default="auto"
        A solver of gapless by name, "auto", or a value such as `GradientDescent(step=0.1)`.
        scikit-learn's "lbfgs", "newton-cg" and "newton-cholesky" are here, too; "liblinear", "sag"
        and "saga" mean "auto", and keep their limits. `solver_` names what ran.
    n_jobs : int, default=None
        Without effect; deprecated in scikit-learn 1.8.

    Attributes
    ----------
    n_iter_ : ndarray of shape (1,)
        Number of steps.
    l1_ratio_ : float
        The chosen share of the L1 penalty, where it was tuned.

    Notes
    -----
    A Newton step costs n·d² for two classes and few features, and a few passes over X otherwise.
    Without a penalty and with classes that a hyperplane separates there is no best w; the
    certificate says so. The objective is scaled by 1/C inside, so that the certificate is in units
    of the loss.

    References
    ----------
    Friedman, Hastie and Tibshirani (2010), Regularization paths for generalized linear models via
    coordinate descent.

    Examples
    --------
    >>> from gapless import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict_proba([[1.5]]).round(3)
    array([[0.5, 0.5]])
    """

    _examples: ClassVar[Examples] = (Example("breast_cancer", {"l1_ratio": 1.0}), Example("wine"))

    _defers = True
    _strength_name = "C"
    _stored: ClassVar[Declaration] = {
        **LinearClassifier._stored,
        "C_": Unused(),
        "l1_ratio_": Unused(),
        "path_": Unused(),
    }
    _peer_solvers: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("liblinear", "sag", "saga"), "auto"),
        "lbfgs": "lbfgs",
        "newton-cg": "newton_cg",
        "newton-cholesky": "newton_cholesky",
    }
    _parameter_constraints: ClassVar[dict] = {
        **LinearClassifier._parameter_constraints,
        **SELECT,
        "penalty": [
            StrOptions({"l1", "l2", "elasticnet"}),
            None,
            Hidden(StrOptions({"deprecated"})),
        ],
        "C": [Interval(Real, 0, None, closed="right"), StrOptions({LOO, CV})],
        "l1_ratio": [
            Interval(Real, 0, 1, closed="both"),
            "array-like",
            StrOptions({LOO, CV}),
            None,
        ],
        "dual": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        penalty="deprecated",
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-6,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="auto",
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
        time_limit=None,
        select="min",
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.select = select

    def _check_parameters(self):
        if self.penalty != "deprecated":
            warnings.warn(
                "'penalty' was deprecated in scikit-learn 1.8; use l1_ratio=0 for 'l2', l1_ratio=1 "
                "for 'l1', a value between for 'elasticnet', and C=np.inf for None.",
                FutureWarning,
                stacklevel=4,
            )
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError(
                "l1_ratio must be a number between 0 and 1 when penalty='elasticnet', got None."
            )
        if self.penalty == "deprecated" and self.l1_ratio is None:
            warnings.warn(
                "'l1_ratio=None' was deprecated in scikit-learn 1.8; use l1_ratio=0.",
                FutureWarning,
                stacklevel=4,
            )
        if self.penalty is None and self._tuned():
            raise ValueError("penalty=None leaves nothing to tune; leave penalty at its default.")
        if self.penalty is None and self.C != 1.0:
            warnings.warn(
                "Setting penalty=None will ignore the C and l1_ratio parameters; "
                "use C=np.inf instead of penalty=None.",
                UserWarning,
                stacklevel=4,
            )
        ratio = 0.5 if "l1_ratio" in self._tuned() else self.l1_ratio
        if self.penalty in ("l1", "l2") and ratio is not None and 0 < ratio < 1:
            warnings.warn(
                "l1_ratio parameter is only used when penalty is 'elasticnet'. "
                f"Got (penalty={self.penalty}); leave penalty at its default.",
                UserWarning,
                stacklevel=4,
            )
        elif self.penalty in ("l1", "l2") and ratio != (self.penalty == "l1"):
            warnings.warn(
                f"Inconsistent values: penalty={self.penalty} with l1_ratio={self.l1_ratio}; "
                "the penalty decides. Leave penalty at its default and use l1_ratio alone.",
                UserWarning,
                stacklevel=4,
            )
        self._check_solver()
        if self.n_jobs is not None:
            warnings.warn(
                f"'n_jobs' has no effect, got n_jobs={self.n_jobs}; leave it out, and set "
                "GAPLESS_NUM_THREADS.",
                FutureWarning,
                stacklevel=4,
            )

    def _check_solver(self):
        """A scikit-learn solver keeps its restrictions, so that both refuse the same."""
        solver, ratio = self.solver, self._l1_share()
        if solver not in self._peer_solvers:
            return
        if solver not in ("liblinear", "saga") and ratio > 0:
            raise ValueError(
                f"Solver {solver} supports only 'l2' or None penalties, got l1_ratio={ratio}; "
                'use solver="auto".'
            )
        if solver != "liblinear" and self.dual:
            raise ValueError(
                f"Solver {solver} supports only dual=False, got dual=True; leave dual out."
            )
        if solver == "liblinear" and 0 < ratio < 1:
            raise ValueError(
                "Only 'saga' solver supports elasticnet penalty, got solver=liblinear; "
                'use solver="auto".'
            )
        if solver == "liblinear" and (self.penalty is None or np.inf == self.C):
            raise ValueError(
                "C=np.inf as well as penalty=None is not supported for the liblinear solver; "
                'use solver="auto".'
            )

    def _l1_share(self):
        # If the share is tuned, some of its values are between 0 and 1.
        ratio = 0.5 if "l1_ratio" in self._tuned() else self.l1_ratio or 0.0
        return {"l1": 1.0, "l2": 0.0, None: 0.0}.get(self.penalty, ratio)

    def _penalty(self):
        if self.penalty is None or np.isinf(self.C):
            return NoPenalty()
        ratio = self._l1_share()
        if ratio == 0:
            return L2(1 / self.C)
        return L1(1 / self.C) if ratio == 1 else ElasticNet(1 / self.C, ratio)

    def _problems(self, data):
        if self.solver == "liblinear" and len(data.classes) > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification; use solver="
                '"auto", or OneVsRestClassifier for one class against the rest.'
            )
        loss = Logistic() if len(data.classes) == 2 else Softmax()
        return classification_problems(data, loss, self._penalty(), self.fit_intercept)

    def _specifics(self, data, learned, solutions, certificates):
        specifics = super()._specifics(data, learned, solutions, certificates)
        return specifics | {"n_iter_": np.array([learned["n_iter_"]], dtype=np.int32)}

    def _loss_of_probabilities(self):
        return logistic_loss(self)

    def _formula(self) -> Formula:
        is_binary = len(self.classes_) <= 2
        bias, w = bias_term(self), "w" if is_binary else "W"
        loss = f"log(1 + exp(−tᵢ(xᵢᵀw{bias})))" if is_binary else f"−log softmax(Wᵀxᵢ{bias})_yᵢ"
        strength = chosen(self, "C")
        if self.penalty is None or strength == np.inf:
            return Formula(f"Σᵢ {loss}")
        ratio = self._share_of_l1()
        if 0 < ratio < 1:
            mixed = f"(ρ‖{w}‖₁ + ½(1−ρ)‖{w}‖²)/C"
            return Formula(f"Σᵢ {loss} + {mixed}", {"C": strength, "ρ": ratio})
        norm = f"‖{w}‖₁/C" if ratio == 1 else f"‖{w}‖²/(2C)"
        return Formula(f"Σᵢ {loss} + {norm}", {"C": strength})

    def _share_of_l1(self) -> float:
        """The share ρ of ‖w‖₁ in the penalty."""
        if self.penalty in ("l1", "l2"):
            return 1.0 if self.penalty == "l1" else 0.0
        return float(chosen(self, "l1_ratio") or 0.0)


def logistic_loss(model) -> Loss:
    """The loss of a logistic regression: for two classes, or for more once a fit has seen them."""
    return Softmax() if len(vars(model).get("classes_", ())) > 2 else Logistic()
