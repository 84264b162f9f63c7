"""A table in parts is never in memory as a whole."""

import ctypes
import sys

import numpy as np
import polars as pl
import pytest

from gapless import Ridge, in_parts

ROWS, COLUMNS = 400_000, 60


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of the memory is read from /proc")
def test_a_fit_needs_a_small_part_of_the_memory_of_the_table(tmp_path):
    file = tmp_path / "rows.parquet"
    base = np.random.default_rng(0).integers(0, 100, size=ROWS)
    columns = {f"x{j}": ((base * (j + 1)) % 101).astype(np.int8) for j in range(COLUMNS)}
    pl.DataFrame(columns | {"y": base}).write_parquet(file, row_group_size=5000)
    parts = in_parts(file, rows=256)
    Ridge().fit(in_parts(pl.scan_parquet(file).head(3000), rows=256), "y")
    ctypes.CDLL(None).malloc_trim(0)
    before = _memory("VmRSS")
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    Ridge().fit(parts, "y")
    # As numbers of eight bytes the table takes 192 MB; 20 to 60 MB were measured, and as much
    # for smaller and larger tables.
    assert _memory("VmHWM") - before < 0.5 * 8 * ROWS * COLUMNS


def _memory(name):
    with open("/proc/self/status") as status:
        (found,) = (line for line in status if line.startswith(f"{name}:"))
    return 1024 * int(found.split()[1])
