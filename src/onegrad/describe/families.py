"""Registries of things that are asked for as `name` or `name:argument`, as whitened:0.5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Generic, TypeVar

from onegrad.describe.checks import shown
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.registry import Registry

T = TypeVar("T")


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
