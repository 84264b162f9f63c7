"""Decision trees: the worked numbers of Quinlan's examples, and pruning by hand."""

import copy

import numpy as np
import pandas as pd
import pytest

from gapless import C45Classifier, DecisionTreeClassifier, ID3Classifier
from gapless.models.trees.multiway import Rule, entropy, gains
from gapless.models.trees.pruning import pessimistic_errors

# Quinlan (1986), table 1; the numbers of Quinlan (1993), table 2.1 take the place of two columns.
ROWS = """
sunny    hot  high   weak   no  85 85
sunny    hot  high   strong no  80 90
overcast hot  high   weak   yes 83 78
rain     mild high   weak   yes 70 96
rain     cool normal weak   yes 68 80
rain     cool normal strong no  65 70
overcast cool normal strong yes 64 65
sunny    mild high   weak   no  72 95
sunny    cool normal weak   yes 69 70
rain     mild normal weak   yes 75 80
sunny    mild normal strong yes 75 70
overcast mild high   strong yes 72 90
overcast hot  normal weak   yes 81 75
rain     mild high   strong no  71 80
"""
NAMES = ["outlook", "temperature", "humidity", "wind"]
TABLE = np.array([line.split() for line in ROWS.split("\n") if line])
TENNIS = pd.DataFrame(TABLE[:, :4], columns=NAMES).astype("category")
PLAY = TABLE[:, 4]
GOLF = TENNIS.assign(temperature=TABLE[:, 5].astype(float), humidity=TABLE[:, 6].astype(float))


def codes(table):
    return np.column_stack([table[name].cat.codes for name in NAMES]).astype(float)


def test_entropy_of_nine_to_five():
    assert entropy([9, 5]) == pytest.approx(0.940, abs=5e-4)
    assert entropy([7, 7]) == 1.0
    assert entropy([4, 0]) == 0.0


def test_gains_and_ratios_of_the_four_attributes():
    y = (PLAY == "yes").astype(int)
    found = gains(codes(TENNIS), y, np.ones(14), 2, [3, 3, 2, 2], Rule(uses_ratio=False))
    gain, ratio = zip(*((test.gain, test.ratio) for test in found))
    # Quinlan prints 0.246, which is 0.2467 cut off, and 0.151 for 0.1518.
    assert gain == pytest.approx([0.2467, 0.0292, 0.1518, 0.0481], abs=1e-4)
    assert ratio == pytest.approx([0.156, 0.0188, 0.152, 0.0488], abs=5e-4)


def test_the_gain_of_every_attribute_at_a_node_is_a_table():
    model = ID3Classifier().fit(TENNIS, PLAY)
    root = model.gains()
    assert [row.name for row in root.attributes] == ["outlook", "humidity", "wind", "temperature"]
    assert [row.gain for row in root.attributes] == pytest.approx(
        [0.2467, 0.1518, 0.0481, 0.0292], abs=1e-4
    )
    assert str(root).split("\n")[:3] == [
        "node 0: 14 rows, entropy 0.940 bits",
        "attribute     gain  ratio",
        "outlook      0.247  0.156",
    ]
    (sunny,) = np.flatnonzero((model.tree_.parent == 0) & (model.tree_.branch == 2))
    below = model.gains(sunny)  # Mitchell (1997), figure 3.4: 0.970, 0.570 and 0.019
    assert (below.rows, round(below.entropy, 3)) == (5, 0.971)
    assert {row.name: round(row.gain, 2) for row in below.attributes} == {
        "humidity": 0.97,
        "temperature": 0.57,
        "wind": 0.02,
        "outlook": 0.0,
    }
    assert [row.name for row in below.attributes if row.is_used] == ["outlook"]
    for node in np.flatnonzero(model.tree_.feature >= 0):
        assert model.gains(node).attributes[0].gain == pytest.approx(model.tree_.gain[node])


def test_the_gains_of_numbers_have_thresholds_and_weights_count():
    weights = np.arange(14) % 3
    model = C45Classifier(prune=None).fit(GOLF, PLAY, sample_weight=weights)
    again = C45Classifier(prune=None).fit(
        GOLF.loc[np.repeat(np.arange(14), weights)], np.repeat(PLAY, weights)
    )
    assert model.gains() == again.gains()
    found = {row.name: row.threshold for row in model.gains().attributes}
    assert found["outlook"] is None and found["humidity"] in GOLF.humidity.to_numpy()
    with pytest.raises(ValueError, match="not a node of the tree"):
        model.gains(1000)
    with pytest.raises(AttributeError, match="no longer holds its training data"):
        copy.copy(model).gains()


@pytest.mark.parametrize("form", [list, lambda rows: np.array(rows), tuple])
@pytest.mark.parametrize("cls", [ID3Classifier, C45Classifier])
def test_lists_of_texts_are_categories(cls, form):
    rows = TABLE[:, :4].tolist()
    model, table = cls().fit(form(rows), PLAY), cls().fit(TENNIS, PLAY)
    assert not hasattr(model, "feature_names_in_")
    assert model.tree_.feature.tolist() == table.tree_.feature.tolist()
    assert model.predict(form(rows)).tolist() == table.predict(TENNIS).tolist()
    assert model.predict_proba(rows).tolist() == table.predict_proba(TENNIS).tolist()
    assert model.generalization_.unseen == table.generalization_.unseen


def test_lists_of_texts_and_numbers_are_mixed_columns():
    rows = [[a, float(t), None if t == "64" else float(h), w] for a, _, _, w, _, t, h in TABLE]
    model = C45Classifier().fit(rows, PLAY)
    golf = GOLF.assign(humidity=GOLF.humidity.where(TABLE[:, 5] != "64"))
    table = C45Classifier().fit(golf, PLAY)
    assert model.columns_.is_category.tolist() == [True, False, False, True]
    assert model.predict_proba(rows).tolist() == table.predict_proba(golf).tolist()
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict([["sunny", 1.0]])


def test_id3_finds_the_tree_of_the_paper():
    model = ID3Classifier().fit(TENNIS, PLAY)
    assert model.to_text().split("\n") == [
        "outlook = overcast: yes (4)",
        "outlook = rain",
        "|   wind = strong: no (2)",
        "|   wind = weak: yes (3)",
        "outlook = sunny",
        "|   humidity = high: no (3)",
        "|   humidity = normal: yes (2)",
    ]
    assert model.score(TENNIS, PLAY) == 1.0


def test_id3_gives_an_empty_branch_the_majority_above():
    # Of the sunny days none is cool and humid; the node above has more that say no.
    days = TENNIS[~((TENNIS.outlook == "sunny") & (TENNIS.humidity == "normal"))]
    model = ID3Classifier().fit(days, PLAY[days.index])
    sunny = pd.DataFrame([["sunny", "cool", "normal", "weak"]], columns=NAMES)
    assert model.predict(sunny) == ["no"]


def test_c45_cuts_humidity_at_75():
    model = C45Classifier(prune=None).fit(GOLF, PLAY)
    assert model.to_text().split("\n") == [
        "outlook = overcast: yes (4)",
        "outlook = rain",
        "|   wind = strong: no (2)",
        "|   wind = weak: yes (3)",
        "outlook = sunny",
        "|   humidity ≤ 75: yes (2)",
        "|   humidity > 75: no (3)",
    ]


def test_c45_with_a_missing_outlook():
    """Quinlan (1993), section 3.1: the day of 72 degrees and overcast, with an unknown outlook."""
    days = GOLF.copy()
    days.loc[11, "outlook"] = np.nan
    model = C45Classifier(prune=None, min_samples_leaf=2).fit(days, PLAY)
    tree = model.tree_
    assert tree.gain[0] == pytest.approx(0.199, abs=5e-4)
    assert tree.ratio[0] == pytest.approx(0.110, abs=5e-4)
    sunny = model.to_text().split("\n")[-2:]
    # 5/13 of the day goes to the sunny ones, where humidity is above 75.
    assert sunny == [
        "|   humidity ≤ 75: yes (2)",
        "|   humidity > 75: no (3.38462, error 0.114)",
    ]
    # A day with an unknown outlook is a mixture (section 3.3): sunny, 70, 75, calm.
    proba = model.predict_proba(pd.DataFrame([["sunny", 70.0, np.nan, "weak"]], columns=NAMES))
    play = (2.0 / 5.4) * 1.0 + (3.4 / 5.4) * (0.4 / 3.4)
    assert proba[0, 1] == pytest.approx(play, abs=5e-3)


@pytest.mark.parametrize(
    "errors, total, rate", [(0, 6, 0.206), (0, 9, 0.143), (0, 1, 0.750), (1, 16, 0.1596)]
)
def test_upper_bounds_of_error_rates(errors, total, rate):
    """Quinlan (1993), section 4.2; for one error in 16 the book rounds its own way, to 0.157."""
    assert pessimistic_errors(errors, total) / total == pytest.approx(rate, abs=5e-4)


def test_c45_prunes_the_votes_of_the_book():
    """Quinlan (1993), figure 4.2: leaves of 6, 9 and 1 without an error, against 1 in 16."""
    below = sum(pessimistic_errors(0, n) for n in (6, 9, 1))
    assert below == pytest.approx(3.273, abs=2e-3)
    assert pessimistic_errors(1, 16) < below


# ---- watermelons ---------------------------------------------------------------------------------

# The watermelon data 2.0 of Zhou (2016), Machine Learning, table 4.1.
MELONS = """
green curled muffled clear  hollow hard good
dark  curled dull    clear  hollow hard good
dark  curled muffled clear  hollow hard good
green curled dull    clear  hollow hard good
light curled muffled clear  hollow hard good
green slight muffled clear  dented soft good
dark  slight muffled fuzzy  dented soft good
dark  slight muffled clear  dented hard good
dark  slight dull    fuzzy  dented hard not
green stiff  crisp   clear  flat   soft not
light stiff  crisp   blurry flat   hard not
light curled muffled blurry flat   soft not
green slight muffled fuzzy  hollow hard not
light slight dull    fuzzy  hollow hard not
dark  slight muffled clear  dented soft not
light curled muffled blurry flat   hard not
green curled dull    fuzzy  dented hard not
"""
PARTS = ["color", "root", "sound", "texture", "navel", "touch"]
MELON_TABLE = np.array([line.split() for line in MELONS.split("\n") if line])
FRUIT = pd.DataFrame(MELON_TABLE[:, :6], columns=PARTS)
IS_GOOD = MELON_TABLE[:, 6]
TRAIN, HELD = np.array([0, 1, 2, 5, 6, 9, 13, 14, 15, 16]), np.array([3, 4, 7, 8, 10, 11, 12])


def test_gains_of_the_watermelons():
    table = FRUIT.astype("category")
    F = np.column_stack([table[name].cat.codes for name in PARTS]).astype(float)
    y = (IS_GOOD == "not").astype(int)
    levels = [len(table[name].cat.categories) for name in PARTS]
    found = gains(F, y, np.ones(17), 2, levels, Rule(uses_ratio=False))
    assert entropy([8, 9]) == pytest.approx(0.998, abs=5e-4)
    expected = [0.109, 0.143, 0.141, 0.381, 0.289, 0.006]
    assert [test.gain for test in found] == pytest.approx(expected, abs=1e-3)


def test_the_tree_of_the_watermelons_begins_with_texture():
    lines = ID3Classifier().fit(FRUIT, IS_GOOD).to_text().split("\n")
    assert lines[0] == "texture = blurry: not (3)"
    assert lines[1] == "texture = clear"
    assert lines[2] == "|   root = curled: good (5)"


# The navel first: this is how the book breaks ties.
BY_NAVEL = FRUIT[["navel", "color", "root", "sound", "texture", "touch"]]


def test_pre_pruning_of_the_watermelons_keeps_the_navel_alone():
    """Section 4.3.1: 42.9 % of the validation rows right before the split, 71.4 % after it."""
    model = ID3Classifier(prune="pre_pruning").fit(
        BY_NAVEL.loc[TRAIN], IS_GOOD[TRAIN], X_val=BY_NAVEL.loc[HELD], y_val=IS_GOOD[HELD]
    )
    trace = model.prune_trace_
    assert (trace.as_leaf[0], trace.with_split[0]) == pytest.approx((4 / 7, 2 / 7))
    assert trace.is_pruned.tolist() == [False, True, True]
    assert model.score(BY_NAVEL.loc[HELD], IS_GOOD[HELD]) == pytest.approx(0.714, abs=5e-4)
    assert model.to_text().split("\n") == [
        "navel = dented: good (4, error 0.5)",
        "navel = flat: not (2)",
        "navel = hollow: good (4, error 0.25)",
    ]


def test_post_pruning_of_the_watermelons_reaches_the_same():
    """Section 4.3.2: from 42.9 % to 71.4 %, bottom-up."""
    whole = ID3Classifier().fit(BY_NAVEL.loc[TRAIN], IS_GOOD[TRAIN])
    assert whole.score(BY_NAVEL.loc[HELD], IS_GOOD[HELD]) == pytest.approx(0.429, abs=5e-4)
    model = ID3Classifier(prune="reduced_error").fit(
        BY_NAVEL.loc[TRAIN], IS_GOOD[TRAIN], X_val=BY_NAVEL.loc[HELD], y_val=IS_GOOD[HELD]
    )
    assert model.score(BY_NAVEL.loc[HELD], IS_GOOD[HELD]) == pytest.approx(0.714, abs=5e-4)


# ---- pruning with a validation set ---------------------------------------------------------------

X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).repeat([4, 4, 4, 4], axis=0)
Y = np.array([0] * 4 + [0, 0, 1, 1] + [1] * 4 + [1, 1, 1, 0])


def grown(**more):
    return DecisionTreeClassifier(random_state=0, **more)


def test_reduced_error_keeps_a_split_only_for_fewer_errors():
    # At the root, x0 saves errors; below it x1 saves one in the left half and none in the right.
    validation = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    labels = np.array([0, 0, 1, 1])
    model = grown(prune="reduced_error").fit(X, Y, X_val=validation, y_val=labels)
    assert model.get_n_leaves() == 2
    trace = model.prune_trace_
    assert trace.as_leaf[-1] == 0.5
    assert trace.with_split[-1] == 0.0
    assert not trace.is_pruned[-1]
    assert trace.is_pruned[:-1].all()


def test_pre_pruning_refuses_a_split_that_does_not_help_at_once():
    """Exclusive or: no first split helps, so pre-pruning stays with the root, bottom-up not."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    xor = np.array([0, 1, 1, 0])
    train = corners.repeat([3, 2, 2, 2], axis=0)
    labels = xor.repeat([3, 2, 2, 2])
    before = grown(prune="pre_pruning").fit(train, labels, X_val=corners, y_val=xor)
    after = grown(prune="reduced_error").fit(train, labels, X_val=corners, y_val=xor)
    assert before.get_n_leaves() == 1
    assert after.get_n_leaves() == 4
    assert len(before.prune_trace_) == 1
