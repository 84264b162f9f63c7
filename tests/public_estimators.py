"""The public estimators: of the whole package, of a base class, or of some families."""

from __future__ import annotations

from sklearn.base import BaseEstimator

import gapless


def public_estimators(*families: str, base: type | tuple[type, ...] = BaseEstimator) -> list[type]:
    """Public estimators that are a `base`, in the order of their names.

    Parameters
    ----------
    *families : str
        Folders of `gapless.models`; all, if none is named.
    base : type or tuple of type, default=BaseEstimator
        What they descend from.

    Returns
    -------
    list of type
    """
    public = (getattr(gapless, name) for name in gapless.__all__)
    return [
        cls
        for cls in public
        if isinstance(cls, type)
        and issubclass(cls, BaseEstimator)
        and issubclass(cls, base)
        and (not families or cls.__module__.split(".")[2] in families)
    ]
