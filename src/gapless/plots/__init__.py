"""Pictures: one drawing function each, from plain data; nothing is computed here.

predictions: against the truth; models: side by side; curves: scores along an axis; shapes: losses
and penalties; fits: curves of one variable over data; fitting: how a fit proceeds, and perceptron
and networks how those do, live while they are trained; clusters: k-means and silhouettes;
components: the principal ones; columns: their importance; groups: rows on a plane; matrices:
distances with their numbers; timings: learning and predicting; decision, support, tree, dendrogram,
computation: what a model looks like; duality: how its proof comes about. style is their common
look, and svg and png make them parts of a page; gallery runs the examples.

Called by the report, the demo, `plot()` of results, and users. Each function takes arrays and a
matplotlib axes to draw on (a new one if None), and returns the axes. Imports matplotlib and of
gapless only its ground.
"""

from .clusters import kmeans_objective, kmeans_steps, silhouettes
from .columns import coefficients, importances, pair_dependence, partial_dependence
from .components import component_map, principal_axes, scree
from .computation import computation
from .curves import descent, learning, search, validation
from .decision import decision, planes, probabilities
from .dendrogram import dendrogram
from .duality import primal_dual
from .fits import fitted_curves
from .fitting import convergence, crossover, landscape, margins, members, path, rounds
from .groups import grouped_rows
from .kernel_components import embedding, image_rows
from .live import LiveCurves
from .matrices import distance_matrices, distance_matrix
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
from .shapes import functions, losses, penalties, penalty_contours
from .support import curve, multipliers
from .svg import inline_svg
from .timings import timings
from .tree import tree

__all__ = [
    "LiveCurves",
    "bias_variance",
    "coefficients",
    "comparison",
    "component_map",
    "computation",
    "confusion",
    "convergence",
    "crossover",
    "curve",
    "decision",
    "dendrogram",
    "descent",
    "distance_matrices",
    "distance_matrix",
    "embedding",
    "fitted_curves",
    "functions",
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
    "losses",
    "margins",
    "members",
    "multipliers",
    "pair_dependence",
    "partial_dependence",
    "path",
    "penalties",
    "penalty_contours",
    "perceptron",
    "planes",
    "precision_recall",
    "predicted",
    "primal_dual",
    "principal_axes",
    "probabilities",
    "reliability",
    "residuals",
    "roc",
    "rounds",
    "scree",
    "search",
    "silhouettes",
    "splits",
    "timings",
    "training",
    "tree",
    "validation",
]
