"""What a test of each attribute gains at a node of ID3 or C4.5, as plain data that prints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .multiway import Test, entropy

Array = np.ndarray


@dataclass(frozen=True)
class AttributeGain:
    """The best test of one attribute at a node.

    Attributes
    ----------
    name : str
        The attribute.
    gain, ratio : float
        What the test gains in bits, H(classes) − Σ nᵥ/n·H(classes in branch v), and relative to the
        information of its branches; 0 if it divides nothing.
    threshold : float or None
        Where numbers are divided; None for categories.
    is_used : bool
        Whether a node above has used the attribute up.
    """

    name: str
    gain: float
    ratio: float
    threshold: float | None
    is_used: bool


@dataclass(frozen=True)
class Gains:
    """The gain of every attribute at a node, the largest first. Prints as a table.

    Attributes
    ----------
    node : int
        The number of the node; 0 is the root.
    rows : float
        The weight of the training rows there.
    entropy : float
        The entropy of their classes in bits.
    attributes : tuple of AttributeGain
        All attributes.
    """

    node: int
    rows: float
    entropy: float
    attributes: tuple[AttributeGain, ...]

    @classmethod
    def of(
        cls,
        node: int,
        counts: Array,
        names: Sequence[str],
        tests: Sequence[Test | None],
        used: Collection[int],
    ) -> Gains:
        """The table of tests, None where an attribute divides nothing, for counts of classes."""
        rows = [
            AttributeGain(
                name,
                0.0 if test is None else test.gain,
                0.0 if test is None else test.ratio,
                None if test is None or np.isnan(test.threshold) else test.threshold,
                j in used,
            )
            for j, (name, test) in enumerate(zip(names, tests))
        ]
        # Stable: among equal gains the first column is tested.
        rows.sort(key=lambda row: -row.gain)
        return cls(node, float(counts.sum()), float(entropy(counts)), tuple(rows))

    def __str__(self) -> str:
        title = f"node {self.node}: {self.rows:g} rows, entropy {self.entropy:.3f} bits"
        width = max(len("attribute"), *(len(row.name) for row in self.attributes))
        lines = [title, f"{'attribute':<{width}}   gain  ratio"]
        for row in self.attributes:
            note = "  used above" if row.is_used else ""
            if row.threshold is not None:
                note = f"  at {row.threshold:.4g}"
            lines.append(f"{row.name:<{width}}  {row.gain:5.3f}  {row.ratio:5.3f}{note}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)
