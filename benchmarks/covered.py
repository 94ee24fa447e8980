"""The files of which tests run too little; fails where no reason is known.

    python -m pytest --cov
    python benchmarks/covered.py

reads the measurement that pytest leaves behind.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import coverage

LEAST = 85.0  # per cent of a file's statements
# File in src/onegrad: why less of it is run.
REASONS = {
    "cli/figures.py": "the README's first command runs it",
    "machine/cost.py": "what other systems tell is not there to be read",
    "sweeps/dask.py": "what clusters do when they break, beyond a worker that dies",
}


def shares() -> dict[str, float]:
    """Return the share of statements run, in per cent, by file in src/onegrad."""
    measured = coverage.Coverage()
    measured.load()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "coverage.json"
        measured.json_report(outfile=str(target))
        files = json.loads(target.read_text())["files"]
    return {
        path.rpartition("onegrad/")[2]: entry["summary"]["percent_covered"]
        for path, entry in files.items()
    }


def main() -> None:
    """List files below the least share, lowest first."""
    low = {file: share for file, share in shares().items() if share < LEAST}
    for file in sorted(low, key=lambda file: low[file]):
        print(f"{low[file]:5.1f} % {file}: {REASONS.get(file, 'no reason is known; add a test')}")
    sys.exit(bool(low.keys() - REASONS.keys()))


if __name__ == "__main__":
    main()
