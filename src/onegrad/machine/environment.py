"""The environment for a bug report: versions, BLAS, processors, memory."""

from __future__ import annotations

import math
import os
import platform
import re
from importlib import metadata
from typing import Any

from onegrad import __version__
from onegrad.describe.extras import EXTRAS, missing
from onegrad.machine.cost import machine_bytes

PACKAGES = (
    *("numpy", "scipy", "pydantic", "click", "rich", "joblib", "threadpoolctl", "tomli-w"),
    *("pandas", "matplotlib", "scikit-learn", "xarray", "pyarrow", "distributed"),
)
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def environment() -> dict[str, Any]:
    """Return plain values: versions, BLAS libraries with their threads, processors, memory, extras.

    Nothing is computed and nothing raises: unknown values are None.
    """
    return {
        "onegrad": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: installed_version(name) for name in PACKAGES},
        "blas": blas_libraries(),
        "thread_variables": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "processors": {"machine": os.cpu_count(), "usable": _usable_processors()},
        "memory_bytes": _memory(),
        "extras": {extra: {"missing": missing(extra)} for extra in EXTRAS},
    }


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution; None if it is missing."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def blas_libraries() -> list[dict[str, Any]]:
    """Return library, version, kernel and threads of every BLAS that numpy and scipy load."""
    import scipy.linalg  # noqa: F401  # loads a BLAS besides numpy's
    from threadpoolctl import threadpool_info

    libraries = [
        {
            "library": info["internal_api"],
            "version": info["version"],
            "kernel": info.get("architecture"),
            "threads": info["num_threads"],
            "of": _owner(info["filepath"]),
        }
        for info in threadpool_info()
        if info["user_api"] == "blas"
    ]
    return sorted(libraries, key=lambda library: str(library["of"]))


def _owner(file: str) -> str | None:
    """Return the package whose wheel contains a library; None for a system library."""
    bundled = re.search(r"[\\/](\w+)\.(?:libs|dylibs)[\\/]", file)
    return None if bundled is None else bundled[1]


def _memory() -> int | None:
    """Return the bytes of this machine or its control group; None if unknown."""
    try:
        memory = machine_bytes()
    except OSError:  # the control group may not be read
        return None
    return int(memory) if math.isfinite(memory) else None


def _usable_processors() -> int:
    """Return the number of processors that affinity and control groups allow this process."""
    from joblib import cpu_count

    return int(cpu_count())
