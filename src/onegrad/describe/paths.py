"""Dotted paths into nested descriptions: `network.width`, `data.components.0.weight`, `*` for all.

In keyword arguments the dots are double underscores: `network__width`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onegrad.describe.exceptions import InvalidInput


class Branch(dict[str, Any]):
    """Changes inside one field, by name; any other value replaces its field."""


def dotted(name: str) -> str:
    """Return the path of a keyword argument."""
    return name.replace("__", ".")


def last_words(paths: Sequence[str], *, taken: Sequence[str] = ()) -> dict[str, str]:
    """Return the last word of each path, the whole path where another or `taken` has that word."""
    words = {path: path.rpartition(".")[2] for path in paths}
    known = [*words.values(), *taken]
    return {path: path if known.count(word) > 1 else word for path, word in words.items()}


def by_path(values: Mapping[str, Any]) -> Branch:
    """Return values by dotted path as a tree of branches."""
    tree = Branch()
    for path, value in values.items():
        *outer, last = path.split(".")
        branch: Any = tree
        for name in outer:
            branch = branch.setdefault(name, Branch())
            if not isinstance(branch, Branch):
                break
        if not isinstance(branch, Branch) or last in branch:
            raise InvalidInput(f"{path}: is replaced twice; keep one")
        branch[last] = value
    return tree


def at(value: Any, path: str) -> Any:
    """Return what stands at a path, None where nothing does; for * what all entries agree on."""
    return _at(value, path.split("."))


def _at(value: Any, names: list[str]) -> Any:
    if not names:
        return value
    name, *rest = names
    if isinstance(value, list) and name == "*":
        entries = [_at(entry, rest) for entry in value]
        return entries[0] if entries and all(e == entries[0] for e in entries) else entries
    if isinstance(value, list):
        within = name.isdigit() and int(name) < len(value)
        return _at(value[int(name)], rest) if within else None
    return _at(value[name], rest) if isinstance(value, dict) and name in value else None


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return every single value of nested fields by its dotted path."""
    if not isinstance(value, dict | list):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    flat: dict[str, Any] = {}
    for name, inner in items:
        flat |= leaves(inner, f"{path}.{name}" if path else str(name))
    return flat
