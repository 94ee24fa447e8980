"""What a machine may lack: where tests look for it, and the one reason for which they skip.

`python tests/optional_parts.py` prints the command that adds what is missing.
"""

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from onegrad.data.fashion_mnist import fashion_mnist_folder

ROOT = Path(__file__).parents[1]
PIP, APT, NPM = "pip install", "apt-get install -y", "npm install --prefix . --no-save"
BEFORE = {
    PIP: f"{sys.executable} -m ",
    APT: "apt-get update && ",
}  # in a command that works as it is


@dataclass(frozen=True)
class Part:
    """An optional part: `look` returns its place, or None if it is missing."""

    name: str
    look: Callable[[], str | Path | None]
    installer: str
    packages: str

    @property
    def reason(self) -> str:
        """Why tests are skipped, with the remedy."""
        return f"{self.name} is missing; {self.installer} {self.packages}"


def program(variable: str, *names: str) -> Callable[[], str | None]:
    """Return a look-up of the program that the variable names, else of the names on PATH."""

    def look() -> str | None:
        wanted = (os.environ[variable],) if variable in os.environ else names
        return next(filter(None, map(shutil.which, wanted)), None)

    return look


def node_tool(file: str) -> Callable[[], Path | None]:
    """Return a look-up in the node_modules of $ONEGRAD_NODE_TOOLS, else of the repository."""

    def look() -> Path | None:
        path = Path(os.environ.get("ONEGRAD_NODE_TOOLS", ROOT), "node_modules", file)
        return path if path.is_file() else None

    return look


def tqdm() -> str | None:
    spec = importlib.util.find_spec("tqdm")
    return spec and spec.origin


CHROMIUM = Part(
    "Chromium", program("ONEGRAD_CHROMIUM", "chromium", "chromium-browser"), APT, "chromium"
)
NODE = Part("node", program("ONEGRAD_NODE", "node"), APT, "nodejs npm")
ESLINT = Part("eslint", node_tool("eslint/bin/eslint.js"), NPM, "eslint@9")  # runs on node 18
AXE = Part("axe-core", node_tool("axe-core/axe.min.js"), NPM, "axe-core")
IMAGES = Part("Fashion-MNIST", fashion_mnist_folder, APT, "dataset-fashion-mnist")
TQDM = Part("tqdm", tqdm, PIP, "tqdm")
PARTS = (CHROMIUM, NODE, ESLINT, AXE, IMAGES, TQDM)


def needs(*parts: Part) -> pytest.MarkDecorator:
    """Return a mark that skips without these parts."""
    missing = [part.reason for part in parts if part.look() is None]
    return pytest.mark.skipif(bool(missing), reason=", ".join(missing))


def absent_parts(reasons: set[str]) -> list[str]:
    """Return two lines on the parts for which tests were skipped, none if there are none."""
    absent = [part for part in PARTS if any(part.reason in reason for reason in reasons)]
    names = ", ".join(part.name for part in absent)
    return [f"absent: {names}", f"add them: {adding(absent)}"] if absent else []


def adding(parts: list[Part]) -> str:
    """Return the command that adds parts."""
    commands = []
    for installer in (PIP, APT, NPM):
        packages = [part.packages for part in parts if part.installer == installer]
        if packages:
            commands.append(" ".join([BEFORE.get(installer, "") + installer, *packages]))
    return " && ".join(commands)


if __name__ == "__main__":
    print(adding([part for part in PARTS if part.look() is None]))
