"""What a model from a file may request: no endless time, no memory, no other files."""

import os
import re

import numpy as np
import pytest
from model_file_parts import change, contents, write
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler, TargetEncoder

import gapless
from gapless.model_io import ModelFileError, describe
from gapless.model_io.limits import is_linear

NUMBERS = np.random.default_rng(2).normal(size=(40, 3))
Y = np.arange(40) % 3
TEXTS = [f"day {k % 4} was {'cold' if k % 3 else 'warm'}" for k in range(40)]
FITTED = ("model", "fitted")
PARAMETERS = ("model", "parameters")


def test_no_file_asks_for_thousands_of_processes(tmp_path):
    # Never fitted with this many: that would start them.
    model = ColumnTransformer([("all", StandardScaler(), [0, 1, 2])]).fit(NUMBERS)
    path = gapless.save(model.set_params(n_jobs=-1), tmp_path / "m")
    manifest, arrays = contents(path)
    change(manifest, ("model", "parameters", "n_jobs"), 10_000)
    with pytest.raises(ModelFileError, match="n_jobs is 10000; files allow at most 128"):
        gapless.load(write(path, manifest, arrays))
    with pytest.raises(ModelFileError, match="n_jobs is 10000; files allow at most 128"):
        gapless.save(model.set_params(n_jobs=10_000), path)


# ---- regular expressions -------------------------------------------------------------------------

LINEAR = [
    None,
    r"(?u)\b\w\w+\b",
    r"\b\w+\b",
    r"\b[^\d\W]+\b",
    r"[a-zA-Z]{3,}",
    r"\S+",
    r"#?\w+",
    r"\w+|[^\w\s]",
    r"(?u)\b\w+\b|!|\?|\"|\'",
    r"\w+(?:'\w+)?",
    r"[a-z]+(?:-[a-z]+)*",
]
SLOW = [
    r"(a+)+b",
    r"(?:a+)+",
    r"(a|a)*b",
    r"(?:a|aa)*b",
    r"a+b",
    r"\w+\b",
    r"\w*\w*x",
    r"a{1,99}b",
    r"a{100,}",
    r"(\w)\1+",
    r"(?=a+b)\w",
    r"(?:\w+-\w+)*",
    r"\w+(?:-\w+)*\b",
    "a?" * 30 + "b",
    "a" * 300,
    "(",
    "",
    7,
]


@pytest.mark.parametrize("pattern", LINEAR)
def test_patterns_of_words_are_kept(pattern, tmp_path):
    model = CountVectorizer(token_pattern=pattern, analyzer="word" if pattern else "char")
    path = gapless.save(model.fit(TEXTS), tmp_path / "m")
    loaded = gapless.load(path)
    assert loaded.token_pattern == pattern
    assert (loaded.transform(TEXTS) != model.transform(TEXTS)).nnz == 0


@pytest.mark.parametrize("pattern", SLOW)
def test_patterns_that_could_take_for_ever_are_refused(pattern, tmp_path):
    """By `(a+)+b` a file once made `predict` wait for ever on a text of 40 characters."""
    path = gapless.save(gapless.TextClassifier().fit(TEXTS, Y), tmp_path / "m")
    given = contents(path)[0]["model"]["fitted"]["_given"]["dict"]
    of_fit = [name for name, _ in given].index("token_pattern")
    for place in ((*PARAMETERS, "token_pattern"), (*FITTED, "_given", "dict", of_fit, 1)):
        manifest, arrays = contents(path)
        change(manifest, place, pattern)
        with pytest.raises(ModelFileError, match="token_pattern is"):
            gapless.load(write(tmp_path / "changed", manifest, arrays))
    for unsaved in (CountVectorizer, TfidfVectorizer, gapless.TextClassifier):
        with pytest.raises(ModelFileError, match="run in linear time, such as"):
            gapless.save(unsaved(token_pattern=pattern), path)


def test_patterns_that_are_kept_are_quick_on_texts_made_to_be_slow():
    """Any pattern of a few parts that is let through; one that is not linear would not end."""
    rng = np.random.default_rng(5)
    parts = [r"\b", r"\w", "a", "-", ".", r"\W", "[a-z]", "[^a]", "+", "*", "?", "{2,}", "{3}"]
    parts += ["|", "(?:", ")*", ")?"]
    n = 6000
    texts = ["a" * n, "-" * n, "a-" * n, "a" * n + "_", "-a" * n + "--", "a" * n + "-" * n]
    found = 0
    for _ in range(4000):
        pattern = "".join(rng.choice(parts, size=rng.integers(1, 8)))
        if is_linear(pattern):
            found += 1
            for text in texts:
                re.findall(pattern, text)
    assert found > 100


# ---- words, files and folders --------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, name, value, words",
    [
        (CountVectorizer(), "ngram_range", {"tuple": [1, 10**6]}, "two whole numbers up to 64"),
        (CountVectorizer(), "ngram_range", {"tuple": [1]}, "two whole numbers up to 64"),
        (CountVectorizer(), "input", "filename", "models in files do not open other files"),
        (CountVectorizer(), "encoding", "punycode", "decode the texts first"),
        (make_pipeline(StandardScaler()), "memory", "folder", "use no cache folder"),
    ],
)
def test_parameters_beyond_limits_are_refused(model, name, value, words, tmp_path):
    path = gapless.save(model, tmp_path / "m")
    manifest, arrays = contents(path)
    change(manifest, (*PARAMETERS, name), value)
    with pytest.raises(ModelFileError, match=words):
        gapless.load(write(path, manifest, arrays))
    model = type(model)(**model.get_params(deep=False) | {name: value})
    with pytest.raises(ModelFileError, match=words):
        gapless.save(model, path)


# ---- sizes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place, value, words",
    [
        ((*PARAMETERS, "degree"), 10**9, "curves of another degree"),
        ((*PARAMETERS, "include_bias"), False, "another number of columns"),
        ((*FITTED, "n_features_out_"), 10**12, "another number of columns"),
        ((*FITTED, "n_features_in_"), 10**9, "bsplines_ has 3 members where features = 1000000000"),
    ],
)
def test_curves_of_another_size_than_said_are_refused(place, value, words, tmp_path):
    path = gapless.save(SplineTransformer().fit(NUMBERS), tmp_path / "m")
    manifest, arrays = contents(path)
    change(manifest, place, value)
    with pytest.raises(ModelFileError, match=words):
        gapless.load(write(path, manifest, arrays))


def test_encodings_of_classes_that_are_not_there_are_refused(tmp_path):
    model = TargetEncoder(random_state=0).fit(np.array(TEXTS)[:, None], Y)
    manifest, arrays = contents(gapless.save(model, tmp_path / "m"))
    items = {"shape": [1000], "items": [*range(1000)]}
    change(manifest, (*FITTED, "classes_"), {"objects": items})
    change(manifest, (*FITTED, "target_mean_"), 0.5)
    with pytest.raises(ModelFileError, match="other columns or classes"):
        gapless.load(write(tmp_path / "m", manifest, arrays))


def test_texts_without_room_ask_for_no_memory(tmp_path):
    """An array of 2⁴⁰ empty texts takes no byte of the file."""
    path = gapless.save(gapless.GaussianNB().fit(NUMBERS, Y.astype(str)), tmp_path / "m")
    manifest, arrays = contents(path)
    tensor = manifest["model"]["fitted"]["classes_"]["texts"]["tensor"]
    arrays[tensor] = "U32", [1 << 40, 0], b""
    with pytest.raises(ModelFileError, match="texts of length 0"):
        gapless.load(write(path, manifest, arrays))


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        for read in (gapless.load, describe):
            with pytest.raises(ModelFileError, match="a folder, a pipe or a device"):
                read(path)
