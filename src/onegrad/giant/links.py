"""Link functions by name or formula: "relu", "4*z + z**2", "He4/24 + He2/2 + He1", or a callable.

A formula may hold numbers, z, He0 … He30 (probabilists' Hermite polynomials of z), + − * / **,
brackets, and any activation as a function: "tanh(2*z)". Nothing else is evaluated.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from onegrad import activations
from onegrad.activations import Activation, Function
from onegrad.arrays import Floats
from onegrad.validation import InvalidInput, shown

LONGEST_FORMULA = 200
LARGEST_POWER = 30
_GRID = np.linspace(-8.0, 8.0, 161)
_FINE = np.linspace(-12.0, 12.0, 2401) + 1e-7
_HERMITE = re.compile(r"He([0-9]{1,2})$")
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_REGISTERED: dict[str, Activation] = {}


def get_link(text: str) -> Activation:
    """Return the link of a name or formula; its derivative is not defined for formulas."""
    if text in _REGISTERED:
        return _REGISTERED[text]
    if text in activations.names() or text.startswith("hermite:"):
        return activations.get(text, field="link")
    return _formula(text)


def register_link(name: str, function: Function, *, kinks: tuple[float, ...] = ()) -> Activation:
    """Return your own link after making it known under `name`; name the points of its kinks.

    No derivative is needed: a teacher is never differentiated.
    """
    if not isinstance(name, str) or not name.isidentifier() or name == "z":
        raise InvalidInput(f"name={name!r}: must be a word of letters, digits and _; rename it")
    if name in activations.names() or _HERMITE.match(name):
        raise InvalidInput(f"name={name!r}: is known already; choose another name")
    points = tuple(float(k) for k in np.atleast_1d(np.asarray(kinks, dtype=float)))
    link = _checked(Activation(name, _plain(function), _no_derivative, kinks=points))
    _REGISTERED[name] = link
    return link


def link_name(link: object) -> str:
    """Return the checked name or formula of a link; a callable is registered under its own name."""
    if isinstance(link, str):
        return get_link(link.strip()).name
    if callable(link):
        name = getattr(link, "__name__", "link")
        return register_link(name if name.isidentifier() else "link", link).name
    raise InvalidInput(f"link={shown(link)}: must be a name, a formula or a callable; correct it")


def fingerprint(name: str) -> str | None:
    """Return a digest of a registered link's values; None where the name says what it computes."""
    if name in _REGISTERED:
        return hashlib.sha256(np.asarray(_REGISTERED[name](_GRID)).tobytes()).hexdigest()
    return activations.fingerprint(name)


def _checked(link: Activation) -> Activation:
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(link(_GRID), dtype=float)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInput(
            f"link={shown(link.name)}: must map arrays to arrays ({error}); use numpy functions"
        ) from None
    if values.shape != _GRID.shape:
        raise InvalidInput(
            f"link={shown(link.name)}: must map an array to values of its shape; correct it"
        )
    if not np.all(np.isfinite(values)):
        where = float(_GRID[~np.isfinite(values)][0])
        raise InvalidInput(
            f"link={shown(link.name)}: is not a finite number at z = {where:g}; change it"
        )
    return link


def _plain(function: Function) -> Function:
    return lambda z: np.asarray(function(z), dtype=float)


def _no_derivative(_points: Floats) -> Floats:
    raise NotImplementedError("a teacher's link is never differentiated")


@functools.lru_cache(maxsize=256)
def _formula(text: str) -> Activation:
    """Return the link of a formula, with the kinks of relu(…) and abs(…) found in it."""
    if not text or len(text) > LONGEST_FORMULA:
        raise InvalidInput(
            f"link={shown(text)}: must be a name or a formula of up to {LONGEST_FORMULA} "
            "letters; correct it"
        )
    try:
        tree = ast.parse(text.replace("^", "**"), mode="eval")
        kinks: set[float] = set()
        function = _compile(tree.body, kinks)
    except (SyntaxError, RecursionError, ValueError) as error:
        reason = str(error) if type(error) is ValueError else "is not a formula"
        raise InvalidInput(
            f"link={shown(text)}: {reason}; write one of {', '.join(activations.names())}, or a "
            "formula such as 4*z + z**2 or He2/2"
        ) from None
    places = tuple(sorted(kinks))
    return _checked(Activation(text, function, _no_derivative, kinks=places))


def _compile(node: ast.expr, kinks: set[float]) -> Function:
    number = _number(node)
    if number is not None:
        return lambda z: np.full_like(z, number)
    if isinstance(node, ast.Name):
        return _named(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        inner, sign = _compile(node.operand, kinks), -1.0 if isinstance(node.op, ast.USub) else 1.0
        return lambda z: sign * inner(z)
    if isinstance(node, ast.BinOp):
        left = _compile(node.left, kinks)
        if isinstance(node.op, ast.Pow):
            power = _power(node.right)
            return lambda z: left(z) ** power
        if type(node.op) in _BINARY:
            combine, right = _BINARY[type(node.op)], _compile(node.right, kinks)
            return lambda z: combine(left(z), right(z))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        inner, name = _compile(node.args[0], kinks), node.func.id
        if name in ("abs", *activations.names()) and not node.keywords:
            outer: Function = np.abs if name == "abs" else activations.get(name)
            for kink in (0.0,) if name == "abs" else activations.get(name).kinks:
                kinks |= _crossings(inner, kink)
            return lambda z: outer(inner(z))
    raise ValueError(f"does not understand {ast.unparse(node)!r}")


def _named(name: str) -> Function:
    match = _HERMITE.match(name)
    if match and int(match[1]) <= LARGEST_POWER:
        return activations.hermite_activation(int(match[1]))
    if name != "z":
        raise ValueError(f"does not know {name!r}")
    return lambda z: z


def _number(node: ast.expr) -> int | float | None:
    """Return the number that a node is, None for anything else; truth values are no numbers."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return None
    return node.value if isinstance(node.value, int | float) else None


def _power(node: ast.expr) -> int | float:
    value = _number(node)
    if value is not None and 0 <= value <= LARGEST_POWER:
        return value
    raise ValueError(f"needs a number from 0 to {LARGEST_POWER} as power")


def _crossings(inner: Function, level: float) -> set[float]:
    """Return where inner(z) crosses the level: there a kinked function of it has its kinks."""
    with np.errstate(all="ignore"):
        values = inner(_FINE) - level
    places = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    return {
        float(brentq(lambda z: float(inner(np.array([z]))[0]) - level, _FINE[i], _FINE[i + 1]))
        for i in places
    }
