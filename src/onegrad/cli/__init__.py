"""The command line: every command parses, calls one public function and formats the result.

May import: all folders above, inside functions. Read first: `main.py`.
"""
