"""Bayes: classes from the densities of their rows, and decisions from probabilities.

`_base` fits, predicts and judges; `gaussian`, `multinomial`, `complement`, `bernoulli` and
`categorical` are naive Bayes, `mixed` is that for tables of all kinds of columns, the two
discriminants have covariances. Called by users and by `text`. Imports what estimators share, and
the core.
"""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
    from .bernoulli import BernoulliNB
    from .categorical import CategoricalNB
    from .complement import ComplementNB
    from .decision import BayesDecision
    from .gaussian import GaussianNB
    from .linear_discriminant import LinearDiscriminantAnalysis
    from .mixed import NaiveBayes
    from .multinomial import MultinomialNB
    from .quadratic_discriminant import QuadraticDiscriminantAnalysis

__all__ = [
    "BayesDecision",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "NaiveBayes",
    "QuadraticDiscriminantAnalysis",
]

# Each name, and the file it lives in.
_HOMES = {
    "BayesDecision": "decision",
    "BernoulliNB": "bernoulli",
    "CategoricalNB": "categorical",
    "ComplementNB": "complement",
    "GaussianNB": "gaussian",
    "LinearDiscriminantAnalysis": "linear_discriminant",
    "MultinomialNB": "multinomial",
    "NaiveBayes": "mixed",
    "QuadraticDiscriminantAnalysis": "quadratic_discriminant",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
