"""Text 002: AGNES on five samples, the matrices it passes through, and three linkages."""

import numpy as np
import pytest
from scipy.spatial.distance import squareform

from gapless import AgglomerativeClustering
from gapless.data import load_builtin

NAMES = "abcde"
DISTANCES = load_builtin("samples", return_X_y=True)[0]
HEIGHTS = {
    "single": [17, 21, 21, 28],
    "complete": [17, 23, 28, 43],
    "average": [17, 22, 28, 33],
}


def fitted(linkage, D=DISTANCES):
    return AgglomerativeClustering(metric="precomputed", linkage=linkage).fit(D)


@pytest.mark.parametrize("linkage", HEIGHTS)
@pytest.mark.parametrize("form", [np.asarray, squareform], ids=["square", "condensed"])
def test_the_merges_of_the_five_samples(linkage, form):
    model = fitted(linkage, form(DISTANCES))
    np.testing.assert_allclose(model.merge_table_[:, 2], HEIGHTS[linkage], rtol=1e-12)
    assert model.certificate_.kind == "exact"


def test_the_lowest_value_joins_a_and_b_first():
    first = fitted("single").distance_matrices(NAMES)[0]
    np.testing.assert_array_equal(first.values, DISTANCES)
    assert first.merged == (0, 1)
    assert first.height == 17


def test_the_second_matrix_of_single_linkage_as_printed():
    second = fitted("single").distance_matrices(NAMES)[1]
    assert second.names == ("(a,b)", "c", "d", "e")
    printed = [[0, 21, 31, 21], [21, 0, 28, 39], [31, 28, 0, 43], [21, 39, 43, 0]]
    np.testing.assert_array_equal(second.values, printed)


def test_the_second_matrix_of_complete_linkage():
    second = fitted("complete").distance_matrices(NAMES)[1]
    np.testing.assert_array_equal(second.values[0], [0, 30, 34, 23])


def test_each_matrix_is_a_row_and_a_column_smaller():
    for linkage in HEIGHTS:
        matrices = fitted(linkage).distance_matrices(NAMES)
        assert [matrix.values.shape for matrix in matrices] == [(k, k) for k in (5, 4, 3, 2, 1)]
        heights = [matrix.height for matrix in matrices[:-1]]
        np.testing.assert_allclose(heights, HEIGHTS[linkage], rtol=1e-12)
        # The closest pair is the smallest entry off the diagonal.
        for matrix in matrices[:-1]:
            off = matrix.values[~np.eye(len(matrix.values), dtype=bool)]
            assert off.min() == pytest.approx(matrix.height)


def test_the_matrices_print_as_tables():
    text = str(fitted("single").distance_matrices(NAMES))
    first, second = text.split("\n\n")[:2]
    assert first.splitlines()[0].split() == ["D₁", "a", "b", "c", "d", "e"]
    assert first.splitlines()[1].split() == ["a", "0", "17", "21", "31", "23"]
    assert first.splitlines()[-1] == "a and b are closest, at 17."
    assert second.splitlines()[1].split() == ["(a,b)", "0", "21", "31", "21"]


def test_the_cut_leaves_the_number_of_clusters_that_was_specified():
    model = fitted("single")
    for k in range(1, 6):
        assert len(np.unique(model.cut(n_clusters=k))) == k
    np.testing.assert_array_equal(model.cut(height=21), [0, 0, 1, 2, 3])
    np.testing.assert_array_equal(model.cut(height=28), [0, 0, 0, 1, 0])
