"""What a word is, and which words count, from the parameters of a classifier of texts."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer

from .bag_of_words import Choice


def choice_of(model: Any) -> Choice:
    """Which words are chosen, and how they are weighed."""
    is_bayes = isinstance(model.classifier, str) and model.classifier == "bayes"
    is_tfidf = model.weighting == "tfidf" or (model.weighting == "auto" and not is_bayes)
    if model.sublinear_tf and not is_tfidf:
        raise ValueError(
            'sublinear_tf=True needs tf-idf, but words are only counted; set weighting="tfidf", '
            "or sublinear_tf=False."
        )
    return Choice(
        model.min_df,
        model.max_df,
        model.max_features,
        is_tfidf,
        model.binary,
        model.sublinear_tf,
    )


def wording_of(model: Any) -> CountVectorizer:
    """What a word is.

    Warns, in scikit-learn's words, of parameters that the analyzer does not use, and of stop words
    that no text can have, such as those with capital letters where texts have none.
    """
    _check_sizes(model.ngram_range)
    wording = CountVectorizer(
        analyzer=model.analyzer,
        ngram_range=model.ngram_range,
        stop_words=model.stop_words,
        lowercase=model.lowercase,
        strip_accents=model.strip_accents,
        token_pattern=model.token_pattern,
    )
    wording._warn_for_unused_params()
    try:
        wording.build_analyzer()
    except re.error as reason:
        raise ValueError(
            f"token_pattern={model.token_pattern!r} is not a regular expression: {reason}."
        ) from None
    return wording


def _check_sizes(sizes: tuple) -> None:
    are_whole = all(isinstance(size, Integral) for size in sizes)
    if len(sizes) != 2 or not are_whole or not 1 <= sizes[0] <= sizes[1]:
        raise ValueError(
            f"Invalid value for ngram_range={sizes} lower boundary larger than the upper "
            "boundary, or not whole numbers ≥ 1; give (shortest, longest), such as (1, 2)."
        )
