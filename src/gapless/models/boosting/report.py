"""Lines on standard output while GradientBoosting… is fitted."""

from __future__ import annotations

import math
import time
from typing import Any

from .run import Run


class Report:
    """Lines on standard output, as scikit-learn prints them with `verbose`."""

    def __init__(self, model: Any):
        self.model, self.began, self.first = model, time.monotonic(), 0
        self.has_oob = model.subsample < 1
        names = ["Train Loss", *(["OOB Improve"] if self.has_oob else []), "Remaining Time"]
        print(" ".join([f"{'Iter':>10}", *(f"{name:>16}" for name in names)]))

    def __call__(self, run: Run) -> None:
        """Print the line of a round, if it has one."""
        done = len(run.trees)
        # Every round for ten of them, then every tenth, and so on; each with verbose above 1.
        every = 1 if self.model.verbose > 1 else 10 ** max(math.ceil(math.log10(done)) - 1, 0)
        if done % every:
            return
        left = (self.model.n_estimators - done) * (time.monotonic() - self.began) / done
        words = [f"{done:>10d}", f"{run.training[-1]:>16.4f}"]
        if self.has_oob:
            before, after = run.out_of_bag[-1]
            words.append(f"{before - after:>16.4f}")
        words.append(f"{f'{left / 60:.2f}m' if left > 60 else f'{left:.2f}s':>16}")
        print(" ".join(words))
