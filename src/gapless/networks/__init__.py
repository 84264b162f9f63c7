"""Networks by their public name: the estimators, `Network` and `layers` of `models.networks`."""

import sys
from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use
from ..models import networks as home

if TYPE_CHECKING:
    from ..models.networks import (
        Augmentation,
        CNNClassifier,
        History,
        MLPClassifier,
        MLPRegressor,
        Network,
    )

__getattr__, __dir__, __all__ = on_first_use(__name__)
# So that `import gapless.networks.layers` finds the same module.
layers = sys.modules[f"{__name__}.layers"] = home.layers
