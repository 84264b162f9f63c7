"""Texts, end to end: a column of strings in, a classifier of their words out.

`reading` takes the texts, `wording` says what a word is, `bag_of_words` chooses and weighs words,
`classifier` is the estimator, `telling` says which words speak for which class, and `held_out` what
is known of unseen texts. Imports `word_counts`, and the linear and the Bayes models, whose rows the
counts become.
"""

from .classifier import TextClassifier

__all__ = ["TextClassifier"]
