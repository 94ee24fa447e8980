"""scikit-learn's estimators on the core's own steps and readouts: regressor, classifier, features.

`network_fit.py` has what the three share, `theory_choice.py` what chooses by theory.

May import: all folders above but running, figures and cli. Read first: `classifier.py`.
"""

from onegrad.describe.extras import require_extra

require_extra("estimators", "estimators")
