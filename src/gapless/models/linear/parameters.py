"""What the parameters and attributes that linear estimators share mean, described once.

A class is decorated with the tables that hold for it, and describes what is its own; see
`_ground.docstrings`.
"""

from ..._ground.docstrings import FEATURES

# Shared by all of them.
_EVERY = (
    FEATURES
    + """
fit_intercept : bool
    Whether to fit the bias b, which is not penalised.
tol : float
    Stop when the duality gap is at most `tol` times the objective at w = 0.
positive : bool
    Whether to keep all coefficients ≥ 0.
class_weight : dict or "balanced"
    Weights of the classes, by which the weights of their rows are multiplied; "balanced" gives all
    classes the same total weight.
intercept_scaling : float
    Without effect, since the bias is not penalised.
copy_X : bool
    Accepted for scikit-learn's sake; X is never written to.
selection : {"cyclic", "random"}
    Accepted for scikit-learn's sake; the order of the features is decided by the solver.
random_state : int, RandomState instance or None
    Accepted for scikit-learn's sake; the answer does not depend on it.
verbose : int
    Accepted for scikit-learn's sake; long fits show their progress on a terminal.
n_jobs : int
    Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
certificate_ : Certificate
    How far the fit can be from the best possible one, summed over all problems; some fits leave it
    to be computed on first access.
generalization_ : Generalization
    Estimated score on unseen data; computed on first access.
"""
)

# Shared by those that minimise one objective.
SOLVED = (
    _EVERY
    + """
max_iter : int
    Largest number of steps; None leaves it to the solver.
solver : str or Solver
    A solver of gapless by name, "auto", or a value with options, such as
    `gapless.solvers.GradientDescent(step=0.1)`.
warm_start : bool
    Whether to start from the coefficients of the last fit.
time_limit : float
    Seconds after which the best coefficients found so far are kept.
select : {"min", "1se"}
    With "loo" or "cv": the best strength, or the strongest penalty within one standard error.
trace_ : Trace or list of Trace
    Objective, gap and seconds of every step; one per problem that was solved.
solver_ : str
    The solver that ran, whatever name was requested.
n_iter_ : int
    Number of steps, the largest where several problems were solved.
"""
)

# Shared by those that only choose a strength.
SEARCHED = (
    _EVERY
    + """
max_iter : int
    Largest number of steps at each strength; None leaves it to the solver.
solver : str or Solver
    The solver of the last fit, which begins at the solution that the search has found.
warm_start : bool
    Without effect, since the search finds a better start.
time_limit : float
    Seconds after which the best that was found so far is kept.
select : {"min", "1se"}
    The best strength, or the strongest penalty within one standard error of it.
path_ : Path
    The models along all strengths and their scores on unseen rows.
trace_ : Trace or list of Trace
    Objective, gap and seconds of every step of the last fit.
solver_ : str
    The solver of the last fit.
n_iter_ : int
    Number of its steps.
"""
)

# Shared by those whose `alpha`, or whose `C`, can be chosen.
WITH_ALPHA = """
alpha : float, "loo" or "cv"
    Strength α ≥ 0 of the penalty; "loo" chooses it by leave-one-out, "cv" by folds.
alpha_ : float
    The chosen strength, with alpha="loo" or alpha="cv".
path_ : Path
    The models along all strengths and their scores on unseen rows, with "loo" or "cv".
"""
WITH_C = """
C : float, "loo" or "cv"
    Weight C > 0 of the errors against the penalty; "loo" chooses it by leave-one-out, "cv" by
    folds, which is cheaper where features are many and sparse.
dual : bool or "auto"
    Accepted for scikit-learn's sake; see `solver`.
C_ : float
    The chosen strength, with C="loo" or C="cv".
path_ : Path
    The models along all strengths and their scores on unseen rows, with "loo" or "cv".
"""

# What is learned, of numbers and of classes.
OF_TARGETS = """
coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    Coefficients w.
intercept_ : float or ndarray of shape (n_targets,)
    Bias b.
dual_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    Dual point θ, which proves the certificate.
"""
OF_CLASSES = """
coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    Coefficients w; one row for two classes.
intercept_ : ndarray of shape (1,) or (n_classes,)
    Bias b.
classes_ : ndarray of shape (n_classes,)
    The classes.
dual_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
    Dual point θ, which proves the certificate.
"""

# What `fit` is given.
DATA = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training data; float32 stays float32, everything else becomes float64. Never written to.
y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    Target values.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""

# What predictions are made for.
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows to predict.
"""
