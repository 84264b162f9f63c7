"""How the trees of a forest are grown: from distinct rows, in batches, each on its own draw."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..._ground.columns import Columns, encoded
from ..._ground.threads import thread_count
from ..._ground.validation import Outputs
from ...unseen import Population, draw_rows
from ..bagging import EnsembleData
from ..trees import (
    LARGEST_SEED,
    Options,
    Targets,
    TreeData,
    grow,
    grow_forest,
    pruned_at,
)

Array = np.ndarray

# Trees grow in batches of about this many seconds, between which progress is shown.
BATCH_SECONDS = 1.0
# min_samples_leaf="oob" leaves the choice to the fit; before that, or if it cannot choose, leaves
# have scikit-learn's size.
OOB, USUAL_SIZE = "oob", 1


@dataclass(frozen=True, eq=False)
class ForestData(EnsembleData):
    """The data of a fit, and its distinct rows as trees see them.

    Parameters
    ----------
    tree_data : TreeData
        The distinct rows, in the order of their content.
    population : Population
        Which they are.
    """

    tree_data: Any = None
    population: Any = None


def with_tree_data(forest: Any, data: EnsembleData) -> ForestData:
    """The data with its distinct rows coded for growing."""
    outputs, population = data.outputs, population_of(data)
    first = population.first
    X = _safe_indexing(data.X, first)
    columns = Columns.read(
        X,
        categorical_features=forest.categorical_features,
        max_bins=forest._bins(len(first)),
        weights=population.weights,
    )
    factor = outputs.weights[first] / outputs.sample_weight[first]
    distinct = replace(
        outputs,
        y=outputs.y[first],
        sample_weight=population.weights,
        weights=population.weights * factor,
    )
    tree_data = TreeData(encoded(columns, X), distinct, data.feature_names, columns)
    forest._template()._monotonic(tree_data)
    return ForestData(
        data.X,
        data.numbers,
        outputs,
        data.feature_names,
        tree_data=tree_data,
        population=population,
    )


def population_of(data: EnsembleData) -> Population:
    """The distinct rows with weight, in the score and in the fit."""
    outputs = data.outputs
    weights = np.where(outputs.weights > 0, outputs.sample_weight, 0.0)
    return Population.of(data.numbers, outputs.y, weights)


def batches(forest: Any, data: Any, seeds: Array, size: int) -> Iterator[list[Any]]:
    """Trees in batches, as many as the time limit allows."""
    seconds = BATCH_SECONDS
    if forest.time_limit is not None:
        seconds = min(seconds, 0.1 * forest.time_limit)
    at, count = 0, thread_count()
    while at < len(seeds):
        began = time.monotonic()
        yield grow_trees(forest, data, seeds[at : at + count], size)
        at += count
        took = max(time.monotonic() - began, 1e-6)
        # Whole rounds of all threads, so that none waits.
        rounds = max(1, min(4 * count, int(count * seconds / took)) // thread_count())
        count = rounds * thread_count()


def grow_trees(forest: Any, data: Any, seeds: Array, size: int) -> list[Any]:
    """A tree for each seed."""
    tree_data, outputs = data.tree_data, data.tree_data.outputs
    n_classes = tree_data.widths if tree_data.has_classes else None
    targets = Targets(outputs.y, n_classes)
    options = _options(forest, tree_data, size)
    keys = list(keys_of(seeds))
    factor = outputs.weights / outputs.sample_weight
    if size == 0:
        trees = grow_forest(
            tree_data.columns,
            targets,
            options,
            keys,
            weights=outputs.weights,
            counts=np.ceil(outputs.sample_weight),
        )
    elif forest._has_own_class_weights():
        trees = _grow_balanced(tree_data, targets, options, keys, size)
    else:
        trees = grow_forest(
            tree_data.columns,
            targets,
            options,
            keys,
            weights=factor,
            draws=size,
            chances=chances_of(outputs),
        )
    return [pruned_at(tree, forest.ccp_alpha) for tree in trees] if forest.ccp_alpha else trees


def _grow_balanced(
    data: TreeData, targets: Targets, options: Options, keys: list[int], size: int
) -> list[Any]:
    """Trees whose classes are balanced in the rows that each has drawn."""
    trees = []
    y = data.outputs.y.astype(int)
    for key in keys:
        counts = draw_rows(len(y), size, key, chances_of(data.outputs))
        weights = counts.astype(float)
        for column in y.T:
            of_class = np.bincount(column, counts)
            present = np.sum(of_class > 0)
            weights *= (size / (present * np.maximum(of_class, 1.0)))[column]
        trees.append(grow(data.columns, targets, options, weights=weights, counts=counts, seed=key))
    return trees


def _options(forest: Any, data: TreeData, size: int) -> Options:
    """How trees are grown; limits that are parts of all rows are parts of those drawn."""
    if size == 0:
        return forest._template()._options(data, np.arange(len(data.outputs.y)))
    # This many rows of the mean weight represent any draw.
    outputs = data.outputs
    share = size / float(outputs.sample_weight.sum())
    drawn = replace(outputs, sample_weight=np.array([float(size)]), weights=share * outputs.weights)
    drawn = replace(drawn, weights=np.array([float(drawn.weights.sum())]))
    return forest._template()._options(replace(data, outputs=drawn), np.zeros(1, dtype=int))


def keys_of(seeds: Array) -> Iterator[int]:
    """The seeds of growth for trees with each of these as random_state."""
    # Making a generator takes sixty times as long as reseeding it, a noticeable part of a small
    # fit.
    generator = np.random.RandomState(0)
    for seed in seeds:
        generator.seed(int(seed))
        yield int(generator.randint(LARGEST_SEED))


def chances_of(outputs: Outputs) -> Array | None:
    """Numbers proportional to the chances of the rows; None if they are equal."""
    weights = outputs.sample_weight
    return None if np.all(weights == weights[0]) else weights
