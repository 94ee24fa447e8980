"""One registry of functions: activations and links by name, by formula, or your own.

`get("tanh")` is a built-in one, `get("hermite:3")` the polynomial H_3, `get("4*z + z**2")` a
formula; `register_function` adds one of your own, for problems, files and formulas to use.
"""

from __future__ import annotations

import functools
import re

import numpy as np

from onegrad.calculus.formulas import HERMITE, VARIABLES, read_formula
from onegrad.calculus.function import (
    ALIASES,
    BUILT_IN,
    GRID,
    LARGEST_DEGREE,
    Function,
    Map,
    Typed,
    checked,
    checked_kinks,
    hermite_function,
    leaky_relu,
    read_slope,
    with_finite_values,
)
from onegrad.calculus.function import NAME as LEAKY
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import shown
from onegrad.describe.registry import Registry

FUNCTIONS: Registry[Function] = Registry("functions", BUILT_IN, home=__name__)
RESERVED = ("abs", "max", "min")  # words of the formula language
_WORD = re.compile(r"[^\W\d]\w*")


def get(text: str, *, field: str = "activation") -> Function:
    """Return the function of a name or formula; `field` is what an error message calls it."""
    if not isinstance(text, str):
        raise InvalidInput(f"{field}={shown(text)}: must be a name or a formula; choose relu")
    text = text.strip()
    key = ALIASES.get(text.lower(), text.lower())
    if key in BUILT_IN:
        return BUILT_IN[key]
    if text in FUNCTIONS:
        return FUNCTIONS[text]
    family, _, degree = key.partition(":")
    if family == "hermite" and degree.isdigit() and int(degree) <= LARGEST_DEGREE:
        return hermite_function(int(degree))
    slope = read_slope(degree) if family == LEAKY else None
    if slope is not None:
        return leaky_relu(slope)
    if family in ("hermite", LEAKY) or (_WORD.fullmatch(text) and not _is_variable(text)):
        families = [f"hermite:DEGREE (up to {LARGEST_DEGREE})", f"{LEAKY}:SLOPE"]
        known = [*BUILT_IN, *families, *FUNCTIONS.added()]
        raise FUNCTIONS.unknown(text, field=field, known=known)
    # A registered function can be replaced, so formulas that use one are not cached.
    read = _read if _uses_registered(text) else _remembered
    return read(text, field)


def get_activation(text: str) -> Function:
    """Return the function of a name or formula; it must have a derivative."""
    return activation_of(text)


def function_of(function: Function | str, *, field: str = "activation") -> Function:
    """Return the function itself, or that of a name or formula."""
    return function if isinstance(function, Function) else get(function, field=field)


def activation_of(activation: Function | str) -> Function:
    """Return the activation itself, or that of a name or formula; it must have a derivative."""
    sigma = function_of(activation)
    sigma.required_derivative()
    return sigma


def register_function(
    name: str, function: Map, derivative: Map | None = None, *, kinks: tuple[float, ...] = ()
) -> Function:
    """Return your own σ, after making it known under `name` to problems, files and formulas.

    The callables take and return arrays. Name the points where σ has a kink or a jump, so that
    expectations stay exact. A link needs no derivative; one that is given is checked against
    differences of the function. Workers learn of it by themselves.
    """
    for label, given in (("function", function), ("derivative", derivative)):
        if not callable(given) and not (label == "derivative" and given is None):
            raise InvalidInput(f"{label}={shown(given)}: must be a callable; pass one")
    if not isinstance(name, str) or not name.isidentifier() or _is_variable(name):
        raise InvalidInput(
            f"name={shown(name)}: must be a word of letters, digits and _; rename it"
        )
    if name.lower() in {*BUILT_IN, *ALIASES} or name in RESERVED:
        raise InvalidInput(f"name={name!r}: is built in; choose another name")
    slope = None if derivative is None else Typed(derivative)
    own = Function(name, Typed(function), slope, kinks=checked_kinks(kinks))
    checked(own, field="function")
    return FUNCTIONS.add(name, own, mark=own.fingerprint())


def function_name(function: object, *, field: str = "link") -> str:
    """Return the checked name or formula of a function, registering a callable.

    A callable is known under its own name; one without a name of its own, or whose name another
    function has, under a name that ends in a digest of its values.
    """
    if isinstance(function, str):
        return get(function, field=field).name
    if not callable(function):
        raise InvalidInput(
            f"{field}={shown(function)}: must be a name, a formula or a callable; correct it"
        )
    said = getattr(function, "__name__", "")
    named = isinstance(said, str) and said.isidentifier()
    name = said if named else field
    own = checked(Function(name, Typed(function)), field=field)
    mark = own.fingerprint()
    if name in FUNCTIONS and np.array_equal(FUNCTIONS[name](GRID), own(GRID)):
        if FUNCTIONS.mark(name) is None:
            raise InvalidInput(f"{field}={name!r}: is a known function; pass the text {name!r}")
        return name
    taken = name in FUNCTIONS or name.lower() in ALIASES or name in RESERVED or _is_variable(name)
    free = name if named and not taken else f"{name}_{mark[:8]}"
    return register_function(free, function).name


def fingerprint(text: str) -> str | None:
    """Return a digest of what a name or formula computes where its text does not tell; else None.

    A name does not tell what somebody's function computes: stored results are keyed by this too.
    """
    if text in FUNCTIONS or not _uses_registered(text):
        return FUNCTIONS.mark(text)
    return get(text).fingerprint()


def _is_variable(name: str) -> bool:
    return name in VARIABLES or HERMITE.fullmatch(name) is not None


def _uses_registered(text: str) -> bool:
    return not FUNCTIONS.added().keys().isdisjoint(_WORD.findall(text))


def _read(text: str, field: str) -> Function:
    known = {name: FUNCTIONS[name] for name in FUNCTIONS}
    return with_finite_values(read_formula(text, known, field=field), field=field)


_remembered = functools.lru_cache(maxsize=256)(_read)
