"""The command line's options that describe a problem, and the problem that they make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from onegrad.problem.problem import Problem

# (option, keyword arguments of click, field of the problem)
_OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("--dimension", {"type": int, "help": "Input dimension n.  [default: 1000]"}, "dimension"),
    (
        "--samples",
        {"metavar": "INTEGER", "help": "Samples m of the readout.  [default: 1000]"},
        "samples",
    ),
    (
        "--step-samples",
        {"type": int, "help": "Samples of the gradient step.  [default: m]"},
        "step_samples",
    ),
    (
        "--test-samples",
        {"type": int, "help": "Test points when sampled.  [default: 5m]"},
        "test_samples",
    ),
    ("--width", {"type": int, "help": "Neurons k.  [default: m]"}, "network.width"),
    ("--width-ratio", {"type": float, "help": "Neurons per sample, k/m."}, "network.width_ratio"),
    (
        "--activation",
        {
            "help": "relu, tanh, sigmoid, erf, softplus, gelu, silu, sin, identity, "
            "hermite:DEGREE.  [default: relu]"
        },
        "network.activation",
    ),
    (
        "--second-layer",
        {"help": "gaussian, sign or constant.  [default: gaussian]"},
        "network.second_layer",
    ),
    (
        "--normalise-rows/--no-normalise-rows",
        {"default": None, "help": "Rows of F have norm 1."},
        "network.normalise_rows",
    ),
    ("--strength", {"type": float, "help": "β: η‖Σ‖ ≍ n^β.  [default: 0.74]"}, "scaling.strength"),
    (
        "--weighting",
        {"type": float, "help": "α: η = n^{βα}, θ = n^{β(1−α)}.  [default: 0.5]"},
        "scaling.weighting",
    ),
    (
        "--learning-rate",
        {"type": float, "help": "η itself, with --spread."},
        "scaling.learning_rate",
    ),
    ("--spread", {"type": float, "help": "θ itself, with --learning-rate."}, "scaling.spread"),
    (
        "--degree-cap",
        {"type": int, "help": "Largest default Hermite degree.  [default: 4]"},
        "scaling.degree_cap",
    ),
    ("--ridge", {"metavar": "NUMBERS", "help": "λ, or a comma list.  [default: 1e-4]"}, "ridge"),
    (
        "--data",
        {
            "metavar": "FILE",
            "help": "Real data: .npz with X and y, CSV or Parquet, or fashion-mnist, digits.",
        },
        "data.file",
    ),
    (
        "--label-column",
        {"metavar": "NAME", "help": "Column of a table that holds labels.  [default: label]"},
        "data.label_column",
    ),
    (
        "--classes",
        {
            "metavar": "NAMES",
            "help": "Labels taken, as 0,1; + groups several, as 0+2,1+3.  [default: both of two]",
        },
        "data.classes",
    ),
    (
        "--centring",
        {"help": "Real data: class, midpoint or none.  [default: class]"},
        "data.centring",
    ),
    (
        "--equal-traces/--no-equal-traces",
        {"default": None, "help": "Scale classes to the first one's trace.  [default: yes]"},
        "data.equal_traces",
    ),
    (
        "--rescale/--no-rescale",
        {"default": None, "help": "Bring the trace of real data to the spread θ.  [default: yes]"},
        "data.rescale",
    ),
    (
        "--input-noise",
        {"type": float, "help": "Deviation of noise added to real inputs.  [default: 1]"},
        "data.noise",
    ),
    (
        "--fit-share",
        {
            "type": float,
            "help": "Share of rows kept from networks, to fit a mixture to.  [default: 0.5]",
        },
        "data.fit_share",
    ),
    (
        "--components-per-class",
        {
            "type": int,
            "help": "Of the fitted mixture.  [default: by held-out likelihood, up to 16]",
        },
        "data.fit.components_per_class",
    ),
    (
        "--fit-rank",
        {"type": int, "help": "Spikes per fitted component.  [default: 30]"},
        "data.fit.rank",
    ),
    ("--components", {"type": int, "help": "Mixture components.  [default: 2]"}, "components"),
    (
        "--weights",
        {"metavar": "NUMBERS", "help": "Weights of components or classes.  [default: equal]"},
        "weights",
    ),
    ("--rank", {"type": int, "help": "Spikes per component.  [default: 1]"}, "rank"),
    (
        "--strengths",
        {"metavar": "NUMBERS|uniform", "help": "Spike strengths as multiples of θ.  [default: 1]"},
        "strengths",
    ),
    ("--level", {"type": float, "help": "Isotropic level s².  [default: 1]"}, "level"),
    (
        "--alignment",
        {
            "type": float,
            "help": "Cosine of spike i of every component with spike i of "
            "the first.  [default: drawn independently]",
        },
        "data.alignment",
    ),
    (
        "--equal-totals/--no-equal-totals",
        {"default": None, "help": "Rescale strengths to the first component's sum."},
        "data.equal_totals",
    ),
    ("--counts", {"help": "Component counts: exact or sampled.  [default: exact]"}, "data.counts"),
    (
        "--labels",
        {"metavar": "NUMBERS", "help": "Label per component or class, for classification."},
        "labels",
    ),
    (
        "--task",
        {
            "type": click.Choice(["regression", "classification"]),
            "help": "Label by link function or by component.  [default: regression]",
        },
        "task",
    ),
    ("--link", {"help": "Teacher's link function.  [default: relu]"}, "teacher.link"),
    ("--direction", {"help": "Teacher: random or spikes.  [default: random]"}, "teacher.direction"),
    (
        "--noise",
        {"type": float, "help": "Deviation of label noise.  [default: 0]"},
        "teacher.noise",
    ),
    ("--test", {"help": "Test error: exact or sampled.  [default: exact]"}, "test"),
    ("--redraw", {"help": "Per trial: all or network.  [default: all]"}, "redraw"),
    ("--precision", {"help": "float64 or mixed.  [default: float64]"}, "precision"),
]
_OF_MIXTURES = (
    "components",
    "rank",
    "strengths",
    "level",
    "alignment",
    "equal_totals",
    "counts",
)
_OF_REAL_DATA = (
    "label_column",
    "classes",
    "centring",
    "equal_traces",
    "rescale",
    "input_noise",
    "fit_share",
    "components_per_class",
    "fit_rank",
)
_FIELDS = {
    option.split("/")[0].lstrip("-").replace("-", "_"): field for option, _, field in _OPTIONS
}


def problem_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add PROBLEM.toml and every option of a problem to a command."""
    for option, settings, _ in reversed(_OPTIONS):
        command = click.option(option, **settings)(command)
    return click.argument("problem_file", required=False, metavar="[PROBLEM.toml]")(command)


def build_problem(path: Path | None, options: dict[str, Any]) -> Problem:
    """Return the problem of the file with the given options in place of its fields."""
    from onegrad.describe.toml import read_fields
    from onegrad.problem.architecture import Network
    from onegrad.problem.problem import Problem
    from onegrad.problem.scaling import Scaling

    fields: dict[str, Any] = {} if path is None else read_fields(path)
    given = {name: value for name, value in options.items() if value is not None}
    rivals = Network.rivals | Scaling.rivals
    for name, value in given.items():
        outer, _, inner = _FIELDS[name].partition(".")
        if name == "ridge":
            numbers = parse_numbers(name, value)
            fields["ridge"] = numbers[0] if len(numbers) == 1 else numbers
        elif name == "samples":
            fields["samples"] = _whole(name, value)
        elif inner:
            held = dict(_table(outer, fields.get(outer, {})))
            for rival in rivals.get(inner, ()):
                if rival not in given:
                    held.pop(rival, None)
            middle, _, last = inner.rpartition(".")
            if middle:
                held[middle] = {**_table(f"{outer}.{middle}", held.get(middle, {})), last: value}
            else:
                held[inner] = value
            fields[outer] = held
        elif outer not in ("components", "weights", "rank", "strengths", "level", "labels", "task"):
            fields[outer] = value
    _set_real_data(fields, given)
    _set_components(fields, given)
    _set_task(fields, given)
    return Problem(**fields)


def _set_real_data(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Make --data's source empirical; refuse options of the other kind of source."""
    from onegrad.describe.exceptions import InvalidInput

    if "data" in given:
        # What the file says of other data, real or a mixture, does not hold for these.
        options = [_FIELDS[name] for name in given]
        taken = {path.split(".")[1] for path in options if path.startswith("data.")}
        held = {name: value for name, value in fields["data"].items() if name in taken}
        fields["data"] = {**held, "kind": "empirical"}
    data = fields.get("data", {})
    real = isinstance(data, dict) and (data.get("kind") == "empirical" or "file" in data)
    if real:
        for name, field in (("labels", "targets"), ("weights", "weights")):
            if name in given:
                fields["data"] = {**fields["data"], field: parse_numbers(name, given[name])}
    foreign = _OF_MIXTURES if real else _OF_REAL_DATA
    for name in given:
        if name in foreign:
            remedy = "leave it out" if real else "add --data"
            kind = "a mixture" if real else "real data"
            raise InvalidInput(f"{name}={given[name]!r}: belongs to {kind}; {remedy}")


def _set_components(fields: dict[str, Any], given: dict[str, Any]) -> None:
    """Apply --components, --weights, --rank, --strengths, --level and --labels to components."""
    from onegrad.data.mixture_source import MOST_COMPONENTS
    from onegrad.describe.checks import shown
    from onegrad.describe.exceptions import InvalidInput

    names = ("components", "weights", "rank", "strengths", "level", "labels")
    source = fields.get("data", {})
    real = isinstance(source, dict) and source.get("kind") == "empirical"
    if real or not any(name in given for name in names):
        return
    data = dict(_table("data", fields.get("data", {})))
    listed = data.get("components", [{}, {}])
    if not isinstance(listed, list):
        raise InvalidInput(f"data.components={shown(listed)}: must be a list of tables; correct it")
    parts = [dict(_table(f"data.components.{i}", c)) for i, c in enumerate(listed)]
    weights = parse_numbers("weights", given["weights"]) if "weights" in given else None
    count = given.get("components", len(weights) if weights else len(parts))
    if not 1 <= count <= MOST_COMPONENTS:
        raise InvalidInput(f"components={count}: must be 1 to {MOST_COMPONENTS}; change it")
    if weights is not None and len(weights) != count:
        raise InvalidInput(
            f"weights={weights}: must be {count} numbers, one per component; change one of them"
        )
    if count != len(parts):
        if "components" in data:
            raise InvalidInput(
                f"components={count}: the file describes {len(parts)} components; "
                "leave the option out or edit the file"
            )
        parts = [{} for _ in range(count)]
    labels = parse_numbers("labels", given["labels"]) if "labels" in given else None
    if labels is not None and len(labels) != count:
        raise InvalidInput(
            f"labels={labels}: must be {count} numbers, one per component; change one of them"
        )
    for index, part in enumerate(parts):
        if labels is not None:
            part["label"] = labels[index]
        if weights is not None:
            part["weight"] = weights[index]
        part.setdefault("weight", 1 / count)
        for name in ("rank", "level"):
            if name in given:
                part[name] = given[name]
        if "strengths" in given:
            text = given["strengths"]
            if text == "uniform":
                part["strengths"] = text
            else:
                numbers = parse_numbers("strengths", text)
                part["strengths"] = numbers[0] if len(numbers) == 1 else numbers
    data["components"] = parts
    fields["data"] = data


def _set_task(fields: dict[str, Any], given: dict[str, Any]) -> None:
    if "task" not in given:
        return
    from onegrad.describe.exceptions import InvalidInput

    teacher = dict(_table("teacher", fields.get("teacher", {})))
    teacher["kind"] = "labels" if given["task"] == "classification" else "index"
    if teacher["kind"] == "labels":
        for name in ("link", "direction"):
            if name in given:
                raise InvalidInput(
                    f"{name}={given[name]!r}: belongs to --task regression; leave it out"
                )
        for name in ("link", "direction", "norm"):
            teacher.pop(name, None)
    fields["teacher"] = teacher


def parse_numbers(name: str, text: str) -> list[float]:
    """Return the numbers of a comma list."""
    from onegrad.describe.exceptions import InvalidInput

    try:
        return [float(part) for part in str(text).split(",")]
    except ValueError:
        raise InvalidInput(
            f"{name}={text!r}: must be numbers separated by commas; correct it"
        ) from None


def _whole(name: str, text: object) -> int:
    from onegrad.describe.exceptions import InvalidInput

    try:
        return int(str(text))
    except ValueError:
        raise InvalidInput(f"{name}={text!r}: must be a whole number; correct it") from None


def _table(name: str, value: object) -> dict[str, Any]:
    from onegrad.describe.checks import shown
    from onegrad.describe.exceptions import InvalidInput

    if not isinstance(value, dict):
        raise InvalidInput(f"{name}={shown(value)}: must be a table of fields; correct it")
    return value
