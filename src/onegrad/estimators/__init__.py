"""scikit-learn's estimators on the core's own steps and readouts: regressor, classifier, features.

`first_layer.py` has what the three share, `theory_choice.py` what chooses by theory.

May import: all folders above but sweeps, papers and cli. Read first: `estimators.py`.
"""

from onegrad.describe.extras import require_extra

require_extra("estimators", "estimators")
