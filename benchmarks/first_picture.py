"""Minutes from nothing but Python to a first picture of theory beside simulation.

python benchmarks/first_picture.py [REQUIREMENT]   # default: this repository

Makes an empty environment, installs REQUIREMENT with the extra figures, and draws panel 1a: what a
new user types. pip's share depends on the network and on what pip has cached.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print the seconds of every command, the sum in minutes, and the size of the picture."""
    source = sys.argv[1] if len(sys.argv) > 1 else str(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        binaries = Path(folder) / "venv" / "bin"
        commands = {
            "python -m venv": [sys.executable, "-m", "venv", str(binaries.parent)],
            "pip install": [str(binaries / "pip"), "install", "--quiet", f"{source}[figures]"],
            "onegrad reproduce 1a": [str(binaries / "onegrad"), "reproduce", "1a"],
        }
        total = 0.0
        for name, command in commands.items():
            total += seconds(name, command, folder)
        pictures = [*Path(folder, "figures").rglob("*1a*.png")]
        if not pictures:
            sys.exit("no picture of panel 1a was drawn")
        size = pictures[0].stat().st_size
        print(f"{'first picture after':24s} {total / 60:6.1f} min ({size / 1000:.0f} kB)")


def seconds(name: str, command: list[str], folder: str) -> float:
    """Return how long a command takes, which must succeed."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    taken = time.perf_counter() - start
    print(f"{name:24s} {taken:6.1f} s", flush=True)
    return taken


if __name__ == "__main__":
    main()
