"""`gapless.explore`: known structure is found, and none is invented."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from drawn_tables import one_cloud, three_groups
from sklearn.metrics import adjusted_rand_score

import gapless
from gapless._ground.interrupt import time_limit
from gapless.choosing.exploring import from_json, grouping, to_html, to_text
from gapless.choosing.exploring.copies import near_pairs
from gapless.choosing.report import to_json
from gapless.data import TableError, describe_columns, prepare, table_of

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


def test_groups_are_named_by_size(groups):
    rows = [group.rows for group in groups[2].report.groups.shown]
    assert rows == sorted(rows, reverse=True)


@pytest.mark.parametrize("seed", range(2))
def test_a_skewed_cloud_with_a_category_has_no_groups(seed):
    found = gapless.explore(one_cloud(seed))
    assert found.report.groups.shown == ()
    assert found.report.answer.startswith("No groups: the 240 rows form one cloud")
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


def test_a_requested_number_of_groups_is_judged(cloud):
    table, _ = cloud
    found = gapless.explore(table, clusters=4)
    assert len(found.report.groups.shown) == 4
    assert "for convenience only" in found.report.groups.words[0]
    assert gapless.explore(table, clusters=1).report.groups.shown == ()


def test_columns_that_vary_for_other_reasons_do_not_hide_groups():
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
    # A factor of size that four columns share, and two groups across it.
    size, two = rng.normal(size=240), np.arange(240) % 2
    columns = {name: size + 0.3 * rng.normal(size=240) for name in "abcd"}
    found = gapless.explore(pl.DataFrame({**columns, "e": 10 * two + rng.normal(size=240)}))
    assert adjusted_rand_score(found.labels, two) > 0.95


def test_without_time_nobody_says_that_there_are_no_groups():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(rng.normal(size=(6, 2)).repeat(5, axis=0))
    with time_limit(0.0):
        tried = grouping.look_for_groups(
            np.eye(60, 3), np.eye(60, 3), np.arange(60), [2, 3], 1, 0, lambda text: None
        )
    assert tried.tried == []
    answer = gapless.explore(table).report.answer
    assert "is not known, since there are too few distinct rows" in answer


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


# ---- promises ------------------------------------------------------------------------------------


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


def test_the_page_follows_dark_mode(groups):
    page = groups[2].to_html()
    assert "prefers-color-scheme: dark" in page
    assert "var(--accent" in page


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"x": [1.5, 2.5, 3.5] * 10}, "only 'x' is left"),
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
        ({"components": 99}, "components=99"),
        ({"drop": ["nothing"]}, "no column 'nothing'"),
        ({"time_limit": 0}, "time_limit must be"),
    ):
        with pytest.raises(ValueError, match=message):
            gapless.explore(table, **options)


def test_columns_that_vary_in_a_few_rows_only_do_no_harm():
    rng = np.random.default_rng(0)
    rare = np.zeros(200)
    rare[3] = 1e12
    table = pl.DataFrame({"rare": rare, "x": rng.normal(size=200), "y": rng.normal(size=200)})
    found = gapless.explore(table, clusters=1)
    assert np.isfinite(found.coordinates).all()
    assert found.report.odd.shown[0].row == 4
