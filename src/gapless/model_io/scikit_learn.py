"""scikit-learn's classes that a model file can hold, each with what its fit leaves.

These are the preprocessing steps that tables need. Anything else is refused when a model is saved,
so that a release of scikit-learn that stores more is noticed then and not when the file is read.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

from .._ground.stored import (
    INPUT,
    Declaration,
    Each,
    FittedModel,
    Flag,
    Labels,
    Maybe,
    Nothing,
    Number,
    Numbers,
    Places,
    Unused,
    Value,
    Whole,
    Word,
)
from .names import name_of

_LEVELS: Declaration = {
    "categories_": Each(Labels(None, least=0, may_miss=True), "features"),
    "_infrequent_enabled": Flag(),
    "_infrequent_indices": Maybe(
        Each(Numbers(None, types="iu", low=0) | Nothing(), "features") | Nothing()
    ),
    "_default_to_infrequent_mappings": Maybe(
        Each(Numbers(None, types="iu", low=0) | Nothing(), "features") | Nothing()
    ),
}
# A column without any value has NaN for all its statistics.
_OF_COLUMNS = Numbers("features", is_finite=False)
_ROOM = Value(np.dtype)

ATTRIBUTES: dict[str, Declaration] = {
    "sklearn.ColumnTransformer": {
        **INPUT,
        "transformers_": Each(Value(tuple)),
        "sparse_output_": Flag(),
        "output_indices_": Value(dict),
        "_columns": Each(Unused()),
        "_remainder": Value(tuple),
        "_transformer_to_input_indices": Value(dict),
        "_transformers_feature_names_out": Unused(),
    },
    "sklearn.CountVectorizer": {"vocabulary_": Places(least=1), "fixed_vocabulary_": Flag()},
    "sklearn.FeatureUnion": {name: Maybe(kind) for name, kind in INPUT.items()},
    "sklearn.FunctionTransformer": {name: Maybe(kind) for name, kind in INPUT.items()},
    "sklearn.KBinsDiscretizer": {
        **INPUT,
        "bin_edges_": Each(Numbers(None, is_finite=False), "features"),
        "n_bins_": Numbers("features", types="iu", low=1),
        "_encoder": Maybe(FittedModel("transform", "features")),
    },
    "sklearn.LabelBinarizer": {"classes_": Labels(), "y_type_": Word(), "sparse_input_": Flag()},
    "sklearn.LabelEncoder": {"classes_": Labels(least=0)},
    "sklearn.MaxAbsScaler": {
        **INPUT,
        "n_samples_seen_": Unused(),
        "max_abs_": _OF_COLUMNS,
        "scale_": _OF_COLUMNS,
    },
    "sklearn.MinMaxScaler": {
        **INPUT,
        "n_samples_seen_": Unused(),
        "min_": _OF_COLUMNS,
        "scale_": _OF_COLUMNS,
        "data_min_": _OF_COLUMNS,
        "data_max_": _OF_COLUMNS,
        "data_range_": _OF_COLUMNS,
    },
    "sklearn.MissingIndicator": {
        **INPUT,
        "features_": Numbers(None, types="iu", below="features"),
        "_precomputed": Flag(),
        "_n_features": Whole(size="features"),
    },
    "sklearn.Normalizer": INPUT,
    "sklearn.Nystroem": {
        **INPUT,
        "components_": Numbers("components", "features", may_be_sparse=True),
        "component_indices_": Unused(),
        "normalization_": Numbers("components", "components"),
        "_n_features_out": Whole(size="components"),
    },
    "sklearn.OneHotEncoder": {
        **INPUT,
        **_LEVELS,
        "drop_idx_": Unused(),
        "_drop_idx_after_grouping": Each(Whole() | Nothing(), "features") | Nothing(),
        "_n_features_outs": Each(Whole(), "features"),
    },
    "sklearn.OrdinalEncoder": {**INPUT, **_LEVELS, "_missing_indices": Value(dict)},
    "sklearn.Pipeline": {},
    "sklearn.PolynomialFeatures": {
        **INPUT,
        "n_output_features_": Whole(),
        "_min_degree": Whole(),
        "_max_degree": Whole(),
        "_n_out_full": Whole(),
    },
    "sklearn.PowerTransformer": {
        **INPUT,
        "lambdas_": _OF_COLUMNS,
        "_scaler": Maybe(FittedModel("transform", "features")),
    },
    "sklearn.QuantileTransformer": {
        **INPUT,
        "n_quantiles_": Whole(1, size="quantiles"),
        "references_": Numbers("quantiles"),
        "quantiles_": Numbers("quantiles", "features", is_finite=False),
    },
    "sklearn.RobustScaler": {
        **INPUT,
        "center_": _OF_COLUMNS | Nothing(),
        "scale_": _OF_COLUMNS | Nothing(),
    },
    "sklearn.SimpleImputer": {
        **INPUT,
        "statistics_": Numbers("features", types="fiub", is_finite=False)
        | Labels("features", may_miss=True),
        "indicator_": FittedModel("transform", "features") | Nothing(),
        "_fit_dtype": _ROOM,
        "_fill_dtype": _ROOM,
    },
    "sklearn.SplineTransformer": {
        **INPUT,
        "bsplines_": Each(Value(BSpline), "features", least=1),
        "n_features_out_": Whole(),
    },
    "sklearn.StandardScaler": {
        **INPUT,
        "n_samples_seen_": Unused(),
        "mean_": Maybe(_OF_COLUMNS | Nothing()),
        "var_": Maybe(_OF_COLUMNS | Nothing()),
        "scale_": _OF_COLUMNS | Nothing(),
    },
    "sklearn.TargetEncoder": {
        **INPUT,
        **_LEVELS,
        "classes_": Maybe(Labels() | Nothing()),
        "encodings_": Each(Numbers(None)),
        "target_mean_": Number() | Numbers("classes"),
        "target_type_": Word("binary", "multiclass", "continuous"),
    },
    "sklearn.TfidfTransformer": {**INPUT, "idf_": Maybe(Numbers("features"))},
    "sklearn.TfidfVectorizer": {
        "vocabulary_": Places("words", least=1),
        "fixed_vocabulary_": Flag(),
        "_tfidf": FittedModel("transform", "words"),
    },
    "sklearn.TransformedTargetRegressor": {
        "n_features_in_": Maybe(INPUT["n_features_in_"]),
        "feature_names_in_": INPUT["feature_names_in_"],
        "regressor_": FittedModel("predict"),
        "transformer_": FittedModel("inverse_transform"),
        "_training_dim": Whole(1, 2),
    },
}

# Recomputed on demand: the list of stop words used last. Not part of a model: who watches its fits.
FORGOTTEN = ("_stop_words_id", "_skl_callbacks")


# The kind of table that a transformer returns; it may be set before a fit.
OUTPUT = "_sklearn_output_config"
OUTPUT_KINDS: tuple[dict[str, str], ...] = (
    {"transform": "default"},
    {"transform": "pandas"},
    {"transform": "polars"},
    {},
)


@cache
def left_by_fit(cls: Any) -> Declaration:
    """What a fit may leave in a model of a class, of gapless or of scikit-learn."""
    declared: Declaration = getattr(cls, "_stored", None) or ATTRIBUTES.get(name_of(cls), {})
    return {**declared, OUTPUT: Unused()}
