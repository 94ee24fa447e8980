"""Frozen descriptions: how they are checked, changed, named, saved and registered.

May import: nothing of onegrad. Read first: `value.py`.
"""
