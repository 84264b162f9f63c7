"""Pictures of metrics: the numbers that are drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from gapless import metrics


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def ranked(rng):
    y = np.arange(60) % 2
    return y, y + rng.normal(size=60)


def test_roc_curve_is_drawn_with_its_band_and_area(ranked):
    curve = metrics.roc_curve(*ranked)
    axes = curve.plot()
    _, line = axes.get_lines()
    np.testing.assert_array_equal(line.get_xydata().T, [curve.fpr, curve.tpr])
    [band] = axes.collections
    low, high = curve.band()
    vertices = band.get_paths()[0].vertices
    assert vertices[:, 1].min() == pytest.approx(low.min())
    assert vertices[:, 1].max() == pytest.approx(high.max())
    assert " ".join(axes.get_title(loc="left").split()) == str(curve.area)


def test_precision_recall_curve_is_drawn_with_the_prevalence(ranked):
    curve = metrics.precision_recall_curve(*ranked)
    axes = plt.figure().subplots()
    assert curve.plot(axes=axes) is axes
    level, line = axes.get_lines()
    assert level.get_ydata()[0] == curve.prevalence == 0.5
    np.testing.assert_array_equal(line.get_xydata().T, [curve.recall, curve.precision])


def test_reliability_is_drawn_with_an_interval_for_each_bin(rng):
    p = rng.random(200)
    curve = metrics.reliability_curve(rng.random(200) < p, p, n_bins=5)
    axes = curve.plot()
    intervals, dots = axes.collections
    np.testing.assert_array_equal(dots.get_offsets().T, [curve.said, curve.happened])
    drawn = np.array(intervals.get_segments())
    np.testing.assert_array_equal(drawn[:, :, 1].T, [curve.low, curve.high])
    assert axes.get_xlabel() == "probability of True"
    assert "expected calibration error" in str(curve) and len(str(curve).splitlines()) == 7


@pytest.mark.parametrize("K", [3, 8, 30])
def test_confusion_is_drawn_with_counts_where_there_is_room(K, rng):
    y = np.concatenate([np.arange(K), rng.integers(0, K, 300)])
    found = metrics.confusion_matrix(y, rng.permutation(y))
    axes = found.plot()
    [image] = axes.get_images()
    np.testing.assert_array_equal(image.get_array(), found.shares()[0])
    texts = [text.get_text() for text in axes.texts]
    assert len(texts) == (K * K if K <= 20 else 0)
    if K == 3:
        assert texts[0].startswith(f"{found[0, 0]}\n") and texts[0].endswith(" %")
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [str(k) for k in range(K)]
