"""Every path that .ci, pyproject.toml, the workflow or a page lists exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = [
    *(path for path in sorted((ROOT / ".ci").iterdir()) if path.is_file()),
    ROOT / ".github" / "workflows" / "ci.yml",
    ROOT / "pyproject.toml",
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SUPPORT.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "eslint.config.mjs",
]
FOLDERS = r"(?:src|tests|docs|benchmarks|\.ci|\.github)"
LISTED = re.compile(rf"(?<![\w./$-]){FOLDERS}/[\w./-]*[\w/]")


def missing_paths(text):
    """Return the listed paths of files and folders that do not exist."""
    paths = {match.rstrip("/") for match in LISTED.findall(text)}
    return sorted(path for path in paths if not (ROOT / path).exists())


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.relative_to(ROOT)))
def test_listed_paths_exist(place):
    assert missing_paths(place.read_text("utf-8")) == []


def test_a_missing_path_is_noticed():
    """Negative control: a file that has moved, and one that is there."""
    text = "for part in tests/describe tests/problem/test_gone.py \\\n  'benchmarks/house.py'; do"
    assert missing_paths(text) == ["tests/problem/test_gone.py"]


def test_the_quick_part_of_the_tests_lists_paths():
    assert len(LISTED.findall((ROOT / ".ci" / "versions").read_text("utf-8"))) >= 10
