"""Texts, end to end: a column of strings in, a classifier of their words out.

`reading` takes the texts, `wording` says what a word is, `bag_of_words` chooses and weighs words,
`classifier` is the estimator, `telling` says which words speak for which class, and `held_out` what
is known of unseen texts. Imports `word_counts`, and the linear and the Bayes models, whose rows the
counts become.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .classifier import TextClassifier

__getattr__, __dir__, __all__ = on_first_use(__name__)
