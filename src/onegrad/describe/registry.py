"""Registries: objects by name, onegrad's own and users', known to worker processes too.

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
from math import isfinite
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
    """A registered object, and how it is asked for.

    `mark` identifies the code of a user's object; it is None for onegrad's own. `argument` is the
    word for what may follow a colon, as in huber:DELTA, None if nothing may. An argument with a
    `default` is a positive number.
    """

    registered: T
    mark: str | None = None
    argument: str | None = None
    default: float | None = None


Snapshot = dict[str, tuple[str, dict[str, Entry[Any]]]]  # by title: home and additions
_REGISTRIES: dict[str, Registry[Any]] = {}


class Registry(Generic[T]):
    """Objects by name; `title` describes them.

    Texts that ask for an object have the form "name" or "name:argument". `home` is the module that
    makes the registry; a worker imports it when it learns of additions. Without a home additions
    are not sent to workers.
    """

    def __init__(
        self, title: str, built_in: dict[str, T] | None = None, *, home: str | None = None
    ) -> None:
        self.title, self.home = title, home
        self.entries = {name: Entry(registered) for name, registered in (built_in or {}).items()}
        _REGISTRIES[title] = self

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __getitem__(self, name: str) -> T:
        return self.entries[name].registered

    def get(self, name: str, *, field: str) -> T:
        """Return the object of a name; `field` is what an error message calls the name."""
        if not isinstance(name, str) or name not in self.entries:
            raise self.unknown(name, field=field)
        return self.entries[name].registered

    def split(self, text: object, *, field: str) -> tuple[str, str | None]:
        """Return the known name and the argument of "name:argument"; the argument may be None."""
        if not isinstance(text, str):
            raise self.unknown(text, field=field)
        name, colon, argument = (part.strip() for part in text.partition(":"))
        known = name if name in self else name.lower()
        if known not in self or (colon and self.entries[known].argument is None):
            raise self.unknown(text, field=field)
        return known, argument if colon else None

    def forms(self) -> list[str]:
        """Return how everything is asked for."""
        forms = []
        for name, entry in self.entries.items():
            forms += [name] if entry.argument is None else [name, f"{name}:{entry.argument}"]
        return forms

    def unknown(self, text: object, *, field: str, known: list[str] | None = None) -> InvalidInput:
        """Return the error that lists the names that there are, with the nearest one."""
        names = self.forms() if known is None else known
        near = difflib.get_close_matches(str(text), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "choose one, or register your own"
        return InvalidInput(f"{field}={shown(text)}: must be one of {listed(names)}; {hint}")

    def add(self, name: str, registered: T, *, mark: str, argument: str | None = None) -> T:
        """Return a user's object after registering it under a name that onegrad does not use."""
        self.require_free(name)
        self.entries[name] = Entry(registered, mark, argument)
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

    def put(
        self, name: str, registered: T, *, argument: str | None = None, default: float | None = None
    ) -> T:
        """Return one of onegrad's own objects after registering it."""
        self.entries[name] = Entry(registered, None, argument, default)
        return registered

    def added(self) -> dict[str, Entry[T]]:
        """Return the entries that users have added in this process."""
        return {name: entry for name, entry in self.entries.items() if entry.mark is not None}

    def mark(self, text: str) -> str | None:
        """Return the mark of a user's object by "name" or "name:argument"; else None."""
        entry = self.entries.get(text.partition(":")[0])
        return None if entry is None else entry.mark


def make_named(registry: Registry[Callable[..., T]], text: str, *, field: str) -> tuple[str, T]:
    """Return the canonical "name:argument", and the object that the registered callable makes.

    A default is written out: "huber" becomes "huber:1".
    """
    name, argument = registry.split(text, field=field)
    entry = registry.entries[name]
    try:
        if entry.default is not None:
            number = _positive_argument(argument, entry)
            return f"{name}:{number_text(number)}", entry.registered(number)
        if argument is None:
            return name, entry.registered()
        return f"{name}:{argument}", entry.registered(argument)
    except InvalidInput:
        raise
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        forms = name if entry.argument is None else f"{name} or {name}:{entry.argument}"
        raise InvalidInput(f"{field}={text!r}: {reason}; write {forms}") from error


def _positive_argument(argument: str | None, entry: Entry[Any]) -> float:
    try:
        number = float(entry.default if argument is None else argument)  # type: ignore[arg-type]
    except ValueError:
        number = 0.0
    if not (isfinite(number) and number > 0):
        raise ValueError(f"{entry.argument} must be a finite number greater than 0")
    return number


def number_text(value: float) -> str:
    """Return the shortest text of a number that reads back as the same."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def listed(names: Sequence[str]) -> str:
    """Return names for a message of one line: as many as fit, and how many more there are."""
    fitting: list[str] = []
    length = 0
    for name in names:
        length += len(name) + len(", ")
        if length > LONGEST_LIST:
            return f"{', '.join(fitting)} and {len(names) - len(fitting)} more"
        fitting.append(name)
    return ", ".join(fitting)


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
    """Return a digest of the source of a class or function, of its name if there is no source.

    Stored rows are keyed by it: changing the code invalidates them.
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


V = TypeVar("V", bound=Value)
K = TypeVar("K", bound=Value)


class TaggedUnion(Registry[type[V]]):
    """The descriptions that a field may hold: registered subclasses of `base` by their `kind`.

    `default_kind` returns the kind of fields that do not name theirs. Used as metadata of a field:
    `Annotated[Source, SOURCES]`.
    """

    def __init__(
        self,
        base: type[V],
        title: str,
        default_kind: Callable[[dict[str, Any]], str],
        *,
        home: str | None = None,
    ) -> None:
        super().__init__(title, home=home)
        self.base, self.default_kind = base, default_kind

    def kinds(self) -> Iterator[type[V]]:
        """Yield the registered classes."""
        return (self[name] for name in self)

    def register(self, description: type[V]) -> type[V]:
        """Return a user's class after registering it under the default of its field `kind`."""
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
        return self.add(name, description, mark=mark_of_source(description))

    def built_in(self, description: type[K]) -> type[K]:
        """Return a class of onegrad's own after registering it."""
        self.put(description.model_fields["kind"].default, description)  # type: ignore[arg-type]
        return description

    def kind(self, value: Any) -> str:
        """Return the kind of a description, or of fields that make one."""
        if isinstance(value, self.base):
            return str(value.kind)  # type: ignore[attr-defined]
        if not isinstance(value, dict):
            return ""
        named = value.get("kind")
        return self.default_kind(value) if named is None else str(named)

    def read(self, value: Any) -> V:
        """Return the description of a value: itself, or made from a table of fields."""
        if isinstance(value, self.base):
            return value
        if not isinstance(value, dict):
            raise ValueError("must be a table of fields; write field = value")
        return self.get(self.kind(value), field="kind")(**value)

    def __get_pydantic_core_schema__(
        self, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"oneOf": [handler(kind.__pydantic_core_schema__) for kind in self.kinds()]}
