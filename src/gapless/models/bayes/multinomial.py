"""Naive Bayes for counts, such as those of words: multinomial, and by complements."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Numbers
from ..._ground.validation import read_labels
from ...certificates import Certificate
from ._base import LEARNED, ROWS
from ._counts import COUNTED, CountBayes, check_not_negative
from .counting import (
    Entries,
    Priors,
    left_over,
    log_costs,
    log_positive,
    log_ratio,
    products,
)
from .held_out import ACCURACY

Array = np.ndarray


@described(COUNTED, LEARNED, FEATURES)
class MultinomialNB(CountBayes):
    """Naive Bayes for counts: every word is drawn from the distribution of its class.

    p(x, y = c) ∝ π_c Πⱼ θ_cj^xⱼ  with  θ_cj = (N_cj + α)/(Σⱼ N_cj + αd),  where N_cj is how often
    feature j was counted in class c. These maximise the likelihood with α of each feature added.

    Attributes
    ----------
    feature_count_ : ndarray of shape (n_classes, n_features)
        The counts N.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Logarithms of θ.
    coef_, intercept_ : ndarray
        The model as a linear classifier: log θ and log π of each class; for two classes the
        difference of both, of shape (1, n_features).

    Notes
    -----
    One pass over the entries of X to fit, one to predict, and a few to leave every row out. X may
    be sparse, and any numbers ≥ 0, or a table in parts (`gapless.in_parts`). `TextClassifier` takes
    raw texts.

    References
    ----------
    McCallum and Nigam (1998), A comparison of event models for naive Bayes text classification,
    AAAI-98 workshop on learning for text categorization.

    Examples
    --------
    >>> from gapless import MultinomialNB
    >>> X = [[2, 1, 0], [2, 0, 0], [1, 0, 0], [1, 0, 2]]
    >>> model = MultinomialNB(smooth_prior=True).fit(X, ["c", "c", "c", "j"])
    >>> print(model.predict([[3, 0, 2]]), model.predict_proba([[3, 0, 2]]).round(2))
    ['j'] [[0.44 0.56]]
    """

    _examples: ClassVar[Examples] = (Example("digits"),)

    _stored: ClassVar[Declaration] = {
        **CountBayes._stored,
        "feature_count_": Numbers("classes", "features", low=0),
    }
    _fits_in_parts = True
    _is_positive = True
    # Of the entries of a sparse X.
    _takes_any_order = True

    def __init__(
        self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, smooth_prior=False
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.smooth_prior = smooth_prior

    def _smooth(self, counts, alpha):
        log = np.empty(counts["feature_count_"].shape)
        # Class by class, which stays in the cache.
        for count, out in zip(counts["feature_count_"], log):
            np.add(count, alpha, out=out)
            out[:] = log_ratio(out, out.sum(), overwrite=True)
        return {"feature_log_prob_": log}

    def _joint(self, X):
        return times(X, self.feature_log_prob_) + self.class_log_prior_

    def _linear(self):
        return self.feature_log_prob_, self.class_log_prior_

    @classmethod
    def from_probabilities(cls, probabilities, *, classes=None, class_prior=None):
        """A model of given probabilities, without any training rows.

        Parameters
        ----------
        probabilities : array-like of shape (n_classes, n_features)
            P(w | c), the chance that the next word of a text of class c is w. A row may sum to less
            than 1, if only some of the words are listed.
        classes : array-like of shape (n_classes,), default=None
            The classes, one for each row; None numbers them 0, 1, …
        class_prior : array-like of shape (n_classes,), default=None
            P(c); None makes all classes equally likely.

        Returns
        -------
        model : MultinomialNB
            Fitted, but without counts: `partial_fit` replaces the given probabilities by those of
            its rows.

        Examples
        --------
        >>> from gapless import MultinomialNB
        >>> p = [[0.1, 0.1, 0.01, 0.05, 0.1], [0.2, 0.001, 0.01, 0.005, 0.1]]
        >>> model = MultinomialNB.from_probabilities(p, classes=["+", "-"])
        >>> print(model.predict([[1, 1, 1, 1, 1]]))  # I love this fun film
        ['+']
        """
        p = _given_probabilities(probabilities)
        labels = np.arange(len(p)) if classes is None else read_labels(classes, p)
        known, order = np.unique(labels, return_index=True)
        if len(known) < len(p):
            raise ValueError(f"classes must differ from each other, got {labels.tolist()}.")
        given = np.full(len(p), 1 / len(p)) if class_prior is None else class_prior
        prior = Priors.counted(given, len(p), is_smoothed=False).shares(np.empty(0))[order]
        model = cls(fit_prior=False, class_prior=None if class_prior is None else prior)
        nan = float("nan")
        vars(model).update(
            classes_=known,
            n_features_in_=p.shape[1],
            class_count_=np.zeros(len(p)),
            class_log_prior_=log_positive(prior),
            feature_count_=np.zeros(p.shape),
            feature_log_prob_=log_positive(p[order]),
            certificate_=Certificate("none", GIVEN, nan, -np.inf, np.inf, np.inf, 0.0, 1.0),
        )
        return model

    @described(ROWS)
    def log_probability_mass(self, X):
        """Logarithms of the multinomial probabilities of rows, given each class.

        log p(x | c) = log n! − Σⱼ log xⱼ! + Σⱼ xⱼ log θ_cj  with n = Σⱼ xⱼ: the chance of these
        counts in any order, whereas `predict_joint_log_proba` is about one order of the words.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        X = self._read_rows(X)
        check_not_negative(X, self)
        entries = Entries.of(X)
        n = X.shape[0]
        orders = gammaln(entries.sums(entries.value, n) + 1)
        orders -= entries.sums(gammaln(entries.value + 1), n)
        return times(X, self.feature_log_prob_) + orders[:, None]

    def _without_each(self, X, own, data):
        raised = self.feature_count_ + self._alpha()
        likelihood = times(X, self.feature_log_prob_)
        # Rows and the classes whose counts they are part of.
        row, of = np.nonzero(own)
        n, entries = len(row), Entries.of(X[row])
        w = own[row, of]
        left = left_over(raised[of[entries.row], entries.column], w[entries.row] * entries.value)
        length = entries.sums(entries.value, n)
        total = left_over(raised.sum(axis=1)[of], w * length)
        with np.errstate(invalid="ignore"):
            alone = entries.sums(entries.value * log_positive(left), n)
            alone -= np.where(length > 0, length * log_positive(total), 0.0)
        likelihood[row, of] = np.where(np.isnan(alone), -np.inf, alone)
        return likelihood + self._priors(len(own[0])).log_without(self.class_count_, own)

    def _feature_costs(self, learned):
        count = learned["feature_count_"]
        alpha = self._alpha(count.shape[1])
        primal = dual = 0.0
        is_same = self.feature_log_prob_ is learned["feature_log_prob_"]
        for k in range(len(count)):
            best = learned["feature_log_prob_"][k]
            stored = best if is_same else self.feature_log_prob_[k]
            more, least = log_costs(count[k] + alpha, stored, best)
            primal, dual = primal + more, dual + least
        return primal, dual, float(np.sum(np.broadcast_to(alpha, count.shape)))


GIVEN = "no bound: the probabilities were given, and not learned from rows."


def _given_probabilities(values: Any) -> Array:
    """Probabilities of words in each class, (K, d), or an error that says where they are wrong."""
    p = np.asarray(values, dtype=float)
    if p.ndim != 2 or 0 in p.shape:
        raise ValueError(
            f"probabilities must have a row for each class and a column for each word, got shape "
            f"{p.shape}."
        )
    bad = np.argwhere(~((p >= 0) & (p <= 1)))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"probabilities must be between 0 and 1, but row {row}, column {column} has "
            f"{p[row, column]:g}."
        )
    row = int(np.argmax(p.sum(axis=1)))
    if p[row].sum() > 1 + 1e-6:
        raise ValueError(
            f"row {row} of probabilities sums to {p[row].sum():g}; the words of a class have at "
            "most 1 together."
        )
    return p


def times(X: Any, log_prob: Array) -> Array:
    """X·log_probᵀ in float64, where 0·(−∞) is 0."""
    with np.errstate(invalid="ignore"):
        z = products(X, log_prob)
    if np.all(np.isfinite(z)):
        return z
    is_possible = np.isfinite(log_prob)
    z = products(X, np.where(is_possible, log_prob, 0.0))
    z[products(X, (~is_possible).astype(np.float64)) > 0] = -np.inf
    return z


@described(COUNTED, LEARNED, FEATURES)
class ComplementNB(CountBayes):
    """Naive Bayes for counts that scores how badly a row fits all other classes.

    The score of class c is  −Σⱼ xⱼ log θ_cj  with  θ_cj = (M_cj + α)/(Σⱼ M_cj + αd),  where M_cj is
    how often feature j was counted in all classes but c. It does better than `MultinomialNB` where
    some classes have far fewer rows than others. The scores have no priors.

    Parameters
    ----------
    fit_prior : bool, default=True
        Whether `class_log_prior_` is estimated; it is used where there is only one class.
    class_prior : array-like of shape (n_classes,), default=None
        Fixed priors, for the same use.
    norm : bool, default=False
        Whether the weights of each class are divided by their sum (step 7 of the paper's table 4).
    smooth_prior : bool, default=False
        Whether 1 is added to the count of each class for `class_log_prior_`.

    Attributes
    ----------
    feature_all_ : ndarray of shape (n_features,)
        How often each feature was counted in all classes.
    feature_count_ : ndarray of shape (n_classes, n_features)
        How often each feature was counted in each class.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weights of the classes, −log θ, or with `norm` these divided by their sums.
    coef_, intercept_ : ndarray
        The model as a linear classifier: these weights, without biases; for two classes their
        difference, of shape (1, n_features).

    Notes
    -----
    Costs as much as `MultinomialNB`. The scores are not log probabilities, so the probabilities
    made from them are not to be trusted; they serve `predict`.

    References
    ----------
    Rennie, Shih, Teevan and Karger (2003), Tackling the poor assumptions of naive Bayes text
    classifiers, ICML.

    Examples
    --------
    >>> from gapless import ComplementNB
    >>> X = [[2, 1, 0], [2, 0, 0], [1, 0, 0], [1, 0, 2]]
    >>> print(ComplementNB().fit(X, ["c", "c", "c", "j"]).predict([[3, 0, 2], [3, 0, 0]]))
    ['j' 'c']
    """

    _examples: ClassVar[Examples] = (Example("digits"),)

    _stored: ClassVar[Declaration] = {
        **CountBayes._stored,
        "feature_count_": Numbers("classes", "features", low=0),
        "feature_all_": Numbers("features", low=0),
    }
    _fits_in_parts = True
    _is_positive = True
    _takes_any_order = True
    # Its scores are not log probabilities.
    _tuned_by = ACCURACY
    _parameter_constraints: ClassVar[dict] = {
        **CountBayes._parameter_constraints,
        "norm": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        force_alpha=True,
        fit_prior=True,
        class_prior=None,
        norm=False,
        smooth_prior=False,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.smooth_prior = smooth_prior

    def _smooth(self, counts, alpha):
        everywhere = counts["feature_count_"].sum(axis=0)
        raised = everywhere - counts["feature_count_"] + alpha
        log = log_ratio(raised, raised.sum(axis=1, keepdims=True))
        return {"feature_all_": everywhere, "feature_log_prob_": self._weights(log)}

    def _weights(self, log: Array) -> Array:
        return log / log.sum(axis=1, keepdims=True) if self.norm else -log

    def _linear(self):
        return self.feature_log_prob_, np.zeros(len(self.classes_))

    def _joint(self, X):
        z = times(X, self.feature_log_prob_)
        # −log 0 means that no other class has the word: nothing can be more telling.
        z[np.isneginf(z)] = np.inf if not self.norm else -np.inf
        return z + self.class_log_prior_ if len(self.classes_) == 1 else z

    def _without_each(self, X, own, data):
        """A row is counted by the complements of all classes except its own."""
        n, d = X.shape
        entries = Entries.of(X)
        raised = self.feature_all_ - self.feature_count_ + self._alpha()
        length = entries.sums(entries.value, n)
        z = self._joint(X)
        for k in range(len(self.classes_)):
            w = own.sum(axis=1) - own[:, k]
            before = raised[k][entries.column]
            log = log_positive(left_over(before, w[entries.row] * entries.value))
            total = log_positive(left_over(np.full(n, raised[k].sum()), w * length))
            score = length * total - entries.sums(entries.value * log, n)
            if self.norm:
                change = entries.sums(log - log_positive(before), n)
                score /= d * total - log_positive(raised[k]).sum() - change
            z[:, k] = np.where(w > 0, score, z[:, k])
        prior = self._priors(len(self.classes_)).log_without(self.class_count_, own)
        return np.where((own > 0) & np.isneginf(prior), -np.inf, z)

    def _feature_costs(self, learned):
        alpha = self._alpha(len(learned["feature_all_"]))
        raised = learned["feature_all_"] - learned["feature_count_"] + alpha
        pseudo = float(np.sum(np.broadcast_to(alpha, raised.shape)))
        log = log_ratio(raised, raised.sum(axis=1, keepdims=True))
        if not self.norm:
            return *log_costs(raised, -self.feature_log_prob_, log), pseudo
        _, dual = log_costs(raised, log, log)
        # The divisor cannot be found from the result, so the distance of that is measured.
        apart = np.square(self.feature_log_prob_ - self._weights(log))
        return dual + float(raised.sum() * apart.sum()), dual, pseudo

    def _formula(self) -> None:
        """None: its weights come from the counts of the other classes."""
