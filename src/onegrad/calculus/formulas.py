"""The language of formulas: "4*z + z**2", "He4/24 + He2/2 + He1", "max(u, 0.1*u)", "tanh(2*z)".

A formula may hold numbers, the variable (z or u), He0 … He30 (probabilists' Hermite polynomials of
it), + − * / **, brackets, abs, max, min, and any known function. Nothing else is evaluated.
Derivatives follow by the rules of calculus, kinks from where arguments of kinked functions cross
them. Formulas come from files and command lines of others, so there are limits: `LONGEST_FORMULA`
letters, brackets `DEEPEST` deep, `MOST_KINKS` kinks (every expectation is a sum over the pieces
between them), and `LONGEST_EVALUATION` seconds for the values and slopes on a grid.
"""

from __future__ import annotations

import ast
import re
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from onegrad.calculus.function import GRID, Function, Map, hermite_function
from onegrad.describe.exceptions import InvalidInput
from onegrad.describe.numbers import Floats, shown

VARIABLES = ("z", "u")
LONGEST_FORMULA = 200
DEEPEST = 20
MOST_KINKS = 32
LONGEST_EVALUATION = 1.0  # seconds; a formula of 200 letters takes a few hundredths
LARGEST_POWER = 30
TOUCHES_ZERO = 1e-6  # a denominator's minimum below this share of its neighbours is a zero
HERMITE = re.compile(r"He([0-9]{1,2})")
_FINE = GRID[:-1] + 1e-7


@dataclass(frozen=True)
class _Term:
    """A part of a formula: its values, and its slope where every function in it has one."""

    value: Map
    slope: Map | None


def read_formula(text: str, known: Mapping[str, Function], *, field: str) -> Function:
    """Return the function of a formula; `known` are the functions that it may call.

    `field` is what an error message calls it.
    """
    if not text or len(text) > LONGEST_FORMULA:
        raise InvalidInput(
            f"{field}={shown(text)}: must be a name or a formula of up to {LONGEST_FORMULA} "
            "letters; correct it"
        )
    reader = _Reader(known)
    try:
        _require_shallow(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's notes on style: "1or z"
            tree = ast.parse(text.replace("^", "**"), mode="eval")
        term = reader.read(tree.body)
        _require_fast(term)
        if len(reader.kinks) > MOST_KINKS:
            raise ValueError(f"has {len(reader.kinks)} kinks, at most {MOST_KINKS} are allowed")
    except (SyntaxError, RecursionError, ValueError) as error:
        reason = str(error) if type(error) is ValueError else "is not a formula"
        raise InvalidInput(
            f"{field}={shown(text)}: {reason}; write one of {', '.join(known)}, or a formula such "
            "as 4*z + z**2 or He2/2"
        ) from None
    return Function(text, term.value, term.slope, kinks=tuple(sorted(reader.kinks)))


def _require_shallow(text: str) -> None:
    """Raise ValueError where brackets are nested deeper than DEEPEST."""
    depth = deepest = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise ValueError(f"has brackets {deepest} deep, at most {DEEPEST} are allowed")


def _require_fast(term: _Term) -> None:
    """Raise ValueError where values and slopes on the grid take too long."""
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        for function in (term.value, term.slope):
            if function is not None:
                function(GRID)
    taken = time.perf_counter() - start
    if taken > LONGEST_EVALUATION:
        raise ValueError(
            f"takes {taken:.1f} s at {len(GRID)} points, at most {LONGEST_EVALUATION:g} s is "
            "allowed"
        )


class _Reader:
    """Reads one formula; collects the places of its kinks."""

    def __init__(self, known: Mapping[str, Function]) -> None:
        self.known = known
        self.kinks: set[float] = set()

    def read(self, node: ast.expr) -> _Term:
        """Return the term that a node of the syntax tree stands for."""
        number = _number(node)
        if number is not None:
            return _Term(lambda z: np.full_like(z, number), np.zeros_like)
        if isinstance(node, ast.Name):
            return _variable(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
            return _signed(self.read(node.operand), -1.0 if isinstance(node.op, ast.USub) else 1.0)
        if isinstance(node, ast.BinOp):
            left = self.read(node.left)
            if isinstance(node.op, ast.Pow):
                return _raised(left, _power(node.right))
            if type(node.op) in _BINARY:
                right = self.read(node.right)
                if isinstance(node.op, ast.Div):
                    _require_no_zero(right.value, ast.unparse(node.right))
                return _BINARY[type(node.op)](left, right)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self._call(node, node.func.id)
        raise ValueError(f"does not understand {ast.unparse(node)!r}")

    def _call(self, node: ast.Call, name: str) -> _Term:
        if name in ("max", "min") and len(node.args) == 2:
            left, right = (self.read(argument) for argument in node.args)
            self.kinks |= _crossings(_subtract(left, right).value, 0.0)
            return _chosen(left, right, np.maximum if name == "max" else np.minimum)
        if len(node.args) == 1 and (name == "abs" or name in self.known):
            inner = self.read(node.args[0])
            outer = _ABSOLUTE if name == "abs" else self.known[name]
            for kink in outer.kinks:
                self.kinks |= _crossings(inner.value, kink)
            return _chained(outer, inner)
        raise ValueError(f"does not understand {ast.unparse(node)!r}")


_ABSOLUTE = Function("abs", np.abs, np.sign, kinks=(0.0,))


def _variable(name: str) -> _Term:
    match = HERMITE.fullmatch(name)
    if match and int(match[1]) <= LARGEST_POWER:
        polynomial = hermite_function(int(match[1]))
        return _Term(polynomial, polynomial.derivative)
    if name not in VARIABLES:
        raise ValueError(f"does not know {name!r}")
    return _Term(lambda z: z, np.ones_like)


def _with_slopes(left: _Term, right: _Term, slope: Callable[[Map, Map], Map]) -> Map | None:
    if left.slope is None or right.slope is None:
        return None
    return slope(left.slope, right.slope)


def _signed(term: _Term, sign: float) -> _Term:
    slope = term.slope
    return _Term(
        lambda z: sign * term.value(z), None if slope is None else lambda z: sign * slope(z)
    )


def _add(left: _Term, right: _Term) -> _Term:
    return _Term(
        lambda z: left.value(z) + right.value(z),
        _with_slopes(left, right, lambda a, b: lambda z: a(z) + b(z)),
    )


def _subtract(left: _Term, right: _Term) -> _Term:
    return _Term(
        lambda z: left.value(z) - right.value(z),
        _with_slopes(left, right, lambda a, b: lambda z: a(z) - b(z)),
    )


def _multiply(left: _Term, right: _Term) -> _Term:
    return _Term(
        lambda z: left.value(z) * right.value(z),
        _with_slopes(
            left, right, lambda a, b: lambda z: a(z) * right.value(z) + left.value(z) * b(z)
        ),
    )


def _divide(left: _Term, right: _Term) -> _Term:
    def quotient(a: Map, b: Map) -> Map:
        def slope(z: Floats) -> Floats:
            below = right.value(z)
            return (a(z) - left.value(z) / below * b(z)) / below

        return slope

    return _Term(lambda z: left.value(z) / right.value(z), _with_slopes(left, right, quotient))


_BINARY: dict[type[ast.operator], Callable[[_Term, _Term], _Term]] = {
    ast.Add: _add,
    ast.Sub: _subtract,
    ast.Mult: _multiply,
    ast.Div: _divide,
}


def _raised(base: _Term, power: int | float) -> _Term:
    inner = base.slope
    if inner is None or (0 < power < 1):  # a root's slope has no bound
        return _Term(lambda z: base.value(z) ** power, None)
    if power == 0:
        return _Term(lambda z: base.value(z) ** power, np.zeros_like)
    return _Term(
        lambda z: base.value(z) ** power,
        lambda z: power * base.value(z) ** (power - 1) * inner(z),
    )


def _chosen(left: _Term, right: _Term, choose: Callable[[Floats, Floats], Floats]) -> _Term:
    def slopes(a: Map, b: Map) -> Map:
        def slope(z: Floats) -> Floats:
            first = left.value(z)
            return np.where(choose(first, right.value(z)) == first, a(z), b(z))

        return slope

    return _Term(lambda z: choose(left.value(z), right.value(z)), _with_slopes(left, right, slopes))


def _chained(outer: Function, inner: _Term) -> _Term:
    slope, derivative = inner.slope, outer.derivative
    if slope is None or derivative is None:
        return _Term(lambda z: outer(inner.value(z)), None)
    return _Term(lambda z: outer(inner.value(z)), lambda z: derivative(inner.value(z)) * slope(z))


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


def _crossings(inner: Map, level: float) -> set[float]:
    """Return where inner(z) crosses the level: there a kinked function of it has its kinks."""
    with np.errstate(all="ignore"):
        values = inner(_FINE) - level
    places = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    if not len(places):
        return set()
    if len(places) > MOST_KINKS:
        raise ValueError(f"has {len(places)} kinks, at most {MOST_KINKS} are allowed")
    from scipy.optimize import brentq  # late: it takes a quarter of a second to import

    return {
        float(brentq(lambda z: float(inner(np.array([z]))[0]) - level, _FINE[i], _FINE[i + 1]))
        for i in places
    }


def _require_no_zero(denominator: Map, text: str) -> None:
    """Raise ValueError where a denominator crosses or touches zero: no expectation is finite."""
    with np.errstate(all="ignore"):
        values = np.broadcast_to(denominator(GRID), GRID.shape)
        sizes = np.abs(values)
        zero = np.flatnonzero(values == 0)
        crossed = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
        least = 1 + np.flatnonzero((sizes[1:-1] < sizes[:-2]) & (sizes[1:-1] < sizes[2:]))
        touched = [i for i in least if _touches_zero(denominator, int(i), sizes)]
    for places in (zero, crossed, touched):
        if len(places):
            raise ValueError(f"divides by {text}, which is zero near z = {GRID[places[0]]:.3g}")


def _touches_zero(denominator: Map, place: int, sizes: Floats) -> bool:
    from scipy.optimize import minimize_scalar  # late, as above

    lowest = minimize_scalar(
        lambda z: float(np.abs(denominator(np.array([z])))[0]),
        bounds=(GRID[place - 1], GRID[place + 1]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return bool(lowest.fun < TOUCHES_ZERO * max(sizes[place - 1], sizes[place + 1]))
