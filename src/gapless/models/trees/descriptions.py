"""Shared entries for the docstrings of trees, forests and boosting, for `described`."""

GROWN = """
max_depth : int or None
    The maximum number of questions on the way to a leaf; None sets no limit.
min_samples_split : int or float
    The minimum number of rows for a node to be split; a float is a share of all rows.
min_samples_leaf : int or float
    The minimum number of rows in a leaf; a float is a share of all rows. A row of weight s counts
    as ⌈s⌉ rows.
min_weight_fraction_leaf : float
    The minimum weight of a leaf, as a share of the total weight.
max_features : int, float, "sqrt", "log2" or None
    How many columns each split considers, drawn from those that vary in the node; a float is a
    share of all columns, None considers all.
max_leaf_nodes : int or None
    The maximum number of leaves; the split that gains most is made first. None sets no limit.
min_impurity_decrease : float
    The minimum decrease of the impurity by a split, weighted by the node's share of all rows.
monotonic_cst : array-like of int of shape (n_features,) or None
    1 where predictions may only rise with a feature, −1 where they may only fall, 0 elsewhere.
categorical_features : "from_dtype", array-like or None
    Which columns hold categories: by default those of a table whose type is categorical, text or
    boolean; or a mask, indices or names of columns.
"""
CART = """
splitter : {"best", "random"}
    Whether a split tries every threshold of a column, or one drawn at random.
random_state : int, RandomState instance or None
    Seeds what is drawn. With splitter="best" and all features nothing is drawn: ties go to the
    first column and the lowest threshold.
ccp_alpha : float or "cv"
    The price α of a leaf; "cv" chooses it by 5-fold cross-validation over the nested sequence of
    subtrees.
max_bins : int or None
    The maximum number of bins for the values of a column, at quantiles; None tries every threshold.
    On large data 255 bins are faster and about as good.
select : {"min", "1se"}
    With ccp_alpha="cv", whether to take the best price, or the highest one within one standard
    error of it.
tree_ : Tree
    Arrays of nodes, under scikit-learn's names.
max_features_ : int
    How many columns each split considers.
feature_importances_ : ndarray of shape (n_features,)
    How much the splits on each feature decrease the impurity, as shares of 1.
ccp_alpha_ : float
    The price chosen by ccp_alpha="cv".
search_ : Search
    The prices that were tried, and their scores on unseen rows.
"""
PRUNED = """
prune : {"pre_pruning", "reduced_error", "pessimistic"} or None
    How splits are pruned by errors: keep a split that lowers the error on held-out rows at once
    ("pre_pruning"), or together with all splits below it ("reduced_error"); or one that lowers an
    upper limit of the error, from the training rows themselves ("pessimistic", as in C4.5). None
    does not prune by errors.
validation_fraction : float
    The share of the distinct rows held out for the first two, unless `fit` is given X_val and
    y_val.
time_limit : float or None
    Seconds after which the deepest complete tree is kept.
columns_ : Columns
    How X was read: the categories, and which columns had missing values.
n_outputs_ : int
    The number of outputs.
validation_ : {"given", "drawn"}
    Where the held-out rows came from, if splits were judged by any.
prune_trace_ : PruneTrace
    Every decision of the pruning, if there was any: node, cost with its split, cost as a leaf.
certificate_ : Certificate
    Shows that no subtree has a lower cost.
generalization_ : Generalization
    The score to expect on unseen rows, by growing the tree again without some of the rows.
"""
CLASSES = """
criterion : {"gini", "entropy", "log_loss", "gain_ratio"}
    The impurity that splits decrease: Gini's, or the entropy in bits. "gain_ratio" divides the
    decrease of the entropy by the information of the branches, among columns of at least average
    gain.
classes_ : ndarray of shape (n_classes,) or list of them
    The classes of each output.
n_classes_ : int or array-like of int
    The number of classes of each output.
"""
NUMBERS = """
criterion : {"squared_error", "absolute_error", "poisson"}
    The loss that splits decrease: squared error (leaves predict means), absolute error (medians),
    or half the Poisson deviance (means of targets ≥ 0). "friedman_mse" is scikit-learn's old name
    for the squared error.
"""
TRAINING = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training rows. NaN is a missing value. Columns of a table that hold categories, text or booleans
    are used as they are. Never modified.
y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    Targets.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 is the row twice, weight 0 removes it.
check_input : bool
    Has no effect; accepted for compatibility with scikit-learn.
X_val, y_val, sample_weight_val : array-like
    Rows by which `prune="pre_pruning"` and `"reduced_error"` judge splits; if None, some of the
    training rows are held out for it. `gapless.certify(model, X_val, y_val)` then takes these rows.
"""
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows to predict.
check_input : bool
    Has no effect; accepted for compatibility with scikit-learn.
interval : float or None
    The coverage of prediction intervals, such as 0.9; see `gapless.intervals` for what it promises.
    Out-of-bag rows calibrate the intervals where there are any; otherwise the first call fits the
    model ten more times.
"""
