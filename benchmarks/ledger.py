"""A list of everything that a user can reach, generated from the code, to compare after a change.

    python benchmarks/ledger.py             # write tests/ledger.json
    python benchmarks/ledger.py --compare   # print what is missing, new or changed

An entry does not depend on the file in which a thing is defined: a move changes imports alone.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

import onegrad as og
from onegrad.calculus.functions import FUNCTIONS
from onegrad.calculus.losses import LOSSES
from onegrad.calculus.rules import RULES
from onegrad.cli.main import cli
from onegrad.core.model_names import models_of  # noqa: F401 (registers the models)
from onegrad.core.models import MODELS
from onegrad.data.source import SOURCES
from onegrad.data.teachers import TEACHERS
from onegrad.describe.value import bounds_of, nested_models, plain_types
from onegrad.explorer.presets import explorer_document
from onegrad.explorer.server import ExplorerApp, application
from onegrad.explorer.state import ExplorerState
from onegrad.papers.panel_registry import KINDS, PANELS, STUDIES, PanelDeclaration

ROOT = Path(__file__).parents[1]
LEDGER = ROOT / "tests" / "ledger.json"
REGISTRIES: dict[str, Any] = {"function": FUNCTIONS, "loss": LOSSES, "rule": RULES, "model": MODELS}
REGISTRIES |= {"source": SOURCES, "teacher": TEACHERS, "panel kind": KINDS}
OPERATORS = ("__getitem__", "__len__", "__iter__", "__call__")
# What may be reworded.
SENTENCES = ("caption", "shows", "title", "label", "sentence", "story", "follows")
Entries = Iterator[tuple[str, str]]


def plain(value: Any) -> str:
    """Return a value as a string without modules, addresses and sentences, numbers to 6 digits."""
    if isinstance(value, str | float):
        return value if isinstance(value, str) else f"{value:.6g}"
    if isinstance(value, dict):
        pairs = (f"{k}: {plain(v)}" for k, v in value.items() if k not in SENTENCES)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(plain(entry) for entry in value)}]"
    if callable(value) and not hasattr(value, "__args__"):
        return value.__name__ if isinstance(value, type) else "a function"
    if inspect.isdatadescriptor(value):
        return "attribute"
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", " ".join(repr(value).split()))


def call(thing: Any) -> str:
    """Return the parameters of a function or class with their kinds and defaults."""
    if isinstance(thing, type) and issubclass(thing, Exception):
        return "an exception"
    parts, marks = [], {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
    for name, parameter in inspect.signature(thing).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if parameter.default is parameter.empty else f"={plain(parameter.default)}"
        parts.append(f"{marks.get(parameter.kind.name, '')}{name}{default}")
    return ", ".join(part for part in parts if part != "self")


def commands(path: str, command: Any, context: click.Context) -> Entries:
    """Yield every argument and option of a command and of the commands in it."""
    yield f"command {path}", f"help by {' '.join(sorted(command.get_help_option_names(context)))}"
    for param in command.params:
        info = param.to_info_dict()
        parts = [" ".join(param.opts + param.secondary_opts)]
        parts += [plain(info["type"].get("choices", info["type"]["name"]))]
        parts += [] if param.nargs == 1 else [f"{param.nargs} values"]
        parts += [name for name in ("required", "multiple", "is_flag") if info.get(name)]
        if isinstance(info["default"], int | float | str) and info["default"] is not False:
            parts += [f"default {info['default']!r}"]
        visible = param.opts[-1] if isinstance(param, click.Option) else param.metavar
        yield f"command {path} {visible}", ", ".join(parts)
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(f"{path} {name}", inner, click.Context(inner, context, name))


def fields(model: Any, path: str) -> Entries:
    """Yield every field of a description and of what it may hold, by kind where there are kinds."""
    for name, field in model.model_fields.items():
        low, high, open_low, _ = bounds_of(field)
        parts = [" or ".join(sorted(plain(kind) for kind in plain_types(field)))]
        parts += [] if low is None else [f"{'>' if open_low else '>='} {low:g}"]
        parts += [] if high is None else [f"<= {high:g}"]
        parts += ["required"] if field.is_required() else [f"default {plain(field.get_default())}"]
        yield f"field {path}.{name}", ", ".join(parts)
        for mark, inner in nested_models(field.annotation, field.metadata):
            kind = inner.model_fields.get("kind")
            which = ("" if kind is None else f"({kind.default})") + (mark and ".*")
            if inner not in (og.Problem, og.Sweep):
                yield from fields(inner, f"{path}.{name}{which}")


def members(label: str, cls: Any) -> Entries:
    """Yield how a class is made, and its public fields, properties and methods."""
    own = [base for base in cls.__mro__ if base.__module__.startswith("onegrad")]
    foreign = {base.__name__ for part in own for base in part.__bases__ if base not in own}
    yield label, f"{call(cls)}; {', '.join(sorted(foreign))}"
    data = {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    for name in sorted(data | set(dir(cls))):
        owner = next((base for base in cls.__mro__ if name in vars(base)), own[0])
        hidden = name.startswith(("_", "model_")) or name.endswith("_request")  # pydantic, sklearn
        if owner in own and (name in OPERATORS or not hidden):
            value = getattr(cls, name, None)
            method = inspect.isroutine(value) and not inspect.isdatadescriptor(value)
            said = "attribute" if name in data or isinstance(value, cached_property) else ""
            yield f"{label}.{name}", said or (f"({call(value)})" if method else plain(value))


def public_names() -> Entries:
    """Yield every public name with its parameters and members."""
    for name in og.__all__:
        label, thing = f"name {name}", getattr(og, name)
        yield from members(label, thing) if isinstance(thing, type) else [(label, call(thing))]


def problems() -> tuple[og.Problem, og.Problem]:
    """Return a problem on a mixture and one on rows that take milliseconds."""
    sizes = {"readout": {"samples": 15}, "network": {"width": 6}, "training": {"samples": 15}}
    rows, labels = np.random.default_rng(0).standard_normal((120, 4)), np.repeat([0.0, 1.0], 60)
    data = og.EmpiricalData(rows, labels)
    return og.Problem(dimension=12, **sizes), og.Problem(data=data, test_samples=8, **sizes)


def results() -> Entries:
    """Yield what the results of all verbs hold, the columns of tables, what estimators learn."""
    tiny, real = problems()
    sweep = og.Sweep(problem=tiny, trials=1, axes={"network.width": [5, 6]})
    ratios = dict.fromkeys(("step_ratio", "rate", "width_ratio", "sample_ratio", "ridge"), 1)
    seen: set[type] = {getattr(og, name) for name in og.__all__ if name[0].isupper()}
    with tempfile.TemporaryDirectory() as folder:
        todo: dict[str, Any] = {
            "simulate": og.simulate(tiny, trials=2),
            "simulate estimate": og.simulate(tiny, trials=1).estimate(),
            "equivalence": og.equivalence(tiny, [1], dimensions=[12, 24], draws=1),
            "tune": og.tune(real, "ridge", draws=2, check_trials=2),
            "take_steps": og.take_steps(tiny),
            "limit": og.maximal_rate_limit("tanh", "sin", **ratios),
            "settings": sweep.settings(),
            "run_sweep": og.run_sweep(sweep, folder),
        }
        while todo:  # the attributes of results, and theirs
            label, value = todo.popitem()
            if isinstance(value, list | tuple) and value:
                todo[f"{label}[]"] = value[-1]
            elif type(value).__module__.startswith("onegrad"):
                todo |= {f"{label} {k}": v for k, v in getattr(value, "__dict__", {}).items()}
                if hasattr(value, "to_frame"):
                    yield f"columns {label}", plain(list(value.to_frame()))
                if type(value) not in seen:
                    seen.add(type(value))
                    yield from members(f"result {label}", type(value))
    inputs, labels = real.data.inputs.values, real.data.labels.values
    for cls in (og.OneStepClassifier, og.OneStepRegressor, og.OneStepFeatures):
        chosen: Any = {} if cls is og.OneStepFeatures else {"ridge": "theory"}
        targets = inputs[:, 0] if cls is og.OneStepRegressor else labels
        fitted = vars(cls(5, random_state=0, **chosen).fit(inputs, targets))
        yield f"fitted {cls.__name__}", plain(sorted(key for key in fitted if key[0] != "_"))


def panels() -> Entries:
    """Yield every panel, and every study at both scales."""
    for name in PANELS:
        yield f"panel {name}", plain(dataclasses.asdict(PANELS[name]))
    for name in STUDIES:
        for scale in ("quick", "paper"):
            said: dict[str, Any] = {"needs": STUDIES[name].needs}
            if scale == "quick" or said["needs"] is None:
                sweep = STUDIES[name].sweep(scale)
                own, usual = sweep.problem.to_dict(), og.Problem().to_dict()
                said = sweep.to_dict()
                said["problem"] = {k: v for k, v in own.items() if v != usual.get(k)}
                said["axes"] = {k: (len(v), v[0], v[-1]) for k, v in sweep.axes.items()}
            yield f"study {name} {scale}", plain(said)


def explorer() -> Entries:
    """Yield the controls, axes, models, metrics, presets, sources and endpoints of the explorer."""
    bases = {"start": og.Problem(), "digits": problems()[1], "fashion_mnist": problems()[1]}
    for base in ("start", "digits"):
        document = explorer_document(ExplorerState(bases[base], base=base), bases)
        yield f"explorer {base} axes", plain([axis["path"] for axis in document["axes"]])
        for entry in document["controls"]:
            yield f"explorer {base} control {entry['path']}", plain(entry)
    for group in ("models", "metrics", "presets", "sources"):
        for entry in document[group]:
            yield f"explorer {group} {entry['name']}", plain(entry)
    app: Any = application(ExplorerApp(bases, workers=1))
    for route in app.routes:
        yield f"endpoint {route.path}", plain(sorted(getattr(route, "methods", None) or ()))


def other_names() -> Entries:
    """Yield what is registered, what is installed, and variables of the environment."""
    for noun, registry in REGISTRIES.items():
        for name in registry:
            forms = [form for form in registry.forms() if form.partition(":")[0] == name]
            yield f"{noun} {name}", plain(forms if noun in ("loss", "rule", "model") else name)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name in (*project["optional-dependencies"], *project["scripts"]):
        yield f"installed {name}", ""
    for path in Path(og.__file__).parent.rglob("*.py"):
        for name in re.findall(r"\bONEGRAD_[A-Z_]+\b", path.read_text()):
            yield f"environment {name}", ""


def ledger() -> dict[str, str]:
    """Return everything that a user can reach, with what it takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        top = click.Context(cli, info_name="onegrad", **cli.context_settings)
        found = dict(commands("onegrad", cli, top)) | dict(fields(PanelDeclaration, "panel file"))
        found |= dict(fields(og.Problem, "Problem")) | dict(fields(og.Sweep, "Sweep"))
        for part in (public_names, results, panels, explorer, other_names):
            found |= dict(part())
    return found


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return a line for every entry that is missing, new or changed."""
    lines = [f"missing: {name}: {before[name]}" for name in before if name not in now]
    lines += [f"new: {name}: {now[name]}" for name in now if name not in before]
    changed = [name for name in before if name in now and before[name] != now[name]]
    return lines + [f"changed: {name}: {before[name]} -> {now[name]}" for name in changed]


def main() -> None:
    """Write the list, or compare it with the one that is stored."""
    now = ledger()
    if sys.argv[1:] == ["--compare"]:
        lines = differences(json.loads(LEDGER.read_text()), now)
        print(*lines, f"{len(now)} entries, {len(lines)} differences", sep="\n")
        sys.exit(bool(lines))
    LEDGER.write_text(json.dumps(now, indent=0, sort_keys=True, ensure_ascii=False) + "\n")
    print(f"{len(now)} entries in {LEDGER.name}")


if __name__ == "__main__":
    main()
