"""Pictures of kernel PCA draw the numbers they are given."""

import matplotlib
import numpy as np

from gapless.plots import embedding, image_rows

matplotlib.use("Agg")


def test_embedding_draws_every_row_in_both_panels():
    rng = np.random.default_rng(0)
    X, coordinates, labels = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), np.arange(30) % 2
    left, right = embedding(X, coordinates, labels=labels)
    for panel, points in ((left, X), (right, coordinates)):
        drawn = [part.get_offsets() for part in panel.collections]
        for group, found in enumerate(drawn):
            np.testing.assert_allclose(found, points[labels == group, :2])
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["0", "1"]
    _, alone = embedding(X, coordinates[:, :1])
    np.testing.assert_allclose(alone.collections[0].get_offsets()[:, 1], coordinates[:, 0])


def test_images_stand_side_by_side_in_a_line_for_each_version():
    rows = {"clean": np.arange(12.0).reshape(2, 6), "noisy": np.ones((2, 6))}
    panels = image_rows(rows, (2, 3), notes={"noisy": "error 1"}, limits=(0.0, 11.0))
    strip = panels[0].images[0].get_array()
    np.testing.assert_array_equal(strip[:, :3], [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(strip[:, 4:7], [[6, 7, 8], [9, 10, 11]])
    assert [panel.get_ylabel() for panel in panels] == ["clean", "noisy"]
    assert [text.get_text() for text in panels[1].texts] == ["error 1"]
