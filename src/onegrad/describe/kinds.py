"""Open unions: a field that holds one of several registered descriptions, told apart by `kind`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.registry import Registry, mark_of_source
from onegrad.describe.value import Value

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
