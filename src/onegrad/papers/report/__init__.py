"""The report: one HTML file that opens offline, from what each panel left in the folder.

Pictures are in it for readers without JavaScript; the script, inlined, puts curves and maps to
touch in their place.

May import: describe, figures. Read first: `report_page.py`.
"""
