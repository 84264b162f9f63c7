"""Networks keep their promises: gradients, rows and weights, threads, interrupts, both gaps."""

import contextlib
import importlib
import io
import itertools
import pickle
import sys
import threading
import warnings
from copy import copy as shallow
from dataclasses import dataclass
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import gapless
from gapless import models, networks
from gapless._ground import progress
from gapless._ground.design import Design
from gapless._ground.interrupt import TimeLimit
from gapless._ground.threads import threads
from gapless.evaluation import gradient_check, memorise
from gapless.losses import Huber, Loss
from gapless.models.networks import engines, torch_engine, training
from gapless.models.networks._base import NetworkModel
from gapless.models.networks.composition import Composition
from gapless.models.networks.history import History, Underway
from gapless.models.networks.layers import (
    AveragePool2D,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    Identity,
    Layer,
    MaxPool2D,
    Mode,
    ReLU,
    Sigmoid,
    Tanh,
)
from gapless.models.networks.layers.entries import entries_of
from gapless.models.networks.layers.joined import joined
from gapless.models.networks.refits import FEW_ROWS
from gapless.plots import LiveCurves, live
from gapless.solvers import Adam, AveragedMomentum, Cosine, Momentum, Plain, StepDecay
from public_estimators import public_estimators

ESTIMATORS = public_estimators("networks")
FEW = {"hidden_layer_sizes": 6, "max_iter": 4}
SMALL = {"layers": [Conv2D(3), ReLU(), MaxPool2D(), Flatten(), Dense(5), Tanh()]}
# Enough epochs for the accuracies that scikit-learn's checks ask for, and no more.
CHECKED = {
    "CNNClassifier": {"layers": [Conv2D(4), ReLU(), Flatten()], "learning_rate_init": 0.02},
    "MLPClassifier": {"hidden_layer_sizes": 20, "learning_rate_init": 0.02, "max_iter": 40},
    "MLPRegressor": {"hidden_layer_sizes": 20, "learning_rate_init": 0.02, "max_iter": 40},
}
FORMS = {
    "MLPClassifier": [
        FEW,
        {**FEW, "activation": "tanh", "solver": "sgd", "learning_rate": "invscaling"},
        {**FEW, "solver": Adam(decay=0.1), "learning_rate": Cosine(0.01, 20), "clip": 0.5},
        {**FEW, "early_stopping": True, "validation_fraction": 0.3, "batch_size": 8},
        {"hidden_layer_sizes": (5, 4), "solver": "lbfgs", "max_iter": 20, "alpha": 1.0},
        {**FEW, "class_weight": "balanced", "activation": "logistic"},
    ],
    "CNNClassifier": [
        {**SMALL, "max_iter": 3},
        {**SMALL, "solver": "sgd", "early_stopping": True, "validation_fraction": 0.3},
        {"layers": [Conv2D(2), BatchNorm(), ReLU(), Flatten()], "max_iter": 2, "batch_size": 20},
    ],
    "MLPRegressor": [
        FEW,
        {**FEW, "loss": Huber(0.5), "solver": AveragedMomentum(0.2)},
        {**FEW, "solver": "sgd", "learning_rate": "adaptive", "nesterovs_momentum": False},
        {"hidden_layer_sizes": 5, "solver": "lbfgs", "max_iter": 20},
    ],
}
CASES = [
    pytest.param(cls, form, id=f"{cls.__name__}-{k}")
    for cls in ESTIMATORS
    for k, form in enumerate(FORMS[cls.__name__])
]
every_form = pytest.mark.parametrize("cls, form", CASES)
every_class = pytest.mark.parametrize("cls", ESTIMATORS)


@pytest.fixture
def seed():
    return 20240607


def make_data(cls, seed, n=60):
    rng = np.random.default_rng(seed)
    d = 16 if cls is gapless.CNNClassifier else 5
    truth = rng.normal(size=(d, 3)) / np.sqrt(d / 5)
    X = rng.normal(size=(n, d))
    score = X @ truth + 0.5 * rng.normal(size=(n, 3))
    if is_classifier(cls()):
        return X, np.array(["apple", "pear", "quince"])[np.argmax(score, axis=1)]
    return X, score[:, 0]


def fit(model, X, y, **more):
    model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **more)


def arrays(model):
    if isinstance(model, gapless.CNNClassifier):
        return [model.theta_, *model.running_]
    return [*model.coefs_, *model.intercepts_]


def assert_same(one, other, rtol=1e-9):
    for found, expected in zip(arrays(one), arrays(other), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def test_every_estimator_has_its_forms():
    assert {cls.__name__ for cls in ESTIMATORS} == set(FORMS)


@every_class
def test_check_estimator_passes_with_no_expected_failures(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(cls(**CHECKED[cls.__name__]), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in r["check_name"] for r in passed)


# ---- layers --------------------------------------------------------------------------------------

FLAT, IMAGES = (4,), (6, 5, 2)
LAYERS = [
    ("Dense", Dense(3), FLAT),
    ("Identity", Identity(), FLAT),
    ("ReLU", ReLU(), FLAT),
    ("Tanh", Tanh(), FLAT),
    ("Sigmoid", Sigmoid(), FLAT),
    ("Dropout", Dropout(0.3), FLAT),
    ("BatchNorm", BatchNorm(), FLAT),
    ("BatchNorm-images", BatchNorm(), IMAGES),
    ("Flatten", Flatten(), IMAGES),
    ("Conv2D", Conv2D(3), IMAGES),
    ("Conv2D-valid", Conv2D(2, size=2, padding="valid"), IMAGES),
    ("Conv2D-stride", Conv2D(2, size=3, stride=2), IMAGES),
    ("MaxPool2D", MaxPool2D(), IMAGES),
    ("MaxPool2D-overlap", MaxPool2D(3, 1), IMAGES),
    ("AveragePool2D", AveragePool2D(), IMAGES),
    ("AveragePool2D-overlap", AveragePool2D(2, 1), IMAGES),
]
every_layer = pytest.mark.parametrize("layer, shape", [case[1:] for case in LAYERS],
                                      ids=[case[0] for case in LAYERS])  # fmt: skip


def test_layers_are_imported_by_their_public_name():
    found = importlib.import_module("gapless.networks.layers")
    assert found is networks.layers
    assert found is models.networks.layers
    assert found.Dense is Dense


def test_every_layer_is_tested():
    offered = {name for name in networks.layers.__all__ if name not in ("Layer", "Mode")}
    assert {type(layer).__name__ for _, layer, _ in LAYERS} == offered


@every_layer
@pytest.mark.parametrize("is_learning", [False, True])
def test_derivatives_of_a_layer_are_those_of_differences(layer, shape, is_learning, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(7, *shape))
    parameters = [rng.normal(size=p.shape) for p in layer.initial(shape, np.random.RandomState(0))]
    weights = rng.uniform(0.5, 2.0, size=7)
    direction = rng.normal(size=(7, *layer.shape_after(shape)))

    def through(arrays):
        x, *own = arrays
        running = [np.abs(p) + 0.5 for p in layer.running(shape)]
        mode = Mode(is_learning, np.random.default_rng(seed), weights)
        return (*layer.forward(x, [*own, *running], mode), [*own, *running])

    def value(arrays):
        return float(np.sum(direction * through(arrays)[0]))

    def gradient(arrays):
        _, kept, own = through(arrays)
        return [layer.backward(direction, kept, own), *layer.gradient(direction, kept, own)]

    assert gradient_check(value, gradient, at=[x, *parameters]).is_right


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_layer
def test_a_layer_keeps_the_precision(layer, shape, dtype):
    x = np.random.default_rng(0).normal(size=(4, *shape)).astype(dtype)
    own = [p.astype(dtype) for p in layer.initial(shape, np.random.RandomState(0))]
    own += [p.astype(dtype) for p in layer.running(shape)]
    y, kept = layer.forward(x, own, Mode(True, np.random.default_rng(0)))
    assert y.shape == (4, *layer.shape_after(shape))
    found = [y, layer.backward(y, kept, own), *layer.gradient(y, kept, own)]
    assert {array.dtype for array in found} == {np.dtype(dtype)}


@pytest.mark.parametrize("layers, shape", [
    ([Dense(17), ReLU()], (40,)),
    ([Conv2D(3), ReLU(), MaxPool2D()], (6, 5, 2)),
    ([Conv2D(20, 5), ReLU(), MaxPool2D(2, 2)], (9, 8, 1)),
    ([Conv2D(9, 2, 2, "valid"), ReLU(), MaxPool2D()], (11, 9, 5)),
])  # fmt: skip
@pytest.mark.parametrize("dtype, rtol", [(np.float32, 1e-4), (np.float64, 1e-11)])
def test_joined_layers_are_those_one_after_the_other(layers, shape, dtype, rtol, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(7, *shape)).astype(dtype)
    x[rng.random(x.shape) < 0.9] = 0  # so few entries that products go over them alone
    apart, together = (Composition(tuple(of), shape) for of in (layers, joined(layers)))
    assert len(together.layers) == 1
    weights = apart.begin(np.random.RandomState(0), dtype)
    direction = rng.normal(size=(7, *apart.shapes[-1])).astype(dtype)
    found = []
    for each in (apart, together):
        gradient = np.full_like(weights.theta, np.nan)
        own = each.of_layers(weights)
        y = each.propagate(x, own, lambda z: direction, Mode(), gradient)
        y, kept = x, []
        for layer, parameters in zip(each.layers, own):
            y, needed = layer.forward(y, parameters, Mode())
            kept.append(needed)
        dy = direction
        for k in reversed(range(len(each.layers))):
            dy = each.layers[k].backward(dy, kept[k], own[k])
        found.append((y, gradient, dy))
    for one, other in zip(*found):
        np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol * np.abs(one).max())


@pytest.mark.parametrize("dtype, rtol", [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize("n, d, units", [(9, 400, 16), (4, 330, 100), (1, 200, 19), (7, 170, 70)])
def test_products_of_few_entries_are_products(n, d, units, dtype, rtol, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.1)
    W, dz = rng.normal(size=(d, units)), rng.normal(size=(n, units))
    x, W, dz = (array.astype(dtype) for array in (x, W, dz))
    entries = entries_of(x, units)
    np.testing.assert_allclose(entries.times(W), x @ W, rtol=rtol, atol=10 * rtol)
    out = np.full((d, units), np.nan, dtype)
    entries.transposed_times(dz, out)
    np.testing.assert_allclose(out, x.T @ dz, rtol=rtol, atol=10 * rtol)
    assert entries_of(np.ones((n, d), dtype), units) is None


@pytest.mark.parametrize("padding, stride", [("same", 1), ("valid", 1), ("valid", 2)])
def test_convolution_is_its_formula(padding, stride, seed):
    rng = np.random.default_rng(seed)
    layer = Conv2D(4, size=3, stride=stride, padding=padding)
    x, W, b = rng.normal(size=(2, 6, 5, 3)), rng.normal(size=(3, 3, 3, 4)), rng.normal(size=4)
    y, _ = layer.forward(x, [W, b], Mode())
    m = layer.margin
    padded = np.pad(x, ((0, 0), (m, m), (m, m), (0, 0)))
    for i, j in np.ndindex(y.shape[1:3]):
        window = padded[:, i * stride : i * stride + 3, j * stride : j * stride + 3]
        np.testing.assert_allclose(y[:, i, j], np.tensordot(window, W, 3) + b, rtol=1e-12)


def test_the_derivation_of_a_linear_layer_by_hand():
    # y = xW + b with x = (1, 2), W = (3; 4), b = 5 gives 16; for ½(y − 15)², dy = 1, so
    # dW = xᵀdy = (1; 2), db = 1 and dx = dy Wᵀ = (3, 4).
    layer, x, own = Dense(1), np.array([[1.0, 2.0]]), [np.array([[3.0], [4.0]]), np.array([5.0])]
    y, kept = layer.forward(x, own, Mode())
    assert y.tolist() == [[16.0]]
    dy = y - 15.0
    assert layer.backward(dy, kept, own).tolist() == [[3.0, 4.0]]
    dW, db = layer.gradient(dy, kept, own)
    assert (dW.tolist(), db.tolist()) == ([[1.0], [2.0]], [1.0])


def test_dropout_keeps_the_mean_and_predictions_whole():
    x = np.ones((200, 200))
    y, _ = Dropout(0.25).forward(x, [], Mode(True, np.random.default_rng(0)))
    assert set(np.unique(y)) == {0.0, 1 / 0.75}
    assert y.mean() == pytest.approx(1.0, abs=0.02)
    assert Dropout(0.25).forward(x, [], Mode())[0] is x


def test_batch_normalisation_counts_rows_by_their_weights():
    x = np.random.default_rng(0).normal(size=(5, 3))
    weights = np.array([1.0, 3.0, 0.0, 2.0, 1.0])
    own = [np.ones(3), np.zeros(3)]
    again = np.repeat(np.arange(5), weights.astype(int))
    y, _ = BatchNorm().forward(x, [*own, np.zeros(3), np.ones(3)], Mode(True, weights=weights))
    z, _ = BatchNorm().forward(x[again], [*own, np.zeros(3), np.ones(3)], Mode(True))
    np.testing.assert_allclose(y[again], z, rtol=1e-10)


@pytest.mark.parametrize("rows", [64, 65])
def test_batch_normalisation_does_not_learn_from_a_last_batch_of_one_row(rows):
    X = np.random.default_rng(0).normal(scale=3.0, size=(rows, 2))
    network = networks.Network([BatchNorm(), Dense(2)]).build(2, 0)
    network.fit(X, np.arange(rows) % 2, epochs=60, batch_size=32, random_state=0)
    np.testing.assert_allclose(network.weights.running[1], X.var(axis=0, ddof=1), rtol=0.1)
    with pytest.raises(ValueError, match="raise batch_size"):
        network.fit(X, np.arange(rows) % 2, epochs=1, batch_size=1)


@pytest.mark.parametrize(
    "build, words",
    [
        (lambda: networks.Network([Conv2D(2), Dense(2)]).build((4, 4, 1)), "put Flatten"),
        (lambda: networks.Network([Conv2D(2)]).build(3), "needs images"),
        (lambda: networks.Network([MaxPool2D(5)]).build((4, 4, 1)), "does not fit"),
        (lambda: networks.Network([np.tanh]).build(3), "is not a layer"),
        (lambda: networks.Network([]).build(3), "at least one layer"),
        (lambda: Dense(0), "at least 1 in Dense"),
        (lambda: Conv2D(2, size=4), "needs an odd size"),
        (lambda: Dropout(1.0), "less than 1"),
        (lambda: networks.Network([Dense(2)]).parameters, "call build"),
        (lambda: networks.Network([Conv2D(2)]).build((4, 4, 1)), "end it with Flatten"),
        (lambda: networks.Network([Dense(2)]).build(2.5), "whole number"),
        (lambda: networks.Network([Dense(2)], alpha=-1), "alpha"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_what_to_do(build, words):
    with pytest.raises((ValueError, TypeError, AttributeError), match=words):
        build()


# ---- networks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(Loss.registry))
def test_the_gradient_of_a_network_is_right_for_every_loss(name, seed):
    loss = Loss.registry[name]()
    if loss.refusal is not None or loss.is_of_rows:
        pytest.skip("no gradient to descend along")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    y = {"multiclass": np.arange(8) % 3, "binary": np.where(np.arange(8) % 2, 1.0, -1.0)}.get(
        loss.task, rng.uniform(0.5, 2.0, size=8)
    )
    outputs = 3 if loss.task == "multiclass" else 1
    network = networks.Network([Dense(4), Tanh(), Dense(outputs)], loss, alpha=0.1).build(3, 0)
    assert gradient_check(network, X=X, y=y, sample_weight=rng.uniform(size=8)).is_right


@dataclass(frozen=True)
class WrongNorm(BatchNorm):
    """Right when it predicts, wrong when it learns."""

    def backward(self, dy, kept, parameters):
        share = kept[2]
        return super().backward(dy, kept, parameters) * (1.0 if share is None else 1.5)


@dataclass(frozen=True)
class WrongDropout(Dropout):
    """As if all was kept."""

    def backward(self, dy, mask, parameters):
        return dy


@pytest.mark.parametrize("layer, is_right", [
    (BatchNorm(), True), (WrongNorm(), False), (Dropout(0.4), True), (WrongDropout(0.4), False),
])  # fmt: skip
def test_a_network_is_checked_as_it_learns(layer, is_right, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 3)), np.arange(8) % 2
    network = networks.Network([Dense(4), layer, Tanh(), Dense(2)]).build(3, 0)
    before = [array.copy() for array in network.weights.running]
    assert gradient_check(network, X, y).is_right == is_right
    for found, expected in zip(network.weights.running, before):
        np.testing.assert_array_equal(found, expected)


ROWS = np.random.default_rng(0).normal(size=(6, 3))
CLASSES = np.arange(6) % 3


@pytest.mark.parametrize("loss, X, y, more, words", [
    ("logistic", ROWS, CLASSES[:, None] * [1, 1, 1], {}, "give −1 or"),
    ("softmax", ROWS, CLASSES - 1, {}, "-1 in row 0; give one class"),
    ("softmax", ROWS, CLASSES + 0.7, {}, "0.7 in row 0"),
    ("softmax", ROWS, CLASSES + 1, {}, "3 in row 2; give one class .* from 0 to 2"),
    ("softmax", ROWS, list("abcabc"), {}, "must be numbers .* return_inverse"),
    ("squared", ROWS, CLASSES, {}, "1 columns, but the network has 3 outputs"),
    ("poisson", ROWS, CLASSES[:, None] - [1, 1, 1], {}, "at least 0"),
    ("softmax", ROWS, CLASSES[:5], {}, "X has 6 rows, but y"),
    ("softmax", np.where(ROWS[4, 1] == ROWS, np.nan, ROWS), CLASSES, {}, "row 4, column 1"),
    ("softmax", ROWS, CLASSES, {"step": -1}, "step must be a number above 0"),
    ("softmax", ROWS, CLASSES, {"clip": -1.0}, "clip must be more than 0"),
    ("softmax", ROWS, CLASSES, {"batch_size": 0}, "batch_size must be a whole number"),
    ("softmax", ROWS, CLASSES, {"epochs": 1.5}, "epochs must be a whole number"),
    ("softmax", ROWS, CLASSES, {"seconds": 0}, "seconds must be more than 0"),
    ("softmax", ROWS, CLASSES, {"augment": networks.Augmentation()}, "has flat rows"),
    ("softmax", ROWS, CLASSES, {"class_weight": "equal"}, "class_weight must be"),
    ("squared", ROWS, ROWS, {"class_weight": "balanced"}, "pass sample_weight"),
    ("softmax", ROWS, CLASSES, {"sample_weight": np.zeros(6)}, "at least one non-zero"),
    ("softmax", ROWS, CLASSES, {"early_stopping": True, "validation_fraction": 0}, "than 0"),
    ("softmax", ROWS, [0, 1, 1, 1, 1, 1], {"early_stopping": True}, "a single row"),
])  # fmt: skip
def test_a_network_refuses_what_it_cannot_learn_from(loss, X, y, more, words):
    network = networks.Network([Dense(3)], loss)
    with pytest.raises(ValueError, match=words):
        network.fit(X, y, **more)
    assert not hasattr(network, "progress_")


def test_an_error_leaves_a_network_as_it_was(seed):
    network = networks.Network([Dense(3)], "squared").build(3, 0)
    before = network.weights.theta.copy()
    with pytest.raises(ValueError, match="shorten the steps, step"):
        network.fit(ROWS, 1e100 * ROWS, step=1e200, rule=Plain(), epochs=3)
    np.testing.assert_array_equal(network.weights.theta, before)
    assert network.history.loss == []


def test_a_network_does_not_scramble_images():
    network = networks.Network([Flatten(), Dense(2)]).build((6, 5, 1), 0)
    x = np.random.default_rng(0).normal(size=(4, 6, 5, 1))
    for same in (x[..., 0], x.reshape(4, 30)):
        np.testing.assert_array_equal(network.predict(same), network.predict(x))
    with pytest.raises(ValueError, match="built for"):
        network.predict(x.reshape(4, 5, 6, 1))
    x[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"image 1 .* row 2 and column 3"):
        network.predict(x)
    dense = networks.Network([Dense(2)]).build(np.int64(3), 0)
    np.testing.assert_allclose(dense.predict(sp.csr_matrix(ROWS)), dense.predict(ROWS))


def test_a_network_keeps_the_best_epoch_when_it_is_stopped_early(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    network = networks.Network([Dense(6), Tanh(), Dense(2)])
    plan = {"step": 0.2, "random_state": 0, "early_stopping": True, "validation_fraction": 0.3}
    network.fit(X, (y > 0).astype(int), epochs=40, patience=4, **plan)
    scores = network.history.validation
    best = int(np.argmax(scores)) + 1
    assert best < len(scores) < 40
    again = networks.Network([Dense(6), Tanh(), Dense(2)])
    again.fit(X, (y > 0).astype(int), epochs=best, patience=4, **plan)
    np.testing.assert_array_equal(network.weights.theta, again.weights.theta)


def test_class_weights_of_a_network_are_weights_of_its_rows(seed):
    X, y = ROWS, np.array([0, 0, 0, 0, 1, 1])
    plan = {"epochs": 3, "batch_size": 6, "random_state": 0}
    weights = [0.75, 0.75, 0.75, 0.75, 1.5, 1.5]
    by_rows = networks.Network([Dense(2)]).fit(X, y, weights, **plan)
    for given in ("balanced", {0: 0.75, 1: 1.5}):
        found = networks.Network([Dense(2)]).fit(X, y, class_weight=given, **plan)
        np.testing.assert_array_equal(found.weights.theta, by_rows.weights.theta)


def test_a_network_is_saved_certified_and_continues(seed, tmp_path):
    layers = [Dense(4), BatchNorm(), Tanh(), Dropout(0.2), Dense(3)]
    network = networks.Network(layers, alpha=0.1).fit(ROWS, CLASSES, epochs=2, random_state=0)
    path = gapless.save(network, tmp_path / "network.gapless")
    copies = [gapless.load(path), pickle.loads(pickle.dumps(network))]
    expected = network.predict(ROWS)
    certificate = gapless.certify(network, ROWS, CLASSES)
    assert certificate.kind == "stopped"
    assert "raise epochs" in str(certificate)
    network.fit(ROWS, CLASSES, epochs=2, random_state=1)
    for copy in copies:
        np.testing.assert_array_equal(copy.predict(ROWS), expected)
        copy.fit(ROWS, CLASSES, epochs=2, random_state=1)
        np.testing.assert_array_equal(copy.weights.theta, network.weights.theta)
        assert len(copy.history.loss) == 4
    assert clone(network).get_params() == network.get_params()


JUDGED = {
    "softmax": ((0, 1, 2), lambda z: z.argmax(axis=1)),
    "hinge": ((-1, 1), lambda z: np.where(z[:, 0] > 0, 1, -1)),
    "squared": (None, lambda z: z[:, 0]),
}


@pytest.mark.parametrize("loss", JUDGED)
@pytest.mark.parametrize("calls", [1, 2])
def test_a_network_is_judged_by_networks_that_have_not_seen_the_rows(loss, calls, seed):
    X, score = make_data(gapless.MLPRegressor, seed)
    classes, decide = JUDGED[loss]
    y = score if classes is None else np.array(classes)[(score > 0) * (len(classes) - 1)]
    groups = np.arange(len(y)) % 2

    def trained(rows):
        sizes = {"softmax": 3}
        network = networks.Network([Dense(4), Tanh(), Dense(sizes.get(loss, 1))], loss)
        network.build(X.shape[1], random_state=0)
        for k in range(calls):
            form = {"batch_size": 8, "step": 0.05, "random_state": k}
            network.fit(X[rows], y[rows], np.full(rows.sum(), 2.0), epochs=3 + k, **form)
        return network

    everything = trained(np.ones(len(y), dtype=bool))
    weights = np.full(len(y), 2.0)
    found = gapless.generalize(everything, X, y, weights, groups=groups)
    expected = np.empty(len(y))
    for k in range(2):
        expected[groups == k] = decide(trained(groups != k).predict(X[groups == k]))
    if classes is None:
        score = 1 - np.sum((y - expected) ** 2) / np.sum((y - y.mean()) ** 2)
    else:
        score = np.mean(y == expected)
    assert found.unseen == pytest.approx(score, rel=1e-9)
    assert found.standard_error > 0
    assert found.metric == ("R²" if classes is None else "accuracy")


def test_a_network_says_why_it_cannot_be_judged(seed):
    network = networks.Network([Dense(3)]).fit(ROWS, CLASSES, epochs=1, random_state=0)
    assert network.generalization_.method
    assert network.certificate_.kind == "stopped"
    copy = pickle.loads(pickle.dumps(networks.Network([Dense(3)]).fit(ROWS, CLASSES, epochs=1)))
    with pytest.raises(AttributeError, match="fit again"):
        _ = copy.generalization_
    with pytest.raises(ValueError, match="not the data of the last fit"):
        gapless.generalize(network, 2 * ROWS, CLASSES)
    network.fit(2 * ROWS, CLASSES, epochs=1)
    assert "other rows" in str(network.generalization_)
    assert "no longer has" in str(copy.fit(ROWS, CLASSES, epochs=1).generalization_)
    network.build(3, 0).fit(ROWS, CLASSES, epochs=1).parameters[0][:] = 0.0
    with pytest.raises(ValueError, match="changed since the fit"):
        _ = network.generalization_


def cut_at(step, error, monkeypatch):
    """Let an error stop training before step 0, 1, …; clip makes it take steps one by one."""
    left = itertools.count()

    def check():
        if next(left) == step:
            raise error

    monkeypatch.setattr(training, "check", check)


@pytest.mark.parametrize("error", [TimeLimit, KeyboardInterrupt])
def test_a_network_cut_within_its_first_epoch_cannot_be_judged(error, monkeypatch):
    network = networks.Network([Dense(3)]).build(3, random_state=0)
    begun, form = network.weights.theta.copy(), {"batch_size": 2, "clip": 1e9, "random_state": 0}
    with monkeypatch.context() as patched:
        cut_at(2, error, patched)
        with contextlib.suppress(KeyboardInterrupt):
            network.fit(ROWS, CLASSES, **form)
    assert not network.history.loss and np.any(network.weights.theta != begun)
    copy = pickle.loads(pickle.dumps(network))
    for _ in range(2):
        assert "within its first epoch" in str(network.generalization_)
        # These weights have seen all rows, whatever follows.
        network.fit(ROWS, CLASSES, epochs=1, **form)
    assert "no longer has" in str(copy.fit(ROWS, CLASSES, epochs=1, **form).generalization_)


def test_a_network_that_was_cut_later_repeats_its_epochs_and_keeps_the_best(monkeypatch):
    form = {"batch_size": 2, "clip": 1e9, "step": 2.0, "rule": Plain(), "random_state": 0}
    network = networks.Network([Dense(3)]).build(3, random_state=0)
    with monkeypatch.context() as patched:
        cut_at(3 * 8 + 1, TimeLimit, patched)
        network.fit(ROWS, CLASSES, **form)
    assert "; raise seconds;" in str(network.certificate_)
    assert len(network.history.loss) == 8
    # The last epoch is not the best.
    assert np.argmin(network.history.loss) < 7
    network.fit(ROWS, CLASSES, epochs=1, **form)
    assert "; raise epochs if" in str(network.certificate_)
    data, course = network._training
    again = course._refitted(data, 0)(Design(ROWS))
    np.testing.assert_allclose(again, network.predict(ROWS), rtol=1e-12)


@pytest.mark.parametrize("changed", [{"alpha": 50.0}, {"loss": "squared_hinge"}])
def test_a_network_whose_parameters_change_between_fits_repeats_each_with_its_own(changed):
    y = np.where(CLASSES > 0, 1, -1)
    network = networks.Network([Dense(4), Tanh(), Dense(1)], "logistic").build(3, 0)
    for parameters in ({}, changed):
        network.set_params(**parameters).fit(ROWS, y, epochs=3, step=0.1, random_state=0)
    data, course = network._training
    again = course._refitted(data, 0)(Design(ROWS))
    np.testing.assert_allclose(again, network.predict(ROWS), rtol=1e-12)
    assert network.generalization_.method
    assert [run.alpha for run in course._at(alpha=2.0).runs] == [2.0, 2.0]
    assert [run.epochs for run in course._at(epochs=5).runs] == [3, 5]


def test_a_network_takes_a_loss_that_has_no_hash():
    @dataclass
    class Half(Loss):
        scale: float = 0.5
        task = "regression"

        def value(self, y, z):
            return self.scale * (z - y) ** 2

        def gradient(self, y, z):
            return 2 * self.scale * (z - y)

    assert Half.__hash__ is None
    found = []
    for loss in (Half(), "squared"):
        network = networks.Network([Dense(4), Tanh(), Dense(1)], loss).build(3, 0)
        found.append(network.fit(ROWS, ROWS[:, :1], epochs=5, random_state=0))
    one, other = found
    np.testing.assert_allclose(one.predict(ROWS), other.predict(ROWS), rtol=1e-9)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-9)
    assert one.generalization_.unseen == pytest.approx(other.generalization_.unseen, rel=1e-6)


def test_a_network_ignores_rows_of_weight_0(seed):
    weights = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    kept = weights > 0
    plan = {"epochs": 3, "batch_size": 2, "random_state": 0}
    layers = [Dense(4), BatchNorm(), Tanh(), Dense(3)]
    one = networks.Network(layers).fit(ROWS, CLASSES, weights, **plan)
    other = networks.Network(layers).fit(ROWS[kept], np.array(CLASSES)[kept], **plan)
    np.testing.assert_array_equal(one.weights.theta, other.weights.theta)


@dataclass(frozen=True)
class Scale(Layer):
    """A layer of one's own, whose first weights are normal."""

    def initial(self, shape, random):
        return [random.normal(1.0, 0.1, size=shape)]

    def forward(self, x, parameters, mode):
        return x * parameters[0], x

    def backward(self, dy, x, parameters):
        return dy * parameters[0]

    def gradient(self, dy, x, parameters):
        return [np.sum(dy * x, axis=0)]


def test_a_layer_of_ones_own_draws_as_it_likes():
    network = networks.Network([Scale(), Dense(3)]).fit(ROWS, CLASSES, epochs=1, random_state=0)
    assert gradient_check(network, ROWS, CLASSES).is_right


def test_a_network_learns_what_no_linear_model_can(seed):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    network = networks.Network([Dense(8), Tanh(), Dense(2)])
    network.fit(X, [0, 1, 1, 0], epochs=150, step=0.05, rule=Momentum(0.9), random_state=0)
    assert network.predict(X).argmax(axis=1).tolist() == [0, 1, 1, 0]
    assert len(network.history.loss) == 150
    assert network.history.loss[-1] < 0.1 * network.history.loss[0]


@pytest.mark.parametrize("rule", [Momentum(0.9), AveragedMomentum(0.1), Adam(), Adam(decay=0.1)])
def test_a_step_is_that_of_the_update_rule(rule, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    network = networks.Network([Dense(2), Tanh(), Dense(1)], "squared").build(3, 0)
    theta, memory = network.weights.theta.copy(), None
    expected = theta.copy()
    memory = rule.begin(expected)
    for _ in range(3):
        network.weights.theta[:] = expected
        _, found = network.objective(X, y)
        gradient = np.concatenate([g.ravel() for g in found]) / 6
        expected, memory = rule.step(expected, gradient, 0.1, memory)
    network.weights.theta[:] = theta
    network.fit(X, y, epochs=3, batch_size=6, rule=rule, step=0.1)
    np.testing.assert_allclose(network.weights.theta, expected, rtol=1e-10)


@pytest.mark.parametrize("schedule, expected", [
    (StepDecay(1.0, 0.5, every=2), [1.0, 1.0, 0.5, 0.5, 0.25]),
    (Cosine(1.0, steps=4, last=0.5), [1.0, 0.9267766952966369, 0.75, 0.5732233047033631, 0.5]),
    (Cosine(1.0, steps=4, warm_up=1, last=0.5), [0.5, 1.0, 0.875, 0.625, 0.5]),
])  # fmt: skip
def test_schedules_by_hand(schedule, expected):
    np.testing.assert_allclose([schedule.length(t) for t in range(5)], expected, rtol=1e-12)


# ---- rows and weights ----------------------------------------------------------------------------


@every_form
def test_weight_two_is_the_row_repeated_and_zero_removed(cls, form, seed):
    X, y = make_data(cls, seed)
    weights = np.random.default_rng(seed).integers(0, 4, size=len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = fit(cls(**form), np.where(weights[:, None], X, 1e5), y, sample_weight=weights)
    rtol = 1e-5 if form.get("solver") == "lbfgs" else 1e-9
    assert_same(fit(cls(**form), X[repeated], y[repeated]), weighted, rtol)


REPEATED = {"hidden_layer_sizes": (), "alpha": 5.0, "max_iter": 800, "learning_rate_init": 0.05}


@pytest.mark.parametrize("solver", ["sgd", "adam"])
def test_every_solver_minimises_the_same_objective(solver):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(80, 3)).astype(float)  # 8 distinct rows
    y, weights = X.sum(axis=1), rng.uniform(20.0, 60.0, size=80)
    for given in (None, weights):
        # An epoch of ten copies each is ten steps.
        epochs = 80 if given is None else 800
        form = {**REPEATED, "tol": 1e-12, "max_iter": epochs, "n_iter_no_change": epochs}
        exact = fit(gapless.MLPRegressor(**{**form, "solver": "lbfgs"}), X, y, sample_weight=given)
        model = fit(gapless.MLPRegressor(**form, solver=solver), X, y, sample_weight=given)
        assert_same(model, exact, rtol=1e-3)
        assert model.certificate_.kind == "stationary"
        best = exact.certificate_.primal
        assert model.loss_ == pytest.approx(best / np.sum(weights if given is weights else 80))


@every_form
def test_row_order_does_not_matter(cls, form, seed):
    X, y = make_data(cls, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    rtol = 1e-5 if form.get("solver") == "lbfgs" else 1e-9
    assert_same(fit(cls(**form), X, y), fit(cls(**form), X[order], y[order]), rtol)


@every_form
def test_same_seed_same_bits_for_any_number_of_threads(cls, form, seed, monkeypatch):
    monkeypatch.setattr(engines, "LEAST_WORK", 1 << 10)
    X, y = make_data(cls, seed, n=300)
    form = {**form, "batch_size": 150, "max_iter": 2}
    models = []
    for count in (1, 3):
        with threads(count):
            models.append(fit(cls(**form), X, y))
    composition = models[0]._composition()
    assert len(engines.pieces_of(composition, 150)) > 1 or composition.joins_rows
    for one, other in zip(*map(arrays, models), strict=True):
        np.testing.assert_array_equal(one, other)


@every_form
def test_sparse_is_dense(cls, form, seed):
    if not cls().__sklearn_tags__().input_tags.sparse:
        pytest.skip("images are dense")
    X, y = make_data(cls, seed)
    X[np.abs(X) < 0.5] = 0
    dense = fit(cls(**form), X, y)
    for container in (sp.csr_matrix, sp.csc_array):
        sparse = fit(cls(**form), container(X), y)
        assert_same(dense, sparse, rtol=1e-2)
        np.testing.assert_allclose(
            sparse._scores(X), sparse._scores(container(X)), rtol=1e-6, atol=1e-6
        )


@every_class
def test_float32_is_kept(cls, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**FORMS[cls.__name__][0]), X.astype(np.float32), y)
    assert {array.dtype for array in arrays(model)} == {np.dtype(np.float32)}
    assert model._scores(X.astype(np.float32)).dtype == np.float32


# ---- training ------------------------------------------------------------------------------------


def test_early_stopping_keeps_the_best_weights(seed):
    X, y = make_data(gapless.MLPClassifier, seed, n=200)
    form = {"hidden_layer_sizes": 8, "learning_rate_init": 0.05, "max_iter": 60}
    model = fit(gapless.MLPClassifier(**form, early_stopping=True, n_iter_no_change=3), X, y)
    best = int(np.argmax(model.validation_scores_)) + 1
    assert best < model.n_iter_ < 60
    again = fit(gapless.MLPClassifier(**{**form, "max_iter": best}, early_stopping=True), X, y)
    assert_same(model, again)
    assert model.history_.validation == model.validation_scores_
    assert model.best_loss_ is None


@every_class
def test_a_copy_continues_where_the_model_has_ended(cls, seed, tmp_path):
    X, y = make_data(cls, seed)
    more = {"classes": np.unique(y)} if is_classifier(cls()) else {}
    form = {k: v for k, v in FORMS[cls.__name__][0].items() if k != "max_iter"}
    model = cls(**form, random_state=0).partial_fit(X, y, **more)
    gapless.save(model, tmp_path / "model.gapless")
    copies = [pickle.loads(pickle.dumps(model)), gapless.load(tmp_path / "model.gapless")]
    model.partial_fit(X, y)
    assert model.t_ == 120
    assert len(model.loss_curve_) == 2
    for copy in copies:
        assert_same(model, copy.partial_fit(X, y))


def test_parts_continue_from_the_weights_that_the_model_shows(seed):
    X, y = make_data(gapless.MLPClassifier, seed)
    form = {"hidden_layer_sizes": 4, "solver": "sgd", "learning_rate_init": 1e-9}
    model = gapless.MLPClassifier(**form, random_state=0)
    model.partial_fit(X, y, classes=np.unique(y))
    for array in arrays(model):
        array[...] = 0.5  # weights that a user sets
    model.partial_fit(X, y)
    assert all(np.allclose(array, 0.5) for array in arrays(model))
    form |= {"early_stopping": True, "learning_rate_init": 0.5, "max_iter": 12}
    model = fit(gapless.MLPClassifier(**form, n_iter_no_change=20), X, y)
    assert int(np.argmax(model.validation_scores_)) < 11
    best = [array.copy() for array in arrays(model)]
    model.set_params(early_stopping=False, learning_rate_init=1e-9)
    model._optimizer.pace.learning_rate = 1e-9
    model.partial_fit(X, y)
    for found, expected in zip(arrays(model), best):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert len(model.history_.loss) == 13
    assert model.history_.seconds == sorted(model.history_.seconds)


@pytest.mark.parametrize("first, then", [("sgd", "adam"), ("adam", "sgd"), ("lbfgs", "adam")])
def test_another_rule_forgets_what_the_last_one_remembered(first, then, seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    model = fit(gapless.MLPRegressor(**FEW, solver=first), X, y)
    plain = fit(gapless.MLPRegressor(**FEW, solver=then), X, y)
    plain.coefs_, plain.intercepts_ = model.coefs_, model.intercepts_
    plain.__dict__.pop("_optimizer")
    plain.partial_fit(X, y)
    model.set_params(solver=then).partial_fit(X, y)
    assert_same(model, plain, rtol=1e-5)


def test_a_fit_that_fails_leaves_the_history_as_it_was(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    model = gapless.MLPRegressor(hidden_layer_sizes=4, solver="sgd", batch_size=4, random_state=0)
    steps = model.partial_fit(X, y)._optimizer.memory.steps
    with pytest.raises(ValueError, match="non-finite"):
        model.partial_fit(X, 1e120 * y)
    assert (len(model.history_.loss), model._optimizer.memory.steps) == (1, steps)


def test_a_training_ends_once_a_weight_is_not_finite(seed, capsys):
    X, y = make_data(gapless.MLPRegressor, seed)
    steps = {"solver": "sgd", "learning_rate_init": 1e6, "max_iter": 200, "verbose": True}
    with pytest.raises(ValueError, match="non-finite"):
        gapless.MLPRegressor(hidden_layer_sizes=4, random_state=0, **steps).fit(X, 100 * y)
    assert 0 < capsys.readouterr().out.count("Iteration") < 100


def test_a_warm_start_continues_the_curve(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    model = fit(gapless.MLPRegressor(**FEW, warm_start=True), X, y)
    fit(model, X, y)
    assert (model.n_iter_, len(model.loss_curve_), model.t_) == (4, 8, 480)
    assert model.history_.seconds == sorted(model.history_.seconds)


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_scores_of_the_training_rows_are_recorded(solver, seed):
    for cls in (gapless.MLPRegressor, gapless.MLPClassifier):
        X, y = make_data(cls, seed)
        model = fit(cls(hidden_layer_sizes=5, solver=solver, max_iter=30, tol=0), X, y)
        again = fit(cls(hidden_layer_sizes=5, solver=solver, max_iter=29, tol=0), X, y)
        expected = (model if solver == "lbfgs" else again).score(X, y)
        assert model.history_.score[-1] == pytest.approx(expected, rel=1e-4)


def test_predictions_are_those_of_the_loss_of_the_fit(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    model = fit(gapless.MLPRegressor("poisson", **FEW, alpha=2.0), X, np.abs(y))
    before, known = model.predict(X), gapless.certify(model, X, np.abs(y)).primal
    model.set_params(loss="squared_error", alpha=0.0)
    np.testing.assert_array_equal(model.predict(X), before)
    assert gapless.certify(model, X, np.abs(y)).primal == known
    with pytest.raises(ValueError, match="must be positive"):
        gapless.MLPRegressor("gamma", **FEW).fit(X, np.maximum(y, 0))


def test_parts_say_what_is_not_known(seed):
    X, y = make_data(gapless.MLPClassifier, seed)
    model = gapless.MLPClassifier(4, random_state=0).partial_fit(X, y, classes=np.unique(y))
    assert model.certificate_.kind == "none"
    assert "parts" in str(model.certificate_)
    assert gapless.certify(model, X, y).kind == "stopped"
    with pytest.raises(ValueError, match="classes must be passed"):
        gapless.MLPClassifier().partial_fit(X, y)


def test_time_is_limited_and_the_best_epoch_kept(seed, counted_time):
    X, y = make_data(gapless.MLPClassifier, seed)
    model = gapless.MLPClassifier(
        20, max_iter=10**6, tol=0, n_iter_no_change=10**6, time_limit=300, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, y)  # a million epochs, if nothing ended them
    assert model.n_iter_ < 10**6
    losses = gapless.certify(model, X, y).primal / len(X)
    assert losses <= model.loss_curve_[0] + 1e-6


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_an_interrupt_keeps_the_best_weights(solver, seed, monkeypatch):
    X, y = make_data(gapless.MLPClassifier, seed)
    model = gapless.MLPClassifier(6, solver=solver, max_iter=50, tol=0, random_state=0)
    seen = []

    def interrupted(self, callback, known=0):
        def after(history, target):
            seen.append(history.loss[-1])
            if len(seen) == 5:
                raise KeyboardInterrupt
            return False

        return after

    monkeypatch.setattr(gapless.MLPClassifier, "_told", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 5
    assert model.predict(X).shape == (60,)
    assert gapless.certify(model, X, y).primal / 60 < seen[0]


def test_ctrl_c_does_not_wait_for_other_threads():
    engine = engines.BuiltIn(Composition((Dense(1),), (3,)))
    caller, is_held, release = threading.get_ident(), threading.Event(), threading.Event()
    begun, ended = [], []

    def of_piece(k):
        begun.append(k)
        if threading.get_ident() == caller:
            assert is_held.wait(60)
            raise KeyboardInterrupt
        is_held.set()
        release.wait(60)
        ended.append(k)

    with threads(2), pytest.raises(KeyboardInterrupt), engine.running():
        pool = engine._pool
        engine._map(of_piece, range(8))
    assert not ended
    release.set()
    pool.shutdown()
    assert len(ended) == 1
    assert len(begun) == 2
    # The next call has threads of its own.
    with threads(2), engine.running():
        assert engine._map(lambda k: k + 1, range(8)) == list(range(1, 9))


@pytest.mark.parametrize("form, words", [
    ({"early_stopping": True}, "early_stopping"),
    ({"augment": networks.Augmentation()}, "augment"),
    ({"layers": [Flatten(), Dropout(0.5)]}, "Dropout"),
    ({"layers": [Flatten(), BatchNorm()]}, "BatchNorm"),
    ({"clip": 1.0}, "clip"),
])  # fmt: skip
def test_lbfgs_refuses_what_it_would_not_do(form, words, seed):
    X, y = make_data(gapless.CNNClassifier, seed)
    with pytest.raises(ValueError, match=f'{words}.*solver="adam"'):
        gapless.CNNClassifier(**{**SMALL, **form}, solver="lbfgs").fit(X, y)
    assert not hasattr(gapless.CNNClassifier(solver="lbfgs"), "partial_fit")


def test_the_logarithms_of_probabilities_are_those_of_the_probabilities(seed):
    for cls in (gapless.MLPClassifier, gapless.CNNClassifier):
        X, y = make_data(cls, seed)
        model = fit(cls(**FORMS[cls.__name__][0]), X, y)
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))


@pytest.mark.parametrize("model, words", [
    (gapless.MLPClassifier((3.5,)), r"whole numbers of units, .* \[3.5\]"),
    (gapless.MLPClassifier(early_stopping=True, validation_fraction=0.0), "validation_fraction"),
    (gapless.CNNClassifier(image_shape=("a", 4)), "image_shape must be"),
])  # fmt: skip
def test_parameters_that_make_no_sense_are_named(model, words, seed):
    X, y = make_data(gapless.CNNClassifier, seed)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


@pytest.mark.parametrize("build, words", [
    (lambda: Dense(3.5), "units must be a whole number"),
    (lambda: Conv2D(2.5), "filters must be a whole number"),
    (lambda: Conv2D(2, size=129), "at most 128"),
    (lambda: MaxPool2D(2.5), "size must be a whole number"),
    (lambda: AveragePool2D(200), "at most 128"),
])  # fmt: skip
def test_layers_have_whole_sizes(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_images_that_cannot_be_learned_from_are_refused():
    images, y = np.zeros((6, 4, 4)), np.arange(6) % 2
    with pytest.raises(ValueError, match=r"shape \(6, 4, 4, 1, 1\).*channels"):
        gapless.CNNClassifier().fit(images[..., None, None], y)
    with pytest.raises(ValueError, match="channels come last"):
        gapless.CNNClassifier([Flatten()]).fit(np.zeros((6, 3, 8, 8)), y)
    model = fit(gapless.CNNClassifier([Flatten()], image_shape=(8, 8, 3)), np.zeros((6, 192)), y)
    assert model.image_shape_.tolist() == [8, 8, 3]
    images[2, 1, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*image 2 .* row 1 and column 3, channel 0"):
        gapless.CNNClassifier().fit(images, y)


def test_a_warning_points_to_the_line_that_fits(seed):
    X, y = make_data(gapless.MLPClassifier, seed)
    for form, kind in (({"max_iter": 1}, ConvergenceWarning), ({"batch_size": 500}, UserWarning)):
        with pytest.warns(kind) as found:
            gapless.MLPClassifier(4, **{"max_iter": 2, **form}).fit(X, y)
        assert {record.filename for record in found} == {__file__}


def test_an_error_leaves_the_old_model(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    model = fit(gapless.MLPRegressor(**FEW), X, y)
    before = [array.copy() for array in arrays(model)]
    model.set_params(solver="sgd", learning_rate_init=1e6, max_iter=20)
    with pytest.raises(ValueError, match="non-finite"):
        model.fit(X, 100 * y)
    for one, other in zip(before, arrays(model)):
        np.testing.assert_array_equal(one, other)


def test_outputs_that_are_no_predictions_are_not_compared_by_memorise():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"predict\(X\)\.argmax\(axis=1\)"):
        memorise(networks.Network([Dense(2)]), X, y)


def test_a_few_rows_are_memorised_on_request():
    X, y = load_digits(return_X_y=True)
    form = {"hidden_layer_sizes": 30, "solver": "lbfgs", "alpha": 0, "random_state": 0}
    assert memorise(gapless.MLPClassifier(**form), X / 16, y).is_memorised
    assert memorise(gapless.MLPRegressor(**form), X / 16, y.astype(float)).is_memorised


# ---- both gaps -----------------------------------------------------------------------------------


@every_form
def test_the_certificate_is_that_of_the_objective(cls, form, seed):
    X, y = make_data(cls, seed)
    model = fit(cls(**form), X, y)
    found = gapless.certify(model, X, y)
    assert found.kind in ("stationary", "stopped")
    assert "no bound" in found.verdict
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert gradient_check(model, X=X, y=y, entries=20).is_right
    objective = model._differentiable(X, y)
    flat = objective.composition.arrays(objective.weights.theta)
    slopes = objective.gradient(flat)
    norm = float(np.sqrt(sum(np.sum(g**2) for g in slopes)))
    total = float(objective.rows.weights.sum())
    assert found.kkt.stationarity.value == pytest.approx(total * norm, rel=1e-6)
    assert found.primal == pytest.approx(total * objective.value(flat), rel=1e-9)


def test_a_settled_fit_is_stationary(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    model = gapless.MLPRegressor(
        hidden_layer_sizes=3, activation="tanh", solver="lbfgs", alpha=1.0, tol=1e-7, max_iter=5000
    )
    model = fit(model, X, y)
    assert model.certificate_.kind == "stationary"
    assert "the gradient is next to 0" in str(model.certificate_)


def test_small_parameters_do_not_look_stationary(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    for scale in (1.0, 1e-6):
        model = fit(gapless.MLPRegressor(**FEW, activation="tanh"), scale * X, y)
        model.coefs_[0][:], model.intercepts_[0][:], model.intercepts_[1][:] = 0, 0, y.mean()
        found = gapless.certify(model, scale * X, y)  # only the first weights have a slope
        assert found.kind == "stopped"
        assert "following the gradient" in str(found)


@pytest.mark.parametrize(
    ("beyond", "words"), [(2.0**-50, "stopped at a kink"), (2.0**-7, "following the gradient")]
)
def test_at_a_kink_the_gradient_is_not_said_to_lead_down(beyond, words):
    # v·max(0, wx + b) + c: the first row is `beyond` the kink. On this side the slopes in (w, b)
    # are (3, 1) − (1, 1), along which the objective falls; on the other −(1, 1), and it rises.
    X, network = np.array([[3.0], [1.0]]), networks.Network([Dense(1), ReLU(), Dense(1)], "squared")
    network.build(1, random_state=0)
    w, b, v, c = network.parameters
    w[:], b[:], v[:], c[:] = -0.125, 0.375 + beyond, 1, 0
    y = network.predict(X).ravel() + np.array([-1, 1])
    slopes = np.concatenate([part.ravel() for part in network.objective(X, y)[1]])
    assert slopes[:2] == pytest.approx([2, 0])
    found = gapless.certify(network, X, y)
    assert found.kind == "stopped"
    assert found.verdict.startswith("stopped")
    assert words in found.verdict
    before = network.objective(X, y)[0]
    for array, slope in zip(network.parameters, network.objective(X, y)[1]):
        array -= 1e-4 * slope
    assert (network.objective(X, y)[0] < before) == ("following" in words)


def test_large_targets_do_not_look_stationary(seed):
    # Steps of the length of weights near 1 change little of targets near 10⁸, and still matter.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = 1e8 * (5 + X[:, 0])
    model = fit(gapless.MLPRegressor(hidden_layer_sizes=5, max_iter=20, random_state=0), X, y)
    assert model.score(X, y) < 0
    assert model.certificate_.kind == "stopped"


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_targets_that_a_constant_predicts_have_a_certificate(solver, seed):
    X, _ = make_data(gapless.MLPRegressor, seed)
    for value in (0.0, 3.0):
        model = fit(gapless.MLPRegressor(**{**FEW, "solver": solver}), X, np.full(60, value))
        assert 0 < model.certificate_.scale < np.inf
        assert "inf" not in str(model.certificate_)


@pytest.mark.parametrize("form, words", [
    ({"max_iter": 2}, "raise max_iter"),
    ({"max_iter": 50, "tol": 1e9, "n_iter_no_change": 1}, "lower tol or raise n_iter_no_change"),
    ({"early_stopping": True, "tol": 1e9, "n_iter_no_change": 1}, "kept aside ended it"),
    ({"solver": "lbfgs", "tol": 1e9}, "; lower tol if"),
])  # fmt: skip
def test_the_certificate_names_what_would_train_on(form, words, seed):
    X, y = make_data(gapless.MLPClassifier, seed)
    model = fit(gapless.MLPClassifier(5, **form), X, y)
    assert words in str(model.certificate_)
    assert str(gapless.certify(model, X, y)) == str(model.certificate_)


@pytest.mark.parametrize("cls", [gapless.MLPClassifier, gapless.MLPRegressor])
def test_steps_that_were_too_long_are_to_be_shortened(cls, seed):
    X, y = make_data(cls, seed)
    form = {"hidden_layer_sizes": 20, "random_state": 0}
    model = fit(cls(**form, learning_rate_init=1e6, max_iter=30), X, y)
    assert "so shorten the steps, learning_rate_init;" in str(model.certificate_)
    assert str(gapless.certify(model, X, y)) == str(model.certificate_)
    layers, loss = [Dense(20), ReLU(), Dense(3)], "softmax"
    if cls is gapless.MLPRegressor:
        layers[-1], loss = Dense(1), "squared"
    labels = np.unique(y, return_inverse=True)[1] if loss == "softmax" else y
    network = networks.Network(layers, loss).build(X.shape[1], 0)
    network.fit(X, labels, epochs=5, step=1e6, random_state=0)
    assert "so shorten the steps, step;" in str(network.certificate_)
    # Large features make the objective large before the first step, and short steps lower it.
    calm = fit(gapless.MLPRegressor(**form, max_iter=3), 1e4 * X, X[:, 0])
    assert calm.certificate_.primal > 100 * calm.certificate_.scale
    assert "shorten" not in str(calm.certificate_)
    # L-BFGS has no such parameter.
    assert "shorten" not in str(model.set_params(solver="lbfgs")._certified(X, y))


def test_the_warning_of_a_training_that_diverges_is_to_shorten_its_steps(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    for length, words in ((1e6, "shorten the steps, learning_rate_init"), (1e-3, "raise max_iter")):
        form = {"hidden_layer_sizes": 20, "random_state": 0, "max_iter": 3}
        with pytest.warns(ConvergenceWarning, match="hasn't converged") as caught:
            gapless.MLPRegressor(**form, learning_rate_init=length).fit(X, y)
        assert words in str(caught[0].message)
        assert "raise max_iter" in words or "raise max_iter" not in str(caught[0].message)


@pytest.mark.parametrize("is_network", [False, True])
def test_a_pickle_made_before_the_certificate_is_read_has_it(is_network, seed, monkeypatch):
    X, y = make_data(gapless.MLPRegressor, seed)
    monkeypatch.setattr("gapless.models.networks._base.LITTLE_WORK", 0)
    if is_network:
        model = networks.Network([Dense(3), Tanh(), Dense(1)], "squared").fit(X, y, epochs=2)
    else:
        model = fit(gapless.MLPRegressor(hidden_layer_sizes=3, max_iter=2), X, y)
    assert "certificate_" not in vars(shallow(model))
    assert "certificate_" not in vars(model)
    again = pickle.loads(pickle.dumps(model))
    assert np.isfinite(again.certificate_.primal)
    assert str(again.certificate_) == str(gapless.certify(model, X, y))


@pytest.mark.parametrize("beyond", [False, True])
def test_a_fit_computes_the_certificate_if_that_is_little_work(beyond, seed, monkeypatch):
    X, y = make_data(gapless.MLPRegressor, seed)
    work = len(y) * Composition((Dense(3), ReLU(), Dense(1)), X.shape[1:]).work
    monkeypatch.setattr("gapless.models.networks._base.LITTLE_WORK", work - beyond)
    model = fit(gapless.MLPRegressor(hidden_layer_sizes=3, max_iter=2), X, y)
    assert ("certificate_" in vars(model)) != beyond
    assert model.certificate_.kind in ("stopped", "stationary")


def test_class_weights_change_the_loss_and_not_the_number_of_copies(seed):
    X, y = make_data(gapless.MLPClassifier, seed)
    classes = np.unique(y)
    by_class = dict.fromkeys(classes.tolist(), 2) | {classes[0]: 4}
    weights = np.where(y == classes[0], 4.0, 2.0)
    form = {"hidden_layer_sizes": 4, "solver": "lbfgs", "max_iter": 20, "random_state": 0}
    ours = fit(gapless.MLPClassifier(**form, class_weight=by_class), X, y)
    same = fit(gapless.MLPClassifier(**form), X, y, sample_weight=weights)
    assert ours.certificate_.primal == pytest.approx(same.certificate_.primal, rel=1e-6)
    form = {"hidden_layer_sizes": 4, "max_iter": 2, "random_state": 0}
    assert fit(gapless.MLPClassifier(**form, class_weight=by_class), X, y).t_ == 2 * len(y)
    # Whole weights are copies: an epoch of one step visits the rows as often as they stand there.
    assert fit(gapless.MLPClassifier(**form), X, y, sample_weight=weights).t_ > 2 * len(y)


@pytest.mark.parametrize("strikes_in", [1, 2])
def test_a_time_limit_that_strikes_while_rows_aside_are_scored_adds_no_epoch(
    strikes_in, seed, monkeypatch
):
    X, y = make_data(gapless.MLPClassifier, seed)
    score, calls = training.outputs, []

    def limited(*arguments):
        calls.append(1)
        if len(calls) == strikes_in:
            raise TimeLimit
        return score(*arguments)

    monkeypatch.setattr(training, "outputs", limited)
    model = fit(gapless.MLPClassifier(4, early_stopping=True, max_iter=5, random_state=0), X, y)
    history = model.history_
    lists = history.loss, history.score, history.validation, history.seconds, history.step_size
    assert [len(values) for values in lists] == [strikes_in - 1] * 5
    assert model.n_iter_ == strikes_in - 1


def test_several_labels_and_several_numbers_are_judged_on_unseen_rows(seed):
    X, y = make_data(gapless.MLPRegressor, seed)
    labels = np.stack([y > 0, y < 0, X[:, 0] > 0], axis=1).astype(int)
    form = {"hidden_layer_sizes": 4, "solver": "lbfgs", "max_iter": 30, "alpha": 0.1}
    several = fit(gapless.MLPClassifier(**form), X, labels)
    assert 0.4 < several.generalization_.unseen <= several.score(X, labels)
    assert gapless.generalize(several, X, labels).unseen == several.generalization_.unseen
    numbers = np.stack([y, X[:, 1] - y], axis=1)
    model = fit(gapless.MLPRegressor(**form), X, numbers)
    assert 0.5 < model.generalization_.unseen <= model.score(X, numbers)


@pytest.mark.parametrize(("n", "refits"), [(8, 8), (40, 5)])
def test_few_rows_are_left_out_in_folds_rather_than_one_by_one(n, refits, seed, monkeypatch):
    X, y = make_data(gapless.MLPRegressor, seed, n=n)
    model = gapless.MLPRegressor(hidden_layer_sizes=4, solver="lbfgs", max_iter=3)
    seen = []
    train = NetworkModel._refitted

    def counted(self, data, seed):
        seen.append(np.count_nonzero(data.weights))
        return train(self, data, seed)

    monkeypatch.setattr(NetworkModel, "_refitted", counted)
    method = fit(model, X, y).generalization_.method
    assert ("5-fold" in method) == (n == 40)
    # Refits of the model, and of each version that the verdict compares it with.
    of_parts = [rows for rows in seen if rows < n]
    assert set(of_parts) == {n - n // refits}
    assert len(of_parts) % refits == 0


@every_class
def test_unseen_rows_are_predicted_by_networks_that_have_not_seen_them(cls, seed):
    X, y = make_data(cls, seed, n=400)
    layers = SMALL if cls is gapless.CNNClassifier else {"hidden_layer_sizes": 6}
    model = fit(cls(**layers, solver="lbfgs", max_iter=30, alpha=1.0), X, y)
    result = model.generalization_
    assert "hold-out of 80 rows" in result.method
    assert 0 < result.standard_error < 0.1
    X_new, y_new = make_data(cls, seed, n=4000)
    assert abs(result.unseen - model.score(X_new, y_new)) < 5 * result.standard_error
    assert gapless.generalize(model, X, y).unseen == result.unseen
    y_other = y[::-1]
    with pytest.raises(ValueError, match="does not match"):
        gapless.generalize(model, X, y_other)


def test_a_network_is_cloned_with_its_rules():
    model = gapless.MLPClassifier(solver=Adam(decay=0.1), learning_rate=Cosine(0.1, 5))
    assert clone(model).get_params() == model.get_params()


# ---- images --------------------------------------------------------------------------------------


def test_images_and_flat_rows_are_the_same():
    digits = load_digits()
    images, y = digits.images[:100] / 16, digits.target[:100]
    forms = {
        "images": (images, None),
        "with a channel": (images[..., None], None),
        "flat": (images.reshape(100, -1), (8, 8)),
        "a square": (images.reshape(100, -1), None),
    }
    models = [
        fit(gapless.CNNClassifier(**SMALL, image_shape=shape, max_iter=1), X, y)
        for X, shape in forms.values()
    ]
    for model, (X, _) in zip(models, forms.values()):
        np.testing.assert_array_equal(model.theta_, models[0].theta_)
        np.testing.assert_array_equal(model.predict(X), models[0].predict(images))
        assert model.image_shape_.tolist() == [8, 8, 1]
    with pytest.raises(ValueError, match="was fitted to images of"):
        models[0].predict(images[:, :4, :])
    with pytest.raises(ValueError, match="has 60 numbers"):
        gapless.CNNClassifier(image_shape=(6, 10)).fit(images.reshape(100, -1), y)
    with pytest.raises(ValueError, match="leave it out"):
        gapless.CNNClassifier(image_shape=(4, 16)).fit(images, y)


def test_a_small_convolutional_network_learns_digits():
    digits = load_digits()
    X, y = digits.images / 16, digits.target
    model = gapless.CNNClassifier(batch_size=32, learning_rate_init=0.003, max_iter=5)
    fit(model, X[:900], y[:900])
    assert model.score(X[900:], y[900:]) > 0.88
    maps = model.feature_maps(X[:2])
    assert maps[0].shape == (2, 8, 8, 16)
    np.testing.assert_allclose(maps[-1], model._scores(X[:2]), rtol=1e-5)
    assert len(model.plot_filters()) == 16
    assert len(model.plot_feature_maps(X[:1], layer=3)) == 32
    with pytest.raises(ValueError, match="has no feature maps; layers 0, 1, 2"):
        model.plot_feature_maps(X[:1], layer=8)


def test_augmentation_shifts_and_turns():
    x = np.zeros((50, 9, 9, 1))
    x[:, 4, 4] = 1.0
    moved = networks.Augmentation(shift=2, rotation=0.0)(x, np.random.default_rng(0))
    places = {tuple(place[1:3]) for place in np.argwhere(moved == 1)}
    assert len(places) > 15
    assert all(2 <= i <= 6 and 2 <= j <= 6 for i, j in places)
    x = np.zeros((1, 9, 9, 1))
    x[0, 4, :] = 1.0
    # A quarter of a turn makes a column of a line; the seed decides the angle.
    turned = networks.Augmentation(shift=0, rotation=90.0)
    angles = [turned(x, np.random.default_rng(k))[0, :, :, 0] for k in range(40)]
    assert max(image[:, 4].sum() for image in angles) > 6
    still = networks.Augmentation(0, 0.0)(x, np.random.default_rng(0))
    np.testing.assert_array_equal(still, x)
    with pytest.raises(ValueError, match="whole number"):
        networks.Augmentation(shift=-1)


def test_history_is_drawn():
    X, y = make_data(gapless.MLPClassifier, 0)
    model = fit(gapless.MLPClassifier(**FEW, early_stopping=True), X, y)
    axes = model.history_.plot(against="epochs")
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), model.loss_curve_)
    labels = [line.get_label() for line in axes.figure.axes[1].lines]
    assert labels == ["accuracy, training", "accuracy, kept aside"]


class Cell:
    """A stand-in for a notebook: keeps what is shown in the output of a cell."""

    def __init__(self):
        self.shown, self.updates = [], []
        self.display = SimpleNamespace(display=self.show)

    def get_ipython(self):
        return SimpleNamespace(kernel=self)

    def show(self, figure, display_id):
        self.shown.append(figure)
        return SimpleNamespace(update=self.updates.append)


@pytest.mark.parametrize(
    ("where", "is_network"), [("script", True), ("axes", False), ("notebook", True)]
)
def test_curves_are_drawn_after_every_epoch(where, is_network, seed, monkeypatch):
    X, y = make_data(gapless.MLPRegressor, seed)
    cell = Cell()
    if where == "notebook":
        monkeypatch.setitem(sys.modules, "IPython", cell)
    axes = plt.figure().subplots() if where == "axes" else None
    curves = LiveCurves(axes=axes, every_seconds=0)
    drawn = []
    draw = curves._draw

    def counted(title):
        draw(title)
        drawn.append((title, curves.axes_.lines[0].get_ydata().tolist()))

    monkeypatch.setattr(curves, "_draw", counted)
    if is_network:
        model = networks.Network([Dense(3), Tanh(), Dense(1)], "squared").set_callbacks(curves)
        loss = model.fit(X, y, epochs=4, random_state=0).history.loss
    else:
        loss = fit(
            gapless.MLPRegressor(hidden_layer_sizes=3, max_iter=4).set_callbacks(curves), X, y
        )
        loss = loss.loss_curve_
    assert [values for _, values in drawn] == [loss[: k + 1] for k in range(4)] + [loss]
    assert drawn[1][0].startswith("epoch 2 of 4, loss")
    assert drawn[1][0].endswith("s left")
    assert drawn[-1][0].startswith("4 epochs in")
    # The loss, and the scores at the right, however often it was drawn.
    assert len(curves.axes_.figure.axes) == 2
    assert axes is None or curves.axes_ is axes
    assert (len(cell.shown), len(cell.updates)) == ((1, 4) if where == "notebook" else (0, 0))
    assert plt.fignum_exists(curves.axes_.figure.number) == (where != "notebook")
    plt.close("all")


def test_curves_of_an_interrupted_fit_are_drawn_to_its_end(seed):
    class Interrupt(LiveCurves):
        def on_fit_task_end(self, estimator, context, *, metadata=None):
            super().on_fit_task_end(estimator, context, metadata=metadata)
            if metadata is not None and metadata["progress"].done == 3:
                raise KeyboardInterrupt
            return False

    X, y = make_data(gapless.MLPRegressor, seed)
    curves = Interrupt(every_seconds=1000)
    with pytest.raises(KeyboardInterrupt):
        fit(gapless.MLPRegressor(hidden_layer_sizes=3).set_callbacks(curves), X, y)
    assert len(curves.axes_.lines[0].get_ydata()) == 3
    plt.close("all")


def test_a_watched_model_is_saved_without_its_watcher(seed, tmp_path):
    X, y = make_data(gapless.MLPRegressor, seed)
    model = gapless.MLPRegressor(hidden_layer_sizes=3, max_iter=2).set_callbacks(LiveCurves())
    loaded = gapless.load(gapless.save(fit(model, X, y), tmp_path / "model.gapless"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    plt.close("all")


def test_curves_are_drawn_in_a_tenth_of_the_time(seed, monkeypatch):
    clock = itertools.count(step=1.0)  # a second passes whenever somebody looks
    monkeypatch.setattr(live.time, "monotonic", lambda: next(clock))
    curves = LiveCurves()
    curves.setup(None, None)
    epochs = Underway(History("R²", [1.0], [0.5], [], [1.0], [0.1]), 0, 9)
    pauses = []
    for _ in range(30):
        before = curves._next_at
        curves.on_fit_task_end(None, None, metadata={"progress": epochs})
        pauses.append(curves._next_at != before)
    # Looks at the clock: one for each epoch, and two more of a second for each drawing.
    assert pauses == [k % 9 == 0 for k in range(30)]
    plt.close("all")


def test_curves_refuse_what_they_cannot_draw():
    with pytest.raises(ValueError, match="against must be"):
        LiveCurves(against="rows")
    with pytest.raises(ValueError, match="every_seconds must be"):
        LiveCurves(every_seconds=-1)


# ---- PyTorch -------------------------------------------------------------------------------------

WITH_TORCH = [
    [Dense(6), Tanh(), Dense(3)],
    [Dense(6), Sigmoid(), Dropout(0.4), Dense(3)],
    [Conv2D(4), ReLU(), MaxPool2D(), Flatten(), Dense(3)],
    [Conv2D(4, 2, 2, "valid"), BatchNorm(), Identity(), AveragePool2D(2, 1), Flatten(), Dense(3)],
]


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(engines, "LEAST_WORK", 1)
    monkeypatch.setattr(engines, "LEAST_ROWS", 3)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("layers", WITH_TORCH, ids=lambda layers: type(layers[0]).__name__)
def test_pytorch_agrees_and_weights_move_both_ways(layers, seed):
    pytest.importorskip("torch", reason="PyTorch is an optional engine")
    rng = np.random.default_rng(seed)
    shape = (7, 6, 2) if isinstance(layers[0], Conv2D) else (5,)
    X, y = rng.normal(size=(20, *shape)).astype(np.float32), np.arange(20) % 3
    ours = networks.Network(layers).build(shape, 0, np.float32)
    theirs = networks.Network(layers, engine="torch").build(shape, 1, np.float32)
    theirs.weights.theta[:] = ours.weights.theta
    has_norm = any(isinstance(layer, BatchNorm) for layer in layers)
    assert len(engines.pieces_of(ours.composition, 8)) == (1 if has_norm else 2)
    assert gradient_check(theirs, X.astype(float), y, entries=5).is_right
    np.testing.assert_allclose(theirs.predict(X), ours.predict(X), rtol=1e-4, atol=1e-5)
    for one, other in zip(ours.objective(X, y)[1], theirs.objective(X, y)[1]):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)
    plan = {"epochs": 2, "batch_size": 8, "step": 0.05, "rule": Momentum(0.5), "random_state": 0}
    ours.fit(X, y, **plan)
    theirs.fit(X, y, **plan)
    np.testing.assert_allclose(theirs.weights.theta, ours.weights.theta, rtol=1e-3, atol=1e-4)
    for one, other in zip(ours.weights.running, theirs.weights.running):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_estimators_train_on_pytorch_and_predict_on_either():
    pytest.importorskip("torch", reason="PyTorch is an optional engine")
    X, y = make_data(gapless.MLPClassifier, 0)
    ours, theirs = (fit(gapless.MLPClassifier(**FEW, engine=e), X, y) for e in ("numpy", "torch"))
    assert_same(ours, theirs, rtol=1e-3)
    before = theirs.predict_proba(X)
    theirs.engine = "numpy"
    np.testing.assert_allclose(theirs.predict_proba(X), before, rtol=1e-5)


def test_pytorch_takes_one_thread_for_small_batches_and_leaves_their_number(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is an optional engine")
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 2
    seen, relu = [], torch.relu
    monkeypatch.setattr(torch, "relu", lambda x: (seen.append(torch.get_num_threads()), relu(x))[1])
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with threads(2):
            gapless.MLPClassifier(4, engine="torch", max_iter=1, random_state=0).fit(X, y)
            assert torch.get_num_threads() == 2
            assert set(seen) == {1}
            seen.clear()
            monkeypatch.setattr(torch_engine, "LEAST_WORK", 1)
            gapless.MLPClassifier(4, engine="torch", max_iter=1, random_state=0).fit(X, y)
            assert set(seen) == {2}
    finally:
        torch.set_num_threads(before)


def test_without_pytorch_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'gapless\[torch\]'"):
        gapless.MLPClassifier(engine="torch").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("early_stopping", [True, False])
def test_few_distinct_rows_of_many_copies_are_learned_as_they_are(early_stopping):
    """Copies are kept aside one by one, and an epoch of them is more than one step."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (2000, 4)).astype(float)
    y = (X[:, 0] != X[:, 1]) ^ (rng.random(2000) < 0.1)
    model = gapless.MLPClassifier(early_stopping=early_stopping, random_state=0, max_iter=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, y).score(X, y) > 0.88


@pytest.mark.parametrize(
    ("parameters", "cure"),
    [
        ({"hidden_layer_sizes": 1, "solver": "lbfgs", "max_iter": 15}, "hidden_layer_sizes="),
        ({"hidden_layer_sizes": 10, "max_iter": 2, "learning_rate_init": 0.05}, "max_iter="),
    ],
)
def test_a_network_that_is_too_small_or_hardly_trained_is_under_fitted(parameters, cure):
    # Just enough rows for one part kept aside, so that every version is trained only once.
    X = np.random.RandomState(0).uniform(-2, 2, (FEW_ROWS + 1, 2))
    y = X[:, 0] * X[:, 1] > 0
    model = gapless.MLPClassifier(
        activation="tanh", alpha=0, tol=1e-2, random_state=0, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.fit(X, y).generalization_
    assert result.verdict.startswith("under-fitted")
    assert cure in result.verdict


class Terminal(io.StringIO):
    """Keeps what is written to a terminal."""

    def isatty(self):
        return True

    @property
    def lines(self):
        return [line.strip() for line in self.getvalue().split("\r") if line.strip()]


@pytest.mark.parametrize(
    ("before", "validation", "unit", "text"),
    [
        ([], [0.9, 0.95, 0.97], "epoch", "epoch 3 of 200, loss 0.12, validation 0.97, about 39 s"),
        ([], [], "step", "step 3 of 200, loss 0.12, accuracy 0.99, about 39 s"),
        # A training that goes on: 50 s went by before it.
        ([20.0, 50.0], [], "epoch", "epoch 3 of 200, loss 0.12, accuracy 0.99, about 39 s"),
    ],
)
def test_the_line_of_progress_tells_what_is_left(before, validation, unit, text, monkeypatch):
    clock = iter([0.0, 0.6, 3.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    start = before[-1] if before else 0.0
    history = History(
        loss=[1.0] * len(before) + [0.5, 0.2, 0.12],
        score=[0.5] * len(before) + [0.8, 0.9, 0.99],
        validation=validation,
        seconds=[*before, start + 0.2, start + 0.4, start + 0.6],
    )
    stream = Terminal()
    line = progress.ProgressLine("MLPClassifier", stream)
    line.show(Underway(history, len(before), 200, unit), 0.0)
    assert stream.lines == []  # too early
    line.show(Underway(history, len(before), 200, unit), 0.0)
    assert stream.lines == [f"MLPClassifier: {text} left"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (99.0, "99 s"), (150.0, "2 min"), (7000.0, "2 h")]
)
def test_what_is_left_is_told_in_a_readable_unit(seconds, text, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(progress, "REFRESH_SECONDS", -1.0)
    stream = Terminal()
    history = History(loss=[1.0], score=[np.nan], seconds=[seconds])
    progress.ProgressLine("MLPRegressor", stream).show(Underway(history, 0, 2), 0.0)
    assert stream.lines == [f"MLPRegressor: epoch 1 of 2, loss 1, about {text} left"]


@pytest.mark.parametrize("is_network", [True, False])
def test_fits_show_the_epochs_left(is_network, monkeypatch):
    ticks = itertools.count(0.0, 10.0)
    clock = SimpleNamespace(monotonic=lambda: next(ticks))
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(training, "time", clock)
    monkeypatch.setattr(sys, "stderr", Terminal())
    X, y = make_data(gapless.MLPClassifier, 0)
    if is_network:
        network = networks.Network([Dense(len(set(y)))])
        network.fit(X, np.unique(y, return_inverse=True)[1], epochs=4, early_stopping=True)
    else:
        fit(gapless.MLPClassifier(**FEW, early_stopping=True), X, y)
    lines = sys.stderr.lines
    assert [line.split(",")[0].split(": ")[1] for line in lines] == [
        f"epoch {k} of 4" for k in (1, 2, 3, 4)
    ]
    for line in lines:
        assert ", validation " in line
    assert lines[-1].endswith("about 0 s left")
    # The history reads the clock 10, 30 and 50 s after training began, the line in between.
    assert lines[2].endswith("about 17 s left")
