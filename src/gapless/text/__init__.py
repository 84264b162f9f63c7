"""Texts, end to end: a column of strings in, a classifier of their words out.

`reading` takes the texts, `counting` their words (in the core), `bag_of_words` chooses and weighs
them, `classifier` is the estimator and `held_out` what it says of unseen texts. Imports the linear
and the Bayes models, whose rows the counts become.
"""

from .classifier import TextClassifier

__all__ = ["TextClassifier"]
