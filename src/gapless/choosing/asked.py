"""Asked: what a model says of rows with known targets, asked once for whatever is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..metrics import Score
from ..unseen import StandIn
from .metric import Metric

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers of a model for rows with known targets y, (n,), and the metric that judges them.

    Labels 0, 1, … say which rows belong together, (n,), if any do.
    """

    model: StandIn
    y: Array
    metric: Metric
    groups: Array | None = None

    def __call__(self, method: str) -> Array:
        """What a method of the model says of the rows."""
        return np.asarray(getattr(self.model, method)(self._places))

    def score(self) -> Score:
        """The score of the rows, with its interval."""
        return self.metric.score(self.model, self._places, self.y, self.groups)

    def value(self) -> float:
        """The score alone, turned so that higher is better."""
        return self.metric(self.model, self._places, self.y)

    def ahead_of(self, other: Asked) -> Score:
        """How much better it is than another model on the same rows, with its interval."""
        return self.metric.ahead(self.model, other.model, self._places, self.y, self.groups)

    @property
    def _places(self) -> Array:
        return np.arange(len(self.y))[:, None]
