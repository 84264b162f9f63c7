"""A graph under construction: operators in the order in which they run, and their constants."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

Array = np.ndarray

# The versions of the operators used: those of 2021 and later run them.
OPSET, OPSET_ML = 15, 3
ML = "ai.onnx.ml"


class ExportError(ValueError):
    """The model cannot be written as a graph; the message says why and what to do instead."""


class Graph:
    """Operators and constants, each named by what it returns.

    Parameters
    ----------
    onnx : module
        The package `onnx`.
    n_features : int
        Columns of the input.
    """

    ROWS = "X"

    def __init__(self, onnx: Any, n_features: int):
        self.onnx, self.n_features = onnx, n_features
        self.numbers: Any = np.float32
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []

    def constant(self, values: Any, dtype: Any = None) -> str:
        """The name of an array that is part of the model; numbers are rounded to float32.

        Between `doubled` and `rounded` they are float64.
        """
        name = f"constant_{len(self._constants)}"
        array = np.ascontiguousarray(values, dtype=self.numbers if dtype is None else dtype)
        self._constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def apply(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """The name of what an operator returns."""
        return self.apply_several(operator, 1, *inputs, domain=domain, **attributes)[0]

    def apply_several(
        self, operator: str, count: int, *inputs: str, domain: str = "", **attributes: Any
    ) -> list[str]:
        """The names of all that an operator returns."""
        at = len(self._nodes)
        names = [f"{operator.lower()}_{at}_{k}" for k in range(count)]
        self._nodes.append(
            self.onnx.helper.make_node(operator, inputs, names, domain=domain, **attributes)
        )
        return names

    def output(self, value: str, name: str, dtype: Any, shape: tuple[Any, ...]) -> None:
        """Make a value an output of the model."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._declared(name, dtype, shape))

    # ---- what several models need ----------------------------------------------------------------

    def doubled(self, values: str) -> str:
        """Numbers as float64, and all constants from here on."""
        self.numbers = np.float64
        return self.apply("Cast", values, to=self.onnx.TensorProto.DOUBLE)

    def rounded(self, values: str) -> str:
        """Numbers as float32 again, and all constants from here on."""
        self.numbers = np.float32
        return self.apply("Cast", values, to=self.onnx.TensorProto.FLOAT)

    def affine(self, X: str, coef: Array, intercept: Any) -> str:
        """X·coefᵀ + intercept, (n, k)."""
        weights = self.constant(np.atleast_2d(coef).T)
        return self.apply("Add", self.apply("MatMul", X, weights), self.constant(intercept))

    def flat(self, values: str) -> str:
        """A column as a vector."""
        return self.apply("Reshape", values, self.constant([-1], np.int64))

    def beside(self, first: str, second: str) -> str:
        """Two columns, or tables, side by side."""
        return self.apply("Concat", first, second, axis=1)

    def labels(self, positions: str, classes: Array) -> None:
        """The output `label`, from positions in the classes."""
        if classes.dtype.kind in "biu":
            dtype: Any = np.int64
        elif classes.dtype.kind == "f":
            dtype = np.float32
        else:
            dtype, classes = np.str_, classes.astype(str).astype(object)
        names = self.constant(classes, object if dtype is np.str_ else dtype)
        self.output(self.apply("Gather", names, positions), "label", dtype, ("n",))

    def largest(self, scores: str) -> str:
        """The position of the largest score of each row, the first of equal ones."""
        return self.apply("ArgMax", scores, axis=1, keepdims=0)

    def is_positive(self, scores: str) -> str:
        """1 where the score is above 0, else 0, (n,)."""
        above = self.apply("Greater", self.flat(scores), self.constant(0.0))
        return self.apply("Cast", above, to=self.onnx.TensorProto.INT64)

    # ---- the model -------------------------------------------------------------------------------

    def model(self, description: str) -> Any:
        """The finished graph, checked."""
        helper = self.onnx.helper
        rows = self._declared(self.ROWS, np.float32, ("n", self.n_features))
        graph = helper.make_graph(
            self._nodes, "model", [rows], self._outputs, initializer=self._constants
        )
        made = helper.make_model(
            graph,
            producer_name="gapless",
            producer_version=version("gapless"),
            doc_string=description,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, OPSET_ML)],
            ir_version=8,
        )
        self.onnx.checker.check_model(made)
        return made

    def _declared(self, name: str, dtype: Any, shape: tuple[Any, ...]) -> Any:
        types = self.onnx.TensorProto
        kind = {np.float32: types.FLOAT, np.int64: types.INT64, np.str_: types.STRING}[dtype]
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)
