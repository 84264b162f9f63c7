"""Pictures: one drawing function each, from plain data; nothing is computed here.

predictions: against the truth; models: side by side; curves: scores along an axis; fitting: how a
fit proceeds, and perceptron and networks how those do, live while they are trained; clusters:
k-means and silhouettes; components: the principal ones; columns: their importance; groups: rows on
a plane; decision, tree, dendrogram: what a model looks like. style is their common look, and svg
and png make them parts of a page.

Called by the report, the demo, `plot()` of results, and users. Each function takes arrays and a
matplotlib axes to draw on (a new one if None), and returns the axes. Imports matplotlib and of
gapless only its ground.
"""

from .clusters import kmeans_objective, kmeans_steps, silhouettes
from .columns import coefficients, importances, pair_dependence, partial_dependence
from .components import component_map, principal_axes, scree
from .curves import descent, learning, search, validation
from .decision import decision, planes
from .dendrogram import dendrogram
from .fitting import convergence, crossover, landscape, margins, members, path, rounds
from .groups import grouped_rows
from .kernel_components import embedding, image_rows
from .live import LiveCurves
from .models import bias_variance, comparison, splits
from .networks import images, training
from .perceptron import perceptron
from .png import inline_png
from .predictions import (
    confusion,
    precision_recall,
    predicted,
    reliability,
    residuals,
    roc,
)
from .svg import inline_svg
from .tree import tree

__all__ = [
    "LiveCurves",
    "bias_variance",
    "coefficients",
    "comparison",
    "component_map",
    "confusion",
    "convergence",
    "crossover",
    "decision",
    "dendrogram",
    "descent",
    "embedding",
    "grouped_rows",
    "image_rows",
    "images",
    "importances",
    "inline_png",
    "inline_svg",
    "kmeans_objective",
    "kmeans_steps",
    "landscape",
    "learning",
    "margins",
    "members",
    "pair_dependence",
    "partial_dependence",
    "path",
    "perceptron",
    "planes",
    "precision_recall",
    "predicted",
    "principal_axes",
    "reliability",
    "residuals",
    "roc",
    "rounds",
    "scree",
    "search",
    "silhouettes",
    "splits",
    "training",
    "tree",
    "validation",
]
