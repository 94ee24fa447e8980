"""Packages beyond the core: which extra brings them, and the line where one is missing.

The core imports none of these at its top. A folder that cannot do without asks in its `__init__`.
"""

from __future__ import annotations

from importlib.util import find_spec

from onegrad.describe.exceptions import InvalidInput

# Extras of the distribution, and the modules without which what they are for cannot be done.
EXTRAS = {
    "frames": ("pandas",),
    "figures": ("matplotlib", "pandas"),
    "data": ("sklearn",),
    "estimators": ("sklearn",),
    "parquet": ("pyarrow", "pandas"),
    "xarray": ("xarray", "pandas"),
    "dask": ("distributed",),
    "explore": ("starlette", "uvicorn"),
}
DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # where the name to install is another


class MissingPackage(InvalidInput, ImportError):
    """A package of an extra is not installed; the message names the command that installs it."""


def missing(extra: str) -> list[str]:
    """Return the distributions of an extra that are not installed."""
    return [DISTRIBUTIONS.get(name, name) for name in EXTRAS[extra] if find_spec(name) is None]


def missing_note(what: str, extra: str) -> str:
    """Return the line that names what is missing and how to install it; empty when all is here."""
    absent = missing(extra)
    return f"{what}: needs {' and '.join(absent)}; pip install 'onegrad[{extra}]'" if absent else ""


def require_extra(what: str, extra: str) -> None:
    """Raise MissingPackage, a line with the command, unless the packages of an extra are here."""
    note = missing_note(what, extra)
    if note:
        raise MissingPackage(note)
