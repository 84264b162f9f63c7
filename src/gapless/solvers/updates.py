"""Update rules and step sizes: how parameters follow their gradient, apart from what they are.

A rule takes arrays and returns arrays, of any shape, or lists of them: the coefficients and the
bias of a linear model, the layers of a network. It is a frozen value; what it remembers between
steps is a `Memory` that the caller keeps:

>>> import numpy as np
>>> from gapless.solvers import Momentum
>>> rule, w = Momentum(0.9), np.array([1.0, -2.0])
>>> memory = rule.begin(w)
>>> for t in range(3):
...     at = rule.look_ahead(w, memory)
...     w, memory = rule.step(w, 2 * at, 0.1, memory)  # the gradient of ‖w‖² is 2w
>>> w
array([ 0.062, -0.124])

References
----------
Polyak (1964), Some methods of speeding up the convergence of iteration methods, USSR Comput. Math.
Math. Phys. 4. Nesterov (1983), A method for solving the convex programming problem with convergence
rate O(1/k²), Soviet Math. Dokl. 27; in the form of Sutskever, Martens, Dahl and Hinton (2013), On
the importance of initialization and momentum in deep learning, ICML. Kingma and Ba (2015), Adam: a
method for stochastic optimization, ICLR. Loshchilov and Hutter (2019), Decoupled weight decay
regularization, ICLR. Armijo (1966), Minimization of functions having Lipschitz continuous first
partial derivatives, Pacific J. Math. 16.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, TypeVar

import numpy as np

from .._ground import core

Array = np.ndarray
# One array, or a list or tuple of arrays.
Arrays = TypeVar("Arrays", Array, list[Array], tuple[Array, ...])


# ---- step sizes ----------------------------------------------------------------------------------


class StepSize(ABC):
    """How long each step is. `length(t)` is η of step t = 0, 1, …; of a search, where it begins."""

    @abstractmethod
    def length(self, t: int) -> float:
        """The size of step t."""


@dataclass(frozen=True)
class Constant(StepSize):
    """The same η for every step.

    Parameters
    ----------
    eta : float, default=0.1
        η > 0.
    """

    eta: float = 0.1

    def __post_init__(self):
        _check_positive(self.eta, "eta")

    def length(self, t: int) -> float:
        """η."""
        return self.eta


@dataclass(frozen=True)
class InverseTime(StepSize):
    """η₀/(t₀ + t)ᵖ: long steps at first, short ones later, yet of infinite length in sum.

    Parameters
    ----------
    eta_0, t_0 : float, default=1.0
        η₀ > 0 and t₀ > 0.
    power : float, default=1.0
        p, more than 0 and at most 1; ½ suits objectives without a penalty.
    """

    eta_0: float = 1.0
    t_0: float = 1.0
    power: float = 1.0

    def __post_init__(self):
        _check_positive(self.eta_0, "eta_0")
        _check_positive(self.t_0, "t_0")
        if not 0 < self.power <= 1:
            raise ValueError(
                f"power must be more than 0 and at most 1, got {self.power!r}: with shorter steps "
                "the parameters could not get far from where they start."
            )

    def length(self, t: int) -> float:
        """η₀/(t₀ + t)ᵖ."""
        return self.eta_0 / (self.t_0 + t) ** self.power


@dataclass(frozen=True)
class StepDecay(StepSize):
    """η₀·fᵏ in the k-th stretch of steps: the same for a while, then shorter by a factor.

    Parameters
    ----------
    eta_0 : float, default=0.1
        η₀ > 0.
    factor : float, default=0.1
        f, more than 0 and at most 1.
    every : int, default=1000
        The steps of a stretch.
    """

    eta_0: float = 0.1
    factor: float = 0.1
    every: int = 1000

    def __post_init__(self):
        _check_positive(self.eta_0, "eta_0")
        if not 0 < self.factor <= 1:
            raise ValueError(f"factor must be more than 0 and at most 1, got {self.factor!r}.")
        check_whole(self.every, "every")

    def length(self, t: int) -> float:
        """η₀·f^⌊t/every⌋."""
        return self.eta_0 * self.factor ** (t // self.every)


@dataclass(frozen=True)
class Cosine(StepSize):
    """From 0 up to η₀ in `warm_up` steps, then down along a cosine to `last`·η₀ at step `steps`.

    Loshchilov and Hutter (2017), SGDR: stochastic gradient descent with warm restarts.

    Parameters
    ----------
    eta_0 : float, default=0.1
        η₀ > 0.
    steps : int, default=1000
        Where the cosine ends; the steps after it are as short as the last.
    warm_up : int, default=0
        Steps in which the length grows, fewer than `steps`.
    last : float, default=0.01
        What is left of η₀ at the end, more than 0 and at most 1.
    """

    eta_0: float = 0.1
    steps: int = 1000
    warm_up: int = 0
    last: float = 0.01

    def __post_init__(self):
        _check_positive(self.eta_0, "eta_0")
        check_whole(self.steps, "steps")
        check_whole(self.warm_up, "warm_up", least=0)
        if self.warm_up >= self.steps:
            raise ValueError(f"warm_up must be less than steps, got {self.warm_up!r}.")
        if not 0 < self.last <= 1:
            raise ValueError(f"last must be more than 0 and at most 1, got {self.last!r}.")

    def length(self, t: int) -> float:
        """A part of η₀."""
        if t < self.warm_up:
            return self.eta_0 * (t + 1) / (self.warm_up + 1)
        way = min(1.0, (t - self.warm_up) / (self.steps - self.warm_up))
        return self.eta_0 * (self.last + (1 - self.last) * 0.5 * (1 + math.cos(math.pi * way)))


@dataclass(frozen=True)
class Backtracking(StepSize):
    """Shorten the step until the objective falls enough: f(w + ηd) ≤ f(w) + c·η·∇ᵀd (Armijo 1966).

    Parameters
    ----------
    first : float, default=1.0
        The first η that is tried, more than 0.
    shrink : float, default=0.5
        The factor that shortens it, between 0 and 1.
    sufficient : float, default=0.5
        c, between 0 and 1. With ½, a gradient step is accepted once 1/η is at least the curvature
        along it.
    growth : float, default=2.0
        Each further search begins at this multiple, at least 1, of the last accepted η.
    """

    first: float = 1.0
    shrink: float = 0.5
    sufficient: float = 0.5
    growth: float = 2.0

    def __post_init__(self):
        _check_positive(self.first, "first")
        for name in ("shrink", "sufficient"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)!r}.")
        if not self.growth >= 1:
            raise ValueError(f"growth must be at least 1, got {self.growth!r}.")

    def length(self, t: int) -> float:
        """Where the first search begins."""
        return self.first

    def search(
        self, value: Callable[[float], float], before: float, slope: float, begin: float
    ) -> float | None:
        """The first of begin, begin·shrink, … that is accepted; None if none is.

        `value(η)` is f(w + ηd), `before` is f(w) and `slope` is ∇ᵀd < 0.
        """
        length, rounding = begin, 4 * np.finfo(float).eps * abs(before)
        while True:
            if value(length) <= before + self.sufficient * length * slope + rounding:
                return length
            # Shorter steps could only gain what rounding hides.
            if not -length * slope > rounding:
                return None
            length *= self.shrink


def as_step_size(step: StepSize | float) -> StepSize:
    """A number as a constant step size."""
    if isinstance(step, StepSize):
        return step
    if isinstance(step, bool) or not isinstance(step, Real) or not 0 < step < np.inf:
        raise ValueError(
            f"step must be a number above 0, or a rule such as InverseTime(); got {step!r}."
        )
    return Constant(float(step))


def check_whole(value: int | None, name: str, least: int = 1) -> None:
    """Refuse what is not a whole number of at least `least`; None is for others to judge."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def _check_positive(value: float, name: str) -> None:
    if not (value > 0 and np.isfinite(value)):
        raise ValueError(f"{name} must be more than 0 and finite, got {value!r}.")


# ---- rules ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Memory:
    """What a rule remembers: the number of steps taken, and some arrays for each parameter."""

    steps: int
    arrays: tuple[tuple[Array, ...], ...]


class Update(ABC):
    """A rule that makes of parameters, their gradient and a step size the next parameters.

    `begin` makes the memory before the first step; `look_ahead` says where the gradient is to be
    taken, at the parameters themselves unless a rule says otherwise; `step` returns the new
    parameters and the new memory, and changes no array that it was given.
    """

    name: ClassVar[str]
    # The step size where none is given, and whether it may be found by a search down the gradient.
    usual_step: ClassVar[StepSize]
    is_searched: ClassVar[bool] = True

    @property
    def lengthening(self) -> float:
        """By what a step size found down the gradient is multiplied to be this rule's."""
        return 1.0

    def begin(self, parameters: Arrays) -> Memory:
        """The memory before the first step."""
        return Memory(0, tuple(self._begin(array) for array in _listed(parameters)))

    def look_ahead(self, parameters: Arrays, memory: Memory) -> Arrays:
        """Where the next step needs the gradient."""
        pairs = zip(_listed(parameters), memory.arrays)
        ahead = [self._ahead(array, kept, memory.steps + 1) for array, kept in pairs]
        return _like(parameters, ahead)

    def step(
        self, parameters: Arrays, gradient: Arrays, length: float, memory: Memory
    ) -> tuple[Arrays, Memory]:
        """The parameters after a step of size `length`, and the memory for the next one."""
        steps = memory.steps + 1
        each = zip(_listed(parameters), _listed(gradient), memory.arrays, strict=True)
        made = [self._step(array, g, length, kept, steps) for array, g, kept in each]
        memory = Memory(steps, tuple(kept for _, kept in made))
        return _like(parameters, [array for array, _ in made]), memory

    def step_in_place(
        self, parameters: Array, gradient: Array, length: float, memory: Memory
    ) -> Memory:
        """The same step for one array, which changes, as may the arrays of the memory."""
        parameters[...], memory = self.step(parameters, gradient, length, memory)
        return memory

    # ---- of one array: what a rule defines -------------------------------------------------------

    def _begin(self, array: Array) -> tuple[Array, ...]:
        return ()

    def _ahead(self, array: Array, kept: tuple[Array, ...], steps: int) -> Array:
        return array

    @abstractmethod
    def _step(
        self, array: Array, gradient: Array, length: float, kept: tuple[Array, ...], steps: int
    ) -> tuple[Array, tuple[Array, ...]]:
        """The array after this step, the `steps`-th, and what is kept for the next."""


@dataclass(frozen=True)
class Plain(Update):
    """w ← w − η∇: gradient descent."""

    name: ClassVar[str] = "plain"
    usual_step: ClassVar[StepSize] = Backtracking()

    def _step(self, array, gradient, length, kept, steps):
        return array - length * gradient, ()


@dataclass(frozen=True)
class Momentum(Update):
    """Δ ← η∇ + μΔ, w ← w − Δ: the heavy ball (Polyak 1964).

    Parameters
    ----------
    factor : float, default=0.9
        μ, the part of the last change that is repeated, at least 0 and less than 1.
    """

    name: ClassVar[str] = "momentum"
    usual_step: ClassVar[StepSize] = Backtracking(growth=1.3)

    factor: float = 0.9

    def __post_init__(self):
        _check_share(self.factor, "factor", "the part of the last change that is repeated")

    def _begin(self, array):
        return (_zero(array),)

    def _step(self, array, gradient, length, kept, steps):
        change = length * gradient + self.factor * kept[0]
        return array - change, (change,)


@dataclass(frozen=True)
class AveragedMomentum(Update):
    """Δ ← λη∇ + (1−λ)Δ, w ← w − Δ: each change is a running mean of the plain ones.

    The same as `Momentum(1 − λ)` with a step size λ times as long.

    Parameters
    ----------
    share : float, default=0.1
        λ, the weight of the newest gradient, more than 0 and at most 1.
    """

    name: ClassVar[str] = "momentum_averaged"
    usual_step: ClassVar[StepSize] = Backtracking(growth=1.3)

    share: float = 0.1

    def __post_init__(self):
        if not 0 < self.share <= 1:
            raise ValueError(
                "share, the weight of the newest gradient, must be more than 0 and at most 1, "
                f"got {self.share!r}."
            )

    @property
    def lengthening(self) -> float:
        """1/λ: the newest gradient then moves w as far as a plain step."""
        return 1 / self.share

    def _begin(self, array):
        return (_zero(array),)

    def _step(self, array, gradient, length, kept, steps):
        change = self.share * length * gradient + (1 - self.share) * kept[0]
        return array - change, (change,)


@dataclass(frozen=True)
class Nesterov(Update):
    """Momentum whose gradient is taken ahead: Δ ← η∇(w − μΔ) + μΔ, w ← w − Δ.

    Parameters
    ----------
    factor : float or None, default=None
        μ, the part of the last change that is repeated, at least 0 and less than 1. None lets it
        grow as (t−1)/(t+2) in step t, which suits convex objectives whose conditioning is not
        known.
    """

    name: ClassVar[str] = "nesterov"
    usual_step: ClassVar[StepSize] = Backtracking(growth=1.3)

    factor: float | None = None

    def __post_init__(self):
        if self.factor is not None:
            _check_share(self.factor, "factor", "the part of the last change that is repeated")

    def _begin(self, array):
        return (_zero(array),)

    def _ahead(self, array, kept, steps):
        return array - self._factor(steps) * kept[0]

    def _step(self, array, gradient, length, kept, steps):
        change = length * gradient + self._factor(steps) * kept[0]
        return array - change, (change,)

    def _factor(self, steps: int) -> float:
        return (steps - 1) / (steps + 2) if self.factor is None else self.factor


@dataclass(frozen=True)
class Adam(Update):
    """Steps of the same size for every number, whatever the scale of its gradient.

    m ← β₁m + (1−β₁)∇,  v ← β₂v + (1−β₂)∇²,  w ← w − η(m̂/(√v̂ + ε) + δw), where m̂ = m/(1−β₁ᵗ) and
    v̂ = v/(1−β₂ᵗ).

    Parameters
    ----------
    beta_1, beta_2 : float, default=0.9 and 0.999
        How slowly the means of the gradient and of its square forget, at least 0 and less than 1.
    epsilon : float, default=1e-8
        Keeps the quotient finite.
    decay : float, default=0.0
        δ ≥ 0, by which parameters shrink beside the gradient step (AdamW).
    """

    name: ClassVar[str] = "adam"
    usual_step: ClassVar[StepSize] = InverseTime(10.0, 100.0)
    is_searched: ClassVar[bool] = False

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8
    decay: float = 0.0

    def __post_init__(self):
        _check_share(self.beta_1, "beta_1", "the memory of the gradient")
        _check_share(self.beta_2, "beta_2", "the memory of its square")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be more than 0, got {self.epsilon!r}.")
        if not self.decay >= 0:
            raise ValueError(f"decay must be at least 0, got {self.decay!r}.")

    def step_in_place(self, parameters, gradient, length, memory):
        """In one pass over memory, for a vector."""
        arrays = (parameters, gradient, *memory.arrays[0])
        is_vector = parameters.ndim == 1 and parameters.dtype in (np.float32, np.float64)
        if not is_vector or any(a.dtype != parameters.dtype for a in arrays):
            return super().step_in_place(parameters, gradient, length, memory)
        steps = memory.steps + 1
        numbers = length, self.beta_1, self.beta_2, self.epsilon, self.decay
        core.adam_step(*(np.require(a, requirements="C") for a in arrays), *numbers, steps)
        return Memory(steps, memory.arrays)

    def _begin(self, array):
        return _zero(array), _zero(array)

    def _step(self, array, gradient, length, kept, steps):
        mean = self.beta_1 * kept[0] + (1 - self.beta_1) * gradient
        square = self.beta_2 * kept[1] + (1 - self.beta_2) * gradient**2
        size = np.sqrt(square / (1 - self.beta_2**steps)) + self.epsilon
        direction = mean / (1 - self.beta_1**steps) / size
        if self.decay:
            direction = direction + self.decay * array
        return array - length * direction, (mean, square)


def clipped(gradient: Array, largest: float | None) -> Array:
    """The gradient, shortened to the norm `largest` if it is longer; None leaves it as it is.

    Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks.
    """
    if largest is None:
        return gradient
    norm = math.sqrt(float(np.dot(gradient.ravel(), gradient.ravel())))
    return gradient * (largest / norm) if norm > largest else gradient


def _zero(array: Array) -> Array:
    return np.zeros_like(array, dtype=np.result_type(array, np.float32))


def _check_share(value: float, name: str, meaning: str) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"{name}, {meaning}, must be at least 0 and less than 1, got {value!r}.")


def _listed(parameters: Arrays) -> Sequence[Array]:
    return parameters if isinstance(parameters, list | tuple) else [parameters]


def _like(parameters: Arrays, made: list[Array]) -> Arrays:
    """The arrays in the form of the parameters: one array, a list or a tuple."""
    if isinstance(parameters, list | tuple):
        return type(parameters)(made)
    return made[0]
