"""Hierarchical clusterings keep every promise: of scikit-learn, threads, memory, both gaps."""

import ctypes
import os
import signal
import threading
import time
from functools import partial

import matplotlib as mpl
import numpy as np
import pytest
from scipy.cluster.hierarchy import average
from scipy.spatial.distance import cdist, cityblock, minkowski, pdist, squareform
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import check_estimator

import gapless
import gapless.models.clustering.linkages as linkages
from gapless import AgglomerativeClustering, DivisiveClustering
from gapless._ground.interrupt import TimeLimit
from gapless._ground.threads import threads

mpl.use("agg")

LINKAGES = ("ward", "complete", "average", "single", "centroid")
every_linkage = pytest.mark.parametrize("linkage", LINKAGES)
MODELS = [
    *(AgglomerativeClustering(linkage=linkage) for linkage in LINKAGES),
    AgglomerativeClustering(metric="manhattan", linkage="complete", compute_distances=True),
    DivisiveClustering(),
]
THREE = make_blobs(90, centers=3, cluster_std=0.8, random_state=2)[0]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_scikit_learns_checks_find_nothing(model):
    check_estimator(model, on_skip=None)


@every_linkage
def test_threads_do_not_change_a_bit(linkage, monkeypatch):
    monkeypatch.setattr(linkages, "SMALL_MATRIX", 0)
    X = np.random.default_rng(0).normal(size=(3000, 12))
    with threads(1):
        one = AgglomerativeClustering(linkage=linkage).fit(X).merge_table_
    with threads(3):
        several = AgglomerativeClustering(linkage=linkage).fit(X).merge_table_
    np.testing.assert_array_equal(one, several)


@pytest.mark.parametrize("linkage", ["ward", "single", "centroid"])
def test_points_need_memory_for_the_points_alone(linkage):
    X = np.random.default_rng(1).normal(size=(12_000, 4))
    # 270 to 280 bytes a row were measured; a number for each pair of rows would take 24,000.
    assert _growth(linkage, X) < 1000 * len(X)


@pytest.mark.parametrize("linkage", ["complete", "average"])
def test_other_linkages_keep_one_float32_for_each_pair(linkage, monkeypatch):
    monkeypatch.setattr(linkages, "SMALL_MATRIX", 0)
    X = np.random.default_rng(1).normal(size=(3000, 4))
    pairs = len(X) * (len(X) - 1) // 2
    # What the process had before and freed since shifts this; a second copy, or float64, would
    # double it.
    assert 0.5 * 4 * pairs < _growth(linkage, X) < 1.6 * 4 * pairs


def _growth(linkage, X):
    """By how much a fit raises the peak of the memory, which counts from now on."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this system does not say how much memory a process had since a moment")
    AgglomerativeClustering(linkage=linkage).fit(X[:100])
    ctypes.CDLL(None).malloc_trim(0)
    before = _memory("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    AgglomerativeClustering(linkage=linkage).fit(X)
    return _memory("VmHWM") - before


def _memory(name):
    with open("/proc/self/status") as file:
        (found,) = (line for line in file if line.startswith(f"{name}:"))
    return 1024 * int(found.split()[1])


def test_too_little_memory_is_said_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr(linkages, "free_memory", lambda: 1e6)
    with pytest.raises(MemoryError, match=r"1000 rows need 0\.0 GB.*linkage='ward'"):
        AgglomerativeClustering(linkage="average").fit(
            np.random.default_rng(2).normal(size=(1000, 2))
        )


@every_linkage
def test_an_offset_costs_no_digits(linkage):
    X = np.random.default_rng(0).integers(0, 4000, size=(60, 2)).astype(float)
    near, far = (AgglomerativeClustering(linkage=linkage).fit(rows) for rows in (X, X + 2e9))
    np.testing.assert_allclose(far.merge_table_, near.merge_table_, rtol=1e-10)
    assert far.certificate_.kind == "exact"


def test_units_too_small_to_be_squared_are_refused():
    with pytest.raises(ValueError, match="too little to be squared"):
        AgglomerativeClustering().fit(THREE * 1e-200)


def test_single_rows_are_not_called_stable():
    X = np.random.default_rng(0).normal(size=(30, 2))
    for k in (20, 30):
        found = AgglomerativeClustering(k).fit(X).generalization_
        assert found.kind == "unknown" and "single rows" in found.verdict


@every_linkage
def test_cophenetic_correlation_counts_weights_as_repeats(linkage):
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(25, 2)), rng.integers(0, 4, size=25)
    model = AgglomerativeClustering(linkage=linkage)
    found = model.fit(X, sample_weight=weights).cophenetic_correlation()
    expected = model.fit(np.repeat(X, weights, axis=0)).cophenetic_correlation()
    assert found == pytest.approx(expected, rel=1e-9)


@every_linkage
def test_a_time_limit_ends_the_fit_and_keeps_the_old_model(linkage):
    model = AgglomerativeClustering(linkage=linkage).fit(THREE)
    before = model.merge_table_
    model.time_limit = 0.0
    with pytest.raises(TimeLimit, match="was not complete"):
        model.fit(np.random.default_rng(3).normal(size=(500, 3)))
    assert model.merge_table_ is before


def test_control_comes_back_at_once_after_ctrl_c(request):
    # In the background a shell ignores Ctrl-C, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    X = np.random.default_rng(4).normal(size=(150_000, 30))  # several minutes on one thread
    for linkage in ("single", "ward", "centroid"):
        model = AgglomerativeClustering(linkage=linkage)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        began = time.process_time()
        with pytest.raises(KeyboardInterrupt), threads(1):
            model.fit(X)
        assert time.process_time() - began < 20
        assert not hasattr(model, "labels_")


def test_model_files_keep_the_tree(tmp_path):
    for model in (AgglomerativeClustering(3), DivisiveClustering(3)):
        model.fit(THREE)
        gapless.save(model, tmp_path / "tree.gapless")
        again = gapless.load(tmp_path / "tree.gapless")
        np.testing.assert_array_equal(again.merge_table_, model.merge_table_)
        np.testing.assert_array_equal(again.cut(5), model.cut(5))
        assert gapless.certify(again, THREE).kind == "exact"


@pytest.mark.parametrize("model", [*MODELS[:5], MODELS[-1]], ids=str)
def test_certify_notices_another_tree(model):
    model.fit(THREE)
    assert gapless.certify(model, THREE).kind == "exact"
    model.merge_table_ = model.merge_table_.copy()
    model.merge_table_[5, 2] *= 1.001
    assert gapless.certify(model, THREE).kind == "stopped"
    with pytest.raises(ValueError, match="pass the data of the fit"):
        gapless.certify(model, THREE[:-1])


def test_certify_notices_clusters_that_were_not_the_closest():
    for linkage in LINKAGES:
        model = AgglomerativeClustering(linkage=linkage).fit(THREE)
        table = model.merge_table_.copy()
        # Two single rows that merge late change places.
        rows = [t for t in range(len(table)) if table[t, 0] < len(THREE)]
        first, last = rows[0], rows[-1]
        table[[first, last], 0] = table[[last, first], 0]
        model.merge_table_ = table
        assert gapless.certify(model, THREE).kind == "stopped"


def test_a_fit_of_many_rows_says_that_it_was_not_checked():
    X = np.random.default_rng(5).normal(size=(300, 2))
    model = AgglomerativeClustering().fit(X)
    assert model.certificate_.kind == "none"
    assert "gapless.certify" in model.certificate_.verdict
    assert gapless.certify(model, X).kind == "exact"


def test_the_verdict_counts_the_clusters():
    kinds = {
        k: AgglomerativeClustering(k, linkage="average").fit(THREE).generalization_.kind
        for k in (3, 9)
    }
    assert kinds == {3: "balanced", 9: "over-fitted"}
    result = gapless.generalize(DivisiveClustering(3).fit(THREE), THREE, None)
    assert result.unseen > 0.9
    assert "random parts" in result.method
    with pytest.raises(ValueError, match="no targets to score"):
        gapless.generalize(AgglomerativeClustering(3).fit(THREE), THREE, None, scoring="accuracy")
    with pytest.raises(ValueError, match="leave time out"):
        gapless.generalize(
            AgglomerativeClustering(3).fit(THREE), THREE, None, time=np.arange(len(THREE))
        )


def test_connectivity_lets_only_neighbours_merge():
    line = np.arange(10.0)[:, None]
    graph = kneighbors_graph(line, 1)
    model = AgglomerativeClustering(linkage="ward", connectivity=graph + graph.T).fit(line)
    assert model.certificate_.kind == "none"
    with pytest.raises(ValueError, match="weights must be 0 or 1"):
        AgglomerativeClustering(connectivity=graph).fit(line, sample_weight=np.full(10, 2.0))
    with pytest.raises(ValueError, match="takes no connectivity"):
        AgglomerativeClustering(linkage="centroid", connectivity=graph).fit(line)
    with pytest.raises(ValueError, match="a row and a column for each"):
        AgglomerativeClustering(connectivity=graph[:5]).fit(line)


BAD = [
    ({"linkage": "median"}, THREE, "linkage"),
    ({"n_clusters": 91}, THREE, "more clusters than samples"),
    ({"n_clusters": None}, THREE, "Exactly one of n_clusters"),
    ({"distance_threshold": 1.0}, THREE, "Exactly one of n_clusters"),
    ({"metric": "cosine"}, THREE, "only work with euclidean"),
    ({"metric": "precomputed", "linkage": "single"}, THREE, "should be square"),
    ({"metric": "precomputed", "linkage": "single"}, np.ones(4), "not the number of pairs"),
    ({"metric": "precomputed", "linkage": "single"}, np.ones((3, 3)), "should be 0"),
    ({"metric": "precomputed", "linkage": "single"}, [[0, -1], [-1, 0]], "is negative"),
    ({"metric": "precomputed", "linkage": "single"}, [[0, 1], [2, 0]], "not symmetric"),
    ({"metric": "cosine", "linkage": "single"}, [[0, 0], [2, 0]], "zero vectors"),
    ({}, [[np.nan, 1.0], [1.0, 2.0]], "NaN"),
]


@pytest.mark.parametrize("options, X, message", BAD)
def test_bad_input_gets_an_error_in_words(options, X, message):
    with pytest.raises(ValueError, match=message):
        AgglomerativeClustering(**options).fit(X)


ROWS = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 3.0], [9.0, 2.0]])
TREES = [
    *(AgglomerativeClustering(linkage=linkage) for linkage in ("single", "complete", "average")),
    AgglomerativeClustering(linkage="average", connectivity=np.ones((4, 4))),
    DivisiveClustering(),
]


@pytest.mark.parametrize("model", TREES, ids=repr)
@pytest.mark.parametrize(
    "metric, message",
    [
        (lambda u, v: np.inf, r"distance inf between the rows \[.*use another metric"),
        (lambda u, v: np.nan, "no distance between the rows"),
        (lambda u, v: -np.abs(u - v).sum(), "the negative distance .*1 − similarity"),
        (lambda u, v: abs(u[0] - 2 * v[0]), "not symmetric: .*the mean of both"),
        (lambda X: np.full((len(X), len(X)), np.inf), "the distance inf"),
        (lambda X: X[:, :1] - X[:, 0], "the negative distance"),
        (lambda X: np.triu(np.ones((len(X), len(X))), 1), "not symmetric"),
        (lambda X: X[:, 0], "should return the square matrix"),
    ],
)
def test_what_is_no_distance_is_refused(model, metric, message):
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(metric=metric).fit(ROWS)


def test_distances_wrong_by_rounding_are_taken():
    D = squareform(pdist(ROWS))
    D[0, 1] += 1e-12
    D[2, 3] = D[3, 2] = -1e-12
    given = D.copy()
    for metric, X in (("precomputed", D), (lambda X: D, ROWS)):
        model = AgglomerativeClustering(metric=metric, linkage="average", compute_distances=True)
        assert model.fit(X).distances_[0] == 0.0
    np.testing.assert_array_equal(D, given)


def test_a_row_needs_no_distance_from_itself():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    model = AgglomerativeClustering(metric="braycurtis", linkage="average", compute_distances=True)
    np.testing.assert_allclose(model.fit(X).distances_, average(pdist(X, "braycurtis"))[:, 2])


def test_a_function_is_one_of_two_rows_or_of_a_table_however_it_takes_them():
    def difference(u, v=0.0, *, scale=1.0):
        return scale * np.abs(u - v).sum()

    functions = [
        lambda *rows: cityblock(*rows),
        lambda u, *rest: cityblock(u, *rest),
        partial(minkowski, p=1),
        difference,
        lambda X: cdist(X, X, "cityblock"),
        lambda X, Y=None: cdist(X, X if Y is None else Y, "cityblock"),
        partial(pairwise_distances, metric="cityblock"),
    ]
    wanted = AgglomerativeClustering(metric="cityblock", linkage="average").fit(ROWS)
    for metric in functions:
        model = AgglomerativeClustering(metric=metric, linkage="average").fit(ROWS)
        np.testing.assert_allclose(model.merge_table_, wanted.merge_table_, rtol=1e-14)


def test_cuts_that_make_no_sense_get_an_error_in_words():
    model = AgglomerativeClustering().fit(THREE)
    for options in ({}, {"n_clusters": 2, "height": 1.0}):
        with pytest.raises(ValueError, match="exactly one of them"):
            model.cut(**options)
    with pytest.raises(ValueError, match="whole number"):
        model.cut(n_clusters=0)
    with pytest.raises(ValueError, match="more clusters than samples"):
        model.cut(n_clusters=91)


def test_equal_rows_merge_at_height_0():
    model = AgglomerativeClustering(1).fit(np.ones((6, 2)))
    np.testing.assert_array_equal(model.merge_table_[:, 2], 0)
    assert model.n_clusters_ == 1
    np.testing.assert_array_equal(model.cut(6), np.arange(6))


def test_huge_and_tiny_numbers_are_clustered_like_others():
    for linkage in LINKAGES:
        plain = AgglomerativeClustering(linkage=linkage).fit(THREE)
        for unit in (2.0**-300, 2.0**300):
            scaled = AgglomerativeClustering(linkage=linkage).fit(THREE * unit)
            np.testing.assert_array_equal(scaled.labels_, plain.labels_)
            np.testing.assert_allclose(
                scaled.merge_table_[:, 2], plain.merge_table_[:, 2] * unit, rtol=1e-12
            )


# ---- the picture ---------------------------------------------------------------------------------


def test_a_small_dendrogram_has_a_bracket_for_each_merge_at_its_height():
    model = AgglomerativeClustering(3, linkage="average").fit(THREE[:12])
    axes = model.dendrogram(names="abcdefghijkl")
    brackets = axes.collections[0].get_segments()
    tops = [float(bracket[1, 1]) for bracket in brackets]
    np.testing.assert_allclose(tops, model.merge_table_[:, 2])
    assert sorted(text.get_text() for text in axes.get_xticklabels()) == list("abcdefghijkl")
    colours = {tuple(colour) for colour in axes.collections[0].get_colors().tolist()}
    assert 2 <= len(colours) <= 4  # up to three clusters of two rows or more, and what is above


def test_a_large_dendrogram_shows_its_upper_end_and_counts_the_rest():
    X = np.random.default_rng(6).normal(size=(1000, 2))
    axes = AgglomerativeClustering(4).fit(X).dendrogram(most_leaves=20)
    texts = [text.get_text() for text in axes.get_xticklabels()]
    assert len(texts) == 20
    rows = sum(int(text[1:-1]) if text.startswith("(") else 1 for text in texts)
    assert rows == 1000
    with pytest.raises(ValueError, match="one for each"):
        AgglomerativeClustering().fit(X).dendrogram(names=["a"])


def test_one_merge_or_split_is_not_counted():
    X = [[0.0], [2.0]]
    for linkage in ("single", "ward"):
        verdict = AgglomerativeClustering(1, linkage=linkage).fit(X).certificate_.verdict
        assert verdict.startswith("exact: the only merge joined two clusters")
    verdict = DivisiveClustering(1).fit(X).certificate_.verdict
    assert verdict.startswith("exact: at the only split no row")


def test_distances_are_no_names():
    X = np.arange(4.0)[:, None]
    model = AgglomerativeClustering(1).fit(X)
    with pytest.raises(ValueError, match="one name for each row"):
        model.distance_matrices(np.abs(X - X.T))


@pytest.mark.parametrize(("scale", "expected"), [(1.0, "cut at\n1.5"), (1000.0, "cut at\n1,500")])
def test_the_cut_of_a_dendrogram_is_written_as_people_write(scale, expected):
    X = scale * np.array([[0.0], [1.0], [3.0]])
    model = AgglomerativeClustering(2, linkage="single").fit(X)
    axes = model.dendrogram()
    assert expected in [text.get_text() for text in axes.texts]
