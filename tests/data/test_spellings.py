"""Spellings: levels that look like one are named, and different ones are left alone."""

import pytest

from gapless.data import describe_columns, find_leaks, read_target, table_of
from gapless.data.quality import similar_spellings


@pytest.mark.parametrize(
    ("counts", "groups"),
    [
        ({"Süd": 100, "süd": 3, "üd": 1, "Nord": 90}, [("Süd", "süd", "üd")]),
        ({"yes": 50, "Yes": 3, "YES": 1, "no": 40}, [("yes", "Yes", "YES")]),
        ({"New York": 100, "NewYork": 2, "new  york": 1}, [("New York", "NewYork", "new  york")]),
        ({"Germany": 100, "Gemany": 2, "Germnay": 1}, [("Germany", "Gemany", "Germnay")]),
        ({"Rome": 100, "Roem": 1}, [("Rome", "Roem")]),
        ({"cafe": 50, "café": 40}, [("cafe", "café")]),
        ({"Type 1": 50, "type 1": 2, "Type 2": 1}, [("Type 1", "type 1")]),
        ({"A1": 50, "A2": 3, "B1": 1}, []),
        ({"S": 100, "XS": 2, "XL": 1, "XXL": 1}, []),
        ({"North": 100, "South": 1, "male": 200, "female": 3}, []),
        ({"AA": 5, "Aa": 50, "aa": 1}, []),
        ({"A+": 50, "A-": 1, "A": 40, "AB": 60, "AB+": 1}, []),
        ({"Jun": 100, "Jul": 2, "Iran": 100, "Iraq": 1}, []),
        ({"mother": 1000, "other": 10, "low": 100, "slow": 1}, []),
        ({"C": 40, "C++": 30, "C#": 1, "1-2": 50, "12": 1}, []),
        ({"Germany": 10, "Germony": 9}, []),
        ({"Germany": 100, "Germony": 1, "Gernany": 1}, [("Germany", "Germony", "Gernany")]),
        ({"INLAND": 6551, "ISLAND": 5}, []),
        ({"hAd": 90, "had": 90, "hid": 90}, []),
    ],
)
def test_levels_that_look_like_one(counts, groups):
    assert similar_spellings(counts) == groups


@pytest.mark.parametrize(("target", "severity"), [("region", "warning"), ("y", "note")])
def test_levels_that_look_like_one_are_a_finding(target, severity):
    regions = ["Süd", "Nord"] * 30 + ["süd"] * 3 + ["üd"]
    table = table_of({"region": regions, "y": [k % 5 + 0.5 for k in range(64)]})
    columns, known = describe_columns(table, target), read_target(table, target)
    (finding,) = [one for one in find_leaks(table, columns, known) if one.code == "D208"]
    assert finding.severity == severity and "'Süd' and 'süd' and 'üd'" in finding.detail
