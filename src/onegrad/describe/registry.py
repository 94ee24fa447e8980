"""Registries: what names stand for, what users have added, and how workers learn of it.

A registry maps names to functions, models, kinds of sources, … What a user registers is shipped to
worker processes as a snapshot and adopted there.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from onegrad.describe.digests import digest_of_bytes
from onegrad.describe.exceptions import InvalidInput

T = TypeVar("T")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """What a name stands for, and a mark of what it computes where the name does not tell.

    `mark` is None for what comes with onegrad.
    """

    name: str
    registered: T
    mark: str | None = None


Snapshot = dict[str, tuple[str, dict[str, Entry[Any]]]]  # by title: home and additions
_REGISTRIES: dict[str, Registry[Any]] = {}


class Registry(Generic[T]):
    """What names stand for, onegrad's own and users'; `title` says what kind of names they are.

    `home` is the module that makes the registry; a worker imports it when it learns of additions.
    Without a home they are not sent to workers.
    """

    def __init__(self, title: str, built_in: dict[str, T], *, home: str | None = None) -> None:
        self.title, self.home = title, home
        self.entries = {name: Entry(name, registered) for name, registered in built_in.items()}
        _REGISTRIES[title] = self

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __getitem__(self, name: str) -> T:
        return self.entries[name].registered

    def get(self, name: str, *, field: str) -> T:
        """Return what the name stands for; `field` is what an error message calls it."""
        if name not in self.entries:
            raise self.unknown(name, field=field)
        return self.entries[name].registered

    def unknown(self, name: str, *, field: str, known: list[str] | None = None) -> InvalidInput:
        """Return the error that says which names there are, with the nearest one."""
        names = list(self.entries) if known is None else known
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "choose one, or register your own"
        return InvalidInput(f"{field}={name!r}: must be one of {', '.join(names)}; {hint}")

    def add(self, name: str, registered: T, *, mark: str) -> T:
        """Return what was given after registering it under a name that nothing of onegrad has."""
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidInput(f"name={name!r}: must be a word of letters, digits and _; rename it")
        if name in self.entries and self.entries[name].mark is None:
            raise InvalidInput(f"name={name!r}: is built in; choose another name")
        self.entries[name] = Entry(name, registered, mark)
        return registered

    def put(self, name: str, registered: T) -> T:
        """Return what was given after registering it as onegrad's own."""
        self.entries[name] = Entry(name, registered)
        return registered

    def added(self) -> dict[str, Entry[T]]:
        """Return the entries that users have added in this process."""
        return {name: entry for name, entry in self.entries.items() if entry.mark is not None}

    def mark(self, name: str) -> str | None:
        """Return what a user's entry is known by; None for what comes with onegrad."""
        entry = self.entries.get(name)
        return None if entry is None else entry.mark


def snapshot() -> Snapshot:
    """Return everything that users have added, for another process to adopt."""
    return {
        title: (registry.home, registry.added())
        for title, registry in _REGISTRIES.items()
        if registry.home is not None and registry.added()
    }


def adopt(known: Snapshot) -> None:
    """Make what another process had added known here."""
    for title, (home, entries) in known.items():
        if title not in _REGISTRIES:
            importlib.import_module(home)
        _REGISTRIES[title].entries.update(entries)


def mark_of_source(definition: type | Callable[..., Any]) -> str:
    """Return a digest of the source text of a class or function, of its name where there is none.

    Stored rows are keyed by it: who changes the code computes anew.
    """
    try:
        text = inspect.getsource(definition)
    except (OSError, TypeError):
        text = f"{definition.__module__}.{definition.__qualname__}"
    return digest_of_bytes(text.encode())
