"""Options that describe a problem: a flag and the path of a field; the schema says the rest.

Help texts, defaults and types come from the fields themselves, and only when help is asked for or
an option is given: until then nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from onegrad.problem.flags import PROBLEM_FLAGS

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

# What one option says of several components.
LISTED = {
    "weights": "one per component or class",
    "labels": "one per component or class",
    "means": "one number per component",
    "levels": "one per component",
}


def option_name(flag: str) -> str:
    """Return the name under which click hands a flag over."""
    return flag.split("/")[0].lstrip("-").replace("-", "_")


def paths() -> dict[str, str]:
    """Return the path of every option's field, by the option's name."""
    return {option_name(flag): path for flag, path in PROBLEM_FLAGS.items()}


class FieldOption(click.Option):
    """An option of a problem; its help comes from the field's description when it is shown."""

    path: str

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flag with its metavar, and the field's description with its default."""
        from onegrad.describe.schema import nested_fields
        from onegrad.problem.problem import Problem

        fields: dict[str, FieldInfo] = {}
        for path, field in nested_fields(Problem):
            fields.setdefault(path, field)
        field = fields[self.path]
        if not self.is_flag:
            self.metavar = metavar(field, listed=self.name in LISTED)
        self.help = _help(field, LISTED.get(self.name or ""))
        return super().get_help_record(ctx)


def _help(field: FieldInfo, more: str | None) -> str:
    said = (field.description or "").rstrip(".")
    text = f"{said}, {more}." if more else f"{said}."
    if field.default is None or more:
        return text
    default = field.default
    if isinstance(default, bool):
        default = "yes" if default else "no"
    elif isinstance(default, tuple):
        default = ",".join(str(part) for part in default)
    return f"{text}  [default: {default}]"


def metavar(field: FieldInfo, *, listed: bool = False) -> str:
    """Return what stands for a field's value in help: INTEGER, NUMBER, choices, …"""
    from onegrad.describe.schema import choices, holds_list, plain_types

    if listed:
        return "NUMBERS"
    words = choices(field)
    types = plain_types(field)
    if holds_list(field, float):
        return "|".join(["NUMBERS", *words])
    if words and str not in types:
        return "|".join(["INTEGER", *words] if int in types else words)
    if int in types:
        return "INTEGER"
    return "NUMBER" if float in types else "TEXT"


def problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add PROBLEM.toml, every option of a problem, --components and --task to a command."""
    command = click.option(
        "--task",
        type=click.Choice(["regression", "classification", "sign", "logistic"]),
        help="Label by link function, by component, or ±1 by the sign or a logistic probability "
        "of one direction.  [default: regression]",
    )(command)
    command = click.option("--components", help="Mixture components.  [default: 2]")(command)
    for flag, path in reversed(PROBLEM_FLAGS.items()):

        class Option(FieldOption):
            pass

        Option.path = path
        command = click.option(flag, cls=Option, default=None)(command)
    return click.argument("problem_file", required=False, metavar="[PROBLEM.toml]")(command)


def parse_numbers(name: str, text: object) -> list[float]:
    """Return the numbers of a comma list."""
    from onegrad.describe.exceptions import InvalidInput

    try:
        return [float(part) for part in str(text).split(",")]
    except ValueError:
        raise InvalidInput(
            f"{name}={text!r}: must be numbers separated by commas; correct it"
        ) from None
