"""Command-line options that describe a problem.

Help texts, defaults and types come from the fields themselves. They are imported only if help is
shown or an option is given, so that the command line starts quickly.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from onegrad.core.flags import PROBLEM_FLAGS
from onegrad.describe.exceptions import InvalidInput
from onegrad.theory.methods import DEFAULT_METHOD

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from onegrad.core.problem import Problem
    from onegrad.verbs.plan import CostEstimate

# The shape of options that list a value for several components.
LISTED = {
    "weights": "one per component or class",
    "labels": "one per component or class",
    "means": "one number per component",
    "levels": "one per component",
}


def option_name(flag: str) -> str:
    """Return the name of a flag's argument in click."""
    return flag.split("/")[0].lstrip("-").replace("-", "_")


PATHS = {option_name(flag): path for flag, path in PROBLEM_FLAGS.items()}  # of fields, by option


def problem_fields() -> dict[str, FieldInfo]:
    """Return every field of a problem by its path."""
    from onegrad.core.problem import Problem
    from onegrad.describe.value import nested_fields

    fields: dict[str, FieldInfo] = {}
    for path, field in nested_fields(Problem):
        fields.setdefault(path, field)
    return fields


class FieldOption(click.Option):
    """An option of a problem; its help comes from the field's description when it is shown."""

    path: str

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flag with its metavar, and the field's description with its default."""
        field = problem_fields()[self.path]
        if not self.is_flag:
            self.metavar = metavar(field, listed=self.name in LISTED)
        self.help = _help(field, LISTED.get(self.name or ""))
        return super().get_help_record(ctx)


def _help(field: FieldInfo, more: str | None) -> str:
    text = (field.description or "").rstrip(".")
    text = f"{text}, {more}." if more else f"{text}."
    if field.default is None or more:
        return text
    default = field.default
    if isinstance(default, bool):
        default = "yes" if default else "no"
    elif isinstance(default, tuple):
        default = ",".join(str(part) for part in default)
    return f"{text}  [default: {default}]"


def metavar(field: FieldInfo, *, listed: bool = False) -> str:
    """Return the placeholder for a field's value in help: INTEGER, NUMBER, choices, …"""
    from onegrad.describe.value import choices, holds_list, plain_types

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
    try:
        return [float(part) for part in str(text).split(",")]
    except ValueError:
        raise InvalidInput(
            f"{name}={text!r}: must be numbers separated by commas; try 1,2"
        ) from None


def models_option(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that chooses models; `names` are those that make sense here."""
    return click.option(
        "--models",
        default="network,hermite",
        show_default=True,
        metavar="NAMES",
        help=f"Comma list: {names}.",
    )


draws_option = click.option(
    "--draws", type=int, default=4, show_default=True, help="Draws of F, w and the steps' batches."
)
metric_option = click.option(
    "--metric",
    default="test_mse",
    show_default=True,
    help="test_mse; misclassification where labels are signs; test_loss of a --loss.",
)
method_option = click.option(
    "--method",
    default=DEFAULT_METHOD,
    show_default=True,
    help="types; closed without draws, in milliseconds; auto is closed where it is sure, else "
    "types.",
)
seed_option = click.option("--seed", type=int, default=0, show_default=True)
workers_option = click.option(
    "--workers",
    type=int,
    default=1,
    show_default=True,
    help="Processes, one BLAS thread each; the numbers do not depend on it.",
)
check_trials_option = click.option(
    "--check-trials",
    type=int,
    help="Real data: networks trained to check theory on the fitted mixture; 0 for none.  "
    "[default: 16]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
retry_failed_option = click.option(
    "--retry-failed", is_flag=True, help="Compute failed trials again, as they were."
)
plan_option = click.option(
    "--plan", "only_plan", is_flag=True, help="Tell what is computed, time and memory, and stop."
)
print_toml_option = click.option(
    "--print-toml", is_flag=True, help="Print the problem as TOML and stop."
)


def checked_trials(problem: Any, trials: int | None) -> int:
    """Return how many networks check theory on real data."""
    from onegrad.describe.numbers import whole_number
    from onegrad.verbs.fit_check import CHECK_TRIALS

    if trials is None:
        return CHECK_TRIALS
    if problem.data.exact_moments:
        raise InvalidInput(f"check_trials={trials}: belongs to real data; leave it out")
    return whole_number("check_trials", trials, least=0)


def print_plan(estimate: CostEstimate, workers: int) -> None:
    """Print a plan on standard error; raise InvalidInput if it does not fit this machine."""
    click.echo(f"onegrad: {estimate.checked(workers).sentence(workers)}", err=True)


def print_problem(problem: Any) -> None:
    """Print a problem as one TOML text."""
    from onegrad.describe.toml import printed

    click.echo(printed(problem.model_dump()), nl=False)


def show(result: Any, *, as_json: bool) -> None:
    """Print a result: one JSON object, or the table that it shows of itself."""
    if as_json:
        click.echo(json.dumps(result.to_dict(), allow_nan=False))
    else:
        from onegrad.cli.output import print_result

        print_result(result)


def whole_numbers(name: str, text: object) -> list[int]:
    """Return the whole numbers of a comma list."""
    numbers = parse_numbers(name, text)
    if not all(math.isfinite(number) and number == round(number) for number in numbers):
        raise InvalidInput(f"{name}={text!r}: must be whole numbers; try 100,200")
    return [round(number) for number in numbers]


def listed_samples(changes: dict[str, Any]) -> list[int] | None:
    """Take a comma list out of --samples; None when it is one number, which stays an option."""
    text = changes.pop("samples", None)
    if text is None:
        return None
    numbers = whole_numbers("samples", text)
    if len(numbers) == 1:
        changes["samples"] = numbers[0]
        return None
    return numbers


def single_samples(changes: dict[str, Any]) -> dict[str, Any]:
    """Return the options with --samples as one whole number."""
    if listed_samples(changes) is not None:
        raise InvalidInput("samples: must be one number here; predict takes a list")
    return changes


TABLES = (".csv", ".parquet")


def _contradictions(problem: Problem, given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield options that this problem does not use, with the rule and the remedy."""
    from onegrad.data.empirical import EmpiricalData
    from onegrad.data.mixture_source import MixtureSource

    if "labels" in given and not problem.teacher.reads_labels:
        yield "labels", "are read by class labels alone; add --task classification"
    if "test_samples" in given and problem.test == "exact":
        yield "test_samples", "an exact test error needs no test points; add --test sampled"
    data = problem.data
    file = data.file if isinstance(data, EmpiricalData) else None
    if "label_column" in given and Path(file or "").suffix.lower() not in TABLES:
        yield "label_column", "belongs to a CSV or Parquet table; leave it out, or give one"
    if problem.training.steps == 1:
        if float(given.get("momentum", 0)):
            yield "momentum", "acts from the second step on; raise --steps, or leave it out"
        if given.get("batches") == "reused":
            yield "batches", "one step has one batch; raise --steps, or leave it out"
    if not isinstance(data, MixtureSource):
        return
    if len(data.components) == 1:
        for name in ("alignment", "equal_totals"):
            if given.get(name):
                yield (
                    name,
                    "compares components, and there is one; add --components, or leave it out",
                )
    if not data.has_spikes:
        for name in ("strengths", "spread", "alignment", "equal_totals"):
            if given.get(name):
                yield (
                    name,
                    "changes spikes, and the data have no spikes; raise --rank, or leave it out",
                )


def note_unused(reason: str, *names: str) -> None:
    """Warn of each of these options that is on the command line, even with its default value."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = next(p.opts[0] for p in context.command.params if p.name == name)
            warnings.warn(f"{flag} does nothing here: {reason}", stacklevel=2)


def note_uncapped(models: str = "") -> None:
    """Warn that --degree-cap has no effect, unless the models include hermite without a degree."""
    if "hermite" not in [name.strip() for name in models.split(",")]:
        note_unused(
            "it bounds the degree of the model hermite, which is not asked for", "degree_cap"
        )


def note_not_tested(problem: Problem, *, method: str) -> None:
    """Warn of options about tests and draws that theory by this method does not use.

    Real data are an exception: their test rows are set aside in theory, too.
    """
    if problem.data.exact_moments:
        note_unused("theory integrates test errors and tests nothing", "test", "test_samples")
    if method == "closed":
        note_unused("this method draws nothing", "draws", "seed", "workers")


# Options that belong to mixtures alone, and to rows of data alone.
MIXTURE_ONLY = (
    *("components", "rank", "strengths", "level", "levels", "means"),
    *("alignment", "equal_totals", "counts"),
)
ROWS_ONLY = (
    "label_column",
    "classes",
    "response",
    "parts",
    "centring",
    "standardise",
    "equal_traces",
    "rescale",
    "input_noise",
    "fit_share",
    "components_per_class",
    "fit_rank",
)
# Fields of components by the option that lists a number for each.
BY_COMPONENT = {"weights": "weight", "labels": "label", "means": "mean", "levels": "level"}
# The teachers that have an option, if that takes a single word.
OF_TEACHERS = {
    "slope": "--task logistic; give that, or leave it out",
    "flips": "--task sign or classification; give one, or leave it out",
    "combine": "--links; give them, or leave it out",
    "directions": "--links; give them, or leave it out",
}
OF_COMPONENTS = (*BY_COMPONENT, "rank", "strengths", "level")


def build_problem(file: str | None, options: dict[str, Any]) -> Problem:
    """Return the problem of the file with the given options in place of its fields."""
    from onegrad.core.problem import Problem
    from onegrad.describe.numbers import shown
    from onegrad.describe.toml import read_fields

    given = {name: value for name, value in options.items() if value is not None}
    fields = {} if file is None else read_fields(Path(file))
    single = {n: v for n, v in given.items() if n not in (*OF_COMPONENTS, "components", "task")}
    _choose_teacher(fields, given)
    set_options(fields, single)
    if _is_rows(fields, given):
        _set_rows(fields, given)
    else:
        _refuse(given, ROWS_ONLY, "real data; add --data")
        _set_components(fields, given)
    _set_task(fields, given)
    problem = Problem(**fields)
    for name, reason in _contradictions(problem, given):
        raise InvalidInput(f"{name}={shown(given[name])}: {reason}")
    return problem


def set_options(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Put options into a description's fields; a field that excludes others replaces them."""
    from onegrad.core.problem import Problem

    known = problem_fields()
    rivals = _rivals(Problem)
    named = {PATHS[name] for name in given}
    for name, value in given.items():
        path = PATHS[name]
        *outer, last = path.split(".")
        table = fields
        for depth, part in enumerate(outer, start=1):
            inner = dict(_table(".".join(outer[:depth]), table.get(part, {})))
            table[part] = inner
            table = inner
        for rival in rivals.get(path, ()):
            if rival not in named:
                table.pop(rival.rpartition(".")[2], None)
        table[last] = converted(name, value, known[path])


def _rivals(model: Any, prefix: str = "") -> dict[str, tuple[str, ...]]:
    """Return which fields exclude which, by path, in a description and what it may hold."""
    from onegrad.describe.value import nested_models

    out = {
        f"{prefix}{name}": tuple(f"{prefix}{other}" for other in others)
        for name, others in model.rivals.items()
    }
    for name, field in model.model_fields.items():
        for _, inner in nested_models(field.annotation, field.metadata):
            out |= _rivals(inner, f"{prefix}{name}.")
    return out


def converted(name: str, value: Any, field: FieldInfo) -> Any:
    """Return an option's string as a value of its field: a number, a list, or the string."""
    from onegrad.describe.value import choices, holds_list, plain_types

    if not isinstance(value, str) or value in choices(field):
        return value
    types = plain_types(field)
    if holds_list(field, str):
        return value.split(",")
    if holds_list(field, float):
        numbers = parse_numbers(name, value)
        return numbers[0] if len(numbers) == 1 else numbers
    if str in types or not {int, float} & set(types):
        return value
    try:
        return int(value) if int in types else float(value)
    except ValueError:
        kind = "whole number" if int in types else "number"
        raise InvalidInput(f"{name}={value!r}: must be a {kind}; give one") from None


def _is_rows(fields: dict[str, Any], given: dict[str, Any]) -> bool:
    """Return whether the data are rows; --data replaces other data of the file."""
    from onegrad.data.source import SOURCES

    data = fields.get("data", {})
    if "data" in given:
        taken = {PATHS[name].split(".")[1] for name in given if "data." in PATHS.get(name, "")}
        fields["data"] = {name: value for name, value in data.items() if name in taken}
        return True
    kind = SOURCES.kind(data)
    return kind in SOURCES and not SOURCES[kind].exact_moments


def _set_rows(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Apply --labels and --weights to the classes of real data."""
    _refuse(given, MIXTURE_ONLY, "a mixture; leave it out")
    for name, field in (("labels", "targets"), ("weights", "weights")):
        if name in given:
            text = given[name]
            by_rows = name == "weights" and text == "rows"
            value = text if by_rows else parse_numbers(name, text)
            fields["data"] = {**fields["data"], field: value}


def _refuse(given: dict[str, Any], names: tuple[str, ...], whose: str) -> None:
    for name in given:
        if name in names:
            raise InvalidInput(f"{name}={given[name]!r}: belongs to {whose}")


def _set_components(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Apply --components and the options of single components to a mixture."""
    if not any(name in given for name in ("components", *OF_COMPONENTS)):
        return
    from onegrad.data.mixture_source import Component

    if "level" in given and "levels" in given:
        _refuse(given, ("level",), "all components, --levels to each; leave one out")
    data = dict(_table("data", fields.get("data", {})))
    lists: dict[str, list[float]] = {
        name: parse_numbers(name, given[name]) for name in BY_COMPONENT if name in given
    }
    parts = _parts(data, given, lists)
    for name, numbers in lists.items():
        for part, number in zip(parts, numbers, strict=True):
            part[BY_COMPONENT[name]] = number
    for part in parts:
        part.setdefault("weight", 1 / len(parts))
        for name in ("rank", "level", "strengths"):
            if name in given:
                part[name] = converted(name, given[name], Component.model_fields[name])
    data["components"] = parts
    fields["data"] = data


def _parts(
    data: dict[str, Any], given: dict[str, Any], lists: dict[str, list[float]]
) -> list[dict[str, Any]]:
    """Return one table per component, as many as options and file ask for."""
    from onegrad.data.mixture_source import MOST_COMPONENTS
    from onegrad.describe.numbers import shown

    listed = data.get("components", [{}, {}])
    if not isinstance(listed, list):
        raise InvalidInput(
            f"data.components={shown(listed)}: must be a list of tables; write [[data.components]]"
        )
    parts = [dict(_table(f"data.components.{i}", c)) for i, c in enumerate(listed)]
    count = len(next(iter(lists.values()))) if lists else len(parts)
    if "components" in given:
        text = str(given["components"])
        count = int(text) if text.lstrip("+-").isdigit() else 0
        if not 1 <= count <= MOST_COMPONENTS:
            raise InvalidInput(
                f"components={text}: must be a whole number from 1 to {MOST_COMPONENTS}; change it"
            )
    for name, numbers in lists.items():
        if len(numbers) != count:
            raise InvalidInput(
                f"{name}={numbers}: must be {count} numbers, one per component; change one of them"
            )
    if count == len(parts):
        return parts
    if "components" in data:
        raise InvalidInput(
            f"components={count}: the file describes {len(parts)} components; leave the option "
            "out or edit the file"
        )
    return [{} for _ in range(count)]


def _choose_teacher(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Remove a file's teacher that is not the kind of --link or --links."""
    from onegrad.data.teachers import TEACHERS

    wanted = [name for name in ("link", "links") if name in given]
    if len(wanted) != 1 or "teacher" not in fields:
        return
    teacher = _table("teacher", fields["teacher"])
    if {"link": "index", "links": "indices"}[wanted[0]] != TEACHERS.kind(teacher):
        fields["teacher"] = {name: teacher[name] for name in ("noise",) if name in teacher}


def _set_task(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Choose the teacher that --task names, without the file's fields of another kind."""
    from onegrad.data.teachers import TEACHERS

    teacher = dict(_table("teacher", fields.get("teacher", {})))
    if "task" not in given:
        _refuse_of_others(given, TEACHERS.kind(teacher))
        return
    regression = "indices" if "links" in teacher else "index"
    kind = {"regression": regression, "classification": "labels"}.get(given["task"], given["task"])
    others = _refuse_of_others(given, kind)
    fields["teacher"] = {n: v for n, v in teacher.items() if n not in others} | {"kind": kind}


def _refuse_of_others(given: dict[str, Any], kind: str) -> set[str]:
    """Return the fields that teachers of another kind alone have; refuse options for them."""
    from onegrad.data.teachers import TEACHERS

    if kind not in TEACHERS:
        return set()  # Problem refuses the kind, and lists the known ones
    own = set(TEACHERS[kind].model_fields)
    others = {name for other in TEACHERS.kinds() for name in other.model_fields} - own
    for name, path in PATHS.items():
        if path in {f"teacher.{other}" for other in others}:
            _refuse(given, (name,), OF_TEACHERS.get(name, "another --task; leave it out"))
    return others


def _table(name: str, value: object) -> dict[str, Any]:
    from onegrad.describe.numbers import shown

    if not isinstance(value, dict):
        raise InvalidInput(f"{name}={shown(value)}: must be a table of fields; write [{name}]")
    return value
