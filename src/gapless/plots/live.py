"""Curves that are redrawn while a network is trained: in a window, or in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Literal

from matplotlib.axes import Axes

from .networks import training
from .style import axes_for

# Drawing pauses for so many times as long as it took.
RESTS = 9


class LiveCurves:
    """Loss and scores of a training, redrawn after its epochs: a callback of scikit-learn's kind.

    Parameters
    ----------
    against : {"epochs", "seconds"}, default="epochs"
        What the horizontal axis shows.
    axes : matplotlib Axes, default=None
        Where to draw, and nowhere else; a new figure if None, in a window or in the output of a
        notebook's cell.
    every_seconds : float or None, default=None
        Epochs that end sooner after the last drawing are drawn with a later one; None waits so long
        that drawing takes a tenth of the time. The end is always drawn.

    Attributes
    ----------
    axes_ : matplotlib Axes
        Where the curves of the last training are.

    Notes
    -----
    Drawing takes one or two tenths of a second. Estimators have `set_callbacks` with scikit-learn
    1.9 and later.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from gapless import MLPClassifier
    >>> from gapless.plots import LiveCurves
    >>> X, y = load_digits(return_X_y=True)
    >>> curves = LiveCurves()
    >>> model = MLPClassifier(20, max_iter=5, tol=0.1, n_iter_no_change=1, random_state=0)
    >>> _ = model.set_callbacks(curves).fit(X / 16, y)
    >>> len(curves.axes_.lines[0].get_xdata()) == model.n_iter_
    True
    """

    def __init__(
        self,
        *,
        against: Literal["epochs", "seconds"] = "epochs",
        axes: Axes | None = None,
        every_seconds: float | None = None,
    ):
        if against not in ("epochs", "seconds"):
            raise ValueError(f'against must be "epochs" or "seconds", got {against!r}.')
        if every_seconds is not None and not every_seconds >= 0:
            raise ValueError(f"every_seconds must be at least 0, got {every_seconds!r}.")
        self.against, self.axes, self.every_seconds = against, axes, every_seconds
        self._shown: Any = None
        self._begin()

    def _begin(self) -> None:
        self._latest: Any = None
        self._next_at = -float("inf")
        self._added: list[Axes] = []

    # ---- what scikit-learn calls -----------------------------------------------------------------

    def setup(self, estimator: Any, context: Any) -> None:
        """Before the first epoch: a place to draw."""
        self._begin()
        self.axes_ = axes_for(self.axes)
        self._shown = _cell() if self.axes is None else None

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Before an epoch: nothing."""

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        """After an epoch: draw, if it is time to. Never stops the training."""
        found: Any = (metadata or {}).get("progress")
        # The steps of other models than networks have no epochs to draw.
        if hasattr(found, "history"):
            self._latest = found
            if time.monotonic() >= self._next_at:
                self._draw(f"{found}, about {found.seconds_left:.0f} s left")
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """After the last epoch, or an interrupt: the whole curve."""
        if self._latest is not None:
            self._draw(str(self._latest.history))
        if self._shown is not None:
            import matplotlib.pyplot as plt

            figure: Any = self.axes_.figure
            # The cell shows the figure already; an open one would be shown again at its end.
            plt.close(figure)

    # ---- drawing ---------------------------------------------------------------------------------

    def _draw(self, title: str) -> None:
        began = time.monotonic()
        for right in self._added:
            right.remove()
        self.axes_.clear()
        figure: Any = self.axes_.figure
        before = list(figure.axes)
        training(self._latest.history, against=self.against, axes=self.axes_)
        self._added = [axes for axes in figure.axes if axes not in before]
        self.axes_.set_title(title, fontsize="small", loc="left")
        if self._shown is not None:
            self._shown.update(figure)
        else:
            # A window appears with the first epoch, and stays responsive between them.
            if self.axes is None and figure.canvas.required_interactive_framework is not None:
                figure.show()
            figure.canvas.draw_idle()
            figure.canvas.flush_events()
        now = time.monotonic()
        pause = RESTS * (now - began) if self.every_seconds is None else self.every_seconds
        self._next_at = now + pause


def _cell() -> Any:
    """Where the output of a notebook's cell can be replaced; None outside of notebooks."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    if getattr(running, "kernel", None) is None:
        return None
    return _Output(shell)


class _Output:
    """An output of a notebook's cell, which each new drawing replaces."""

    def __init__(self, shell: Any):
        self.display, self.handle = shell.display.display, None

    def update(self, figure: Any) -> None:
        """Show a figure in place of the last one."""
        if self.handle is None:
            self.handle = self.display(figure, display_id=True)
        else:
            self.handle.update(figure)
