"""The command line: one file per command that parses, calls one public function and formats.

May import: all folders above, inside functions. Read first: `main.py`.
"""
