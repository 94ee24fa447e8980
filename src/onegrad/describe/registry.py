"""Registries: what names stand for, what users have added, how workers learn of it.

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
from math import isfinite, nan
from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.files import digest_of_bytes
from onegrad.describe.numbers import shown
from onegrad.describe.value import Value

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


def _as_written(argument: str | None) -> str | None:
    return argument


@dataclass(frozen=True)
class NamedFamily(Generic[T]):
    """Things of one name: `make` is given the text after the colon, nothing where there is none.

    `argument` is the word for it in lists of names, None where there is nothing to give; `spell`
    returns the one text of equal arguments, with the default written out.
    """

    make: Callable[..., T]
    argument: str | None = None
    spell: Callable[[str | None], str | None] = _as_written

    def names(self, name: str) -> list[str]:
        """Return how things of this family are asked for."""
        return [name] if self.argument is None else [name, f"{name}:{self.argument}"]


class Families(Registry[NamedFamily[T]]):
    """A registry of families; `noun` is what messages call one of their things."""

    def __init__(
        self, title: str, noun: str, built_in: dict[str, NamedFamily[T]], *, home: str
    ) -> None:
        super().__init__(title, built_in, home=home)
        self.noun = noun

    def made(self, text: str, *, field: str) -> tuple[str, T]:
        """Return the one text of what is asked for, and the thing; `field` names it in errors."""
        name, argument = self._split(text, field)
        family = self[name]
        try:
            spelled = family.spell(argument)
            thing = family.make() if spelled is None else family.make(spelled)
        except InvalidInput:
            raise
        except (TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            remedy = f"write {' or '.join(family.names(name))}"
            raise InvalidInput(f"{field}={text!r}: {reason}; {remedy}") from error
        return name if spelled is None else f"{name}:{spelled}", thing

    def forms(self) -> list[str]:
        """Return how everything is asked for."""
        return [form for name in self for form in self[name].names(name)]

    def mark_of(self, text: str, *, field: str) -> str | None:
        """Return the mark of what a user registered, None for what comes with onegrad."""
        return self.mark(self._split(text, field)[0])

    def _split(self, text: object, field: str) -> tuple[str, str | None]:
        """Return the known name and the argument of a text."""
        if not isinstance(text, str):
            article = f"the name of a {self.noun}"
            raise InvalidInput(f"{field}={shown(text)}: must be {article}; correct it")
        family, colon, argument = (part.strip() for part in text.partition(":"))
        name = family if family in self else family.lower()
        if name not in self or (colon and self[name].argument is None):
            raise self.unknown(text, field=field, known=self.forms())
        return name, argument if colon else None


def spelled_number(word: str, default: float) -> Callable[[str | None], str]:
    """Return what spells an argument that is a number above 0; `word` is its name in messages."""

    def spell(argument: str | None) -> str:
        try:
            number = default if argument is None else float(argument)
        except ValueError:
            number = nan
        if not (isfinite(number) and number > 0):
            raise ValueError(f"{word} must be a finite number greater than 0")
        return number_text(number)

    return spell


def number_text(value: float) -> str:
    """Return the shortest text of a number that reads back as the same."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


V = TypeVar("V", bound=Value)
K = TypeVar("K", bound=Value)


@dataclass(frozen=True)
class Kinds(Generic[V]):
    """The descriptions that a field may hold: subclasses of `base` by their `kind`.

    `guess` names the kind of fields that do not say theirs. Used as metadata of a field:
    `Annotated[Source, SOURCES]`.
    """

    base: type[V]
    registry: Registry[type[V]]
    guess: Callable[[dict[str, Any]], str]

    def kinds(self) -> Iterator[type[V]]:
        """Yield the registered classes."""
        return (self.registry[name] for name in self.registry)

    def register(self, description: type[V]) -> type[V]:
        """Return a class after registering it under the default of its field `kind`."""
        base = self.base.__name__
        if not isinstance(description, type) or not issubclass(description, self.base):
            raise InvalidInput(
                f"description={shown(description)}: must be a subclass of {base}; derive one"
            )
        name = description.model_fields["kind"].default
        if not isinstance(name, str):
            raise InvalidInput(
                f"description={shown(description)}: its field kind must have a name as default; "
                'write kind: Literal["name"] = "name"'
            )
        self.registry.add(name, description, mark=mark_of_source(description))
        return description

    def built_in(self, description: type[K]) -> type[K]:
        """Return a class of onegrad's own after registering it."""
        self.registry.put(description.model_fields["kind"].default, description)  # type: ignore[arg-type]
        return description

    def kind(self, value: Any) -> str:
        """Return the kind of a description, or of fields that make one."""
        if isinstance(value, self.base):
            return str(value.kind)  # type: ignore[attr-defined]
        if not isinstance(value, dict):
            return ""
        said = value.get("kind")
        return self.guess(value) if said is None else str(said)

    def read(self, value: Any) -> V:
        """Return the description of a value: itself, or made from a table of fields."""
        if isinstance(value, self.base):
            return value
        if not isinstance(value, dict):
            raise ValueError("must be a table of fields; correct it")
        return self.registry.get(self.kind(value), field="kind")(**value)

    def __get_pydantic_core_schema__(
        self, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"oneOf": [handler(kind.__pydantic_core_schema__) for kind in self.kinds()]}
