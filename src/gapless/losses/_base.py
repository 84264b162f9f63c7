"""Loss: the contract every loss keeps. Its docstring is the tutorial; the other files here are one loss each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class DualBox:
    """A conjugate that is quadratic on an interval.

    ℓ*(y, u) = linear·u + absolute·|u| + ½·quadratic·u²  for lower ≤ u ≤ upper, else ∞.
    `linear`, `lower` and `upper` are arrays like y, `absolute` and `quadratic` numbers.
    """

    linear: Array
    lower: Array
    upper: Array
    absolute: float = 0.0
    quadratic: float = 0.0


class Loss:
    """What a prediction z costs when the target is y, row by row.

    To add a loss, write one frozen dataclass in one file: set `task`, and give `value` and `gradient` in NumPy
    for whole vectors. Add `curvature` if ℓ has a useful second derivative, so that Newton's method can use it. Add
    either `conjugate` and `dual_domain`, or `dual_box` from which both follow, so that fits can be certified.
    A loss never sees X, coefficients, weights, n or the bias: those belong to `Problem`.

    ==================  ==============================================================================
    task                target y                                   predictions z
    ==================  ==============================================================================
    ``"regression"``    floats, (n,) or (n, K)                     floats like y
    ``"binary"``        −1.0 or +1.0, (n,)                         scores, (n,)
    ``"multiclass"``    integers 0 … K−1, (n,)                     scores, (n, K)
    ==================  ==============================================================================
    """

    task: ClassVar[str]
    name: ClassVar[str]
    has_curvature: ClassVar[bool] = False
    has_dual_box: ClassVar[bool] = False
    has_conjugate: ClassVar[bool] = False
    registry: ClassVar[dict[str, type[Loss]]] = {}

    def __init_subclass__(cls, **options):
        """Read the capabilities off the methods that were written, and remember the class by its name."""
        super().__init_subclass__(**options)
        cls.name = _snake_case(cls.__name__)
        cls.has_curvature = cls.curvature is not Loss.curvature
        cls.has_dual_box = cls.dual_box is not Loss.dual_box
        cls.has_conjugate = cls.has_dual_box or cls.conjugate is not Loss.conjugate
        Loss.registry[cls.name] = cls

    def value(self, y: Array, z: Array) -> Array:
        """ℓ(y, z), one number per target: the shape of y."""
        raise NotImplementedError

    def gradient(self, y: Array, z: Array) -> Array:
        """∂ℓ/∂z, the shape of z; at a kink, any subgradient."""
        raise NotImplementedError

    def curvature(self, y: Array, z: Array) -> Array:
        """∂²ℓ/∂z² ≥ 0, the shape of z; for several scores, the diagonal of the Hessian of each row."""
        raise NotImplementedError

    def hessian_times(self, y: Array, z: Array, v: Array) -> Array:
        """The Hessian of each row in z, times v."""
        return self.curvature(y, z) * v

    def derivatives(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """Value, gradient and curvature; override to share work between them."""
        return self.value(y, z), self.gradient(y, z), self.curvature(y, z)

    def conjugate(self, y: Array, u: Array) -> Array:
        """ℓ*(y, u) = sup_z u·z − ℓ(y, z), the shape of y; ∞ outside its domain."""
        box = self.dual_box(y)
        value = box.linear * u + box.absolute * np.abs(u) + 0.5 * box.quadratic * u**2
        return np.where((u >= box.lower) & (u <= box.upper), value, np.inf)

    def dual_domain(self, y: Array) -> tuple[Array, Array]:
        """The interval of u on which ℓ* is finite (the range of ∂ℓ/∂z), as (lower, upper) like z."""
        box = self.dual_box(y)
        return box.lower, box.upper

    def dual_box(self, y: Array) -> DualBox:
        """The conjugate as a quadratic on an interval, for losses that have such a one."""
        raise NotImplementedError

    def smallest(self, y: Array) -> Array:
        """min_z ℓ(y, z) = −ℓ*(y, 0), the shape of y."""
        return np.zeros(np.shape(y))

    def inverse_link(self, z: Array) -> Array:
        """What the score z predicts: the mean of y, or the probability of y = +1 (of each class)."""
        return z

    @property
    def is_piecewise_linear(self) -> bool:
        """Whether ℓ* is linear on an interval, so that ℓ has kinks and no curvature."""
        return self.has_dual_box and not self.has_curvature


def by_name(name: str | Loss) -> Loss:
    """The loss of that name with its default parameters; a loss is returned as it is."""
    if isinstance(name, Loss):
        return name
    if name not in Loss.registry:
        known = ", ".join(sorted(Loss.registry))
        raise ValueError(f"loss={name!r} is not known; use one of {known}, or an instance of Loss.")
    return Loss.registry[name]()


def _snake_case(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
