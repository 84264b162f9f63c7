"""How much memory is free, and blocks of rows that use little of it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

from .interrupt import check

GIGABYTE = 1e9
# Numbers in the largest block computed at a time: 32 MB in float64, a few times what makes a call
# of NumPy or BLAS worthwhile.
BLOCK = 1 << 22
# Linux's files about a control group, versions 2 and 1: its limit, its usage, and the entry of
# memory.stat that counts its file pages.
CGROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def blocks(rows: int, width: int = 1, *, at_least: int = 1) -> Iterator[slice]:
    """All rows in order, in slices whose arrays of `width` numbers a row stay within BLOCK."""
    step = max(BLOCK // max(width, 1), at_least)
    for start in range(0, rows, step):
        check()
        yield slice(start, min(start + step, rows))


def free_memory(root: str = "/") -> float:
    """Bytes that can be allocated without swapping; half of all memory if the system does not say.

    A control group, such as a container's, may allow less than the machine has. `root` is where the
    system's files are.
    """
    top = Path(root)
    return min(_free_of_machine(top), *(_free_of_group(group) for group in _groups(top)), math.inf)


def _free_of_machine(root: Path) -> float:
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _groups(root: Path) -> Iterator[Path]:
    """The folders of the control groups of this process that count memory, innermost first."""
    top = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        # "number:what it controls:path"; version 2 controls everything and names nothing.
        _, controls, path = line.split(":", 2)
        if controls and "memory" not in controls.split(","):
            continue
        own = top / ("memory" if controls else "")
        inner = own / path.lstrip("/")
        # In a container the path may be the host's, and the group is mounted at the top.
        yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(own))


def _free_of_group(group: Path) -> float:
    """What the limit of a control group leaves; file pages are given back when needed."""
    for limit, usage, cache in CGROUP_FILES:
        try:
            allowed, used = ((group / name).read_text() for name in (limit, usage))
            lines = (group / "memory.stat").read_text().splitlines()
            files = dict(line.split() for line in lines).get(cache, 0)
            return max(float(allowed) - float(used) + float(files), 0.0)
        except (OSError, ValueError):  # no such file, or no limit: "max"
            continue
    return math.inf
