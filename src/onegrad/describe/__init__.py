"""Descriptions as frozen values: how they are checked, changed, named, kept and registered.

May import: nothing of onegrad. Read first: `value.py`.
"""
