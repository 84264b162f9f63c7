"""Shares in percent: what is not all is never written as 100 %, and what is not nothing as 0 %."""

import numpy as np
import pytest

from gapless._ground.percent import enough_decimals, percent


@pytest.mark.parametrize(
    "share, expected",
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.5, "50 %"),
        (0.05, "5.0 %"),
        (0.987, "98.7 %"),
        (0.9996, "99.96 %"),
        (0.0004, "0.04 %"),
        (-0.0004, "-0.04 %"),
        (1e-9, "below 0.0001 %"),
        (1 - 1e-9, "above 99.9999 %"),
        (1 - 1e-15, "100.0 %"),  # a sum of weights
        (float("nan"), "nan %"),
    ],
)
def test_shares_as_they_are_written(share, expected):
    assert percent(share) == expected


@pytest.mark.parametrize("decimals", [None, 0, 1, 2])
def test_only_all_is_written_as_all_and_only_nothing_as_nothing(decimals, rng):
    small = np.concatenate([10.0 ** rng.uniform(-11, -0.4, size=200), 0.5 / 10.0 ** np.arange(9)])
    for share in (*small, *(1 - small)):
        assert float(percent(share, decimals).split()[-2]) not in (0.0, 100.0)
    assert float(percent(0.0, decimals).split()[0]) == 0.0


def test_several_shares_get_as_many_decimals_as_the_nearest_to_an_end_needs():
    assert enough_decimals(0.99995, 0.9998, 1.0, least=1) == 3
    assert enough_decimals(0.3, 0.4) == 0
