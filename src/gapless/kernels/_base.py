"""Kernel: the contract of every kernel. Its docstring is the tutorial. Also sums and products."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._ground.named import register
from .._ground.parameters import check_nonnegative
from ._rows import CombinedRows, Rows, count_rows, gram_of_rows, take_rows

Array = np.ndarray


class Slopes(NamedTuple):
    """The gradient of a kernel: ∂k(x, z)/∂z = a(x, z)·x + 2b(x, z)·(x − z).

    a is the derivative of k in ⟨x, z⟩ and b minus that in ‖x − z‖², both kernels; None for 0.
    """

    of_products: Kernel | None
    of_distances: Kernel | None


class Kernel:
    """The similarity of two rows: k(x, z) = ⟨φ(x), φ(z)⟩ for some features φ.

    To add a kernel, write one frozen dataclass in one file and give `gram` and `diagonal`. X and Z
    are arrays (or sparse matrices) of float32 or float64, one row per sample. Everything else
    follows: sums, products and multiples of kernels by + and *, predictions by blocks, the Gram
    matrix within a memory limit, and every kernel machine.

    A kernel is a value: it is checked when it is built and never changes. `replace` makes another
    one. `resolve` turns parameters that depend on the data (``gamma="scale"``) into numbers.

    ====================  ====================================================================
    give                  for
    ====================  ====================================================================
    `gram`, `diagonal`    everything
    `features`            linear machines on φ(x), where φ is known and short
    `log_gram`            weights of local regression where k(x, z) is too small for a float
    `resolve`             parameters that depend on the data
    `log_parameters` …    fits of the parameters by marginal likelihood, with `gram_gradients`
    `narrowed`            verdicts that compare a narrow kernel with a wider one
    `slopes` …            pre-images in kernel PCA, with `input_distances`
    ====================  ====================================================================
    """

    name: ClassVar[str]
    registry: ClassVar[dict[str, type[Kernel]]] = {}
    # Other names of the kernel, such as scikit-learn's.
    aliases: ClassVar[tuple[str, ...]] = ()
    # Whether every Gram matrix is positive semi-definite, whatever the rows.
    is_mercer: ClassVar[bool] = True
    # Whether f(x) = Σcᵢk(x, xᵢ) has a fixed shape, as a line has, however many rows there are.
    is_limited: ClassVar[bool] = False
    # Parameters > 0 with respect to whose logarithms `gram_gradients` differentiates.
    positive_parameters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options):
        """Name the class and register it under its names."""
        super().__init_subclass__(**options)
        register(cls, Kernel.registry)
        if cls.__module__.startswith("gapless."):
            Kernel.registry.update(dict.fromkeys(cls.aliases, cls))

    def gram(self, X: Any, Z: Any = None) -> Array:
        """k(xᵢ, zⱼ) for all rows of X and Z (n × m), or of X alone (n × n, symmetric)."""
        raise NotImplementedError

    def diagonal(self, X: Any) -> Array:
        """k(xᵢ, xᵢ) for all rows of X, float64."""
        raise NotImplementedError

    def log_gram(self, X: Any, Z: Any) -> Array:
        """log k(xᵢ, zⱼ) for all rows of X and Z (n × m), −∞ where k is 0."""
        values = np.asarray(self.gram(X, Z), dtype=np.float64)
        if np.any(values < 0):
            raise ValueError(
                f"{self!r} has values below 0 for these rows, which are no weights; use a kernel "
                'of distances, such as "rbf" or "laplacian".'
            )
        with np.errstate(divide="ignore"):
            return np.log(values)

    def features(self, X: Any) -> Array:
        """φ(xᵢ) with ⟨φ(x), φ(z)⟩ = k(x, z), one row each; for kernels with a short φ."""
        raise NotImplementedError(f"the {self.name} kernel has no small set of features.")

    def frequencies(self, rng: np.random.Generator, d: int, count: int) -> Array:
        """ω in columns (d, count) with k(x, z) the mean of cos(ωᵀ(x − z)), drawn at random.

        For kernels that depend on x − z alone (Bochner's theorem).
        """
        raise ValueError(
            f"the {self.name} kernel has no random features, since it is not a known function of "
            "x − z; use landmarks (nystroem), or the gaussian, laplacian or matern kernel."
        )

    def resolve(self, X: Any, weights: Array | None = None) -> Kernel:
        """The kernel with all parameters as numbers; data-dependent ones come from X, weighted.

        A kernel without such parameters returns itself.
        """
        return self

    def rows(self, X: Any, dtype: Any = None) -> Rows:
        """X prepared for blocks of this kernel in the given precision, by default that of X."""
        return Rows(self, X, dtype)

    def pick(self, X: Any, positions: Array) -> Any:
        """Some of the training rows X, in the form that `times` and `gram` take as Z."""
        return take_rows(X, positions)

    def times(self, X: Any, Z: Any, coef: Array, dtype: Any = np.float64) -> Array:
        """gram(X, Z) @ coef for coef (m,) or (m, k), float64, without ever holding gram(X, Z).

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n, d)
            Rows to predict.
        Z : {ndarray, sparse matrix} of shape (m, d)
            Rows of the model.
        coef : ndarray of shape (m,) or (m, k)
            Their coefficients.
        dtype : float32 or float64, default=float64
            Precision of the kernel values; sums over blocks are always float64. With float32 the
            result is off by about 1e-6 · Σ|coef|, in half the time.

        Returns
        -------
        scores : ndarray of shape (n,) or (n, k)
            Sums, float64.
        """
        coef = np.asarray(coef, dtype=np.float64)
        matrix = np.ascontiguousarray(coef if coef.ndim == 2 else coef[:, None])
        base = self.rows(Z, dtype)
        out = np.empty((count_rows(X), matrix.shape[1]))
        for chunk, rows in base.chunks(X):
            out[chunk] = rows.times(base, matrix)
        return out.reshape(len(out), *coef.shape[1:])

    @property
    def noise(self) -> float:
        """How much k(x, x) exceeds k between the row and another one equal to it."""
        return 0.0

    def parameters(self) -> dict[str, Any]:
        """The parameters by name; those of parts as ``left__gamma``."""
        found = self._values()
        for part, kernel in self._parts().items():
            found |= {f"{part}__{name}": value for name, value in kernel.parameters().items()}
        return found

    def replace(self, **parameters: Any) -> Kernel:
        """A copy with some parameters changed; names as in `parameters`."""
        own: dict[str, Any] = {}
        of_parts: dict[str, dict[str, Any]] = {}
        known = self.parameters()
        for key, value in parameters.items():
            if key not in known:
                raise ValueError(
                    f"{key!r} is not a parameter of {self!r}; it has {', '.join(known) or 'none'}."
                )
            part, _, name = key.partition("__")
            if name:
                of_parts.setdefault(part, {})[name] = value
            else:
                own[part] = value
        for part, inner in of_parts.items():
            own[part] = own.get(part, getattr(self, part)).replace(**inner)
        return dataclasses.replace(self, **own)  # type: ignore[type-var]

    @property
    def log_parameters(self) -> Array:
        """Logarithms of the positive parameters, parts included, in a fixed order."""
        own = [np.log(getattr(self, name)) for name in self.positive_parameters]
        return np.concatenate(
            [np.array(own), *(part.log_parameters for part in self._parts().values())]
        )

    def with_log_parameters(self, values: Array) -> Kernel:
        """The kernel with these `log_parameters`."""
        changed: dict[str, Any] = {}
        values = np.asarray(values, dtype=float)
        for name in self.positive_parameters:
            changed[name] = float(np.exp(values[0]))
            values = values[1:]
        for name, part in self._parts().items():
            count = len(part.log_parameters)
            changed[name] = part.with_log_parameters(values[:count])
            values = values[count:]
        return dataclasses.replace(self, **changed) if changed else self  # type: ignore[type-var]

    def gram_gradients(self, X: Any) -> list[Array]:
        """Derivatives of gram(X) in each of the `log_parameters`, (n × n) each."""
        if not len(self.log_parameters):
            return []
        raise NotImplementedError(f"the {self.name} kernel has no gradients in its parameters.")

    def narrowed(self, factor: float) -> Kernel | None:
        """The kernel with squared distances `factor` times as large; None without distances.

        A kernel of distances can follow any function if it is narrow enough.
        """
        changed: dict[str, Any] = {}
        for name, part in self._parts().items():
            narrower = part.narrowed(factor)
            if narrower is not None:
                changed[name] = narrower
        return dataclasses.replace(self, **changed) if changed else None  # type: ignore[type-var]

    def slopes(self) -> Slopes | None:
        """The gradient of k in z; None if it is not known, or if k has a kink at x = z."""
        return None

    def input_distances(self, squares: Array, own: Array, other: Array) -> Array | None:
        """‖x − z‖² from ‖φ(x) − φ(z)‖², ‖φ(x)‖² and ‖φ(z)‖², broadcast; None if unknown.

        NaN where no two rows have such values.
        """
        return None

    def _parts(self) -> dict[str, Kernel]:
        values = self._values()
        return {name: value for name, value in values.items() if isinstance(value, Kernel)}

    def _values(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: getattr(self, field.name) for field in fields}

    def __add__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Real):
            other = Constant(float(other))
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    __radd__ = __add__

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Real):
            return Scaled(float(other), self)
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__


class _Combined(Kernel):
    """A kernel that combines the values of others."""

    def combine(self, *values: Array) -> Array:
        """The values of this kernel from those of its parts, written into the first."""
        raise NotImplementedError

    def __post_init__(self):
        for field in dataclasses.fields(self):
            part = getattr(self, field.name)
            if field.name != "factor" and not isinstance(part, Kernel):
                raise TypeError(f"{type(self).__name__} combines kernels, got {part!r}.")

    @property
    def is_mercer(self):
        """Whether all parts are."""
        return all(part.is_mercer for part in self._parts().values())

    @property
    def is_limited(self):
        """Whether all parts are."""
        return all(part.is_limited for part in self._parts().values())

    def resolve(self, X, weights=None):
        parts = self._parts()
        resolved = {name: part.resolve(X, weights) for name, part in parts.items()}
        return self if resolved == parts else dataclasses.replace(self, **resolved)

    def rows(self, X, dtype=None):
        kernel = self.resolve(X)
        return CombinedRows(kernel, [part.rows(X, dtype) for part in kernel._parts().values()])

    def gram(self, X, Z=None):
        return gram_of_rows(self, X, Z)

    def diagonal(self, X):
        return self.rows(X).diagonal()


@dataclass(frozen=True, repr=False)
class Sum(_Combined):
    """k(x, z) = left(x, z) + right(x, z): the features of both, side by side."""

    left: Kernel
    right: Kernel

    def __repr__(self):
        return f"{self.left!r} + {self.right!r}"

    def combine(self, left, right):
        left += right
        return left

    @property
    def noise(self):
        return self.left.noise + self.right.noise

    def log_gram(self, X, Z):
        return np.logaddexp(self.left.log_gram(X, Z), self.right.log_gram(X, Z))

    def features(self, X):
        return np.hstack([self.left.features(X), self.right.features(X)])

    def gram_gradients(self, X):
        return [*self.left.gram_gradients(X), *self.right.gram_gradients(X)]

    def slopes(self):
        return _added(self.left.slopes(), self.right.slopes())


@dataclass(frozen=True, repr=False)
class Product(_Combined):
    """k(x, z) = left(x, z) · right(x, z): all products of their features."""

    left: Kernel
    right: Kernel

    def __post_init__(self):
        super().__post_init__()
        for part in (self.left, self.right):
            if part.noise:
                raise ValueError(
                    f"{part!r} has noise; add it to the product instead of multiplying it."
                )

    def __repr__(self):
        return f"{_as_factor(self.left)} * {_as_factor(self.right)}"

    def combine(self, left, right):
        left *= right
        return left

    def log_gram(self, X, Z):
        return self.left.log_gram(X, Z) + self.right.log_gram(X, Z)

    def features(self, X):
        left, right = self.left.features(X), self.right.features(X)
        return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)

    def gram_gradients(self, X):
        left, right = self.left.gram(X), self.right.gram(X)
        of_left = [gradient * right for gradient in self.left.gram_gradients(X)]
        return of_left + [left * gradient for gradient in self.right.gram_gradients(X)]

    def slopes(self):
        left, right = self.left.slopes(), self.right.slopes()
        return _added(_times(left, self.right), _times(right, self.left))


@dataclass(frozen=True, repr=False)
class Scaled(_Combined):
    """k(x, z) = factor · kernel(x, z) with factor ≥ 0."""

    factor: float
    kernel: Kernel
    positive_parameters = ("factor",)

    def __post_init__(self):
        super().__post_init__()
        check_nonnegative("the factor of a kernel", self.factor)

    def __repr__(self):
        return f"{self.factor:g} * {_as_factor(self.kernel)}"

    def combine(self, values):
        values *= self.factor
        return values

    @property
    def noise(self):
        return self.factor * self.kernel.noise

    def log_gram(self, X, Z):
        with np.errstate(divide="ignore"):
            return np.log(self.factor) + self.kernel.log_gram(X, Z)

    def features(self, X):
        return np.sqrt(self.factor) * self.kernel.features(X)

    def gram_gradients(self, X):
        inner = self.kernel.gram_gradients(X)
        return [self.gram(X), *(self.factor * gradient for gradient in inner)]

    def slopes(self):
        return _times(self.kernel.slopes(), self.factor)

    def input_distances(self, squares, own, other):
        if not self.factor:
            return None
        values = (value / self.factor for value in (squares, own, other))
        return self.kernel.input_distances(*values)


def _added(one: Slopes | None, other: Slopes | None) -> Slopes | None:
    """The slopes of a sum."""
    if one is None or other is None:
        return None
    pairs = zip(one, other, strict=True)
    return Slopes(*(b if a is None else a if b is None else a + b for a, b in pairs))


def _times(slopes: Slopes | None, factor: Kernel | float) -> Slopes | None:
    if slopes is None:
        return None
    return Slopes(*(None if part is None else factor * part for part in slopes))


def _as_factor(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, z) = value ≥ 0: a penalised bias when added to another kernel."""

    is_limited = True
    value: float = 1.0
    positive_parameters = ("value",)

    def __post_init__(self):
        check_nonnegative("value", self.value)

    def gram(self, X, Z=None):
        dtype = getattr(X, "dtype", np.dtype(float))
        shape = (count_rows(X), count_rows(X if Z is None else Z))
        return np.full(shape, self.value, dtype if dtype == np.float32 else np.float64)

    def diagonal(self, X):
        return np.full(count_rows(X), float(self.value))

    def features(self, X):
        return np.full((count_rows(X), 1), np.sqrt(self.value))

    def gram_gradients(self, X):
        return [self.gram(X)]

    def slopes(self):
        return Slopes(None, None)
