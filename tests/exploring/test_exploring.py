"""`gapless.explore`: known structure is found, and none is invented."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from drawn_tables import one_cloud, three_groups
from sklearn.metrics import adjusted_rand_score

import gapless
from gapless.choosing.exploring import from_json, to_html, to_text, words
from gapless.choosing.exploring.copies import near_pairs
from gapless.choosing.exploring.differences import (
    ColumnValues,
    differences_of,
    with_parts_of_dates,
)
from gapless.choosing.exploring.sections import Loading
from gapless.choosing.report import to_json
from gapless.data import BoundedNumbers, TableError, describe_columns, prepare, table_of

# ---- what is found -------------------------------------------------------------------------------


def test_drawn_groups_are_found_in_mixed_columns(groups):
    kind, _, found = groups
    assert len(found.report.groups.shown) == 3
    assert adjusted_rand_score(kind, found.labels) > 0.95
    assert found.report.answer.startswith("3 groups among 240 rows (A ")
    for group in found.report.groups.shown:
        assert {each.column for each in group.differences} <= {"size", "weight", "colour", "seen"}
        assert group.agreement > 0.9
        assert group.rows == np.sum(found.labels == group.name)


def test_groups_are_told_apart_by_weekdays_where_the_dates_are_the_same():
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 7, 1), eager=True)
    column = describe_columns(table_of({"day": days}))[0]
    values = with_parts_of_dates([ColumnValues(column, days)])
    first = differences_of(values, (days.dt.weekday() == 7).to_numpy())[0]
    assert (first.column, first.words) == (
        "day",
        "'weekday of day' is always 'Sunday' (100 % against 0 %)",
    )


def test_columns_that_say_the_same_are_named_together(rng):
    inside = np.arange(60) < 20
    size = np.where(inside, 3.0, 0.0) + rng.normal(size=60)
    data = {"size": size, "length": 2 * size + 0.01 * rng.normal(size=60), "height": -size}
    table = table_of(pl.DataFrame(data))
    values = [
        ColumnValues(one, pl.Series(one.name, data[one.name])) for one in describe_columns(table)
    ]
    found = differences_of(values, inside)
    assert {one.column for one in found} in ({"size", "height"}, {"length", "height"})
    assert sum("likewise" in one.words for one in found) == 1


def test_the_second_of_two_groups_is_the_reverse_of_the_first():
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 2
    found = gapless.explore(
        pl.DataFrame({"a": 9.0 * kind + rng.normal(size=120), "b": rng.normal(size=120)})
    )
    first, second = found.report.groups.shown
    assert "'a' (median" in first.words and not first.mirrors
    assert second.mirrors == "A" and second.words == "50 % of the rows: the reverse of A"
    assert "the reverse of A" in to_html(found.report)


def test_groups_are_named_by_size(groups):
    rows = [group.rows for group in groups[2].report.groups.shown]
    assert rows == sorted(rows, reverse=True)


@pytest.mark.parametrize("seed", range(2))
def test_a_skewed_cloud_with_a_category_has_no_groups(seed):
    found = gapless.explore(one_cloud(seed))
    assert found.report.groups.shown == ()
    assert found.report.answer.startswith(
        "No groups: apart from the levels of categories, the 240 rows form one cloud"
    )
    assert set(found.labels) == {"A"}


def test_independent_columns_have_no_real_component():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({name: rng.normal(size=300) for name in "abcde"})
    found = gapless.explore(table, clusters=1)
    assert found.report.components.real == 0
    assert "columns have little in common" in found.report.answer


def test_a_component_is_named_by_its_columns(cloud):
    first = cloud[1].report.components.shown[0]
    assert {one.column for one in first.loadings} == {"a", "b"}
    assert first.words == "rises with 'b' and 'a'" or first.words == "rises with 'a' and 'b'"


def test_a_component_is_named_by_the_levels_at_its_ends():
    found = [Loading("age", -0.8, "", ""), Loading("sex", 0.7, "no", "yes")]
    assert words.component(found) == (
        "falls with 'age'; it is high where 'sex' is 'yes', and low where it is 'no'"
    )
    found = [Loading("sex", 0.7, "male", "female"), Loading("job", 0.6, "(missing)", "nurse")]
    assert words.component(found) == (
        "is high where 'sex' is 'female' and 'job' is 'nurse', and low where they are 'male' and "
        "missing"
    )


@pytest.mark.parametrize(("own", "word"), [(0.35, "is less often"), (0.15, "is rarely")])
def test_a_third_of_the_rows_is_not_rare(own, word):
    inside = np.arange(200) < 100
    share = np.where(inside, own, 0.9)
    levels = np.where(np.arange(200) % 100 < 100 * share, "a", "b")
    column = describe_columns(table_of({"kind": levels}))[0]
    # Other levels are many, so that none of them is what most rows are.
    levels = [a if a == "a" else f"b{k % 40}" for k, a in enumerate(levels)]
    (found,) = ColumnValues(column, pl.Series("kind", levels)).differences(inside)
    assert f"'kind' {word} 'a'" in found.words


def test_it_is_said_where_groups_were_looked_for():
    assert words.where([range(9), range(2)], [[2]]) == (
        "Groups were looked for in the first 9 components and in the first 2 components; since "
        "there were none, also along each larger component alone."
    )


def test_it_is_not_said_where_groups_would_have_been_looked_for():
    draws = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"c": draws.choice(["u", "v", "w"], 99), "d": draws.choice(["k", "l"], 99)}
    )
    report = gapless.explore(frame).report
    assert "too few distinct rows" in report.answer and report.groups.where == ""
    assert "Give it more rows to look for groups" in report.advice[0]


def test_a_usual_number_is_no_reason_where_a_rare_combination_is():
    draws, rows = np.random.default_rng(5), 600
    kind = draws.integers(0, 3, rows)
    plan = np.where(draws.random(rows) < 0.9, kind, draws.integers(0, 3, rows))
    frame = pl.DataFrame(
        {
            "age": np.array([25, 45, 70])[kind] + draws.normal(0, 4, rows),
            "income": np.array([2e4, 6e4, 3e4])[kind] * np.exp(draws.normal(0, 0.2, rows)),
            "plan": np.array(["basic", "pro", "senior"])[plan],
            "region": draws.choice(["north", "south", "east", "west"], rows),
        }
    )
    shown = gapless.explore(frame, clusters=3).report.odd.shown
    misfits = [one for one in shown if kind[one.row - 1] != plan[one.row - 1]]
    assert len(misfits) >= 5
    for one in misfits:
        # Plan and age contradict each other; nothing else is odd about these rows.
        assert "'plan' is" in one.words or "'age' is" in one.words, one.words


def test_a_requested_number_of_groups_is_judged(cloud):
    table, _ = cloud
    found = gapless.explore(table, clusters=4)
    assert len(found.report.groups.shown) == 4
    assert "for convenience only" in found.report.groups.words[0]
    assert "looked for" not in str(found)
    width = len(found.report.groups.places)
    assert width > 1
    assert found.report.groups.where == f"The rows were divided by the first {width} components."
    assert words.divided((2,)) == "The rows were divided by component 3 alone."
    assert gapless.explore(table, clusters=1).report.groups.shown == ()


def test_columns_that_vary_for_other_reasons_do_not_hide_groups(tmp_path):
    rng = np.random.default_rng(0)
    kind = np.arange(240) % 3
    frame = pl.DataFrame(
        {
            "height": np.array([150, 170, 190])[kind] + 5 * rng.normal(size=240),
            "weight": np.array([50, 70, 95])[kind] + 4 * rng.normal(size=240),
            "noise": rng.normal(size=240),
        }
    )
    found = gapless.explore(frame)
    assert adjusted_rand_score(found.labels, kind) > 0.95
    assert "along component 1" in " ".join(found.report.groups.words)
    again = gapless.load(gapless.save(found.model, tmp_path / "map.gapless"))
    assert list(again.predict(frame)) == list(found.labels)
    # A factor of size that four columns share, and two groups across it.
    size, two = rng.normal(size=240), np.arange(240) % 2
    columns = {name: size + 0.3 * rng.normal(size=240) for name in "abcd"}
    found = gapless.explore(pl.DataFrame({**columns, "e": 10 * two + rng.normal(size=240)}))
    assert adjusted_rand_score(found.labels, two) > 0.95


def test_odd_rows_come_with_the_columns_that_make_them_odd():
    _, table = three_groups()
    odd = table.with_columns(
        weight=pl.when(pl.int_range(pl.len()) == 17).then(60.0).otherwise(pl.col("weight"))
    )
    first = gapless.explore(odd, clusters=3).report.odd.shown[0]
    assert first.row == 18
    assert first.words.startswith("'weight' is 60")


def test_a_combination_of_usual_values_can_be_odd():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pl.DataFrame({"x": x, "y": x + 0.05 * rng.normal(size=200), "z": rng.normal(size=200)})
    table[5, "x"], table[5, "y"] = 1.0, -1.0
    first = gapless.explore(table, clusters=1).report.odd.shown[0]
    assert first.row == 6
    assert "where its other columns suggest" in first.words


def test_a_rare_combination_of_usual_levels_is_told_by_its_share():
    rng = np.random.default_rng(0)
    size = rng.integers(2, size=300)
    table = pl.DataFrame(
        {
            "size": np.where(size, "large", "small"),
            "place": np.where(size, "town", "village"),
            "x": rng.normal(size=300),
        }
    )
    table[7, "size"], table[7, "place"] = "large", "village"
    first = gapless.explore(table, clusters=1).report.odd.shown[0]
    assert first.row == 8
    assert first.words.startswith("a rare combination, as in 0.3 % of all rows: '")
    assert "'size' is 'large'" in first.words and "'place' is 'village'" in first.words


def test_equal_and_nearly_equal_rows_are_listed():
    _, table = three_groups()
    table = table.with_columns(pl.col("size").fill_null(0.0))
    near = table[3:4].with_columns(pl.col("weight") + 1e-4)
    copies = gapless.explore(pl.concat([table, table[:2], near]), clusters=1).report.copies
    assert copies.exact_rows == 2
    assert {one.rows for one in copies.exact} == {(1, 241), (2, 242)}
    assert [one.rows for one in copies.near] == [(4, 243)]
    assert copies.near[0].words.startswith("differ only in 'weight' (")


def test_rows_drawn_at_random_have_no_near_copies():
    for seed in range(5):
        for width in (2, 5, 20):
            rows = np.random.default_rng(seed).normal(size=(400, width))
            assert near_pairs(rows) == []


def test_texts_ids_and_constants_are_set_aside_with_a_finding():
    kind, table = three_groups()
    rng = np.random.default_rng(0)
    words = np.array(["some", "words", "that", "nobody", "counts", "here", "at", "all"])
    table = table.with_columns(
        number=pl.int_range(pl.len()),
        same=pl.lit("x"),
        remark=pl.Series([" ".join(rng.choice(words, 6)) for _ in kind]),
    )
    report = gapless.explore(table, clusters=3).report
    assert {one.code for one in report.data.findings} >= {"L102", "D202", "D210"}
    assert len(report.groups.shown) == 3


def test_a_small_group_far_away_is_a_group():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(200, 2)), 50 + 0.1 * rng.normal(size=(8, 2))])
    found = gapless.explore(pl.DataFrame({"x": rows[:, 0], "y": rows[:, 1]}))
    assert [one.rows for one in found.report.groups.shown] == [200, 8]
    assert set(found.labels[200:]) == {"B"}


def test_one_column_has_groups_too():
    rng = np.random.default_rng(0)
    found = gapless.explore(
        pl.DataFrame({"income": rng.normal(size=120) + 9 * (np.arange(120) % 2)})
    )
    assert [one.rows for one in found.report.groups.shown] == [60, 60]
    assert "one column" in found.report.components.words
    assert found.to_html()


def test_nobody_says_one_cloud_who_has_not_looked(groups, cloud):
    _, table, _ = groups
    report = gapless.explore(table, time_limit=1e-3).report
    assert "form groups is not known, since there was too little time" in report.answer
    assert "one cloud" not in to_text(report) + to_html(report)
    few = {"x": [1.0, 2.0, 4.0, 8.0] * 2, "y": [3.0, 1.0, 2.0, 9.0] * 2}
    assert (
        "since there are too few distinct rows" in gapless.explore(pl.DataFrame(few)).report.answer
    )
    assert "form one cloud" in cloud[1].report.answer


def test_both_gaps_are_on_every_page():
    rng = np.random.default_rng(0)
    report = gapless.explore(
        pl.DataFrame({c: rng.normal(size=60) for c in "abc"}), clusters=1
    ).report
    assert report.components.real == 0
    (gaps,) = report.gaps
    assert gaps.optimality and "explained variance" in gaps.generalization


def test_columns_with_something_in_common_are_named_where_no_component_is_real():
    rng = np.random.default_rng(0)
    sex = rng.choice(["male", "female"], 400)
    survived = np.where(rng.random(400) < np.where(sex == "male", 0.25, 0.7), "yes", "no")
    numbers = {name: rng.normal(size=400) for name in "abcd"}
    report = gapless.explore(
        pl.DataFrame({"sex": sex, "survived": survived, **numbers}), clusters=1
    )
    assert "'sex' and 'survived'" in report.report.components.closest
    assert "little in common" not in str(report)


def test_values_of_any_size_are_compared():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    huge = table.select(pl.all() * 1e200)
    plain, large = (gapless.explore(one, clusters=1) for one in (table, huge))
    assert np.allclose(plain.coordinates, large.coordinates)


def test_values_far_outside_keep_their_order():
    values = np.concatenate([np.linspace(-1, 1, 99), [20.0, 50.0, np.inf]])
    made = BoundedNumbers().fit(pl.DataFrame({"x": values[:-1]}))
    moved = made.transform(pl.DataFrame({"x": values}))[:, 0]
    assert np.all(np.diff(moved) > 0)
    assert moved[-1] < 8


def test_repeated_rows_are_no_surprise_where_values_are_few():
    rng = np.random.default_rng(0)
    found = gapless.explore(
        pl.DataFrame({name: rng.choice(["a", "b", "c"], 100) for name in "xyz"}), clusters=1
    )
    assert found.report.copies.exact_rows > 50
    assert "to be expected" in found.report.copies.words[0]
    assert "repeat" not in found.report.answer + " ".join(found.report.advice)
    assert found.report.copies.exact[0].words.startswith("'x' '")


# ---- promises ------------------------------------------------------------------------------------


def test_repeated_rows_are_told_once():
    few = pl.DataFrame({"a": ["x", "y"] * 40, "b": ["u", "u", "v", "v"] * 20, "c": [1.0, 2.0] * 40})
    report = gapless.explore(few).report
    assert report.copies.exact_rows and report.copies.is_expected
    assert "D204" not in to_text(report)


def test_the_order_of_the_rows_does_not_matter(groups):
    _, table, found = groups
    order = np.random.default_rng(1).permutation(table.height)
    again = gapless.explore(table[order])
    assert list(again.labels) == list(found.labels[order])
    assert np.array_equal(again.coordinates, found.coordinates[order])

    def without_rows(report):
        plain = dataclasses.replace(report, seconds=0.0, odd=None, copies=None)
        return dataclasses.replace(plain, data=None)

    assert without_rows(again.report) == without_rows(found.report)
    renumbered = {int(row) + 1: place + 1 for place, row in enumerate(order)}
    assert [one.row for one in again.report.odd.shown] == [
        renumbered[one.row] for one in found.report.odd.shown
    ]


def test_training_rows_are_placed_as_they_were(groups):
    _, table, found = groups
    assert list(found.model.predict(table)) == list(found.labels)
    assert np.allclose(found.model.transform(table), found.coordinates)
    assert np.allclose(found.model.unusual(table), found.unusual)


def test_a_saved_map_places_rows_alike(groups, tmp_path):
    _, table, found = groups
    again = gapless.load(gapless.save(found.model, tmp_path / "map.gapless"))
    assert list(again.predict(table)) == list(found.labels)
    assert np.allclose(again.transform(table), found.coordinates)


def test_unusual_is_a_share_of_the_training_rows(groups):
    _, table, found = groups
    assert 0.0 <= found.unusual.min() <= 0.02 and 0.98 <= found.unusual.max() <= 1.0
    far = table[:1].with_columns(weight=pl.lit(1e6), size=pl.lit(-1e6))
    assert found.model.unusual(far)[0] == 1.0


def test_new_levels_and_missing_values_take_no_side(groups):
    _, table, found = groups
    row = table[:1].with_columns(mood=pl.lit("never seen"), noise=pl.lit(None, pl.Float64))
    assert found.model.predict(row)[0] == found.labels[0]


def test_distances_between_levels_are_those_of_indicators_divided_by_roots_of_shares():
    table = table_of({"level": ["a"] * 5 + ["b"] * 3 + ["c"] * 2, "x": list(range(10))})
    made = prepare(describe_columns(table), "factors").fit_transform(table.frame)[:, 1:]
    assert np.allclose(made.T @ made / 10, np.eye(2))
    a, b, c = made[0], made[5], made[8]
    assert np.isclose(np.sum((a - b) ** 2), 1 / 0.5 + 1 / 0.3)
    assert np.isclose(np.sum((b - c) ** 2), 1 / 0.3 + 1 / 0.2)


# ---- text, JSON, page ----------------------------------------------------------------------------


def test_json_restores_the_report_that_text_and_page_are_made_of(groups, cloud):
    for report in (groups[2].report, cloud[1].report):
        again = from_json(to_json(report))
        assert again == report
        assert to_text(again) == to_text(report)
        assert to_html(again) == to_html(report)


def test_text_begins_with_the_answer_and_has_every_group(groups):
    text = str(groups[2])
    assert text.partition("\n")[0] == groups[2].report.answer
    for group in groups[2].report.groups.shown:
        assert f"\n  {group.name}: " in text
    assert max(len(line) for line in text.splitlines()[1:]) <= 80


def test_a_damaged_report_is_refused_with_its_place(cloud):
    plain = json.loads(to_json(cloud[1].report))
    plain["points"]["group"][0] = 7
    with pytest.raises(ValueError, match=r"report\.points"):
        from_json(json.dumps(plain))
    with pytest.raises(ValueError, match="lacks fields"):
        from_json(json.dumps({"format": plain["format"]}))


def test_hostile_names_are_escaped_in_the_page():
    rng = np.random.default_rng(0)
    name, level = "<script>alert(1)</script>", "</style><img src=x onerror=alert(2)>"
    table = pl.DataFrame(
        {name: rng.normal(size=60), "y": rng.normal(size=60), "z": rng.choice([level, "b"], 60)}
    ).with_columns(pl.col(name) + pl.col("y"))
    page = gapless.explore(table, clusters=2).to_html()
    assert "<script" not in page and "<img" not in page
    assert "&lt;script&gt;" in page


def test_a_page_is_small_however_long_and_wide_the_table_is():
    rng = np.random.default_rng(0)
    wide = pl.DataFrame({f"column {k}": rng.normal(size=60) for k in range(400)})
    long = pl.DataFrame({"a": rng.normal(size=60_000), "b": rng.integers(0, 9, 60_000)})
    for table in (wide, long):
        found = gapless.explore(table, clusters=2)
        assert len(found.to_html().encode()) < 2e6
        assert len(found.labels) == table.height
    assert "of 60,000 rows" in found.report.left_out["rows"]


@pytest.mark.parametrize("folder", ["/data/of/somebody/with/long/names/", "C:\\tables\\"])
def test_the_page_names_the_file_and_not_its_folders(folder, groups):
    report = dataclasses.replace(groups[2].report, source=f"{folder}measurements.csv.gz")
    page = to_html(report)
    assert f'<bdi title="{folder}measurements.csv.gz">measurements.csv.gz</bdi>' in page
    assert "<title>measurements.csv.gz" in page


def test_the_page_follows_dark_mode(groups):
    page = groups[2].to_html()
    assert "prefers-color-scheme: dark" in page
    assert "var(--accent" in page


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": ["a", "b", "c"] * 10}, "only 'x' is left, a category"),
        ({"x": [None] * 30, "y": [None] * 30}, "none is left"),
        ({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, 2.0]}, "has 3 rows; at least 8"),
        ({"x": [7] * 30, "y": ["same"] * 30}, "none is left"),
    ],
)
def test_too_little_to_explore_is_said(table, message):
    with pytest.raises(TableError, match=message):
        gapless.explore(pl.DataFrame(table, strict=False))


def test_wrong_options_are_named(cloud):
    table, _ = cloud
    for options, message in (
        ({"clusters": 0}, "clusters must be"),
        ({"clusters": "many"}, "clusters must be"),
        ({"clusters": 101}, "use gapless.KMeans"),
        ({"components": 99}, "components=99"),
        ({"drop": ["nothing"]}, "no column 'nothing'"),
        ({"time_limit": 0}, "time_limit must be"),
    ):
        with pytest.raises(ValueError, match=message):
            gapless.explore(table, **options)


def test_no_more_groups_than_distinct_rows_are_promised():
    table = pl.DataFrame({"x": [0.0, 1.0] * 20, "y": [2.0, 5.0] * 20})
    with pytest.raises(ValueError, match="only 2 rows differ"):
        gapless.explore(table, clusters=3)


def test_more_groups_than_letters_have_names(cloud):
    shown = gapless.explore(cloud[0][:60], clusters=28).report.groups.shown
    assert [one.name for one in shown[-3:]] == ["Z", "A2", "B2"]
    assert [one.rows for one in shown] == sorted((one.rows for one in shown), reverse=True)


def test_names_that_occur_twice_are_refused_with_a_cure():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1.0, 2.0]] * 20, columns=["a", "a"])
    with pytest.raises(TableError, match="called 'a'; rename"):
        gapless.explore(frame)


def test_columns_that_vary_in_a_few_rows_only_do_no_harm():
    rng = np.random.default_rng(0)
    rare = np.zeros(200)
    rare[3] = 1e12
    table = pl.DataFrame({"rare": rare, "x": rng.normal(size=200), "y": rng.normal(size=200)})
    found = gapless.explore(table, clusters=1)
    assert np.isfinite(found.coordinates).all()
    assert found.report.odd.shown[0].row == 4


def test_missing_numbers_are_what_the_rest_of_the_row_suggests():
    rng = np.random.default_rng(0)
    height = rng.normal(170, 10, 200)
    weight = 0.9 * (height - 170) + 70 + rng.normal(0, 3, 200)
    full = pl.DataFrame({"height": height, "weight": weight, "noise": rng.normal(size=200)})
    holed = full.with_columns(
        weight=pl.when(pl.int_range(pl.len()) < 20).then(None).otherwise("weight")
    )
    model = gapless.explore(holed).model
    filled, known = (model.prepare(table)[:20, 1] for table in (holed, full))
    left = np.mean((filled - known) ** 2) / np.var(known)
    assert left < 0.3  # the mean would leave all of it
