"""Controls of the page, read from the fields of the problem: their words, values and ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from onegrad.core.problem import Problem
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import LARGEST_COUNT, shown
from onegrad.describe.registry import registered_names
from onegrad.describe.value import Value, bounds_of, choices, nested_models, plain_types
from onegrad.explorer.state import FOLLOWING, ExplorerState, changed, companions_of, value_at

OPEN = ("data", "teacher")  # fields that hold one of several kinds
BELOW = 4.0  # room under a default that is smaller than its slider's usual end
AROUND = 30.0  # a slider without bounds spans this factor around its default, both ways
HALVINGS = 16  # of a slider's range, until its end is known
SAMPLES, RIDGE = "readout.samples", "readout.ridge"
BATCHED = (SAMPLES, RIDGE)  # one reduction serves all points of these
AXIS_FIELDS = ("path", "label", "symbol", "low", "high", "scale", "main")


@dataclass(frozen=True)
class Control:
    """One control: a field of the problem by its path, with all that a page shows of it."""

    path: str
    label: str
    symbol: str
    sentence: str
    kind: str
    group: str
    main: bool
    default: Any
    value: Any
    unit: str | None = None
    low: float | None = None
    high: float | None = None
    scale: str = "linear"
    choices: list[Any] = field(default_factory=list)
    nullable: bool = False
    follows: str | None = None
    rivals: list[str] = field(default_factory=list)
    companions: list[str] = field(default_factory=list)
    when: dict[str, Any] | None = None

    def applies(self, problem: Problem) -> bool:
        """Return whether it means anything in a problem: others may decide."""
        return self.when is None or value_at(problem, self.when["path"]) in self.when["values"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values without those that are empty."""
        always = ("path", "label", "symbol", "sentence", "kind", "group", "main")
        return {
            name: value
            for name, value in asdict(self).items()
            if name in (*always, "default", "value")
            or not (value is None or value is False or value == [])
        }


@dataclass(frozen=True)
class _Look:
    """The problem that controls show, the one whose values are defaults, and one path or all."""

    problem: Problem
    base: Problem
    only: str | None = None

    def sees(self, path: str) -> bool:
        """Whether a field, or one inside it, is looked for."""
        return self.only is None or f"{self.only}.".startswith(f"{path}.")


def controls_of(problem: Problem, base: Problem | None = None) -> list[Control]:
    """Return every control of a problem; defaults are those of `base`."""
    walked = _walk(_Look(problem, base or problem), type(problem), "")
    limited = (within_data(problem, control) for control in walked)
    return [control for control in limited if control is not None]


def control_at(problem: Problem, path: str) -> Control | None:
    """Return the control of one field; None if no such control applies."""
    walked = _walk(_Look(problem, problem, path), type(problem), "")
    named = [control for control in walked if control.path == path and control.applies(problem)]
    return within_data(problem, named[0]) if named else None


def number_controls(controls: list[Control], problem: Problem) -> list[Control]:
    """Return those of a problem's controls that a curve can go along."""
    return [c for c in controls if c.kind in ("number", "count") and c.applies(problem)]


def _walk(look: _Look, model: type[BaseModel], prefix: str) -> Iterator[Control]:
    """Yield the controls of a description and of what it holds."""
    for name, field_info in model.model_fields.items():
        path = f"{prefix}{name}"
        if not look.sees(path):
            continue
        inner = list(nested_models(field_info.annotation, field_info.metadata))
        if not inner:
            control = _control(look, model, path, field_info)
            if control is not None:
                yield control
        elif any(mark for mark, _ in inner):
            yield from _entries(look, path, inner[0][1])
        elif any(hasattr(extra, "kinds") for extra in field_info.metadata):
            yield from _open_union(look, path, field_info, [m for _, m in inner])
        else:
            yield from _walk(look, inner[0][1], f"{path}.")


def _entries(look: _Look, path: str, model: type[BaseModel]) -> Iterator[Control]:
    """Yield the controls of every entry of a list, such as the components of a mixture."""
    value: Any = look.problem
    for name in path.split("."):
        value = getattr(value, name, ())
    for index in range(len(value)):
        yield from _walk(look, model, f"{path}.{index}.")


def _open_union(
    look: _Look, path: str, info: FieldInfo, models: list[type[BaseModel]]
) -> Iterator[Control]:
    """Yield the choice of kind, and the controls of every kind that can be chosen."""
    present = type(getattr(look.problem, path))
    kinds = {_kind(m): m for m in models if m is present or _needs_no_fields(m)}
    where = f"{path}.kind"
    if len(kinds) > 1 and look.sees(where):
        labels = {k: (m.model_fields["kind"].description or k) for k, m in kinds.items()}
        yield Control(
            path=where,
            **{**_words(info, path), "main": True},
            kind="choice",
            default=value_at(look.base, where),
            value=value_at(look.problem, where),
            choices=[{"value": k, "label": label.rstrip(".")} for k, label in labels.items()],
        )
    seen: dict[str, Control] = {}
    owners: dict[str, list[str]] = {}
    for kind, model in kinds.items():
        for control in _walk(look, model, f"{path}."):
            seen.setdefault(control.path, control)
            owners.setdefault(control.path, []).append(kind)
    for name, control in seen.items():
        when = {"path": where, "values": owners[name]}
        yield control if len(owners[name]) == len(kinds) else replace(control, when=when)


def _kind(model: type[BaseModel]) -> str:
    return str(model.model_fields["kind"].default)


def _needs_no_fields(model: type[BaseModel]) -> bool:
    """Return whether a kind can be chosen by its name alone."""
    try:
        model(kind=_kind(model))
    except InvalidInput:
        return False
    return True


def _control(look: _Look, model: type[BaseModel], path: str, info: FieldInfo) -> Control | None:
    """Return the control of one field; None if a page cannot show its value."""
    extra = _extra(info)
    kind = _control_kind(info)
    if path.endswith("kind") or kind is None or extra.get("hidden"):
        return None
    if kind == "choice" and len(choices(info)) < 2:
        return None
    value, default = value_at(look.problem, path), value_at(look.base, path)
    if default is None:
        default = info.get_default(call_default_factory=True)
    low, high, scale = slider_range(info, extra, kind, default=default, value=value)
    prefix, _, name = path.rpartition(".")
    rivals = model.rivals.get(name, ()) if issubclass(model, Value) else ()
    nullable = type(None) in plain_types(info)
    offered = registered_names(extra["names"]) if "names" in extra else []
    return Control(
        path=path,
        **_words(info, path),
        kind=kind,
        default=default if isinstance(default, bool | int | float | str | list) else None,
        value=value,
        unit=extra.get("unit"),
        low=low,
        high=high,
        scale=scale,
        choices=list(choices(info)) if kind == "choice" else offered,
        nullable=nullable,
        follows=(info.description if nullable and path in FOLLOWING else None),
        rivals=[f"{prefix}.{rival}" if prefix else rival for rival in rivals],
        companions=list(companions_of(path, look.problem)),
    )


def _control_kind(info: FieldInfo) -> str | None:
    types = plain_types(info)
    if bool in types:
        return "switch"
    if int in types:
        return "count"
    if float in types:
        return "number"
    if choices(info) and str not in types:
        return "choice"
    return "text" if str in types else None


def _extra(info: FieldInfo) -> dict[str, Any]:
    extra = info.json_schema_extra
    return dict(extra.get("control", {})) if isinstance(extra, dict) else {}  # type: ignore[arg-type]


def _words(info: FieldInfo, path: str) -> dict[str, Any]:
    """Return what a page writes about a field, and where."""
    extra, name = _extra(info), path.rpartition(".")[2].replace("_", " ")
    return {
        "label": str(extra.get("label", name[:1].upper() + name[1:])),
        "symbol": extra.get("symbol", ""),
        "sentence": str(extra.get("sentence", info.description or "")),
        "group": _group(path),
        "main": extra.get("main", False),
    }


def _group(path: str) -> str:
    parts = path.split(".")
    if len(parts) > 2 and parts[2].isdigit():
        return f"Component {int(parts[2]) + 1}"
    return parts[0].capitalize() if len(parts) > 1 or parts[0] in OPEN else "Sizes"


def slider_range(
    info: FieldInfo, extra: dict[str, Any], kind: str, *, default: Any, value: Any
) -> tuple[float | None, float | None, str]:
    """Return the ends of a slider and its scale: as the field says, else by its bounds.

    Without an upper bound a slider spans a factor around the default; a value outside widens it,
    and a small default has room below.
    """
    if kind not in ("number", "count"):
        return None, None, "linear"
    low, high, open_low, whole = bounds_of(info)
    middle = default if isinstance(default, float | int) and default else 1.0
    unbounded = high is None or high >= LARGEST_COUNT
    positive = low is not None and (low > 0 or open_low)
    scale = extra.get("scale", "log" if unbounded and positive else "linear")
    top = AROUND * abs(middle) if unbounded or high is None else high
    if low is None or (scale == "log" and low <= 0):
        bottom = middle / AROUND if scale == "log" else -top
    else:
        bottom = max(low, middle / AROUND) if scale == "log" else low
    bottom, top = extra.get("low", bottom), extra.get("high", top)
    if scale == "log" and 0 < middle < bottom:
        bottom = max(middle / BELOW, low or 0.0)
    if isinstance(value, float | int) and not isinstance(value, bool):
        bottom, top = min(bottom, value or bottom), max(top, value)
    if whole:
        return round(bottom), round(top), scale
    return float(f"{bottom:.4g}"), float(f"{top:.4g}"), scale


def within_data(problem: Problem, control: Control) -> Control | None:
    """Return a control whose range the data allow; None if they allow its present value alone."""
    if problem.data.exact_moments or not control.applies(problem):
        return control
    if control.low is None or control.high is None:
        return control
    if control.value is None:
        ends = (control.low, control.high)
        return control if any(_is_allowed(problem, control.path, end) for end in ends) else None
    low = _furthest(problem, control, control.low)
    high = _furthest(problem, control, control.high)
    return None if low == high else replace(control, low=low, high=high)


def _furthest(problem: Problem, control: Control, end: float) -> float:
    """Return the end of a range, or the place nearest to it that is allowed."""
    if _is_allowed(problem, control.path, end):
        return end
    allowed, refused = control.value, end
    for _ in range(HALVINGS):
        middle = _middle(allowed, refused, control)
        if middle in (allowed, refused):
            break
        if _is_allowed(problem, control.path, middle):
            allowed = middle
        else:
            refused = middle
    return allowed


def _middle(a: float, b: float, control: Control) -> float:
    middle = sqrt(a * b) if control.scale == "log" else (a + b) / 2
    return round(middle) if control.kind == "count" else float(f"{middle:.3g}")


def _is_allowed(problem: Problem, path: str, value: float) -> bool:
    try:
        changed(problem, {path: value})
    except InvalidInput:
        return False
    return True


@dataclass(frozen=True)
class CurveAxis:
    """The values of a curve's axis, and the value that the problem itself has there."""

    path: str
    values: tuple[float, ...]
    current: Any


def axis_of(state: ExplorerState, points: int) -> CurveAxis:
    """Return the axis of a state with about so many values; raise InvalidInput without a range."""
    control = control_at(state.problem, state.axis)
    if control is None or control.low is None or control.high is None:
        known = number_controls(controls_of(state.problem), state.problem)
        names = ", ".join(other.path for other in known)
        raise InvalidInput(f"axis={shown(state.axis)}: must be one of {names}; choose one")
    space = np.geomspace if control.scale == "log" else np.linspace
    spaced = space(control.low, control.high, points)
    spaced[0], spaced[-1] = control.low, control.high
    values = (
        tuple(int(v) for v in np.unique(np.round(spaced)))
        if control.kind == "count"
        else tuple(float(f"{v:.6g}") for v in spaced)
    )
    return CurveAxis(control.path, values, value_at(state.problem, control.path))


def problem_at(state: ExplorerState, value: float | list[float]) -> Problem:
    """Return the problem at one value of the axis."""
    return changed(state.problem, {state.axis: value})
