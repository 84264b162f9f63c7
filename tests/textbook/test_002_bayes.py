"""Naive Bayes of the lecture: smoothed priors and words, a film, and the density of numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from gapless import CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from gapless.data import load_builtin

DOCUMENTS = load_builtin("documents").frame
TEXTS, CLASSES = DOCUMENTS["text"].to_list(), DOCUMENTS["about"].to_list()
NEW = "Chinese Chinese Chinese Tokyo Japan"


def test_documents_with_smoothed_priors():
    wording = CountVectorizer()
    X = wording.fit_transform(TEXTS)
    model = MultinomialNB(smooth_prior=True).fit(X, CLASSES)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [2 / 3, 1 / 3])
    p = dict(zip(wording.get_feature_names_out(), np.exp(model.feature_log_prob_).T))
    np.testing.assert_allclose(p["chinese"], [3 / 7, 2 / 9])
    np.testing.assert_allclose(p["tokyo"], [1 / 14, 2 / 9])
    np.testing.assert_allclose(p["japan"], [1 / 14, 2 / 9])
    (joint,) = np.exp(model.predict_joint_log_proba(wording.transform([NEW])))
    assert [f"{score:.5f}" for score in joint] == ["0.00027", "0.00018"]
    assert model.predict(wording.transform([NEW])) == ["c"]


def test_the_same_from_a_table_of_texts():
    """The column is one of texts by its words; scikit-learn's own priors are 3/4 and 1/4."""
    table = pd.DataFrame({"text": TEXTS})
    model = NaiveBayes(smooth_prior=True, text_features=["text"]).fit(table, CLASSES)
    (joint,) = np.exp(model.predict_joint_log_proba(pd.DataFrame({"text": [NEW]})))
    assert [f"{score:.5f}" for score in joint] == ["0.00027", "0.00018"]
    plain = NaiveBayes(text_features=["text"]).fit(table, CLASSES)
    np.testing.assert_allclose(plain.class_prior_, [3 / 4, 1 / 4])


def test_likelihood_of_a_sentence():
    """I love this fun film: 5e-7 against 1e-9, from the parameters of the lecture."""
    words = [[0.1, 0.1, 0.01, 0.05, 0.1], [0.2, 0.001, 0.01, 0.005, 0.1]]
    model = MultinomialNB.from_probabilities(words, classes=["+", "−"])
    likelihood = np.exp(model.predict_joint_log_proba([[1] * 5]) - model.class_log_prior_)
    np.testing.assert_allclose(likelihood, [[5e-7, 1e-9]], rtol=1e-12)
    assert model.predict([[1] * 5]) == ["+"]


def test_smoothed_categories_by_hand():
    """(|D_c,x| + 1)/(|D_c| + N_i), and (|D_c| + 1)/(|D| + N) for the priors."""
    X = [[0, 2], [0, 0], [1, 1], [1, 1], [1, 0]]
    model = CategoricalNB(smooth_prior=True).fit(X, ["no", "no", "yes", "yes", "yes"])
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [3 / 7, 4 / 7])
    first, second = (np.exp(table) for table in model.feature_log_prob_)
    np.testing.assert_allclose(first, [[3 / 4, 1 / 4], [1 / 5, 4 / 5]])
    np.testing.assert_allclose(second, [[2 / 5, 1 / 5, 2 / 5], [2 / 6, 3 / 6, 1 / 6]])


def test_density_of_a_number_is_divided_by_its_standard_deviation():
    """1/(√(2π)·σ), where the lecture prints the root over σ as well."""
    x = np.array([[1.0], [3.0], [6.0], [10.0]])
    model = GaussianNB(var_smoothing=0.0).fit(x, [0, 0, 1, 1])
    joint = np.exp(model.predict_joint_log_proba([[2.5]]))[0]
    mean, sigma = np.array([2.0, 8.0]), np.array([1.0, 2.0])
    density = np.exp(-((2.5 - mean) ** 2) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)
    np.testing.assert_allclose(joint, 0.5 * density)


def test_products_of_many_small_numbers_do_not_vanish():
    """In log space: 10,000 words have a likelihood far below the smallest float."""
    model = MultinomialNB().fit([[3, 1], [1, 3]], ["a", "b"])
    p = model.predict_proba([[5001, 4999]])
    np.testing.assert_allclose(p[0, 1], 1 / (1 + 2.0**2))
    assert p[0].sum() == pytest.approx(1.0)
