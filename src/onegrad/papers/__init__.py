"""The figures of papers as panels: tables from rows, pictures from tables, one report.

A panel is data; its kind makes the table and the view, `plotting` draws them.

May import: all folders above. Read first: `panel.py`.
"""

from onegrad.describe.extras import require_extra

require_extra("figures", "figures")  # every module of the folder needs them
