"""Pruning against all subtrees of small trees, against refits, and against scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import tree as peer
from sklearn.inspection import permutation_importance as peer_importance

import gapless
from gapless import DecisionTreeClassifier, DecisionTreeRegressor
from gapless.evaluation import permutation_importance
from gapless.models.trees.judging import least_cost
from gapless.models.trees.pruning import cheapest, first_improvements, weakest_links

ALPHAS = [0.0, 0.003, 0.01, 0.03, 0.1]


def make_data(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n)


def make_classes(n=120, seed=0):
    X, z = make_data(n, seed=seed)
    return X, np.digitize(z, [-0.7, 0.7])


def random_tree(rng, splits, branches=2):
    """A parent array in preorder, and costs that fall along each split on the average."""
    children = [[] for _ in range(1 + splits * branches)]
    leaves, count = [0], 1
    for _ in range(splits):
        node = leaves.pop(rng.integers(len(leaves)))
        children[node] = list(range(count, count + branches))
        leaves += children[node]
        count += branches
    parent, order = [-1], [0]
    stack = [(child, 0) for child in reversed(children[0])]
    while stack:
        node, above = stack.pop()
        parent.append(above)
        order.append(node)
        stack += [(child, len(parent) - 1) for child in reversed(children[node])]
    return np.array(parent), np.round(rng.random(count) * 2.0 ** -rng.integers(0, 3, count), 3)


def subtrees(parent):
    """All sets of leaves of subtrees with the same root."""
    below = [np.flatnonzero(parent == node).tolist() for node in range(len(parent))]

    def of(node):
        yield (node,)
        if below[node]:
            for parts in itertools.product(*(list(of(child)) for child in below[node])):
                yield tuple(itertools.chain(*parts))

    return list(of(0))


def kept_leaves(parent, is_leaf):
    """The leaves that are left when some nodes are made leaves."""
    stack, found = [0], []
    while stack:
        node = stack.pop()
        below = np.flatnonzero(parent == node).tolist()
        if is_leaf[node] or not below:
            found.append(node)
        else:
            stack += below
    return tuple(sorted(found))


def mask_of(trace, count):
    mask = np.zeros(count, dtype=bool)
    mask[trace.node[trace.is_pruned]] = True
    return mask


@pytest.mark.parametrize("branches", [2, 3])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_cheapest_is_the_best_of_all_subtrees_and_the_smallest(branches, seed):
    rng = np.random.default_rng(seed)
    parent, cost = random_tree(rng, 5, branches)
    price = rng.choice([0.0, 0.05, 0.2])
    trace = cheapest(parent, cost + price, "cost")
    found = kept_leaves(parent, mask_of(trace, len(parent)))
    total = {leaves: sum(cost[list(leaves)] + price) for leaves in subtrees(parent)}
    best = min(total.values())
    assert total[tuple(sorted(found))] == pytest.approx(best, abs=1e-12)
    smallest = min(len(leaves) for leaves, value in total.items() if value <= best + 1e-12)
    assert len(found) == smallest
    assert least_cost(parent, cost + price) == pytest.approx(best, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_weakest_links_are_the_minimisers_for_every_price(seed):
    rng = np.random.default_rng(seed)
    parent, cost = random_tree(rng, 6)
    cost[0] = cost.sum()  # splitting lowers the cost
    for node in range(1, len(parent)):
        cost[node] = min(cost[node], cost[parent[node]] / 2)
    sequence = weakest_links(parent, cost)
    assert np.all(np.diff(sequence.alphas) >= 0)
    sums = sequence.sums(np.stack([cost, np.ones(len(cost))], axis=1))
    everything = subtrees(parent)
    for k, alpha in enumerate(sequence.alphas):
        risk, leaves = sums[k]
        best = min(sum(cost[list(own)]) + alpha * len(own) for own in everything)
        assert risk + alpha * leaves == pytest.approx(best, abs=1e-12)
    for alpha in rng.random(3):
        leaves = kept_leaves(parent, sequence.at(alpha))
        best = min(sum(cost[list(own)]) + alpha * len(own) for own in everything)
        assert sum(cost[list(leaves)]) + alpha * len(leaves) == pytest.approx(best, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_pre_pruning_stops_at_the_first_split_that_does_not_help(seed):
    parent, cost = random_tree(np.random.default_rng(seed), 6)
    found = kept_leaves(parent, mask_of(first_improvements(parent, cost, "cost"), len(parent)))

    def expected(node):
        below = np.flatnonzero(parent == node).tolist()
        if not below or cost[node] <= cost[below].sum() + 1e-12 * cost[0]:
            return [node]
        return [leaf for child in below for leaf in expected(child)]

    assert found == tuple(sorted(expected(0)))


# ---- against scikit-learn ------------------------------------------------------------------------

PAIRS = [
    (DecisionTreeClassifier, peer.DecisionTreeClassifier, make_classes),
    (DecisionTreeRegressor, peer.DecisionTreeRegressor, make_data),
]


@pytest.mark.parametrize("ours, theirs, make", PAIRS)
def test_path_and_pruned_trees_are_those_of_scikit_learn(ours, theirs, make):
    X, y = make()
    one, other = (cls(random_state=0).cost_complexity_pruning_path(X, y) for cls in (ours, theirs))
    np.testing.assert_allclose(one.ccp_alphas, other.ccp_alphas, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.impurities, other.impurities, rtol=1e-9, atol=1e-12)
    for alpha in ALPHAS:
        mine = ours(random_state=0, ccp_alpha=alpha).fit(X, y)
        peers = theirs(random_state=0, ccp_alpha=alpha).fit(X, y)
        assert mine.tree_.node_count == peers.tree_.node_count
        np.testing.assert_allclose(mine.predict(X), peers.predict(X), rtol=1e-9)


@pytest.mark.parametrize("ours, theirs, make", PAIRS)
def test_price_chosen_over_the_sequence_is_that_of_refits(ours, theirs, make):
    """Each candidate scores what trees score that are pruned at it and fitted to the folds."""
    X, y = make(80)
    model = ours(ccp_alpha="cv").fit(X, y)
    search = model.search_
    folds = folds_of(model, X, y)
    for k in [0, len(search.unseen) // 2, search.chosen, len(search.unseen) - 1]:
        said = np.empty(len(y))
        for fold in np.unique(folds):
            alpha = search.values["ccp_alpha"][k]
            part = ours(ccp_alpha=alpha).fit(X[folds != fold], y[folds != fold])
            said[folds == fold] = part.predict(X[folds == fold])
        if ours is DecisionTreeClassifier:
            assert search.unseen[k] == pytest.approx(np.mean(said == y))
        else:
            expected = 1 - np.mean((said - y) ** 2) / np.var(y)
            assert search.unseen[k] == pytest.approx(expected, rel=1e-6)
    best = search.unseen.max()
    assert search.unseen[search.chosen] == pytest.approx(best)
    simple = ours(ccp_alpha="cv", select="1se").fit(X, y)
    assert simple.ccp_alpha_ >= model.ccp_alpha_
    assert simple.get_n_leaves() <= model.get_n_leaves()


def folds_of(model, X, y):
    """The fold of each row, as the choice has dealt them out."""
    from gapless.unseen.folds import FOLDS, drawn

    data = model._training[0]
    units = data.units(np.arange(len(y)))
    order = drawn(units, len(y), data.outputs.y[:, 0] if data.has_classes else None)
    fold = np.empty(len(y), dtype=int)
    fold[order] = np.arange(len(y)) * FOLDS // len(y)
    return fold[units]


# ---- with validation rows ------------------------------------------------------------------------


@pytest.mark.parametrize("prune", ["reduced_error", "pre_pruning"])
@pytest.mark.parametrize("ours, theirs, make", PAIRS)
def test_validation_errors_are_those_of_the_nodes(ours, theirs, make, prune):
    X, y = make(100)
    X_val, y_val = make(60, seed=1)
    whole = ours(random_state=0).fit(X, y)
    model = ours(random_state=0, prune=prune).fit(X, y, X_val=X_val, y_val=y_val)
    tree = whole.tree_
    passes = whole.decision_path(X_val).toarray().astype(bool)
    trace = model.prune_trace_
    for node, cost in zip(trace.node, trace.as_leaf):
        rows = passes[:, node]
        if ours is DecisionTreeClassifier:
            said = whole.classes_[np.argmax(tree.value[node, 0])]
            errors = np.sum(y_val[rows] != said)
        else:
            errors = np.sum((y_val[rows] - tree.value[node, 0, 0]) ** 2)
        assert cost == pytest.approx(errors / len(y_val), abs=1e-12)
    loss = np.mean(model.predict(X_val) != y_val)
    if ours is DecisionTreeRegressor:
        loss = np.mean((model.predict(X_val) - y_val) ** 2)
    assert model.certificate_.primal == pytest.approx(loss, abs=1e-12)
    assert gapless.certify(model, X_val, y_val).primal == pytest.approx(loss, abs=1e-12)
    assert model.get_n_leaves() < whole.get_n_leaves()


def test_a_class_that_only_the_validation_rows_have_is_always_wrong():
    X, y = make_classes(60)
    X_val, y_val = make_classes(30, seed=1)
    y_val[:10] = 7
    model = DecisionTreeClassifier(prune="reduced_error").fit(X, y, X_val=X_val, y_val=y_val)
    assert model.certificate_.primal >= 10 / 30
    assert 7 not in model.classes_


def test_a_tree_pruned_by_given_rows_is_certified_by_them():
    X, y = make_classes(60)
    X_val, y_val = make_classes(30, seed=1)
    few = y_val != 2  # a class is missing among them
    model = DecisionTreeClassifier(prune="reduced_error")
    model.fit(X, y, X_val=X_val[few], y_val=y_val[few])
    again = gapless.certify(model, X_val[few], y_val[few])
    assert again.kind == "optimal"
    assert again.primal == pytest.approx(np.mean(model.predict(X_val[few]) != y_val[few]))
    assert model.generalization_.unseen > 0
    with pytest.raises(ValueError, match="pruned by the rows of X_val"):
        gapless.generalize(model, X, y)


def test_what_does_not_go_together_is_refused():
    X, y = make_classes(40)
    with pytest.raises(ValueError, match="two ways to prune"):
        DecisionTreeClassifier(prune="pessimistic", ccp_alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="X_val needs prune"):
        DecisionTreeClassifier().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="pass y_val too"):
        DecisionTreeClassifier(prune="reduced_error").fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="both parts need rows"):
        DecisionTreeClassifier(prune="reduced_error").fit(X[:2], y[:2])


# ---- importances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ours, theirs, make", PAIRS)
def test_permutation_importances_are_about_those_of_scikit_learn(ours, theirs, make):
    X, y = make(200)
    model = ours(max_depth=3).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=20)
    expected = peer_importance(model, X, y, n_repeats=20, random_state=0).importances_mean
    assert found.score == pytest.approx(model.score(X, y))
    np.testing.assert_allclose(found.means, expected, atol=0.05)
    assert str(found).count("±") == X.shape[1]


def test_standard_errors_of_importances_cover_what_fresh_rows_show():
    model = DecisionTreeClassifier(max_depth=3).fit(*make_classes(400, seed=5))
    seen = [
        permutation_importance(model, *make_classes(150, seed=s), n_repeats=5) for s in range(30)
    ]
    means = np.array([one.means for one in seen])
    error = np.mean([one.standard_errors for one in seen], axis=0)
    spread = means.std(axis=0, ddof=1)
    assert np.all(spread[:3] < 2 * error[:3])
    assert np.all(spread[:3] > error[:3] / 2)
