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
import warnings
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from onegrad import activations
from onegrad.activations import Activation, Function
from onegrad.arrays import Floats
from onegrad.expectations import REACH, hermite_coefficients, second_moment
from onegrad.validation import InvalidInput, real_numbers, shown

LONGEST_FORMULA = 200
LARGEST_POWER = 30
NEGLIGIBLE = 1e-7  # a coefficient below this share of its link's deviation is zero: quadrature
ROUNDING = 1e-13  # the same beside a link's root mean square: a constant has no other parts
TOUCHES_ZERO = 1e-6  # a denominator's minimum below this share of its neighbours is a zero
_GRID = np.linspace(-REACH, REACH, 4801)  # all that a quadrature sees, ten points for each of its
_GRID.flags.writeable = False
_FINE = _GRID[:-1] + 1e-7
_HERMITE = re.compile(r"He([0-9]{1,2})$")
_WORD = re.compile(r"[^\W\d]\w*")
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
    # What a registered activation computes can change: such formulas are read anew.
    return _read_formula(text) if _uses_registered(text) else _formula(text)


def register_link(name: str, function: Function, *, kinks: tuple[float, ...] = ()) -> Activation:
    """Return your own link after making it known under `name`; name the points of its kinks.

    No derivative is needed: a teacher is never differentiated.
    """
    if not isinstance(name, str) or not name.isidentifier() or name == "z":
        raise InvalidInput(f"name={name!r}: must be a word of letters, digits and _; rename it")
    if not _may_be_taken(name):
        raise InvalidInput(f"name={name!r}: is known already; choose another name")
    if not callable(function):
        raise InvalidInput(f"function={shown(function)}: must be a callable; pass one")
    try:
        points = tuple(sorted(real_numbers(kinks)))
    except ValueError as error:
        raise InvalidInput(f"kinks={shown(kinks)}: {error}") from None
    if not np.all(np.isfinite(points)):
        raise InvalidInput(f"kinks={shown(kinks)}: must be finite numbers; correct them")
    link = _checked(Activation(name, _plain(function), _no_derivative, kinks=points))
    held = _REGISTERED.get(name)
    if held is not None and not _same(held, link):
        raise InvalidInput(f"name={name!r}: is taken by another function; choose another name")
    return _REGISTERED.setdefault(name, link)


def link_name(link: object) -> str:
    """Return the checked name or formula of a link, registering a callable.

    A callable is known under its own name; one without a name of its own, or whose name another
    function has, under a name that ends in a digest of its values.
    """
    if isinstance(link, str):
        return get_link(link.strip()).name
    if not callable(link):
        raise InvalidInput(
            f"link={shown(link)}: must be a name, a formula or a callable; correct it"
        )
    said = getattr(link, "__name__", "")
    named = isinstance(said, str) and said.isidentifier()
    name = said if named else "link"
    mine = _checked(Activation(name, _plain(link), _no_derivative))
    if name in activations.names() and _same(get_link(name), mine, kinks=False):
        raise InvalidInput(f"link={name!r}: is a known function; pass the text {name!r}")
    held = _REGISTERED.get(name)
    if held is not None and _same(held, mine, kinks=False):
        return name
    free = named and name != "z" and _may_be_taken(name) and held is None
    return register_link(name if free else f"{name}_{_digest(mine)[:8]}", link).name


def fingerprint(name: str) -> str | None:
    """Return a digest of the values of a link that rests on a registered function, else None.

    None says that the name alone tells what is computed.
    """
    if name in _REGISTERED:
        return _digest(_REGISTERED[name])
    known = activations.fingerprint(name)
    return _digest(get_link(name)) if known is None and _uses_registered(name) else known


def link_moments(link: Activation, order: int) -> tuple[Floats, float, float, float]:
    """Return E[σ*H_l] for l ≤ order, √E[σ*²], the deviation, and its share above order.

    Coefficients that are zero up to quadrature and rounding, beside the link's own size, are 0.
    """
    zero, one = np.zeros(1), np.ones(1)
    with np.errstate(all="ignore"):
        # A power of two: squares of large links do not overflow, and no bit is lost.
        largest = float(np.max(np.abs(link(np.linspace(-4.0, 4.0, 81)))))
        size = 2.0 ** np.floor(np.log2(largest)) if 0 < largest < np.inf else 1.0

        def moved(mean: float) -> Activation:
            return Activation(
                link.name, lambda z: link(z) / size - mean, _no_derivative, kinks=link.kinks
            )

        if link.coefficients is None:
            found = hermite_coefficients(moved(0.0), zero, one, order=order)[:, 0]
        else:
            found = hermite_coefficients(link, zero, one, order=order)[:, 0] / size
        root = sqrt(second_moment(moved(0.0), zero, one)[0])
        deviation = sqrt(second_moment(moved(float(found[0])), zero, one)[0])
        rounding = ROUNDING * root
        unseen = 0.0
        if deviation > rounding:
            unseen = 1 - float(np.sum((found[1:] / deviation) ** 2))
        least = max(NEGLIGIBLE * deviation, rounding)
        found = np.where(np.abs(found) <= least, 0.0, found)
        scales = np.sqrt(np.cumprod([1.0, *range(1, order + 1)]))
        return size * (found * scales), size * root, size * deviation, unseen


def _may_be_taken(name: str) -> bool:
    return name not in activations.names() and not _HERMITE.match(name)


def _uses_registered(text: str) -> bool:
    return not activations.registered().keys().isdisjoint(_WORD.findall(text))


def _digest(link: Activation) -> str:
    return hashlib.sha256(np.asarray(link(_GRID), dtype=float).tobytes()).hexdigest()


def _same(one: Activation, other: Activation, *, kinks: bool = True) -> bool:
    """Return whether two links have the same values on the whole grid, and the same kinks."""
    if kinks and one.kinks != other.kinks:
        return False
    return np.array_equal(one(_GRID), other(_GRID))


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
    """Return the function with real values, on a copy: it may write into its argument."""

    def plain(z: Floats) -> Floats:
        values = np.asarray(function(np.array(z, dtype=float)))
        if np.iscomplexobj(values):
            raise TypeError("its values are complex")
        return values.astype(float, copy=False)

    return plain


def _no_derivative(_points: Floats) -> Floats:
    raise NotImplementedError("a teacher's link is never differentiated")


def _read_formula(text: str) -> Activation:
    """Return the link of a formula, with the kinks of relu(…) and abs(…) found in it."""
    if not text or len(text) > LONGEST_FORMULA:
        raise InvalidInput(
            f"link={shown(text)}: must be a name or a formula of up to {LONGEST_FORMULA} "
            "letters; correct it"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's notes on style: "1or z"
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


_formula = functools.lru_cache(maxsize=256)(_read_formula)


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
            if isinstance(node.op, ast.Div):
                _require_no_zero(right, ast.unparse(node.right))
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


def _require_no_zero(denominator: Function, text: str) -> None:
    """Raise ValueError where a denominator crosses or touches zero: no expectation is finite."""
    with np.errstate(all="ignore"):
        values = np.broadcast_to(denominator(_GRID), _GRID.shape)
        sizes = np.abs(values)
        zero = np.flatnonzero(values == 0)
        crossed = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
        least = 1 + np.flatnonzero((sizes[1:-1] < sizes[:-2]) & (sizes[1:-1] < sizes[2:]))
        touched = [i for i in least if _touches_zero(denominator, int(i), sizes)]
    for places in (zero, crossed, touched):
        if len(places):
            raise ValueError(f"divides by {text}, which is zero near z = {_GRID[places[0]]:.3g}")


def _touches_zero(denominator: Function, place: int, sizes: Floats) -> bool:
    found = minimize_scalar(
        lambda z: float(np.abs(denominator(np.array([z])))[0]),
        bounds=(_GRID[place - 1], _GRID[place + 1]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return bool(found.fun < TOUCHES_ZERO * max(sizes[place - 1], sizes[place + 1]))
