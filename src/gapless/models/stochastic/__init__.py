"""Linear models fitted a few rows at a time: SGDClassifier, SGDRegressor and the Perceptron.

`descent` takes the steps: `state` is what they change, `steps` how long they are. `_base` is what
the estimators share, `refits` how they are judged on unseen rows.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .novikoff import MistakeBound
    from .perceptron import Perceptron, PerceptronTrace
    from .sgd import SGDClassifier, SGDRegressor

__getattr__, __dir__, __all__ = on_first_use(__name__)
