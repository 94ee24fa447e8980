"""The explorer: a page in the browser where sliders move curves, and its server on loopback.

`page/` holds the page itself. Labels, ranges and sentences come from the fields of the problem.

May import: all folders above but sweeps and papers. Read first: `server.py`.
"""
