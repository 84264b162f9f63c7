"""Every loss with every penalty: the solver that `auto` chooses, the certificate, and the time.

    python -m benchmarks.matrix            print the table
    python -m benchmarks.matrix --write    and put it into docs/guide/penalties.md

The standard problem has 500 rows and 30 features with correlation ½, five of which matter, a bias,
and the default parameters of each loss and each penalty; the strength is 1/10 of the number of
rows. Times are CPU seconds on one thread, the least of several runs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from gapless._ground.design import Design
from gapless._ground.threads import threads
from gapless.certificates import certify
from gapless.losses import Loss
from gapless.penalties import Penalty, by_name
from gapless.problem import Problem
from gapless.solvers import solve

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "penalties.md"
BEGIN, END = "<!-- python -m benchmarks.matrix --write -->", "<!-- end -->"
N, D, K = 500, 30, 3
REPEATS = 3


def standard(loss: Loss, penalty: Penalty) -> Problem:
    """The standard problem of a loss: numbers, positive numbers, two classes or three."""
    rng = np.random.default_rng(0)
    X = np.sqrt(0.5) * (rng.standard_normal((N, D)) + rng.standard_normal((N, 1)))
    W = np.zeros((D, K))
    W[:5] = rng.standard_normal((5, K))
    score = X @ W + 2 * rng.standard_normal((N, K))
    outputs = None
    if loss.task == "multiclass":
        y, outputs = np.argmax(score, axis=1), K
    elif loss.task == "binary":
        y = np.where(score[:, 0] > 0, 1.0, -1.0)
    else:
        y = score[:, 0] if loss.targets == "real" else np.exp(0.3 * score[:, 0])
    scaled = penalty.scaled(0.1 * N) or penalty
    return Problem(Design(X), y, loss, scaled, np.ones(N), True, outputs)


def cell(loss: Loss, penalty: Penalty, repeats: int = REPEATS) -> dict[str, str]:
    """How one combination is solved."""
    seconds = []
    with warnings.catch_warnings(), threads(1):
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            problem = standard(loss, penalty)
            began = time.process_time()
            solution = solve(problem)
            seconds.append(time.process_time() - began)
        certificate = certify(problem, solution.parameters)
    milliseconds = 1000 * min(seconds)
    return {
        "solver": solution.solver,
        "kind": certificate.kind,
        "milliseconds": f"{milliseconds:.0f}" if milliseconds >= 10 else f"{milliseconds:.1f}",
    }


def table(repeats: int = REPEATS, only: str | None = None) -> list[str]:
    """Lines of Markdown: two of the head, a row for each loss, or one, a column per penalty."""
    losses = [name for name, cls in Loss.registry.items() if cls.refusal is None]
    penalties = sorted(
        Penalty.registry, key=lambda name: (not Penalty.registry[name].is_convex, name)
    )
    lines = ["| | " + " | ".join(penalties) + " |", "|---" * (len(penalties) + 1) + "|"]
    for name in sorted(losses) if only is None else [only]:
        cells = [cell(Loss.registry[name](), by_name(p), repeats) for p in penalties]
        words = [f"`{c['solver']}`, {c['kind']}, {c['milliseconds']} ms" for c in cells]
        lines.append(f"| {name} | " + " | ".join(words) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Print the table, and write it if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="put it into the page")
    parser.add_argument("--only", help="one loss; the other rows of the page stay")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    made = table(options.repeats, options.only)
    if not options.write:
        return
    text = PAGE.read_text(encoding="utf-8")
    before, (old, after) = text.split(BEGIN)[0], text.split(BEGIN)[1].split(END)
    if options.only is not None:
        kept = [line for line in old.strip().split("\n")[2:] if line.split()[1] != options.only]
        made = made[:2] + sorted([*kept, made[2]], key=lambda line: line.split()[1])
    rows = "\n".join(made)
    PAGE.write_text(f"{before}{BEGIN}\n{rows}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
