"""Texts, end to end: a column of strings in, a classifier of their words out.

`bag_of_words` reads texts, defines, chooses and weights words; `classifier` is the estimator,
around a linear or a Bayes model; `held_out` estimates scores on unseen texts. `data` prepares
columns of texts with the same words and weights.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .bag_of_words import BagOfWords, WordRules
    from .classifier import TextClassifier

__getattr__, __dir__, __all__ = on_first_use(__name__)
