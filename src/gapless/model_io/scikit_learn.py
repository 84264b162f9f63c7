"""scikit-learn's classes that a model file can hold, each with what its fit leaves.

The preprocessing that a table needs. What is not in this list is refused when a model is saved, so
that a release of scikit-learn that keeps more is noticed then and not when the file is read.
"""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    LabelBinarizer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

_INPUT = ("n_features_in_", "feature_names_in_")
_LEVELS = (
    "categories_",
    "_infrequent_enabled",
    "_infrequent_indices",
    "_default_to_infrequent_mappings",
)

ATTRIBUTES: dict[type, tuple[str, ...]] = {
    ColumnTransformer: (
        *_INPUT,
        "transformers_",
        "sparse_output_",
        "output_indices_",
        "_columns",
        "_remainder",
        "_transformer_to_input_indices",
        "_transformers_feature_names_out",
    ),
    CountVectorizer: ("vocabulary_", "fixed_vocabulary_"),
    FeatureUnion: _INPUT,
    FunctionTransformer: _INPUT,
    KBinsDiscretizer: (*_INPUT, "bin_edges_", "n_bins_", "_encoder"),
    LabelBinarizer: ("classes_", "y_type_", "sparse_input_"),
    LabelEncoder: ("classes_",),
    MaxAbsScaler: (*_INPUT, "n_samples_seen_", "max_abs_", "scale_"),
    MinMaxScaler: (
        *_INPUT,
        "n_samples_seen_",
        "min_",
        "scale_",
        "data_min_",
        "data_max_",
        "data_range_",
    ),
    MissingIndicator: (*_INPUT, "features_", "_precomputed", "_n_features"),
    Normalizer: _INPUT,
    Nystroem: (
        *_INPUT,
        "components_",
        "component_indices_",
        "normalization_",
        "_n_features_out",
    ),
    OneHotEncoder: (
        *_INPUT,
        *_LEVELS,
        "drop_idx_",
        "_drop_idx_after_grouping",
        "_n_features_outs",
    ),
    OrdinalEncoder: (*_INPUT, *_LEVELS, "_missing_indices"),
    Pipeline: (),
    PolynomialFeatures: (
        *_INPUT,
        "n_output_features_",
        "_min_degree",
        "_max_degree",
        "_n_out_full",
    ),
    PowerTransformer: (*_INPUT, "lambdas_", "_scaler"),
    QuantileTransformer: (*_INPUT, "n_quantiles_", "references_", "quantiles_"),
    RobustScaler: (*_INPUT, "center_", "scale_"),
    SimpleImputer: (*_INPUT, "statistics_", "indicator_", "_fit_dtype", "_fill_dtype"),
    SplineTransformer: (*_INPUT, "bsplines_", "n_features_out_"),
    StandardScaler: (*_INPUT, "n_samples_seen_", "mean_", "var_", "scale_"),
    TargetEncoder: (
        *_INPUT,
        *_LEVELS,
        "classes_",
        "encodings_",
        "target_mean_",
        "target_type_",
    ),
    TfidfTransformer: (*_INPUT, "idf_"),
    TfidfVectorizer: ("vocabulary_", "fixed_vocabulary_", "_tfidf"),
    TransformedTargetRegressor: (*_INPUT, "regressor_", "transformer_", "_training_dim"),
}

# Found again when it is asked for: which list of stop words was looked at last.
FORGOTTEN = ("_stop_words_id",)


def left_by_fit(model: Any) -> tuple[str, ...]:
    """The attributes that a fit may leave in a model, of gapless or of scikit-learn."""
    cls: Any = type(model)
    return (*ATTRIBUTES.get(cls, ()), *getattr(cls, "_stored", ()), "_sklearn_output_config")
