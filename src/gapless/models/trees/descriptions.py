"""What the docstrings of trees, forests and boosting describe alike, for `described`."""

GROWN = """
max_depth : int or None
    The largest number of questions on the way to a leaf; None sets no limit.
min_samples_split : int or float
    The fewest rows of a node that is split; a float is a part of all rows.
min_samples_leaf : int or float
    The fewest rows of a leaf; a float is a part of all rows. A row of weight s counts as ⌈s⌉ rows.
min_weight_fraction_leaf : float
    The least weight of a leaf, as a part of all.
max_features : int, float, "sqrt", "log2" or None
    How many columns are tried for a split, drawn among those that vary in the node; a float is a
    part of all columns, None takes all.
max_leaf_nodes : int or None
    The largest number of leaves; the split that gains most comes first.
min_impurity_decrease : float
    What a split must gain, as a part of the weight of all rows.
monotonic_cst : array-like of int of shape (n_features,) or None
    1 where predictions may only rise with a feature, −1 where they may only fall, 0 elsewhere.
categorical_features : "from_dtype", array-like or None
    Which columns are categories: those of a table that hold categories, text or booleans; or a
    mask, numbers or names of columns.
"""
CART = """
splitter : {"best", "random"}
    Whether all thresholds of a column are tried, or one that is drawn.
random_state : int, RandomState instance or None
    Seed of what is drawn. With splitter="best" and all features nothing is: ties go to the first
    column and the lowest threshold.
ccp_alpha : float or "cv"
    The price α of a leaf; "cv" chooses it by 5-fold cross-validation over the whole nested sequence
    of subtrees.
max_bins : int or None
    At most so many bins for the values of a column, at quantiles; None tries every threshold. For
    large data 255 is about as good and faster.
select : {"min", "1se"}
    With ccp_alpha="cv", the best price, or the highest one within one standard error.
tree_ : Tree
    Arrays of nodes, under scikit-learn's names.
max_features_ : int
    How many columns are tried for a split.
feature_importances_ : ndarray of shape (n_features,)
    What the splits of each feature take from the impurity, as parts of 1.
ccp_alpha_ : float
    The price that was chosen, with ccp_alpha="cv".
search_ : Search
    The prices that were tried, and their scores on unseen rows.
"""
PRUNED = """
prune : {"pre_pruning", "reduced_error", "pessimistic"} or None
    How splits are pruned by errors: keep a split where it lowers the error on validation rows at
    once ("pre_pruning"), or with all that is below it ("reduced_error"); or where it lowers an
    upper limit of the error, from the training rows themselves ("pessimistic", as in C4.5). None
    does not prune by errors.
validation_fraction : float
    The part of the distinct rows that is set aside for the first two, unless `fit` is given X_val
    and y_val.
time_limit : float or None
    Seconds after which the deepest tree that is complete is kept.
columns_ : Columns
    How X was read: the levels of categories, and which columns had missing values.
n_outputs_ : int
    The number of outputs.
validation_ : {"given", "drawn"}
    Where the rows came from that judged splits, if any did.
prune_trace_ : PruneTrace
    Every decision of the pruning, where there was any: node, cost with its split, cost as leaf.
certificate_ : Certificate
    That no subtree has a lower cost.
generalization_ : Generalization
    What the tree will score on unseen rows, by growing it again without some rows.
"""
CLASSES = """
criterion : {"gini", "entropy", "log_loss", "gain_ratio"}
    The impurity that splits lower: Gini's, or the entropy in bits; "gain_ratio" divides what a
    split gains in entropy by the information of its branches, among columns of at least average
    gain.
classes_ : ndarray of shape (n_classes,) or list of them
    The classes of each output.
n_classes_ : int or array-like of int
    How many there are.
"""
NUMBERS = """
criterion : {"squared_error", "absolute_error", "poisson"}
    The loss that splits lower: squared error (leaves predict means), absolute error (medians), or
    half the Poisson deviance (means of targets ≥ 0). "friedman_mse" is scikit-learn's old name for
    the squared error.
"""
TRAINING = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training data. NaN is a missing value. Columns of a table that hold categories, text or
    booleans are taken as they are. Never written to.
y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    Target values.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
check_input : bool
    Has no effect; it is here for callers of scikit-learn.
X_val, y_val, sample_weight_val : array-like
    Rows by which `prune="pre_pruning"` and `"reduced_error"` judge a split; if None, a part of the
    training rows is set aside for it. `gapless.certify(model, X_val, y_val)` then takes these rows.
"""
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows to predict.
check_input : bool
    Has no effect; it is here for callers of scikit-learn.
interval : float or None
    The share of new rows, such as 0.9, whose target is to be inside its interval; see
    `gapless.intervals` for what is promised. It is judged out of bag where members have not seen
    all rows; for other models the first call fits ten times again.
"""
