"""TextClassifier: raw texts in, classes out, and the most telling words."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import sklearn.naive_bayes
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples
from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit, time_limit
from ..._ground.stored import (
    Declaration,
    FittedModel,
    Labels,
    Maybe,
    Nothing,
    Numbers,
    Places,
    Value,
)
from ..._ground.validation import check_given, read_labels, read_weights
from ..._ground.word_counts import USUAL_PATTERN, count_words, in_columns
from ...certificates import Certificate, certify_model
from ...unseen import (
    GIVEN,
    JUDGED,
    Calibration,
    Remembering,
    as_fitted,
    given_to_fit,
    leads,
    predict_set,
    sets_of,
    take_over,
)
from ..bayes import BernoulliNB, MultinomialNB
from ..linear import LinearSVC, LogisticRegression
from .bag_of_words import BagOfWords, WordRules, read_texts, rules_of, tokenizer_of
from .held_out import Answered, TextData, TextFit, fit

Array = np.ndarray

TEXTS = """
X : array-like of str, shape (n_samples,) or (n_samples, 1)
    Texts: a list, an array, a series, or a table of one column.
"""
CLASSIFIERS: dict[str, type] = {
    "bayes": MultinomialNB,
    "linear_svm": LinearSVC,
    "logistic": LogisticRegression,
}
FREQUENCY = [
    Interval(RealNotInt, 0, 1, closed="both"),
    Interval(Integral, 1, None, closed="left"),
]


def _classifier_has(method: str):
    """Whether the classifier has a method."""

    def has(self: Any) -> bool:
        return hasattr(vars(self).get("classifier_") or self._new_classifier(), method)

    return has


class TextClassifier(ClassifierMixin, Remembering, BaseEstimator):
    r"""Classifier for raw texts: words are counted, weighted and passed to a classifier.

    Parameters
    ----------
    classifier : {"bayes", "linear_svm", "logistic"} or estimator, default="bayes"
        What learns the classes from the words: `MultinomialNB`, `LinearSVC`, `LogisticRegression`,
        or any classifier that takes sparse rows.
    weighting : {"auto", "counts", "tfidf"}, default="auto"
        Whether rows hold counts n_w of words or n_w·idf_w, scaled to length 1, with idf_w =
        log((1 + n)/(1 + df_w)) + 1 and df_w the number of texts with the word. "auto" is counts for
        models of counts ("bayes", and instances of naive Bayes for counts), and tf-idf for others.
    analyzer : {"word", "char", "char_wb"} or callable, default="word"
        What is counted: words, characters, characters within words, or what a function of the text
        returns.
    ngram_range : tuple (shortest, longest), default=(1, 1)
        How many neighbouring words (or characters) are counted as one.
    min_df : int or float, default=1
        Words in fewer texts are left out: a number of texts, or a part of all.
    max_df : int or float, default=1.0
        Words in more texts are left out.
    max_features : int, default=None
        How many words are kept at most: the most frequent ones, and among equally frequent ones
        the first in alphabetical order.
    stop_words : {"english"}, list or None, default=None
        Words that are not counted.
    lowercase : bool, default=True
        Whether upper and lower case are treated as the same.
    strip_accents : {"ascii", "unicode"}, callable or None, default=None
        Whether characters with and without accents are treated as the same.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        Regular expression of a word.
    binary : bool, default=False
        Whether only the presence of a word counts, and not how often it occurs.
    sublinear_tf : bool, default=False
        Whether 1 + log n_w replaces n_w in tf-idf; an error if words are only counted.
    time_limit : float, default=None
        Seconds after which the best model found so far is kept.

    Attributes
    ----------
    classifier_ : estimator
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    vocabulary_ : dict
        The column of each word; the words are in order.
    idf_ : ndarray of shape (n_words,)
        The weights of the words, with tf-idf.
    certificate_ : Certificate
        How far the classifier can be from the best possible one for these rows.
    generalization_ : Generalization
        What the model will score on texts it has not seen; computed on first access.

    Notes
    -----
    The rows are those of scikit-learn's CountVectorizer and TfidfVectorizer with the same
    parameters. Words of the usual pattern are counted in the core, about 20 MB of text in a second
    on each core. Unknown words of new texts are ignored. A text of weight 2 is two texts, also
    where frequencies are counted.

    `generalization_` is exact leave-one-out for "bayes" with counts (a text is subtracted from all
    counts, and words that no other text has are forgotten); for others it is by refits, in which
    words are chosen and weighed again.

    References
    ----------
    Manning, Raghavan and Schütze (2008), Introduction to information retrieval, chapters 6 and 13.

    Examples
    --------
    >>> from gapless import TextClassifier
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao",
    ...          "Tokyo Japan Chinese"]
    >>> model = TextClassifier().fit(texts, ["c", "c", "c", "j"])
    >>> print(*model.predict(["Chinese Chinese Chinese Tokyo Japan"]))
    c
    >>> print(model.telling_words(1)["j"][0][0])
    japan
    """

    _guide = "text"
    _examples: ClassVar[Examples] = (Example("descriptions", {"classifier": "linear_svm"}),)

    _stored: ClassVar[Declaration] = {
        "classes_": Labels(),
        "vocabulary_": Places("words"),
        "classifier_": FittedModel("predict_proba", "words", "classes"),
        "idf_": Maybe(Numbers("words") | Nothing()),
        GIVEN: Maybe(Value(dict)),
        **JUDGED,
    }
    _parameter_constraints: ClassVar[dict] = {
        "classifier": [StrOptions(set(CLASSIFIERS)), HasMethods(["fit", "predict"])],
        "weighting": [StrOptions({"auto", "counts", "tfidf"})],
        "analyzer": [StrOptions({"word", "char", "char_wb"}), callable],
        "ngram_range": [tuple],
        "min_df": FREQUENCY,
        "max_df": FREQUENCY,
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "stop_words": [StrOptions({"english"}), list, None],
        "lowercase": ["boolean"],
        "strip_accents": [StrOptions({"ascii", "unicode"}), None, callable],
        "token_pattern": [str],
        "binary": ["boolean"],
        "sublinear_tf": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        classifier="bayes",
        *,
        weighting="auto",
        analyzer="word",
        ngram_range=(1, 1),
        min_df=1,
        max_df=1.0,
        max_features=None,
        stop_words=None,
        lowercase=True,
        strip_accents=None,
        token_pattern=USUAL_PATTERN,
        binary=False,
        sublinear_tf=False,
        time_limit=None,
    ):
        self.classifier = classifier
        self.weighting = weighting
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.stop_words = stop_words
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.token_pattern = token_pattern
        self.binary = binary
        self.sublinear_tf = sublinear_tf
        self.time_limit = time_limit

    # ---- fitting ---------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Count the words, choose and weigh them, and fit the classifier.

        Parameters
        ----------
        X : array-like of str, shape (n_samples,) or (n_samples, 1)
            Texts: a list, an array, a series, or a table of one column.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0. Weight 2 means the text twice, weight 0 means the text is not there.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best classifier found so far, if there is one,
            and raises KeyboardInterrupt; an error leaves the estimator as it was.
        """
        classifier, is_interrupted = self._new_classifier(), False
        try:
            with time_limit(self.time_limit):
                data, learned = self._learn_words(X, y, sample_weight)
                fit(classifier, self._bag(learned).rows(data.counts), data.y, data.weights)
        except TimeLimit:
            if self.time_limit is None:
                raise
            raise TimeLimit(
                f"nothing was learned within time_limit={self.time_limit:g} seconds; raise it."
            ) from None
        except KeyboardInterrupt:
            if not hasattr(classifier, "classes_"):
                raise
            is_interrupted = True
        learned |= {
            "classifier_": classifier,
            "classes_": classifier.classes_,
            "certificate_": getattr(classifier, "certificate_", None) or _no_bound(classifier),
            "_training": (data,),
            "_calibration": None,
            **given_to_fit(self, self._get_param_names()),
        }
        take_over(self, learned)
        if is_interrupted:
            raise KeyboardInterrupt
        return self

    def _learn_words(self, X, y, sample_weight) -> tuple[TextData, dict[str, Any]]:
        """Counts of the chosen words with labels and weights, and what is learned about words."""
        texts = read_texts(X)
        check_given(self, y)
        labels, weights = read_labels(y, texts), read_weights(sample_weight, texts)
        counts, words = count_words(texts, tokenizer_of(self))
        bag = BagOfWords.learned(counts, weights, self._rules())
        learned: dict[str, Any] = {
            "vocabulary_": {words[column]: k for k, column in enumerate(bag.columns)}
        }
        if bag.idf is not None:
            learned["idf_"] = bag.idf
        if len(bag.columns) < len(words):
            counts = counts[:, bag.columns]
        return TextData(counts, labels, weights), learned

    def _rules(self) -> WordRules:
        """Which words count, and how they are weighed."""
        return rules_of(self, _learns_counts(self.classifier))

    def _new_classifier(self) -> Any:
        if isinstance(self.classifier, str):
            return CLASSIFIERS[self.classifier]()
        return clone(self.classifier)

    # ---- predicting ------------------------------------------------------------------------------

    def _bag(self, learned: Mapping[str, Any]) -> BagOfWords:
        """The words of a fit."""
        return BagOfWords(
            self._rules(), np.arange(len(learned["vocabulary_"])), learned.get("idf_")
        )

    @property
    def _own_bag(self) -> BagOfWords:
        """The words of the fit."""
        return as_fitted(self)._bag(vars(self))

    def _counts(self, X) -> sp.csr_matrix:
        """How often the words of the fit occur in texts."""
        check_is_fitted(self)
        tokenizer = tokenizer_of(as_fitted(self))
        return in_columns(*count_words(read_texts(X), tokenizer), self.vocabulary_)

    def _rows(self, X) -> Any:
        """Texts as rows for the classifier."""
        counts = self._counts(X)
        return self._own_bag.rows(counts)

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        if not np.array_equal(self.classifier_.classes_, self.classes_):
            return "classifier_ has classes other than classes_"
        return None

    @described(TEXTS)
    def predict(self, X):
        """Predict classes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        rows = self._rows(X)
        return self.classifier_.predict(rows)

    @available_if(_classifier_has("predict_proba"))
    @described(TEXTS)
    def predict_proba(self, X):
        """Probabilities of the classes, where the classifier has them.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        rows = self._rows(X)
        return self.classifier_.predict_proba(rows)

    @available_if(_classifier_has("predict_log_proba"))
    @described(TEXTS)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes, where the classifier has them.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        rows = self._rows(X)
        return self.classifier_.predict_log_proba(rows)

    @available_if(_classifier_has("decision_function"))
    @described(TEXTS)
    def decision_function(self, X):
        """Scores of the classes, where the classifier has them.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As the classifier has them.
        """
        rows = self._rows(X)
        return self.classifier_.decision_function(rows)

    predict_set = predict_set

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        return sets_of(self, calibration, X, coverage, self._conformity)

    def _calibration_rows(self, X: Any) -> Design:
        """New texts for the models of a calibration."""
        return Design(self._counts(X))

    def _conformity(self, scores: Array) -> Array:
        """How well each class fits texts with these answers: by probability, or by its lead."""
        if hasattr(self, "predict_proba"):
            return np.exp(np.minimum(scores, 0.0))
        return scores if scores.shape[1] < 2 else leads(scores)

    # ---- words -----------------------------------------------------------------------------------

    def telling_words(self, n=10):
        """The words that are the strongest evidence for each class.

        Parameters
        ----------
        n : int, default=10
            How many of each class.

        Returns
        -------
        words : dict
            For each class, pairs (word, weight), the largest first: log-odds against the mean of
            the other classes for Bayes, coefficients for a linear model.
        """
        check_is_fitted(self)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n={n!r} must be a whole number of words, 1 or more.")
        weights = weights_of_words(self.classifier_)
        words = list(self.vocabulary_)
        order = np.argsort(-weights, axis=1, kind="stable")[:, :n]
        return {
            label: [(words[k], float(own[k])) for k in first]
            for label, own, first in zip(self.classes_.tolist(), weights, order)
        }

    # ---- both gaps -------------------------------------------------------------------------------

    def _reread(self, X, y, sample_weight) -> TextData:
        """The data of the fit, read again; an error if their words differ."""
        check_is_fitted(self)
        data, learned = as_fitted(self)._learn_words(X, y, sample_weight)
        known = {name: vars(self).get(name) for name in ("vocabulary_", "idf_")}
        is_same = learned["vocabulary_"] == known["vocabulary_"] and np.allclose(
            learned.get("idf_", 0.0), 0.0 if known["idf_"] is None else known["idf_"]
        )
        if not is_same:
            raise ValueError(
                f"the model does not match these data: {type(self).__name__} learned other words, "
                "or other weights of words; the texts, the weights or the model have changed "
                "since. Fit again, or pass the training data."
            )
        return data

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate of the classifier, recomputed from the texts."""
        data = self._reread(X, y, sample_weight)
        if not hasattr(self.classifier_, "certificate_"):
            return _no_bound(self.classifier_)
        rows, is_there = self._own_bag.rows(data.counts), data.weights > 0
        return certify_model(
            self.classifier_, rows[is_there], data.y[is_there], data.weights[is_there]
        )

    def _fitted(self, data: TextData) -> TextFit:
        bag = self._own_bag
        return TextFit(self.classifier_, bag, data, bag.rules, self.classes_)

    def _standing_in(self, z: Array) -> Any:
        """A copy of the model that returns the answers z[i] for row i, requested by X = [[i]]."""
        twin: Any = copy.copy(self)
        twin.classifier_ = Answered(z, self.classes_, hasattr(self, "predict_proba"))
        twin._rows = lambda X: X
        return twin

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def _formula(self) -> None:
        """None: the classifier inside minimises something, on the words."""


def _learns_counts(classifier: Any) -> bool:
    """Whether a classifier is a model of counts, such as naive Bayes, ours or scikit-learn's."""
    if isinstance(classifier, str):
        return classifier == "bayes"
    if isinstance(classifier, BernoulliNB | sklearn.naive_bayes.BernoulliNB):
        return True
    tags = classifier.__sklearn_tags__() if hasattr(classifier, "__sklearn_tags__") else None
    return tags is not None and tags.input_tags.positive_only


def _no_bound(classifier: Any) -> Certificate:
    verdict = f"no bound: {type(classifier).__name__} does not declare its objective."
    return Certificate("none", verdict, float("nan"), -np.inf, np.inf, np.inf, 0.0, 1.0)


def weights_of_words(classifier: Any) -> Array:
    """How much evidence each word is for each class, (classes, words)."""
    if hasattr(classifier, "feature_log_prob_"):
        log_p = classifier.feature_log_prob_
        others = [np.delete(log_p, k, axis=0) for k in range(len(log_p))] if len(log_p) > 1 else []
        mean = [logsumexp(rest, axis=0) - np.log(len(rest)) for rest in others]
        return log_p - np.array(mean) if mean else log_p
    coef = getattr(classifier, "coef_", None)
    if coef is None:
        raise AttributeError(
            f"{type(classifier).__name__} has no weight for each word; telling_words needs a "
            "Bayes or linear classifier."
        )
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else coef)
    return np.vstack([-coef, coef]) if len(coef) == 1 and len(classifier.classes_) == 2 else coef
