"""Figures as data: panels, tables from rows, pictures from tables, one report.

A panel names its kind; `panel_kinds.py` is the door for kinds, `panel_registry.py` for panels.

May import: all folders above. Read first: `panel.py`.
"""

from onegrad.describe.extras import require_extra

require_extra("figures", "figures")  # every door of the folder needs them: say so at the first
