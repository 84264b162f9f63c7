"""Random small problems, each as a `gapless` Problem and as a Case of the reference."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from high_precision import Case

from gapless import losses
from gapless._ground.design import Design
from gapless.penalties import L1, L2, Box, ElasticNet, Group, NoPenalty
from gapless.problem.problem import Problem

LOSSES = {
    "squared": losses.Squared(),
    "logistic": losses.Logistic(),
    "logistic_base2": losses.Logistic(base2=True),
    "softmax": losses.Softmax(),
    "crammer_singer": losses.CrammerSinger(),
    "weston_watkins": losses.WestonWatkins(margin=0.7),
    "hinge": losses.Hinge(),
    "squared_hinge": losses.SquaredHinge(),
    "epsilon_insensitive": losses.EpsilonInsensitive(epsilon=0.2),
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive(epsilon=0.2),
    "huber": losses.Huber(delta=0.7),
    "quantile": losses.Quantile(level=0.3),
    "poisson": losses.Poisson(),
    "gamma": losses.Gamma(),
    "exponential": losses.Exponential(),
    "absolute": losses.Absolute(),
    "perceptron": losses.Perceptron(),
    "modified_huber": losses.ModifiedHuber(),
    "tweedie": losses.Tweedie(power=1.3),
}
OPTIONS = {
    "logistic_base2": {"base2": True},
    "weston_watkins": {"margin": 0.7},
    "epsilon_insensitive": {"epsilon": 0.2},
    "squared_epsilon_insensitive": {"epsilon": 0.2},
    "huber": {"delta": 0.7},
    "quantile": {"level": 0.3},
    "tweedie": {"power": 1.3},
}
PENALTIES = (
    "none",
    "l2",
    "l2_free",
    "l1",
    "l1_free",
    "elastic_net",
    "group",
    "group_free",
    "box",
    "box_l1",
    "sign",
    "sign_mixed",
    "sign_l2",
)


def make_penalty(name, d, strength, rng):
    """The penalty, and the same as arguments of a Case."""
    size = np.full(d, strength)
    weights = np.where(np.arange(d) == 0, 0.0, rng.uniform(0.5, 2, d))
    index = np.arange(d) // 2
    groups = np.full((d + 1) // 2, strength)
    lower, upper = -rng.uniform(0, 1, d), rng.uniform(0, 1, d)
    side = rng.random(d) < 0.5
    half_lines = np.where(side, 0.0, -np.inf), np.where(side, np.inf, 0.5)
    if name in ("group", "group_free"):
        weights = None if name == "group" else np.where(np.arange(len(groups)) == 0, 0.0, 1.0)
        groups = groups if weights is None else groups * weights
        return Group(strength, index, weights), {"groups": (index, groups)}
    return {
        "none": (NoPenalty(), {}),
        "l2": (L2(strength), {"l2": size}),
        "l2_free": (L2(strength, weights), {"l2": size * weights}),
        "l1": (L1(strength), {"l1": size}),
        "l1_free": (L1(strength, weights), {"l1": size * weights}),
        "elastic_net": (ElasticNet(strength, 0.25), {"l1": 0.25 * size, "l2": 0.75 * size}),
        "box": (Box(lower, upper), {"lower": lower, "upper": upper}),
        "box_l1": (
            Box(lower, upper, L1(strength)),
            {"lower": lower, "upper": upper, "l1": size},
        ),
        "sign": (Box(lower=0.0), {"lower": np.zeros(d)}),
        "sign_mixed": (Box(*half_lines), dict(zip(("lower", "upper"), half_lines))),
        "sign_l2": (Box(lower=0.0, penalty=L2(strength)), {"lower": np.zeros(d), "l2": size}),
    }[name]


def make_target(loss, n, K, rng):
    """Targets of the loss's task; every class occurs where there are rows enough."""
    if loss.task == "regression":
        shape = n if K is None else (n, K)
        if loss.targets == "nonnegative":
            return rng.poisson(2.0, size=shape).astype(float)
        return (
            np.exp(rng.normal(size=shape)) if loss.targets == "positive" else rng.normal(size=shape)
        )
    if loss.task == "binary":
        return np.where((np.arange(n) + rng.integers(2)) % 2 == 0, 1.0, -1.0)
    return rng.permutation(np.arange(n) % K)


COLUMNS = ("alike", "scaled", "offset", "dependent")


def make_columns(kind, n, d, rng):
    """Columns that are alike, of very different size, far from 0, or nearly combinations."""
    X = rng.normal(size=(n, d))
    if kind == "scaled":
        return X * 10 ** rng.uniform(-3, 3, d)
    if kind == "offset":
        return X + 10 ** rng.uniform(0, 4, d)
    if kind == "dependent" and d > 1:
        X[:, -1] = X[:, :-1].sum(axis=1) + rng.choice([0.0, 1e-6, 1e-3]) * X[:, -1]
    return X


def make(
    loss,
    penalty,
    n,
    d,
    rng,
    *,
    bias=True,
    dtype=float,
    sparse=False,
    zeros=False,
    K=None,
    columns="alike",
):
    """A problem and its case; `zeros` puts zeros among the weights, K counts outputs or classes."""
    X = make_columns(columns, n, d, rng).astype(dtype)
    if loss in ("poisson", "gamma", "exponential", "tweedie"):
        # These grow like exp: far from 0 the reference itself would overflow.
        X /= max(1.0, float(np.abs(X).max(initial=0.0)) / 10)
    if sparse:
        X[rng.random((n, d)) < 0.5] = 0
    weights = rng.uniform(0.2, 3, n)
    if zeros:
        weights[rng.random(n) < 0.3] = 0
        weights[rng.integers(n)] = 1.0
    function = LOSSES[loss]
    K = 3 if function.task == "multiclass" else K if function.task == "regression" else None
    y = make_target(function, n, K, rng)
    R, arguments = make_penalty(penalty, d, 10 ** rng.uniform(-1.5, 0.7), rng)
    design = Design(sp.csr_matrix(X) if sparse else X)
    problem = Problem(design, y, function, R, weights, bias, K)
    case = Case(
        X=X.astype(float),
        y=y,
        weights=weights,
        loss=function.name,
        options=OPTIONS.get(loss, {}),
        bias=bias,
        outputs=K,
        **arguments,
    )
    return problem, case
