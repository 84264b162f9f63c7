"""Text 004: the perceptron on eight rows of three bits, to the printed digit."""

import numpy as np
import pytest

import gapless
from gapless.data import load_builtin

X, Y = load_builtin("bits", return_X_y=True)  # 1 if at least two of the three bits are
ROWS_OF_EPOCH_1 = [
    [0, 0, 0, 0],
    [-0.2, -0.2, 0, 0],
    [0, 0, 0, 0.2],
    [0, 0, 0, 0.2],
    [0, 0, 0, 0.2],
    [-0.2, 0, 0, 0],
    [-0.2, 0, 0, 0],
    [0, 0, 0.2, 0.2],
    [-0.2, 0, 0.2, 0.2],
]
EPOCHS = [
    [0, 0, 0, 0],
    [-0.2, 0, 0.2, 0.2],
    [-0.2, 0, 0.4, 0.2],
    [-0.4, 0, 0.4, 0.2],
    [-0.4, 0.2, 0.4, 0.4],
    [-0.6, 0.2, 0.4, 0.2],
    [-0.6, 0.4, 0.4, 0.2],
]


def fitted(**parameters):
    return gapless.Perceptron(learning_rate=0.1, shuffle=False, **parameters).fit(X, Y)


def test_weights_after_each_row_of_the_first_epoch():
    trace = fitted(record="rows").trace_
    np.testing.assert_allclose(trace.weights[:9], ROWS_OF_EPOCH_1, rtol=0, atol=1e-15)


def test_weights_after_each_epoch_and_then_no_mistakes():
    model = fitted()
    weights = np.array(model.trace_.weights)
    np.testing.assert_allclose(weights[:7], EPOCHS, rtol=0, atol=2e-16)
    # The seventh epoch only finds that nothing is wrong.
    assert model.n_iter_ == 7
    np.testing.assert_array_equal(weights[7], weights[6])
    assert model.trace_.mistakes == [5, 2, 3, 4, 1, 2, 0]
    assert model.mistakes_ == 17
    said = "<PerceptronTrace: 7 epochs with 17 mistakes, 0 of them in the last>"
    assert repr(model.trace_) == said


def test_a_score_of_exactly_0_is_positive():
    model = fitted()
    scores = model.decision_function(X)
    assert scores[1] == 0  # −0.6 + 0.4 + 0.2
    np.testing.assert_array_equal(model.predict(X), Y)
    assert model.certificate_.kind == "optimal"
    assert model.certificate_.gap == 0


def test_the_other_plane_separates_too_and_needs_no_epoch_with_mistakes():
    start = {"coef_init": [[0.3, 0.3, 0.3]], "intercept_init": [-0.4]}
    model = gapless.Perceptron(learning_rate=0.1, shuffle=False).fit(X, Y, **start)
    assert model.trace_.mistakes == [0]
    np.testing.assert_allclose(model.coef_, [[0.3, 0.3, 0.3]], rtol=1e-15)
    np.testing.assert_allclose(model.intercept_, [-0.4], rtol=1e-15)


@pytest.mark.parametrize("threshold, epochs", [(1.1, 2), (0.6, 2), (0.5, 5), (0.25, 7), (1e-9, 7)])
def test_the_mean_mistake_below_the_threshold_ends_the_fit(threshold, epochs):
    # A mistake counts |y − ŷ| = 2: the mean mistakes are 10/8, 4/8, 6/8, 8/8, 2/8, 4/8 and 0.
    assert fitted(threshold=threshold).n_iter_ == epochs


def test_a_random_start_also_ends_without_mistakes():
    models = [fitted(start="random", random_state=seed) for seed in range(5)]
    assert len({model.trace_.weights[0][0] for model in models}) == 5
    for model in models:
        assert np.abs(model.trace_.weights[0]).max() <= 1
        np.testing.assert_array_equal(model.predict(X), Y)


def test_mistakes_are_within_novikoff_s_bound_of_the_best_plane():
    model = fitted()
    bound = model.mistake_bound()
    # The best plane is (2, 2, 2, −3)/√21: its nearest rows have the distance 1/√21; R² = 3 + 1.
    assert bound.plane == "best"
    assert bound.geometric_margin == pytest.approx(1 / np.sqrt(21), rel=1e-3)
    assert bound.radius == 2.0
    assert bound.mistakes == pytest.approx(84, rel=2e-3)
    assert model.mistakes_ <= bound.mistakes
    assert "largest geometric margin" in str(bound)
