"""Bayes: classes from the densities of their rows, and decisions from probabilities.

`_base` fits, predicts and judges; `gaussian` (on `moments`), and on `_counts` `multinomial`,
`bernoulli` and `categorical` are naive Bayes; `mixed` is that for tables of all kinds of columns
(`mixed_columns`, learned as `parts`); the two discriminants have covariances. `held_out` leaves
rows out and chooses pseudo-counts, `decision` weighs costs.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .bernoulli import BernoulliNB
    from .categorical import CategoricalNB
    from .counting import Priors
    from .decision import BayesDecision
    from .gaussian import GaussianNB
    from .linear_discriminant import LinearDiscriminantAnalysis
    from .mixed import NaiveBayes
    from .multinomial import ComplementNB, MultinomialNB
    from .parts import Words
    from .quadratic_discriminant import QuadraticDiscriminantAnalysis

__getattr__, __dir__, __all__ = on_first_use(__name__)
