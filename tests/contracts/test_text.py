"""Texts: counted as scikit-learn counts them, and every promise of an estimator, on strings."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.exceptions
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.svm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted, validate_data

import gapless
from gapless import TextClassifier
from gapless._ground import interrupt
from gapless._ground.threads import threads
from gapless._ground.word_counts import count_words
from gapless.models.bayes import MultinomialNB
from gapless.unseen.held_out import by_refits

# Accents in one character and in two, capitals that grow in lower case, digits and letters of
# other scripts, symbols, a half of a surrogate pair, and texts without any word.
ODD = [
    "Straße strasse STRASSE naïve naïve café cafe",
    "İstanbul ISTANBUL ıstanbul",
    "東京 日本 の 中国 日本日本",
    "",
    "a b c 1 2 3 . ! ?",
    "x_y __ _a 12 3.14 1e5 ²³ ٣٤ ५६ Ⅷ ½",
    "e-mail it's rock'n'roll l'été 100% #tag @you",
    "😀😀 ok😀ok 𝒜𝒷 \ud800\ud800 a\u200db\u200dcd",
    "tab\tnew\nline\r\nend\x00nul word",
    "the and of THE And oF café",
    "καλημέρα κόσμε ΚΌΣΜΕ привет мир МИР",
    "\n\n",
    "again again again again twice twice twice",
]
SETTINGS = [
    {},
    {"lowercase": False},
    {"ngram_range": (1, 3)},
    {"ngram_range": (2, 2), "stop_words": ["café", "日本"]},
    {"stop_words": "english"},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "ngram_range": (1, 2)},
    {"min_df": 2},
    {"min_df": 0.1, "max_df": 0.3},
    {"max_df": 1},
    {"max_features": 2},
    {"binary": True},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (3, 3)},
    {"analyzer": str.split},
]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=str)

GOOD = ["fine", "bright", "clear", "warm", "happy", "lovely", "sunny", "calm", "gentle", "fresh"]
BAD = ["dark", "cold", "wet", "grim", "sad", "stormy", "harsh", "bleak", "muddy", "loud"]
PLAIN = ["the", "day", "was", "long", "and", "we", "walked", "home", "by", "rail", "or", "bus"]


def make_texts(n=60, classes=2, seed=0):
    """Texts of words that two or three classes use differently."""
    rng = np.random.default_rng(seed)
    own = [GOOD, BAD, GOOD[::2] + BAD[1::2]]
    y = rng.integers(classes, size=n)
    texts = []
    for k in y:
        words = [*rng.choice(own[k], rng.integers(1, 4)), *rng.choice(PLAIN, rng.integers(0, 5))]
        if rng.random() < 0.4:
            words.append(f"only{rng.integers(100)}")
        texts.append(" ".join(rng.permutation(words)))
    return texts, np.array(["good", "poor", "mixed"])[y]


FORMS = [
    {},
    {"min_df": 2, "ngram_range": (1, 2)},
    {"weighting": "tfidf", "sublinear_tf": True},
    {"classifier": "linear_svm"},
    {"classifier": "linear_svm", "weighting": "counts", "min_df": 0.05},
    {"classifier": "logistic", "max_features": 30},
    {"classifier": MultinomialNB(alpha=0.2, smooth_prior=True), "weighting": "counts"},
    {"classifier": gapless.RidgeClassifier()},
    {"classifier": sklearn.linear_model.LogisticRegression(tol=1e-10, max_iter=1000)},
]
every_form = pytest.mark.parametrize("form", FORMS, ids=str)


def held_out(model, texts, y, weights=None):
    """Answers for texts by models that were fitted without them."""
    fitted = model._fitted_to(texts, y, weights)
    return by_refits(fitted, fitted.units, "").z


def answers(model, texts):
    name = next(k for k in ("predict_log_proba", "decision_function") if hasattr(model, k))
    return getattr(model, name)(texts)


# ---- the same rows as scikit-learn's -------------------------------------------------------------


@every_setting
def test_counts_are_those_of_scikit_learn(settings):
    theirs = CountVectorizer(**settings)
    expected = theirs.fit_transform(ODD)
    model = TextClassifier(weighting="counts", **settings).fit(ODD, np.arange(len(ODD)) % 2)
    assert list(model.vocabulary_) == theirs.get_feature_names_out().tolist()
    assert list(model.vocabulary_.values()) == list(range(len(model.vocabulary_)))
    np.testing.assert_array_equal(model._rows(ODD).toarray(), expected.toarray())
    new = ["日本 café unknown the the", "", "İstanbul straße ok😀ok"]
    np.testing.assert_array_equal(model._rows(new).toarray(), theirs.transform(new).toarray())


@every_setting
@pytest.mark.parametrize("sublinear", [False, True])
def test_tfidf_is_that_of_scikit_learn(settings, sublinear):
    theirs = TfidfVectorizer(sublinear_tf=sublinear, **settings)
    expected = theirs.fit_transform(ODD).toarray()
    model = TextClassifier(weighting="tfidf", sublinear_tf=sublinear, **settings)
    model.fit(ODD, np.arange(len(ODD)) % 2)
    np.testing.assert_allclose(model.idf_, theirs.idf_, rtol=1e-14)
    np.testing.assert_allclose(model._rows(ODD).toarray(), expected, rtol=1e-13)


def test_every_character_of_unicode_is_read_as_scikit_learn_reads_it():
    characters = map(chr, range(0x110000))
    text = " ".join(c + "a" for c in characters)
    vectorizer = CountVectorizer(lowercase=False)
    counts, words = count_words([text], vectorizer)
    expected = vectorizer.fit_transform([text])
    assert words == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(counts.toarray(), expected.toarray())


def test_random_texts_of_all_lengths(rng):
    letters = np.array(list("abAB _1é東😀 \t.-"))
    sizes = rng.integers(0, 30, 300)
    texts = ["".join(rng.choice(letters, size)) for size in sizes]
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    counts, words = count_words(texts, vectorizer)
    expected = vectorizer.fit_transform(texts)
    assert words == vectorizer.get_feature_names_out().tolist()
    assert abs(counts - expected).max() == 0
    assert counts.has_canonical_format and counts.dtype == np.float64


def test_same_bits_for_any_number_of_threads(rng):
    """Texts of several megabytes are counted in parts."""
    words = np.array([f"word{k}" for k in range(5000)])
    texts = [" ".join(rng.choice(words, 2000)) for _ in range(150)]
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(count_words(texts, CountVectorizer()))
    (one, first), (other, second) = found
    assert first == second
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# ---- an estimator like others --------------------------------------------------------------------


def test_it_is_public():
    assert gapless.TextClassifier is TextClassifier


def test_scikit_learn_knows_that_it_takes_strings():
    tags = TextClassifier().__sklearn_tags__()
    assert tags.input_tags.string and not tags.input_tags.two_d_array
    assert tags.estimator_type == "classifier" and tags.target_tags.required


# The checks of scikit-learn's that need no numbers.
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
]


@pytest.mark.parametrize("check", CHECKS)
def test_checks_of_scikit_learn_without_data(check):
    getattr(estimator_checks, check)("TextClassifier", TextClassifier())


class Spelled(ClassifierMixin, BaseEstimator):
    """Rows of numbers as texts, so that all of scikit-learn's checks run on a text classifier.

    A number is spelled by the steps it is above: 0.3 in column 2 is "c2over0 c2over1 …".
    """

    def __init__(self, classifier="linear_svm", weighting="counts"):
        self.classifier = classifier
        self.weighting = weighting

    def _texts(self, X):
        steps = np.linspace(-2, 2, 17)
        return [
            "start " + " ".join(f"c{j}over{k}" for j, k in np.argwhere(row[:, None] > steps))
            for row in X
        ]

    def fit(self, X, y, sample_weight=None):
        X = validate_data(self, X)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        model = TextClassifier(self.classifier, weighting=self.weighting)
        self.model_ = model.fit(self._texts(X), y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.model_.predict(self._texts(validate_data(self, X, reset=False)))

    def decision_function(self, X):
        check_is_fitted(self)
        return self.model_.decision_function(self._texts(validate_data(self, X, reset=False)))


def test_check_estimator_passes_on_rows_that_are_spelled():
    results = estimator_checks.check_estimator(Spelled(), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    passed = [r["check_name"] for r in results if r["status"] == "passed"]
    assert failed == {}
    assert len(passed) > 40
    assert any("sample_weight_equivalence" in name for name in passed)


@every_form
def test_fit_keeps_parameters_and_texts_and_can_be_repeated(form):
    texts, y = make_texts()
    given, model = list(texts), TextClassifier(**form)
    before = {name: repr(value) for name, value in model.get_params().items()}
    assert model.fit(texts, y) is model
    first = answers(model, texts)
    assert texts == given
    assert {name: repr(value) for name, value in model.get_params().items()} == before
    np.testing.assert_array_equal(answers(model.fit(texts, y), texts), first)
    np.testing.assert_array_equal(answers(clone(model).fit(texts, y), texts), first)


@pytest.fixture(scope="module")
def words_of_a_fit():
    """Texts, classes, and a model's answers for them."""
    texts = ["Cold rain", "cold Cold wind", "warm sun", "Sun and warm wind"] * 3
    y = [0, 0, 1, 1] * 3
    model = TextClassifier("logistic").fit(texts, y)
    return texts, y, model.decision_function(texts), model.generalization_, model.certificate_


@pytest.mark.parametrize(
    "later",
    [
        {"lowercase": False},
        {"ngram_range": (2, 2)},
        {"analyzer": "char"},
        {"weighting": "counts"},
        {"classifier": "bayes"},
        {"binary": True, "sublinear_tf": True, "min_df": 2},
    ],
)
@pytest.mark.usefixtures("no_verdict")
def test_parameters_of_words_are_those_of_the_fit(later, words_of_a_fit, tmp_path):
    texts, y, before, generalization, certificate = words_of_a_fit
    changed = TextClassifier("logistic").fit(texts, y).set_params(**later)
    loaded = gapless.load(gapless.save(changed, tmp_path / "model"))
    for other in (changed, pickle.loads(pickle.dumps(changed)), loaded):
        np.testing.assert_array_equal(other.decision_function(texts), before)
    assert changed.generalization_.unseen == generalization.unseen
    assert gapless.generalize(loaded, texts, y).unseen == generalization.unseen
    assert gapless.certify(loaded, texts, y).kind == certificate.kind


@every_form
def test_a_pickled_copy_predicts_the_same_and_has_no_texts(form):
    texts, y = make_texts()
    model = TextClassifier(**form).fit(texts, y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(other, texts), answers(model, texts))
    assert "_training" not in vars(other)
    with pytest.raises(AttributeError, match=r"call gapless\.generalize"):
        _ = other.generalization_
    np.testing.assert_array_equal(held_out(other, texts, y), held_out(model, texts, y))


def test_every_kind_of_column_is_read():
    texts, y = make_texts()
    expected = answers(TextClassifier().fit(texts, y), texts)
    array = np.array(texts)
    columns = [
        tuple(texts),
        array,
        array.astype(object),
        array[:, None],
        pd.Series(texts, index=range(5, 65)),
        pd.Series(texts, dtype="string"),
        pd.Series(texts, dtype="category"),
        pd.DataFrame({"text": texts}),
        pl.Series(texts),
        pl.DataFrame({"text": texts}),
        (text for text in texts),
    ]
    for column in columns:
        model = TextClassifier().fit(column, y)
        np.testing.assert_array_equal(answers(model, texts), expected)
        if not hasattr(column, "__next__"):
            np.testing.assert_array_equal(answers(model, column), expected)


@every_form
def test_weight_2_is_the_text_twice_and_weight_0_no_text(form):
    texts, y = make_texts()
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    model = TextClassifier(**form).fit(texts, y, weights)
    twin = TextClassifier(**form).fit([texts[i] for i in repeated], y[repeated])
    assert model.vocabulary_ == twin.vocabulary_
    np.testing.assert_allclose(answers(model, texts), answers(twin, texts), rtol=1e-5, atol=1e-7)
    z = held_out(model, texts, y, weights)[repeated]
    expected = held_out(twin, [texts[i] for i in repeated], y[repeated])
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)


@every_form
def test_the_order_of_texts_does_not_matter(form):
    texts, y = make_texts(classes=3)
    order = np.random.default_rng(2).permutation(len(y))
    model = TextClassifier(**form).fit(texts, y)
    other = TextClassifier(**form).fit([texts[i] for i in order], y[order])
    assert model.vocabulary_ == other.vocabulary_
    np.testing.assert_allclose(answers(model, texts), answers(other, texts), rtol=1e-5, atol=1e-7)
    z = held_out(other, [texts[i] for i in order], y[order])
    np.testing.assert_allclose(z, held_out(model, texts, y)[order], rtol=1e-4, atol=1e-5)


def test_weights_that_are_parts_of_a_text_lose_no_words():
    texts, y = make_texts()
    model = TextClassifier().fit(texts, y, np.full(len(y), 1 / len(y)))
    assert model.vocabulary_ == TextClassifier().fit(texts, y).vocabulary_


def test_parameters_of_the_classifier_can_be_searched():
    model = TextClassifier(gapless.LinearSVC()).set_params(classifier__C=0.5)
    assert model.classifier.C == 0.5


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X, message",
    [
        ("a single text", r"single text.*pass \[text\]"),
        (
            ["good", None, "poor"],
            'None in row 1, which is not text; fill missing texts, e.g. with ""',
        ),
        (["good", "so", float("nan")], "nan in row 2"),
        (pd.Series(["good", pd.NA, "poor"], dtype="string"), "<NA> in row 1"),
        (["good", 3.5, "poor"], "3.5 in row 1, which is not text; give strings"),
        (["good", b"bytes", "poor"], "row 1, which is not text; decode it"),
        ([["good"], ["so"], ["poor"]], "row 0, which is not text; give one string for each row"),
        (np.array([["a", "b"]] * 3), r"shape \(3, 2\).*select one column"),
        (np.zeros((3, 1)), "0.0 in row 0, which is not text"),
        (7, "X is a int, but texts are needed"),
        ({"good", "so", "poor"}, "X is a set, but texts are needed"),
        ({"good": 0, "so": 1, "poor": 2}, "X is a dict, but texts are needed"),
        ([], r"0 sample\(s\)"),
    ],
)
def test_errors_name_the_row_and_the_cure(X, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier().fit(X, ["g", "g", "p"])
    model = TextClassifier().fit(["good", "so", "poor"], ["g", "g", "p"])
    with pytest.raises(ValueError, match=message):
        model.predict(X)


@pytest.mark.parametrize(
    "texts, parameters, message",
    [
        (["a", "b", "c"], {}, "empty vocabulary.*token_pattern"),
        (["the", "and", "of"], {"stop_words": "english"}, "empty vocabulary.*stop_words=None"),
        (["good", "so", "poor"], {"min_df": 2}, "no terms remain of 3.*lower min_df"),
        (["good", "so", "poor"], {"min_df": 3, "max_df": 0.5}, "max_df=0.5 .* < documents"),
        (["good", "so", "poor"], {"ngram_range": (2, 1)}, "Invalid value for ngram_range"),
        (["good", "so", "poor"], {"ngram_range": (1, 1.5)}, "not whole numbers"),
        (["good", "so", "poor"], {"token_pattern": "("}, "token_pattern='.' is not a regular"),
        (["good", "so", "poor"], {"sublinear_tf": True}, 'needs tf-idf.*set weighting="tfidf"'),
        (["good", "so", "poor"], {"classifier": "forest"}, "classifier"),
    ],
)
def test_nothing_to_learn_from_is_said(texts, parameters, message):
    model = TextClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(texts, ["g", "g", "p"])
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"stop_words": ["Good"]}, "stop_words may be inconsistent"),
        ({"analyzer": str.split, "ngram_range": (1, 2)}, "'ngram_range' will not be used"),
        ({"analyzer": "char", "stop_words": "english"}, "'stop_words' will not be used"),
    ],
)
def test_parameters_that_do_nothing_are_told(parameters, message):
    with pytest.warns(UserWarning, match=message):
        TextClassifier(**parameters).fit(["good so", "so", "poor"], ["g", "g", "p"])


def test_targets_and_weights_are_checked():
    texts = ["good", "so", "poor"]
    with pytest.raises(ValueError, match="requires y to be passed"):
        TextClassifier().fit(texts, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TextClassifier().fit(texts, ["g", "p"])
    with pytest.raises(ValueError, match="row 1 has weight -1"):
        TextClassifier().fit(texts, ["g", "g", "p"], [1, -1, 1])
    with pytest.raises(ValueError, match="does not accept sample_weight"):
        TextClassifier(KNeighborsClassifier(1)).fit(texts, ["g", "g", "p"], [1, 2, 1])


def test_a_failing_fit_leaves_the_model_as_it_was():
    texts, y = make_texts()
    model = TextClassifier().fit(texts, y)
    before = answers(model, texts)
    with pytest.raises(ValueError, match="row 3"):
        model.fit([*texts[:3], 5, *texts[4:]], y)
    np.testing.assert_array_equal(answers(model, texts), before)


def test_an_unfitted_model_says_so():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        TextClassifier().predict(["good"])


def test_texts_without_a_known_word_get_the_prior():
    texts, y = make_texts()
    model = TextClassifier().fit(texts, y)
    p = model.predict_proba(["", "nothing known"])
    np.testing.assert_allclose(p, np.exp([model.classifier_.class_log_prior_] * 2))
    TextClassifier("linear_svm").fit(texts, y).predict(["", "nothing known"])


# ---- both gaps -----------------------------------------------------------------------------------


@every_form
def test_certify_finds_the_certificate_again_from_the_texts(form):
    texts, y = make_texts()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    model = TextClassifier(**form).fit(texts, y, weights)
    again = gapless.certify(model, texts, y, weights)
    if type(model.classifier_) is sklearn.linear_model.LogisticRegression:
        assert again.kind == "none" and "LogisticRegression" in str(again)
        return
    assert {again.kind, model.certificate_.kind} <= {"optimal", "exact"}
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert again.gap <= again.tolerance


def test_other_texts_and_other_weights_of_words_are_found():
    texts, y = make_texts()
    model = TextClassifier("linear_svm").fit(texts, y)
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.certify(model, ["other", *texts[1:]], y)
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.generalize(model, [*texts[::-1], "word"], [*y, y[0]])
    assert gapless.certify(model, texts, y[::-1]).kind == "stopped"
    model.idf_ = model.idf_ * np.linspace(0.9, 1.1, len(model.idf_))
    with pytest.raises(ValueError, match="does not match these data"):
        gapless.certify(model, texts, y)


# Words that are too rare in all texts, or not among the most frequent, are no longer candidates.
@pytest.mark.parametrize(
    "form", [form for form in FORMS if form.get("min_df") != 0.05 and "max_features" not in form]
)
def test_held_out_answers_are_those_of_fits_without_the_text(form):
    texts, y = make_texts(20, 3, seed=3)
    texts[7], weights = texts[6], np.ones(20)
    weights[[3, 9]] = 2.0, 0.0
    model = TextClassifier(**form).fit(texts, y, weights)
    z = held_out(model, texts, y, weights)
    for i in (0, 3, 6, 7, 12):
        same = np.array([sorted(text.split()) == sorted(texts[i].split()) for text in texts])
        other = clone(model).fit(texts, y, np.where(same, 0.0, weights))
        position = [model.classes_.tolist().index(label) for label in other.classes_]
        expected = answers(other, [texts[i]])
        if expected.ndim == 2:
            np.testing.assert_allclose(z[[i]][:, position], expected, rtol=1e-4, atol=1e-5)
        assert model.classes_[np.argmax(z[i])] == other.predict([texts[i]])[0]


def test_bayes_leaves_texts_out_exactly(rng):
    texts, y = make_texts(120, 3)
    weights = rng.integers(0, 3, len(y)).astype(float)
    texts[7], weights[6:8] = texts[6], 1.0
    for form in ({}, {"min_df": 2}, {"min_df": 3, "ngram_range": (1, 2)}):
        model = TextClassifier(MultinomialNB(alpha=0.3), weighting="counts", **form)
        fitted = model.fit(texts, y, weights)._fitted_to(texts, y, weights)
        z = fitted.held_out(None)
        for unit in rng.permutation(fitted.units.max() + 1)[:12]:
            rows = np.flatnonzero(fitted.units == unit)
            expected = fitted.predict(fitted.without(rows), rows)
            np.testing.assert_allclose(z[rows], expected, rtol=1e-9)
        assert model.generalization_.method.startswith("loo")


@pytest.mark.usefixtures("no_verdict")
def test_groups_time_and_other_scores():
    texts, y = make_texts(80)
    model = TextClassifier().fit(texts, y)
    groups = np.arange(len(y)) % 8
    assert 0 < gapless.generalize(model, texts, y, groups=groups).unseen <= 1
    assert 0 < gapless.generalize(model, texts, y, time=groups).unseen <= 1
    loss = gapless.generalize(model, texts, y, scoring="neg_log_loss")
    assert loss.unseen < loss.train < 0
    model = TextClassifier(gapless.RidgeClassifier()).fit(texts, y)
    area = gapless.generalize(model, texts, y, scoring="roc_auc")
    assert 0.5 < area.unseen <= area.train <= 1
    with pytest.raises(ValueError, match="neg_log_loss cannot score"):
        gapless.generalize(model, texts, y, scoring="neg_log_loss")


@pytest.mark.parametrize("classifier", ["bayes", "linear_svm"])
def test_sets_hold_the_class_of_most_texts(classifier):
    texts, y = make_texts(400, 3)
    model = TextClassifier(classifier).fit(texts[:200], y[:200])
    sets = model.predict_set(texts[200:], coverage=0.8)
    position = np.searchsorted(model.classes_, y[200:])
    assert 0.7 < sets[np.arange(200), position].mean() < 0.95
    predicted = np.searchsorted(model.classes_, model.predict(texts[200:]))
    assert sets[np.arange(200), predicted].all()
    again = gapless.prediction_sets(model, texts[:200], y[:200], texts[200:], coverage=0.8)
    np.testing.assert_array_equal(again, sets)


def test_a_classifier_that_only_votes_is_judged_too():
    texts, y = make_texts()
    model = TextClassifier(sklearn.svm.LinearSVC(), weighting="counts").fit(texts, y)
    assert model.certificate_.kind == "none" and "LinearSVC" in str(model.certificate_)
    assert 0.5 < model.generalization_.unseen <= 1
    model = TextClassifier(DecisionTreeClassifier(random_state=0)).fit(texts, y)
    assert 0.5 < model.generalization_.unseen <= 1
    with pytest.raises(AttributeError, match="no weight for each word"):
        model.telling_words()


# ---- words, time and the textbook ----------------------------------------------------------------


@every_form
def test_telling_words_are_those_of_the_class(form):
    texts, y = make_texts(200)
    model = TextClassifier(**form).fit(texts, y)
    found = model.telling_words(4)
    assert list(found) == model.classes_.tolist() == ["good", "poor"]
    for label, own in (("good", GOOD), ("poor", BAD)):
        assert len(found[label]) == 4
        assert {part for word, _ in found[label] for part in word.split()} & set(own)
        weights = [weight for _, weight in found[label]]
        assert weights == sorted(weights, reverse=True) and weights[-1] > 0


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_a_number_of_telling_words_is_asked_for(n):
    model = TextClassifier().fit(["good", "so", "poor"], ["g", "g", "p"])
    with pytest.raises(ValueError, match="must be a whole number of words"):
        model.telling_words(n)


def test_telling_words_of_bayes_are_log_odds():
    model = TextClassifier().fit(["up up down", "down down left"], ["a", "b"])
    odds = dict(model.telling_words(3)["a"])
    assert odds["up"] == pytest.approx(np.log((3 / 6) / (1 / 6)))
    assert odds["down"] == pytest.approx(np.log((2 / 6) / (3 / 6)))


def test_a_limit_of_time_ends_the_fit(rng):
    words = np.array([f"word{k}" for k in range(2000)])
    texts = [" ".join(rng.choice(words, 300)) for _ in range(300)]
    y = rng.integers(2, size=300)
    with interrupt.time_limit(0.0), pytest.raises(interrupt.TimeLimit):
        count_words(texts, CountVectorizer())
    with pytest.raises(interrupt.TimeLimit, match=r"time_limit=1e-09 seconds; raise it"):
        TextClassifier(time_limit=1e-9).fit(texts, y)
    model = TextClassifier(gapless.LogisticRegression(tol=1e-14), time_limit=60.0)
    assert model.fit(texts, y).certificate_.gap < 1


def test_ctrl_c_keeps_a_classifier_that_has_begun(monkeypatch):
    texts, y = make_texts()
    model = TextClassifier("linear_svm").fit(texts, y)
    before = answers(model, texts)

    def interrupted(self, X, y, sample_weight=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(gapless.LinearSVC, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(texts[:20], y[:20])
    np.testing.assert_array_equal(answers(model, texts), before)


def test_posterior_of_the_textbook_from_raw_texts():
    """Chinese, Tokyo, Japan: priors and likelihoods smoothed by one, from the texts themselves."""
    texts = [
        "Chinese Beijing Chinese",
        "Chinese Chinese Shanghai",
        "Chinese Macao",
        "Tokyo Japan Chinese",
    ]
    bayes = MultinomialNB(smooth_prior=True)
    model = TextClassifier(bayes).fit(texts, ["c", "c", "c", "j"])
    text = ["Chinese Chinese Chinese Tokyo Japan"]
    joint = np.exp(model.classifier_.predict_joint_log_proba(model._rows(text)))
    np.testing.assert_allclose(joint, [[2 / 3 * (3 / 7) ** 3 / 14**2, 1 / 3 * (2 / 9) ** 5]])
    np.testing.assert_allclose(joint, [[0.00027, 0.00018]], rtol=0.05)
    assert model.predict(text).tolist() == ["c"]


@pytest.mark.parametrize("cls", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
def test_models_of_counts_get_counts(cls):
    texts, y = make_texts()
    for library in (gapless, sklearn.naive_bayes):
        model = TextClassifier(getattr(library, cls)()).fit(texts, y)
        counted = TextClassifier(getattr(library, cls)(), weighting="counts").fit(texts, y)
        assert "idf_" not in vars(model)
        np.testing.assert_array_equal(answers(model, texts), answers(counted, texts))
    assert "idf_" in vars(TextClassifier(gapless.LogisticRegression()).fit(texts, y))


def test_no_warnings_in_a_plain_fit():
    texts, y = make_texts()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for classifier in ("bayes", "linear_svm", "logistic"):
            model = TextClassifier(classifier, stop_words="english").fit(texts, y)
            assert model.score(texts, y) > 0.7
            _ = model.generalization_
