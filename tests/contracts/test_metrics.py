"""Every metric keeps every promise: values as in scikit-learn, weights as repeats, plain data."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.metrics as theirs

from gapless import metrics
from gapless.metrics import Score

N = 60


def labels(rng, n=N):
    y = rng.integers(0, 2, n)
    return y, np.where(rng.random(n) < 0.75, y, 1 - y)


def classes(rng, n=N):
    y = rng.integers(0, 3, n)
    return y, np.where(rng.random(n) < 0.6, y, rng.integers(0, 3, n))


def texts(rng, n=N):
    return tuple(np.array(["ant", "bee", "cat"])[part] for part in classes(rng, n))


def scores(rng, n=N):
    y = np.arange(n) % 2
    return y, np.round(y + rng.normal(size=n), 1)


def probabilities(rng, n=N):
    p = np.round(rng.uniform(0.05, 0.95, n), 2)
    y = (rng.random(n) < p).astype(int)
    y[:2] = 0, 1
    return y, p


def distributions(rng, n=N):
    y = rng.integers(0, 3, n)
    y[:3] = range(3)
    p = rng.dirichlet([1, 1, 1], size=n) + np.eye(3)[y]
    return y, p / p.sum(axis=1, keepdims=True)


def numbers(rng, n=N):
    y = rng.normal(size=n)
    return y, y + 0.5 * rng.normal(size=n)


def columns(rng, n=N):
    y = rng.normal(size=(n, 2))
    return y, y + 0.5 * rng.normal(size=(n, 2))


def two_distributions(rng, n=N):
    return rng.dirichlet([1, 1, 1], size=n), rng.dirichlet([2, 2, 2], size=n)


def macro(function, average="macro"):
    return lambda *args, **options: function(*args, average=average, **options)


def area(function):
    return lambda *args, **options: function(*args, **options).area


# Each metric by name: ours, data for it, and scikit-learn's of the same meaning.
METRICS = {
    "accuracy": (metrics.accuracy, classes, theirs.accuracy_score),
    "accuracy of texts": (metrics.accuracy, texts, theirs.accuracy_score),
    "error_rate": (metrics.error_rate, classes, theirs.zero_one_loss),
    "precision": (metrics.precision, labels, theirs.precision_score),
    "recall": (metrics.recall, labels, theirs.recall_score),
    "f1": (metrics.f1, labels, theirs.f1_score),
    "log_loss": (metrics.log_loss, distributions, theirs.log_loss),
    "log_loss of two": (metrics.log_loss, probabilities, theirs.log_loss),
    "brier": (metrics.brier, probabilities, theirs.brier_score_loss),
    "brier of three": (metrics.brier, distributions, theirs.brier_score_loss),
    "roc_auc": (metrics.roc_auc, scores, theirs.roc_auc_score),
    "roc area": (area(metrics.roc_curve), scores, theirs.roc_auc_score),
    "roc_auc of three": (
        metrics.roc_auc,
        distributions,
        lambda *args, **options: theirs.roc_auc_score(*args, multi_class="ovr", **options),
    ),
    "average_precision": (metrics.average_precision, scores, theirs.average_precision_score),
    "mse": (metrics.mse, numbers, theirs.mean_squared_error),
    "mse of columns": (metrics.mse, columns, theirs.mean_squared_error),
    "rmse": (metrics.rmse, numbers, theirs.root_mean_squared_error),
    "rmse of columns": (metrics.rmse, columns, theirs.root_mean_squared_error),
    "mae": (metrics.mae, numbers, theirs.mean_absolute_error),
    "r2": (metrics.r2, numbers, theirs.r2_score),
    "r2 of columns": (metrics.r2, columns, theirs.r2_score),
    "kl_divergence": (metrics.kl_divergence, two_distributions, None),
    "cross_entropy": (metrics.cross_entropy, two_distributions, None),
    "mean_cost": (
        lambda y, z, **options: metrics.mean_cost(y, z, {0: 1, 1: 5, 2: 2}, **options),
        classes,
        None,
    ),
    "calibration error": (
        lambda *args, **options: metrics.reliability_curve(*args, n_bins=3, **options).ece,
        probabilities,
        None,
    ),
} | {
    f"{average} {ours.__name__}": (macro(ours, average), classes, macro(other, average))
    for average in ("macro", "weighted", "micro")
    for ours, other in (
        (metrics.precision, theirs.precision_score),
        (metrics.recall, theirs.recall_score),
        (metrics.f1, theirs.f1_score),
    )
}
every_metric = pytest.mark.parametrize("name", METRICS)


def ends(score):
    return score.value, score.low, score.high


@pytest.mark.parametrize("name", [name for name, parts in METRICS.items() if parts[2]])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_scikit_learn(name, weighted, rng):
    ours, data, other = METRICS[name]
    y, z = data(rng)
    options = {"sample_weight": rng.uniform(0.5, 2, len(y))} if weighted else {}
    score = ours(y, z, **options)
    assert float(score) == pytest.approx(other(y, z, **options), rel=1e-12)
    assert score.low <= score.value <= score.high


@every_metric
def test_whole_weights_are_repeats(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    weights = rng.integers(0, 4, len(y))
    weights[:3] = 1
    repeated = np.repeat(np.arange(len(y)), weights)
    one, other = ours(y, z, sample_weight=weights), ours(y[repeated], z[repeated])
    assert ends(one) == pytest.approx(ends(other), rel=1e-9)
    assert one.n == other.n


@every_metric
def test_weights_of_another_scale_say_the_same(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    weights = rng.uniform(0.5, 2, len(y))
    one, other = (ours(y, z, sample_weight=factor * weights) for factor in (1.0, 0.3))
    assert ends(one) == pytest.approx(ends(other), rel=1e-6)
    assert one.n == pytest.approx(other.n)


@every_metric
def test_the_order_of_the_rows_does_not_matter(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    order = rng.permutation(len(y))
    assert ends(ours(y[order], z[order])) == pytest.approx(ends(ours(y, z)), rel=1e-9)


@every_metric
def test_rows_without_weight_may_hold_anything(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    there = np.arange(len(y)) < 50
    weighted = ours(y, z, sample_weight=there.astype(float))
    assert ends(weighted) == pytest.approx(ends(ours(y[there], z[there])), rel=1e-9)


@every_metric
def test_a_higher_level_is_a_wider_interval(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    narrow, wide = (ours(y, z, level=level) for level in (0.5, 0.99))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.low < narrow.low or wide.high > narrow.high
    for level in (0, 1, 95):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            ours(y, z, level=level)


@every_metric
def test_scores_are_plain_data(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    y.flags.writeable = z.flags.writeable = False
    score = ours(y, z)
    assert isinstance(score, Score)
    again = Score(**json.loads(json.dumps(score.to_dict())))
    assert again == score
    assert f"{score:.3f}" == f"{score.value:.3f}"
    assert score.name in str(score) and "95 %" in f"{score}" and score.name in repr(score)
    with pytest.raises(AttributeError):
        score.value = 1.0


@every_metric
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_series_and_tables_are_taken(name, library, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    as_table = [
        library.Series(part) if part.ndim == 1 else library.DataFrame(part) for part in (y, z)
    ]
    assert ends(ours(*as_table)) == pytest.approx(ends(ours(y, z)), rel=1e-12)


@every_metric
def test_a_few_rows_are_enough_for_an_honest_interval(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng, 6)
    score = ours(y, z)
    assert not math.isnan(score.low) and not math.isnan(score.high)
    assert score.low < score.high


@every_metric
def test_bad_input_is_named(name, rng):
    ours, data, _ = METRICS[name]
    y, z = data(rng)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples|shape"):
        ours(y, z[:-1])
    with pytest.raises(ValueError, match=r"Negative values.*row 3"):
        ours(y, z, sample_weight=np.where(np.arange(len(y)) == 3, -1.0, 1.0))
    if z.dtype.kind == "f":
        broken = z.copy()
        broken[5] = np.nan
        with pytest.raises(ValueError, match="NaN in row 5"):
            ours(y, broken)


# ---- what is particular to some ------------------------------------------------------------------


def test_divergence_is_cross_entropy_minus_entropy(rng):
    p, q = two_distributions(rng)
    parts = metrics.cross_entropy(p, q).value - metrics.entropy(p).value
    assert metrics.kl_divergence(p, q).value == pytest.approx(parts, rel=1e-12)
    assert metrics.kl_divergence(p, p).value == 0
    assert metrics.kl_divergence([0.5, 0.5], [1.0, 0.0]).value == np.inf
    assert metrics.entropy([0.25] * 4).value == pytest.approx(math.log(4))
    y, z = distributions(rng)
    sure = np.eye(3)[y]
    assert ends(metrics.cross_entropy(sure, z)) == pytest.approx(ends(metrics.log_loss(y, z)))


@pytest.mark.parametrize("name", ["entropy", "cross_entropy", "kl_divergence"])
def test_a_base_changes_the_unit_alone(rng, name):
    metric = getattr(metrics, name)
    given = two_distributions(rng)[: 1 if name == "entropy" else 2]
    for base in (2, 10.0):
        expected = [end / math.log(base) for end in ends(metric(*given))]
        assert ends(metric(*given, base=base)) == pytest.approx(expected, rel=1e-9)
    for base in (1, 0.5, -2, np.inf, "2"):
        with pytest.raises(ValueError, match="base must be a number above 1"):
            metric(*given, base=base)


def test_entropy_in_bits_is_that_of_the_textbooks():
    assert metrics.entropy([0.5, 0.25, 0.125, 0.125], base=2).value == 1.75
    assert metrics.cross_entropy([0.5, 0.5], [0.25, 0.75], base=2).value == pytest.approx(1.2075187)


def test_a_divergence_of_two_given_distributions_is_a_number():
    known = metrics.kl_divergence([0.5, 0.5], [0.25, 0.75], base=2)
    assert str(known) == "KL divergence in bits 0.207519"
    assert repr(known) == "<Score KL divergence in bits 0.207519>"
    assert known.low == known.high == known.value
    several = metrics.kl_divergence([[0.5, 0.5], [0.2, 0.8]], [0.25, 0.75])
    assert "at 95 %" in str(several)


def test_each_class_by_itself_is_a_dict(rng):
    y, z = texts(rng)
    found = metrics.f1(y, z, average=None)
    assert list(found) == ["ant", "bee", "cat"]
    expected = theirs.f1_score(y, z, average=None)
    assert [float(score) for score in found.values()] == pytest.approx(expected)
    assert found["bee"].value == metrics.f1(y, z, pos_label="bee").value


def test_nothing_predicted_leaves_precision_open():
    score = metrics.precision([0, 1, 1], [0, 0, 0], pos_label=1)
    assert ends(score) == (0.0, 0.0, 1.0) and score.n == 0


def test_perfect_rows_do_not_make_a_perfect_model(rng):
    y, p = [0, 1] * 10, [0.0, 1.0] * 10
    assert metrics.accuracy(y, y).low == pytest.approx(0.025 ** (1 / 20))
    assert metrics.roc_auc(y, p).low == pytest.approx(0.025 ** (1 / 10))
    assert metrics.brier(y, p).high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert metrics.mse([1.0, 2.0], [1.0, 2.0]).high == np.inf
    assert metrics.r2([1.0, 2.0], [1.0, 2.0]).high == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_are_those_of_scikit_learn(weighted, rng):
    y, z = scores(rng)
    options = {"sample_weight": rng.uniform(0.5, 2, len(y))} if weighted else {}
    for name in ("roc_curve", "precision_recall_curve"):
        curve = getattr(metrics, name)(y, z, **options)
        for ours, other in zip(curve, getattr(theirs, name)(y, z, **options), strict=True):
            np.testing.assert_allclose(ours, other, rtol=1e-12, atol=1e-12)
        low, high = curve.band()
        middle = curve.tpr if name == "roc_curve" else curve.precision
        assert np.all((low <= middle + 1e-12) & (middle <= high + 1e-12))
    every = metrics.roc_curve(y, z, drop_intermediate=False, **options)
    for ours, other in zip(every, theirs.roc_curve(y, z, drop_intermediate=False, **options)):
        np.testing.assert_allclose(ours, other, rtol=1e-12, atol=1e-12)


def test_curves_need_two_classes():
    for function in (metrics.roc_curve, metrics.precision_recall_curve, metrics.roc_auc):
        with pytest.raises(ValueError, match="all rows are positive"):
            function([1, 1, 1], [0.1, 0.2, 0.3])


def test_confusion_matrix_is_that_of_scikit_learn(rng):
    y, z = texts(rng)
    found = metrics.confusion_matrix(y, z)
    np.testing.assert_array_equal(found, theirs.confusion_matrix(y, z))
    assert found[0, 0] == found.counts[0, 0] and len(found) == 3
    value, low, high = found.shares()
    np.testing.assert_allclose(value, theirs.confusion_matrix(y, z, normalize="true"))
    assert np.all((low <= value) & (value <= high))
    chosen = ["cat", "ant"]
    np.testing.assert_array_equal(
        metrics.confusion_matrix(y, z, labels=chosen),
        theirs.confusion_matrix(y, z, labels=chosen),
    )
    weights = rng.random(len(y))
    np.testing.assert_allclose(
        metrics.confusion_matrix(y, z, sample_weight=weights),
        theirs.confusion_matrix(y, z, sample_weight=weights),
    )
    assert str(found).splitlines()[1].split() == ["|", "ant", "bee", "cat"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.accuracy([0, 1], ["a", "b"]), "mix text and numbers"),
        (lambda: metrics.precision([0, 1, 2], [0, 1, 2]), "set pos_label to the positive one"),
        (lambda: metrics.precision([0, 1], [0, 1], average="mean"), "average='mean'"),
        (lambda: metrics.precision([0, 1], [0, 1], pos_label=7), "pos_label=7 is not a class"),
        (lambda: metrics.accuracy([0, 1], [0, 1], method="wald"), "method='wald'"),
        (lambda: metrics.log_loss([0, 1, 2], [0.1, 0.2, 0.3]), "3 classes"),
        (lambda: metrics.log_loss([0, 1], [[0.5, 0.6], [0.5, 0.5]]), "sum to 1.1, not 1"),
        (lambda: metrics.log_loss([0, 1], [1.5, 0.5]), "probabilities from 0 to 1"),
        (lambda: metrics.log_loss([0, 1], np.full((2, 3), 1 / 3)), "pass all classes"),
        (lambda: metrics.mse([1.0, 2.0], [[1.0, 2.0], [1.0, 2.0]]), "1 outputs"),
        (lambda: metrics.entropy([0.5, 0.6]), "sum to 1.1"),
        (lambda: metrics.kl_divergence([0.5, 0.5], [0.2, 0.3, 0.5]), "shape"),
        (lambda: metrics.compare([0, 1], [0, 1], [0, 1], "kappa"), "metric='kappa'"),
        (lambda: metrics.compare([0, 1], [0, 1], [0]), "same rows"),
        (
            lambda: metrics.compare([0, 1], [0, 1], [0, 1], average="macro"),
            "does not accept average",
        ),
        (lambda: metrics.accuracy([], []), "no rows"),
        (lambda: metrics.roc_auc([0, 1], ["a", "b"]), "'a' in row 0, which is not a number"),
        (lambda: metrics.reliability_curve([0, 1], [0.1, 0.2], n_bins=0), "n_bins"),
        (lambda: metrics.reliability_curve([0, 1], [0.1, 0.2], strategy="k"), "strategy"),
        (lambda: metrics.mean_cost([0, 1], [0, 2], labels=[0, 1]), "2 is not one of the classes"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_the_column_of_the_positive_class_is_taken(name, rng):
    y, p = probabilities(rng)
    function, both = getattr(metrics, name), np.column_stack([1 - p, p])
    assert ends(function(y, both)) == pytest.approx(ends(function(y, p)))
    assert ends(function(y, both, pos_label=0)) == pytest.approx(ends(function(1 - y, 1 - p)))
    y, p = distributions(rng)
    assert ends(function(y, p, pos_label=1)) == pytest.approx(ends(function(y == 1, p[:, 1])))
    labels = np.array(["ant", "bee", "cat"])[y]
    assert float(function(labels, p, pos_label="bee")) == pytest.approx(
        float(function(y, p, pos_label=1))
    )


def test_reliability_of_either_class(rng):
    y, p = probabilities(rng)
    both = np.column_stack([1 - p, p])
    one, other = (metrics.reliability_curve(y, z, pos_label=0) for z in (both, 1 - p))
    assert one.of == other.of == "0"
    np.testing.assert_allclose(one.happened, other.happened)
    assert float(metrics.log_loss(y, both, pos_label=0)) == float(metrics.log_loss(y, both))
    with pytest.raises(ValueError, match="pos_label=1 chooses one of two classes"):
        metrics.reliability_curve(*distributions(rng), pos_label=1)


def test_a_class_that_nobody_has_is_not_another():
    y, z = [0, 0, 0, 0], [0, 0, 0, 1]
    assert metrics.f1(y, y).value == 0
    assert metrics.compare(y, y, z, "f1").a == 0


def test_weighted_recall_is_the_accuracy_with_its_exact_interval(rng):
    y, z = classes(rng)
    assert ends(metrics.recall(y, z, average="weighted")) == ends(metrics.accuracy(y, z))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_weights_of_any_size_are_taken(size):
    y, z, weights = [0, 1, 1, 0], [0, 1, 0, 1], np.array([1, 1.5, 1, 0.7])
    for function in (metrics.accuracy, metrics.roc_auc, metrics.mse):
        plain, sized = (function(y, z, sample_weight=factor * weights) for factor in (0.3, size))
        assert sized.value == pytest.approx(plain.value) and np.isfinite(sized.n)
    assert metrics.accuracy(y, z, sample_weight=1e-200 * weights).n == pytest.approx(4.2**2 / 4.74)


def test_targets_that_do_not_vary_leave_nothing_to_explain():
    assert metrics.r2([0.1] * 7, [0.1, 0.2, 0.1, 0.3, 0.1, 0.1, 0.1]).value == 0


def test_numbers_of_any_size_can_be_read():
    small, large = (str(metrics.mse(np.zeros(20), size * np.arange(20.0))) for size in (1e-8, 1e8))
    assert "mse 1.24e-14" in small and "mse 1.24e+18" in large


# ---- paired comparisons --------------------------------------------------------------------------

COMPARED = {
    "accuracy": labels,
    "error_rate": labels,
    "precision": labels,
    "recall": labels,
    "f1": labels,
    "log_loss": probabilities,
    "brier": probabilities,
    "roc_auc": scores,
    "average_precision": scores,
    "mse": numbers,
    "rmse": numbers,
    "mae": numbers,
    "r2": numbers,
}


@pytest.mark.parametrize("name", COMPARED)
def test_differences_are_those_of_the_values(name, rng):
    y, a = COMPARED[name](rng, 200)
    b = rng.permutation(a)
    function = getattr(metrics, name)
    found = metrics.compare(y, a, b, function)
    assert (found.a, found.b) == pytest.approx((float(function(y, a)), float(function(y, b))))
    assert float(found) == pytest.approx(found.a - found.b)
    assert found.difference.low <= float(found) + 1e-9 and 0 <= found.p_value <= 1
    turned = metrics.compare(y, b, a, name)
    width = found.difference.high - found.difference.low
    assert abs(turned.difference.low + found.difference.high) < 0.15 * width
    assert found.better == "a" and turned.better == "b"
    assert str(found).startswith("a is better") and json.dumps(found.to_dict())


@pytest.mark.parametrize("name", COMPARED)
def test_a_model_does_not_differ_from_itself(name, rng):
    y, a = COMPARED[name](rng)
    found = metrics.compare(y, a, a, name)
    assert float(found) == 0 and found.p_value == 1 and found.better == ""
    assert found.difference.low <= 0 <= found.difference.high


@pytest.mark.parametrize("name", COMPARED)
def test_whole_weights_are_repeats_for_comparisons(name, rng):
    y, a = COMPARED[name](rng)
    b, weights = rng.permutation(a), rng.integers(0, 3, len(y))
    weights[:2] = 1
    rows = np.repeat(np.arange(len(y)), weights)
    one = metrics.compare(y, a, b, name, sample_weight=weights)
    other = metrics.compare(y[rows], a[rows], b[rows], name)
    assert ends(one.difference) == pytest.approx(ends(other.difference), rel=1e-9)
    assert one.p_value == pytest.approx(other.p_value)
