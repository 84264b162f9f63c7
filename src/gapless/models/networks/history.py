"""What training has reached after each epoch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from ..._ground.docstrings import described
from ..._ground.drawing import AXES, pictures
from ..._ground.notebook import ShownInNotebook


@dataclass(repr=False)
class History(ShownInNotebook):
    """Loss, scores and time of each epoch, in lists of the same length. Prints as a sentence.

    Attributes
    ----------
    loss : list of float
        The objective per weight of a row; with batches, each row at its turn in the epoch.
    score : list of float
        Accuracy or R² on the training rows, at their turn; NaN if it was not computed.
    validation : list of float
        The same on the rows that are kept aside by early stopping; empty without them.
    seconds : list of float
        Since the fit began.
    step_size : list of float
        The length of the last step of the epoch; NaN for L-BFGS.
    metric : str
        What the scores are.
    """

    metric: str = "accuracy"
    loss: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    step_size: list[float] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<History: {self}>"

    def __str__(self) -> str:
        if not self.loss:
            return "no epochs"
        epochs = "1 epoch" if len(self.loss) == 1 else f"{len(self.loss)} epochs"
        scores = "" if self.score[-1] != self.score[-1] else f", {self.metric} {self.score[-1]:.4g}"
        last = self.validation[-1] if len(self.validation) == len(self.loss) else math.nan
        unseen = "" if math.isnan(last) else f", {last:.4g} on rows kept aside"
        return f"{epochs} in {self.seconds[-1]:.2g} s, loss {self.loss[-1]:.4g}{scores}{unseen}"

    @property
    def last_second(self) -> float:
        """When the last epoch ended, 0 before the first."""
        return self.seconds[-1] if self.seconds else 0.0

    def copy(self) -> History:
        """The same in lists of its own."""
        return History(**asdict(self))

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain lists."""
        return asdict(self)

    @described(AXES)
    def plot(self, *, against: str = "epochs", axes=None):
        """Draw loss and scores; see `plots.training`.

        Parameters
        ----------
        against : {"epochs", "seconds"}, default="epochs"
            What the horizontal axis shows.

        Returns
        -------
        axes : matplotlib Axes
            The axes with the loss; the scores have an axis of their own at the right.
        """
        return pictures().training(self, against=against, axes=axes)


@dataclass(frozen=True, eq=False)
class Underway:
    """A training that is not over. Prints as the last epoch, of how many.

    Parameters
    ----------
    history : History
        What it has reached.
    before : int
        How many of its epochs were made by earlier trainings.
    planned : int
        The most epochs of this one.
    unit : str, default="epoch"
        What an epoch is called.
    """

    history: History
    before: int
    planned: int
    unit: str = "epoch"

    @property
    def done(self) -> int:
        """How many epochs this training has made."""
        return len(self.history.loss) - self.before

    @property
    def seconds_left(self) -> float:
        """For the epochs that are left, if they take as long as those before."""
        seconds = self.history.seconds
        began = seconds[self.before - 1] if self.before else 0.0
        return (seconds[-1] - began) / self.done * (self.planned - self.done)

    def __str__(self) -> str:
        history = self.history
        name, score = history.metric, history.score[-1]
        if len(history.validation) == len(history.loss):
            name, score = "validation", history.validation[-1]
        scores = "" if math.isnan(score) else f", {name} {score:.2g}"
        of = f"{self.unit} {self.done} of {self.planned}"
        return f"{of}, loss {history.loss[-1]:.2g}{scores}"
