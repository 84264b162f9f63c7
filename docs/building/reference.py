"""The reference: a page for each group of public names, and one for each, from its docstring."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import gapless

# The families of estimators, in the order of the guide; those that are missing here come last.
FAMILIES = {
    "linear": "Linear models",
    "risk": "Any loss with any penalty or kernel",
    "stochastic": "Row by row",
    "svm": "Support vector machines",
    "kernel_machines": "Kernel machines",
    "neighbors": "Nearest neighbours",
    "bayes": "Naive Bayes, discriminants, decisions",
    "trees": "Decision trees",
    "forests": "Forests",
    "bagging": "Bagging",
    "adaboost": "AdaBoost",
    "boosting": "Gradient boosting",
    "networks": "Networks",
    "text": "Texts",
    "decomposition": "Components",
    "clustering": "Clusters",
}
# What the parts of the package share among themselves and no user needs.
INTERNAL = {
    "gapless.losses": "by_name nearest_slopes smoothed",
    "gapless.penalties": "Blocks Coordinates Folded Powers Separable by_name",
    "gapless.kernels": "Rows Slopes blank by_name",
    "gapless.metrics": "Ratio Rows Smooth decimals written",
    "gapless.evaluation": "Rows Split behind_error corrected is_clearly_behind",
}
# Of other parts, what users call or are given.
CHOSEN = {
    "gapless.networks": "Augmentation History Network",
    "gapless.networks.layers": "Layer Dense Flatten Conv2D MaxPool2D AveragePool2D Identity ReLU "
    "Sigmoid Tanh BatchNorm Dropout",
    "gapless.choosing": "Candidate Choice TableModel baseline_model",
    "gapless.data": "read_table load_builtin ReadingOptions Table Column Target describe_columns "
    "read_target find_flaws find_leaks find_drift profile_table prepare Finding TableError",
    "gapless.model_io": "describe Description ModelFileError",
    "gapless.problem": "Problem Parameters Design",
    "gapless.solvers": "solver choose Solver Solution Point Trace PathSolution solve_path "
    "GradientDescent Subgradient LBFGS Plain Momentum AveragedMomentum Nesterov Adam StepSize "
    "Constant InverseTime StepDecay Cosine Backtracking",
    "gapless.certificates": "Conditions Violation certify",
    "gapless.unseen": "Disagreement Search Intervals Calibration",
}


@dataclass(frozen=True)
class Group:
    """A page of the reference: its file, title, what it says, and names with their modules."""

    file: str
    title: str
    words: str
    names: tuple[str, ...]


def groups() -> list[Group]:
    """All groups; each public name of the package is in one of them."""
    found = [
        Group(
            "gaps",
            "The two gaps",
            GAPS,
            (*_top(GAP_NAMES), *_names("gapless.certificates", "gapless.unseen")),
        )
    ]
    families = _families()
    for family in sorted(families, key=lambda name: [*FAMILIES, name].index(name)):
        title = FAMILIES.get(family, family.replace("_", " ").capitalize())
        names = tuple(families[family])
        if family == "networks":
            names += _names("gapless.networks", "gapless.networks.layers")
        found.append(Group(family, title, "", names))
    return [
        *found,
        Group("losses", "Losses", LOSSES, _names("gapless.losses")),
        Group("penalties", "Penalties", PENALTIES, _names("gapless.penalties")),
        Group("kernels", "Kernels", KERNELS, _names("gapless.kernels")),
        Group(
            "solvers",
            "Problems and solvers",
            SOLVERS,
            (*_top("solve"), *_names("gapless.problem", "gapless.solvers")),
        ),
        Group("metrics", "Metrics", METRICS, _names("gapless.metrics")),
        Group("evaluation", "Judging models", EVALUATION, _names("gapless.evaluation")),
        Group("plots", "Pictures", PLOTS, _names("gapless.plots")),
        Group(
            "tables",
            "Tables and the choice of a model",
            TABLES,
            (*_top("choose explore in_parts Parts"), *_names("gapless.choosing", "gapless.data")),
        ),
        Group(
            "files", "Model files", FILES, (*_top("save load to_onnx"), *_names("gapless.model_io"))
        ),
    ]


GAP_NAMES = "Certificate certify Generalization generalize intervals prediction_sets"
GAPS = "What every fitted model says about itself, and the functions that recompute it."
LOSSES = "What a row costs; see [add a loss](../add_a_loss.md)."
PENALTIES = "What coefficients cost; see [penalties](../guide/penalties.md)."
KERNELS = "See [kernels](../guide/kernels.md); they can be added, multiplied and scaled."
SOLVERS = (
    "One problem, many ways to its minimum; see [which solver does what](../guide/solvers.md)."
)
METRICS = "Scores with confidence intervals, and curves; see [metrics](../guide/metrics.md)."
EVALUATION = (
    "For any estimator, scikit-learn's as well; see [judging models](../guide/evaluation.md)."
)
PLOTS = "Drawing functions that take plain data and an `axes`; results also have a `plot()`."
TABLES = "From a file to a model; see [the tool](../guide/tool.md)."
FILES = "See [model files](../guide/model_files.md)."


def texts() -> dict[str, str]:
    """The pages of the groups, and the index of them."""
    found = groups()
    lines = [f"- [{group.title}]({group.file}.md): {_listed(group)}" for group in found]
    files = "\n".join(group.file for group in found)
    index = f"{INDEX}\n" + "\n".join(lines) + f"\n\n```{{toctree}}\n:hidden:\n\n{files}\n```\n"
    return {"api/index.md": index, **{f"api/{group.file}.md": _page(group) for group in found}}


INDEX = """# Reference

Every public name, with its parameters and attributes, from its docstring. Estimators have
scikit-learn's methods in addition (`get_params`, `set_params`, `score`, …), which are not repeated.
"""


def every_name() -> list[str]:
    """The full names of everything in the reference."""
    return [name for group in groups() for name in group.names]


def _listed(group: Group) -> str:
    short = [f"`{name.rpartition('.')[2]}`" for name in group.names]
    return ", ".join(short[:6]) + (", …" if len(short) > 6 else "")


def _page(group: Group) -> str:
    names = "\n".join(group.names)
    return (
        f"# {group.title}\n\n{group.words}\n\n"
        f"```{{eval-rst}}\n.. autosummary::\n   :toctree: names\n"
        "   :nosignatures:\n\n" + "".join(f"   {name}\n" for name in names.split()) + "```\n"
    )


def _top(names: str) -> tuple[str, ...]:
    return tuple(f"gapless.{name}" for name in names.split())


def _families() -> dict[str, list[str]]:
    """The public names of `gapless.models`, by family."""
    found: dict[str, list[str]] = {}
    for name in gapless.__all__:
        module = getattr(getattr(gapless, name), "__module__", "")
        if module.startswith("gapless.models."):
            found.setdefault(module.split(".")[2], []).append(f"gapless.{name}")
    return found


def _names(*modules: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for module in modules for name in _of(module))


def _of(module: str) -> list[str]:
    if module in CHOSEN:
        return CHOSEN[module].split()
    left_out = INTERNAL.get(module, "").split()
    public = importlib.import_module(module).__all__
    return [name for name in sorted(public) if not name.isupper() and name not in left_out]
