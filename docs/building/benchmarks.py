"""The page of benchmarks: how each was measured, in the words of its script, and its tables."""

from __future__ import annotations

import ast
import csv
import math
import re
from collections.abc import Iterable
from pathlib import Path

from .pages import ROOT

RESULTS = ROOT / "benchmarks" / "results"
# Tables that are not named after the script that writes them.
SCRIPTS = {"results": "run"}
# In the order of the page; others follow under the names of their files.
TITLES = {
    "results": "Linear models, to a given objective",
    "sweep": "Away from the usual parameters",
    "generalized": "Counts, amounts, quantiles, outliers",
    "paths": "Paths, and a strength by folds",
    "tuning": "A strength by leave-one-out",
    "kernels": "Kernel machines",
    "trees": "Trees, forests, boosting",
    "neighbors": "Nearest neighbours",
    "bayes": "Naive Bayes",
    "text": "Raw texts",
    "stochastic": "Stochastic gradient descent",
    "networks": "Networks",
    "parts": "Tables read in parts",
    "kmeans": "k-means",
    "linkage": "Hierarchical clustering",
    "kernel_pca": "Kernel PCA",
    "tables": "Models chosen for a table",
}
NUMBERS = ("s", "gapless, s", "ratio", "cases", "mean ratio", "worst ratio")

INTRODUCTION = """# Benchmarks

Every table below is made from the files in `benchmarks/results`, which the scripts in `benchmarks/`
write: `make bench` runs all of them. **Ratio** is the time of the fastest other library over that
of gapless: 2 means that gapless takes half the time, and a number below 1 that it is slower.

All libraries solve the same problem on the same machine, and are compared at the same quality: one
judge, who belongs to none of them, computes the objective, the gap or the score of each model again
from its coefficients or predictions. What a library reached had to be good enough for its time to
count, or stands beside the time. Libraries take turns, so that noise hits all alike; the text above
each table, which is that of the script, says which seconds are meant. The machine had two cores and
other work to do: read a ratio of 1.2 as “about the same”, and run the script yourself before you
rely on one.
"""


def text() -> str:
    """The page."""
    names = [path.stem for path in sorted(RESULTS.glob("*.csv")) if path.stem != "quick"]
    names.sort(key=lambda name: [*TITLES, name].index(name))
    return "\n".join([INTRODUCTION, *map(section, names)])


def section(name: str) -> str:
    """One script: its first sentence, how it measures, and its table."""
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    script = ROOT / "benchmarks" / f"{SCRIPTS.get(name, name)}.py"
    title = TITLES.get(name, name.replace("_", " ").capitalize())
    return f"## {title}\n\n{said_by(script)}\n\n{MADE.get(name, by_library)(rows)}"


def said_by(script: Path) -> str:
    """The docstring of a script without the commands in it."""
    said = ast.get_docstring(ast.parse(script.read_text())) or ""
    return "\n\n".join(part for part in said.split("\n\n") if not part.startswith(" "))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of texts."""
    head = list(head)
    lines = [head, ["---:" if name in NUMBERS else "---" for name in head], *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def by_library(rows: list[dict[str, str]]) -> str:
    """Problems, with the fastest variant of gapless and the fastest other library."""
    lines = []
    for problem, ours, theirs in fastest(rows, "problem"):
        judged = f"{ours['judged']} / {theirs['judged']}" if ours["judged"] else ""
        lines.append([problem, *seconds_and_ratio(ours, theirs, theirs["library"]), judged])
    head = ["problem", "gapless, s", "fastest other", "s", "ratio", "judged: gapless / other"]
    return table(head, lines)


def to_an_excess(rows: list[dict[str, str]]) -> str:
    """The same, for each excess to be reached."""
    for row in rows:
        row["both"] = (
            f"{row['problem']}, to {row['target_excess']} ({int(row['n']):,} × {int(row['d']):,})"
        )
    lines = [
        [problem, *seconds_and_ratio(ours, theirs, f"{theirs['library']}, {theirs['variant']}")]
        for problem, ours, theirs in fastest(rows, "both")
    ]
    return table(["problem, excess", "gapless, s", "fastest other", "s", "ratio"], lines)


def in_one_row(rows: list[dict[str, str]]) -> str:
    """Rows that hold both times."""
    lines = [
        [
            f"{row['problem']} ({int(row['rows']):,} × {int(row['columns']):,})",
            f"{float(row['gapless']):.3g}",
            row["peer"],
            f"{float(row['seconds']):.3g}",
            f"{float(row['ratio']):.1f}",
        ]
        for row in rows
    ]
    return table(["problem", "gapless, s", "fastest other", "s", "ratio"], lines)


def of_many_cases(rows: list[dict[str, str]]) -> str:
    """The geometric mean and the worst ratio of each family of cases."""
    found: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    for row in rows:
        key = row["case"].partition(",")[0], row["measure"], row["level"]
        found.setdefault(key, []).append((float(row["ratio"]), row["case"]))
    lines = []
    for (family, measure, level), cases in found.items():
        mean = math.exp(sum(math.log(ratio) for ratio, _ in cases) / len(cases))
        worst, case = min(cases)
        seconds = "processor, one thread" if measure == "cpu" else "clock, all cores"
        numbers = [str(len(cases)), f"{mean:.2f}", f"{worst:.2f}", case]
        lines.append([family, f"{seconds}, {level}", *numbers])
    return table(
        ["family", "seconds of", "cases", "mean ratio", "worst ratio", "worst case"], lines
    )


def of_scores(rows: list[dict[str, str]]) -> str:
    """Scores of chosen models, and the seconds of the whole choice."""
    lines = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        both = {row["library"]: row for row in rows if row["problem"] == problem}
        ours, theirs = both["gapless"], both["sklearn"]
        lines.append(
            [
                problem,
                *(
                    cell
                    for row in (ours, theirs)
                    for cell in (row["judged"], row["seconds_median"])
                ),
            ]
        )
    return table(["table", "chosen by gapless", "s", "scikit-learn's boosting", "s"], lines)


MADE = {
    "results": to_an_excess,
    "generalized": in_one_row,
    "sweep": of_many_cases,
    "tables": of_scores,
}


def fastest(rows: list[dict[str, str]], key: str):
    """Problems with the fastest row of gapless and of all others; both must have ended."""
    for problem in dict.fromkeys(row[key] for row in rows):
        ended = [
            row for row in rows if row[key] == problem and float(row["seconds_median"]) < math.inf
        ]
        ours = [row for row in ended if re.match("gapless", row["library"])]
        others = [row for row in ended if row not in ours]
        if ours and others:
            pair = (
                min(part, key=lambda row: float(row["seconds_median"])) for part in (ours, others)
            )
            yield (problem, *pair)


def seconds_and_ratio(ours: dict[str, str], theirs: dict[str, str], name: str) -> list[str]:
    """Both times and their ratio, as texts."""
    a, b = float(ours["seconds_median"]), float(theirs["seconds_median"])
    return [f"{a:.3g}", name, f"{b:.3g}", f"{b / a:.1f}"]
