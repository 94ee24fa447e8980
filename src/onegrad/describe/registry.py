"""Registries: what names stand for, what users have added, and how workers learn of it.

A registry maps names to functions, models, kinds of sources, … What a user registers is shipped to
worker processes as a snapshot and adopted there.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from onegrad.describe.checks import shown
from onegrad.describe.digests import digest_of_bytes
from onegrad.describe.exceptions import InvalidInput

LONGEST_NAME = 100
LONGEST_LIST = 240  # letters of the names in a message; all of onegrad's own fit

T = TypeVar("T")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """What a name stands for, and a mark of what it computes where the name does not tell.

    `mark` is None for what comes with onegrad.
    """

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
        self.entries = {name: Entry(registered) for name, registered in built_in.items()}
        _REGISTRIES[title] = self

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __getitem__(self, name: str) -> T:
        return self.entries[name].registered

    def get(self, name: str, *, field: str) -> T:
        """Return what the name stands for; `field` is what an error message calls it."""
        if not isinstance(name, str) or name not in self.entries:
            raise self.unknown(name, field=field)
        return self.entries[name].registered

    def unknown(self, name: str, *, field: str, known: list[str] | None = None) -> InvalidInput:
        """Return the error that says which names there are, with the nearest one."""
        names = list(self.entries) if known is None else known
        near = difflib.get_close_matches(str(name), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "choose one, or register your own"
        return InvalidInput(f"{field}={shown(name)}: must be one of {listed(names)}; {hint}")

    def add(self, name: str, registered: T, *, mark: str) -> T:
        """Return what was given after registering it under a name that nothing of onegrad has."""
        self.require_free(name)
        self.entries[name] = Entry(registered, mark)
        return registered

    def require_free(self, name: object) -> None:
        """Raise InvalidInput unless users can register something under the name."""
        if not isinstance(name, str) or not name.isidentifier() or len(name) > LONGEST_NAME:
            raise InvalidInput(
                f"name={shown(name)}: must be a word of at most {LONGEST_NAME} letters, digits "
                "and _; rename it"
            )
        if name in self.entries and self.entries[name].mark is None:
            raise InvalidInput(f"name={name!r}: is built in; choose another name")

    def put(self, name: str, registered: T) -> T:
        """Return what was given after registering it as onegrad's own."""
        self.entries[name] = Entry(registered)
        return registered

    def added(self) -> dict[str, Entry[T]]:
        """Return the entries that users have added in this process."""
        return {name: entry for name, entry in self.entries.items() if entry.mark is not None}

    def mark(self, name: str) -> str | None:
        """Return what a user's entry is known by; None for what comes with onegrad."""
        entry = self.entries.get(name)
        return None if entry is None else entry.mark


def listed(names: Sequence[str]) -> str:
    """Return names for a message of one line: as many as fit, and how many more there are."""
    said: list[str] = []
    length = 0
    for name in names:
        length += len(name) + len(", ")
        if length > LONGEST_LIST:
            return f"{', '.join(said)} and {len(names) - len(said)} more"
        said.append(name)
    return ", ".join(said)


def registered_names(title: str) -> list[str]:
    """Return the names in the registry of this title, onegrad's own and users'."""
    return list(_REGISTRIES[title])


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
        if isinstance(definition, functools.partial):
            given = repr((definition.args, sorted(definition.keywords.items())))
            return digest_of_bytes(mark_of_source(definition.func).encode(), given.encode())
        if not hasattr(definition, "__qualname__"):  # an object that can be called
            return mark_of_source(type(definition))
        text = f"{definition.__module__}.{definition.__qualname__}"
    return digest_of_bytes(text.encode())
