"""Random changes of images that do not change what they show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Augmentation:
    """Each image, every time it is learned from, is shifted and turned at random.

    Parameters
    ----------
    shift : int, default=2
        Up to so many pixels, up or down and left or right.
    rotation : float, default=10.0
        Up to so many degrees, either way, around the centre. Zeros come in at the borders.
    """

    shift: int = 2
    rotation: float = 10.0

    def __post_init__(self):
        if self.shift < 0 or int(self.shift) != self.shift:
            raise ValueError(f"shift must be a whole number of pixels ≥ 0, got {self.shift!r}.")
        if not 0 <= self.rotation <= 180:
            raise ValueError(f"rotation must be from 0 to 180 degrees, got {self.rotation!r}.")

    def __call__(self, x: Array, random: np.random.Generator) -> Array:
        """Changed copies of images (n, height, width, channels)."""
        n, height, width, _ = x.shape
        moved = random.integers(-self.shift, self.shift + 1, size=(2, n, 1, 1))
        turned = np.deg2rad(random.uniform(-self.rotation, self.rotation, size=(n, 1, 1)))
        down = np.arange(height)[:, None] - (height - 1) / 2 - moved[0]
        right = np.arange(width)[None, :] - (width - 1) / 2 - moved[1]
        cos, sin = np.cos(turned), np.sin(turned)
        # Where each pixel of the new image comes from: the reverse of the turn, and of the shift.
        rows = cos * down - sin * right + (height - 1) / 2
        columns = sin * down + cos * right + (width - 1) / 2
        return _sampled(x, rows, columns)


def _sampled(x: Array, rows: Array, columns: Array) -> Array:
    """Images at places between pixels, by the nearest four; zeros outside."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows = np.clip(rows + 1, 0, padded.shape[1] - 1)
    columns = np.clip(columns + 1, 0, padded.shape[2] - 1)
    top = np.minimum(rows.astype(np.intp), padded.shape[1] - 2)
    left = np.minimum(columns.astype(np.intp), padded.shape[2] - 2)
    down = (rows - top).astype(x.dtype)[..., None]
    right = (columns - left).astype(x.dtype)[..., None]
    image = np.arange(len(x))[:, None, None]
    upper = (1 - right) * padded[image, top, left] + right * padded[image, top, left + 1]
    lower = (1 - right) * padded[image, top + 1, left] + right * padded[image, top + 1, left + 1]
    return (1 - down) * upper + down * lower
