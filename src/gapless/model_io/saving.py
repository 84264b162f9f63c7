"""`gapless.save` and `gapless.load`."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .container import FORMAT, VERSION, ModelFileError, opened, write
from .limits import Budget
from .names import MODELS, name_of
from .reading import Reader
from .writing import Writer

# Advice about a file that is wrong.
CURE = "Copy it again from where it came from, or save the model again."
PACKAGES = ("gapless", "numpy", "scikit-learn", "scipy")


def save(model: Any, path: str | os.PathLike) -> Path:
    """Write a model to a file of arrays and names, without code.

    Parameters
    ----------
    model : estimator
        Any estimator of gapless, or a pipeline of scikit-learn's preprocessing that ends in one.
    path : str or path
        The file. It is written under another name and then renamed, so that no reader ever finds
        half of it; an existing file is replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelFileError
        If the model has parts that are code, such as a kernel that is a function of yours, or
        steps that files do not know. It says which, and what to do.

    See Also
    --------
    load : Read it again.
    gapless.model_io.describe : What a file holds, and which training rows.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import gapless
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gapless.LogisticRegression().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = gapless.load(gapless.save(model, f"{folder}/iris.gapless"))
    >>> (again.predict_proba(X) == model.predict_proba(X)).all()
    np.True_
    """
    if name_of(type(model)) not in MODELS:
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved: files hold gapless estimators, and "
            "pipelines of scikit-learn's preprocessing that end in one."
        )
    writer = Writer()
    node = writer.node(model, type(model).__name__)
    written_by = {package: version(package) for package in PACKAGES}
    path = Path(path)
    manifest = {"format": FORMAT, "version": [*VERSION], "written_by": written_by, **node}
    write(path, manifest, writer.tensors)
    return path


def load(path: str | os.PathLike) -> Any:
    """Read a model from a file that `save` has written.

    Nothing in the file is run, and no class is imported by its name: a file can only name the
    estimators and parts that gapless lists. A damaged or hostile file gives an error.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The model with the same parameters, predictions, certificate and estimates, to the bit. It
        has no training data except the rows that it predicts from; `gapless.model_io.describe` says
        how many these are.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or comes from a later version.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save : Write a model.
    """
    path = Path(path)
    with opened(path) as (manifest, tensors):
        reader = Reader(tensors, Budget(path.stat().st_size))
        try:
            model = reader.value({"model": manifest["model"]}, "model")
            reader.check_all_read()
        except ModelFileError as error:
            raise ModelFileError(
                f"{path} is damaged or not a model of this version: {error} {CURE}"
            ) from error
        # Constructors may refuse a value in any way; to the caller the file is wrong.
        except Exception as error:
            what = f"{type(error).__name__}: {error}".rstrip(".")
            raise ModelFileError(f"{path} is damaged: {what}. {CURE}") from error
    return model
